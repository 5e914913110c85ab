package main

import (
	"bytes"

	"qsniff/internal/app/cli"
	"qsniff/internal/fleet"
	"qsniff/internal/monitor/notify"
	"qsniff/internal/monitor/serve"
)

// longestSecret is the greatest size of a file with a secret, a token or credentials.
const longestSecret = 64 << 10

const secretHint = "head -c 24 /dev/urandom | base64 > FILE makes one, for all sensors and hubs; chmod 600 FILE keeps it"

// loadSecret reads the secret of the fleet.
func loadSecret(name string) (*fleet.Secret, error) {
	if name == "" {
		return nil, needs("secret", secretHint)
	}
	text, err := notify.ReadSecret(name, "whoever has the secret of the fleet can read addresses", longestSecret)
	var s *fleet.Secret
	if err == nil {
		s, err = fleet.NewSecret(bytes.TrimSpace([]byte(text)))
	}
	return s, cli.NameFile(name, err, secretHint)
}

// loadToken reads the file of a token; without a name there is none.
func loadToken(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	text, err := notify.ReadSecret(name, "whoever has the token can read the page", longestSecret)
	var token []byte
	if err == nil {
		token, err = serve.ParseToken([]byte(text))
	}
	return token, cli.NameFile(name, err, "head -c 24 /dev/urandom | base64 > FILE makes one; chmod 600 FILE keeps it")
}
