//go:build !js

package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"

	"qsniff/internal/base/systemd"
	"qsniff/internal/monitor/notify"
	"qsniff/internal/monitor/serve"
)

// WebFlags are the flags about readers over HTTP.
type WebFlags struct {
	Listen    string
	Hosts     []string
	TokenFile string
	Cert, Key string
	// Insecure lets others than this machine be spoken to without encryption.
	Insecure bool
	usual    string // the default of Listen
}

// Register adds the flags, with the default of --listen.
func (o *WebFlags) Register(f *pflag.FlagSet, listen string) {
	o.usual = listen
	f.StringVar(&o.Listen, "listen", listen, "answer over HTTP at `ADDR:PORT`")
	f.StringArrayVar(&o.Hosts, "host", nil, "a `NAME` under which readers may ask, besides the address; may be given several times")
	f.StringVar(&o.TokenFile, "web-token-file", "", "readers must bring the token in `FILE`")
	f.StringVar(&o.Cert, "web-cert", "", "encrypt, with the certificate in `FILE`, PEM")
	f.StringVar(&o.Key, "web-key", "", "the key of the certificate is in `FILE`, PEM")
	f.BoolVar(&o.Insecure, "insecure", false, "speak without TLS with readers and brokers elsewhere")
}

// Check returns an error for flags that cannot be.
func (o *WebFlags) Check() error {
	if err := CheckPair("web-cert", o.Cert, "web-key", o.Key); err != nil {
		return err
	}
	return CheckAddress("listen", o.Listen, o.usual)
}

// CheckPair returns an error if one of two flags with files is given, and the other is not.
func CheckPair(flag, file, other, otherFile string) error {
	if (file == "") == (otherFile == "") {
		return nil
	}
	return Usage(fmt.Errorf("--%s and --%s go together", flag, other), "name the files of both; one file may have both")
}

// CheckAddress returns an error for the value of a flag that is no address with a port. usual is one, on this machine.
func CheckAddress(flag, value, usual string) error {
	if _, _, err := net.SplitHostPort(value); err == nil {
		return nil
	}
	return Usage(fmt.Errorf("--%s %s: not an address with a port", flag, value), "as in "+usual+", or "+usual[strings.LastIndexByte(usual, ':'):]+" for all addresses")
}

// OpenListener opens the socket for readers, or takes over that of the manager of services.
func (o *WebFlags) OpenListener(ctx context.Context) (net.Listener, error) {
	l, err := systemd.Listener()
	if l == nil && err == nil {
		l, err = serve.Listen(ctx, o.Listen)
	}
	if err != nil {
		return nil, Hinted(fmt.Errorf("--listen %s: %w", o.Listen, err), "another program may have the port; --listen names another one")
	}
	return l, nil
}

// NewServer returns the server on a listener, which it closes in the end; options has what no flag sets.
func (o *WebFlags) NewServer(l net.Listener, options serve.Options) (*serve.Server, error) {
	options.Hosts = o.Hosts
	if len(options.Token) > 0 {
		if err := o.CheckTLS(serve.IsLoopback(l)); err != nil {
			return nil, err
		}
	}
	s, err := serve.New(l, options)
	if errors.Is(err, serve.ErrNoToken) {
		return nil, o.NoToken()
	}
	return s, err
}

// CheckTLS returns an error for an address that others than this machine reach and connections that are not
// encrypted, unless that is wanted.
func (o *WebFlags) CheckTLS(isLoopback bool) error {
	if isLoopback || o.Cert != "" || o.Insecure {
		return nil
	}
	return Usage(fmt.Errorf("--listen %s: the token and the figures would pass in clear", o.Listen), "--web-cert and --web-key encrypt; --insecure is for a tunnel or a proxy before it")
}

// CheckBroker returns an error for the URL of a broker elsewhere, or several with commas, that is not
// encrypted, unless that is wanted. flag has the URL.
func (o *WebFlags) CheckBroker(flag, urls string) error {
	for word := range strings.SplitSeq(urls, ",") {
		u, err := url.Parse(strings.TrimSpace(word))
		if o.Insecure || err != nil || u.Scheme == "tls" || u.Hostname() == "" || u.Hostname() == "localhost" || IsLoopback(u.Hostname()) {
			continue
		}
		return Usage(fmt.Errorf("--%s: what passes to %s could be read and changed on the way", flag, u.Hostname()), "tls://HOST encrypts; --insecure is for a tunnel")
	}
	return nil
}

// IsLoopback reports whether host is a loopback address.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// NoToken returns the error about an address that others reach, and no token.
func (o *WebFlags) NoToken() error {
	return Usage(fmt.Errorf("--listen %s: %w", o.Listen, serve.ErrNoToken), "--web-token-file FILE names one; 127.0.0.1 needs none")
}

// LoadToken reads the file of the token, of at most longest bytes; without a name there is none.
func (o *WebFlags) LoadToken(longest int64) ([]byte, error) {
	if o.TokenFile == "" {
		return nil, nil
	}
	text, err := notify.ReadSecret(o.TokenFile, "whoever has the token can read the page", longest)
	var token []byte
	if err == nil {
		token, err = serve.ParseToken([]byte(text))
	}
	return token, NameFile(o.TokenFile, err, "head -c 24 /dev/urandom | base64 > FILE makes one; chmod 600 FILE keeps it")
}

// LoadCertificate reads the certificate and its key; without flags there is none.
func (o *WebFlags) LoadCertificate() (*tls.Certificate, error) {
	if o.Cert == "" {
		return nil, nil
	}
	x, err := tls.LoadX509KeyPair(o.Cert, o.Key)
	if err != nil {
		return nil, Hinted(fmt.Errorf("--web-cert %s, --web-key %s: %w", o.Cert, o.Key, err), "both are PEM, and belong to each other")
	}
	return &x, nil
}

// Certificate is the one that a server shows. It can be replaced while it is in use.
type Certificate struct {
	now atomic.Pointer[tls.Certificate]
}

// IsSet reports whether there is one.
func (c *Certificate) IsSet() bool { return c.now.Load() != nil }

// Set shows x from now on.
func (c *Certificate) Set(x *tls.Certificate) { c.now.Store(x) }

// Load reads a certificate, and shows it from now on. It returns nil for none.
func (c *Certificate) Load(o *WebFlags) (*tls.Config, error) {
	x, err := o.LoadCertificate()
	if x == nil || err != nil {
		return nil, err
	}
	c.Set(x)
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now.Load(), nil }}, nil
}
