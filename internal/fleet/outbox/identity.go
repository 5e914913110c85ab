package outbox

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"qsniff/internal/base/digits"
)

// identity is what a sensor shows to brokers, and by what it recognises them. The files are read again for
// each connection, so that they can be replaced; while one cannot be read or used, what was read last stays.
type identity struct {
	creds, ca string      // files
	login     nats.Option // nil: none
	roots     *x509.CertPool
	wantTLS   bool
}

// loadIdentity reads the files for the first time.
func loadIdentity(creds, ca string, wantTLS bool) (*identity, error) {
	x := &identity{creds: creds, ca: ca, wantTLS: wantTLS || ca != ""}
	var err error
	if x.roots, err = x509.SystemCertPool(); err != nil && ca == "" && wantTLS {
		return nil, err
	}
	return x, x.reload()
}

// reload reads the files again.
func (x *identity) reload() error {
	if err := x.loadLogin(); err != nil {
		return err
	}
	return x.loadRoots()
}

// loadLogin reads the credentials. Errors have no part of them.
func (x *identity) loadLogin() error {
	if x.creds == "" {
		return nil
	}
	text, err := readFile(x.creds)
	if err != nil {
		return fmt.Errorf("--fleet-creds %s: %w", x.creds, withoutPath(err))
	}
	login, err := parseLogin(text)
	if err != nil {
		return fmt.Errorf("--fleet-creds %s: %w", x.creds, err)
	}
	x.login = login
	return nil
}

// errLogin is the error of a file that has no credentials.
var errLogin = errors.New("neither credentials of a user, as nsc and nk make them, nor the seed of a user's NKey")

// parseLogin parses the text of a file of credentials.
func parseLogin(text []byte) (nats.Option, error) {
	pair, err := nkeys.ParseDecoratedUserNKey(text)
	if err != nil {
		return nil, errLogin
	}
	seed, err := pair.Seed()
	if err != nil {
		return nil, errLogin
	}
	if bytes.Contains(text, []byte("BEGIN NATS USER JWT")) {
		jwt, err := nkeys.ParseDecoratedJWT(text)
		if err != nil || jwt == "" {
			return nil, errLogin
		}
		return nats.UserJWTAndSeed(jwt, string(seed)), nil
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, errLogin
	}
	return nats.Nkey(public, pair.Sign), nil
}

// loadRoots reads the authorities.
func (x *identity) loadRoots() error {
	if x.ca == "" {
		return nil
	}
	text, err := readFile(x.ca)
	if err != nil {
		return fmt.Errorf("--fleet-ca %s: %w", x.ca, withoutPath(err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return fmt.Errorf("--fleet-ca %s: no certificates in PEM", x.ca)
	}
	x.roots = pool
	return nil
}

// readFile reads a small file.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longestFile+1))
	if err == nil && len(text) > longestFile {
		err = fmt.Errorf("more than %s", digits.Bytes(longestFile))
	}
	return text, err
}
