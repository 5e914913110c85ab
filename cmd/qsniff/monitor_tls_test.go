//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"qsniff/internal/test/timing"
)

// writeCertificate writes a certificate for this host, with its key, and returns it.
func writeCertificate(t *testing.T, name string, serial int64) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	x := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, x, x, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	if err := os.WriteFile(name+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil { // as programs that renew certificates do
		t.Fatal(err)
	}
	if x, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return x
}

// TestMonitorTLS: figures are encrypted, a token is wanted, and both can be replaced at SIGHUP, in the
// sandbox.
func TestMonitorTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, token := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "token")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(token, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("the-first-token-of-all")
	first := writeCertificate(t, cert, 1)
	w := watchPipe(t, "--web-cert", cert, "--web-key", cert, "--web-token-file", token)
	addr := w.url[len("http://127.0.0.1"):]
	get := func(trusted *x509.Certificate, token string) (status int) {
		t.Helper()
		pool := x509.NewCertPool()
		pool.AddCert(trusted)
		c := http.Client{Timeout: timing.Patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
		defer c.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://localhost"+addr+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		got, err := c.Do(r)
		if err != nil {
			return 0
		}
		got.Body.Close()
		return got.StatusCode
	}
	if a, b := get(first, "the-first-token-of-all"), get(first, "another-token-than-this"); a != 200 || b != 401 {
		t.Errorf("got %d, %d", a, b)
	}
	second := writeCertificate(t, cert, 2)
	put("another-token-than-this")
	if err := w.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	timing.Await(t, "the reload", func() bool { return len(w.logged("reloaded")) == 1 })
	if a, b, c := get(second, "another-token-than-this"), get(second, "the-first-token-of-all"), get(first, "another-token-than-this"); a != 200 || b != 401 || c != 0 {
		t.Errorf("after the reload: got %d, %d, %d", a, b, c)
	}
	put("short")
	if err := w.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	timing.Await(t, "the refusal", func() bool { return len(w.logged("nothing was reloaded")) == 1 })
	if got := get(second, "another-token-than-this"); got != 200 {
		t.Errorf("after a reload that failed: got %d", got)
	}
	if status := w.end(t); status != exitOK {
		t.Errorf("status %d, %v", status, w.logs)
	}
}
