package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"qsniff/fleet"
	"qsniff/flood"
	"qsniff/flood/config"
	"qsniff/monitor/serve"
)

// longestSecret is the greatest size of a file with a secret, a token or credentials.
const longestSecret = 64 << 10

// readSecret reads a file that others must not be able to read.
func readSecret(name, hint string) ([]byte, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &hintedError{fmt.Errorf("%s: no such file", name), hint}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() && info.Mode()&0o007 != 0 {
		return nil, &hintedError{fmt.Errorf("%s: everybody may read it, and it is a secret", name), "chmod o= " + name}
	}
	text, err := io.ReadAll(io.LimitReader(f, longestSecret+1))
	if err == nil && len(text) > longestSecret {
		err = fmt.Errorf("%s: more than %d bytes", name, longestSecret)
	}
	return text, err
}

const secretHint = "head -c 24 /dev/urandom | base64 > FILE makes one, for all sensors and hubs; chmod 600 FILE keeps it"

// loadSecret reads the secret of the fleet.
func loadSecret(name string) (*fleet.Secret, error) {
	if name == "" {
		return nil, needs("secret", secretHint)
	}
	text, err := readSecret(name, secretHint)
	if err != nil {
		return nil, err
	}
	s, err := fleet.NewSecret(bytes.TrimSpace(text))
	if err != nil {
		return nil, &hintedError{fmt.Errorf("%s: %w", name, err), secretHint}
	}
	return s, nil
}

// loadToken reads the file of a token; without a name there is none.
func loadToken(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	const hint = "head -c 24 /dev/urandom | base64 > FILE makes one; chmod 600 FILE keeps it"
	text, err := readSecret(name, hint)
	if err != nil {
		return nil, err
	}
	token, err := serve.ParseToken(text)
	if err != nil {
		return nil, &hintedError{fmt.Errorf("%s: %w", name, err), hint}
	}
	return token, nil
}

// loadTLS reads a certificate and its key; without names there is none.
func loadTLS(cert, key string) (*tls.Config, error) {
	if cert == "" {
		return nil, nil
	}
	x, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, &hintedError{fmt.Errorf("%s, %s: %w", cert, key, err), "both are PEM, and belong to each other"}
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{x}}, nil
}

// loadThresholds reads a file of thresholds; without a name they are the defaults.
func loadThresholds(name string) (flood.Thresholds, error) {
	if name == "" {
		return flood.Defaults(), nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return flood.Thresholds{}, err
	}
	limits, err := config.Parse(string(text))
	if err != nil {
		err = &hintedError{fmt.Errorf("%s: %w", name, err), "qsniff floods --explain -o toml prints a file with all thresholds"}
	}
	return limits, err
}
