package broker

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/nats-io/nats.go"

	"qsniff/internal/fleet"
	"qsniff/internal/monitor/notify"
)

// Dial is how a hub connects to a broker.
type Dial struct {
	// URL is the address of a broker, or several with commas between: nats://HOST:PORT or tls://...
	URL string
	// Creds are the credentials, the content of a file: it is not needed any more once the sandbox
	// is entered. nil: none.
	Creds []byte
	// CA is a file with the authorities that the broker's certificate is checked by; empty: those of
	// the system.
	CA string
	// Changed is called from other goroutines when the connection is lost (with why) and when it is
	// there again (nil).
	Changed func(err error)
}

// LoadCreds reads a file of credentials, which others must not be able to read.
func LoadCreds(name string) ([]byte, error) {
	text, err := notify.ReadSecret(name, "whoever has the credentials can read and change what sensors tell", longestCreds)
	if err == nil {
		if _, err = parseCreds([]byte(text)); err != nil {
			err = errors.New("it is no file of credentials of NATS")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return []byte(text), nil
}

// Connect connects to a broker elsewhere. It goes on trying for ever once it was there.
func (d Dial) Connect() (*nats.Conn, error) {
	if d.CA != "" {
		pool, err := loadPool(d.CA)
		if err != nil {
			return nil, err
		}
		return d.connect(nats.Secure(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}))
	}
	return d.connect()
}

func (d Dial) connect(more ...nats.Option) (*nats.Conn, error) {
	changed := func(err error) {
		if d.Changed != nil {
			d.Changed(err)
		}
	}
	opts := []nats.Option{nats.Name("qsniff-hub"), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectEvery), nats.PingInterval(pingEvery),
		nats.MaxPingsOutstanding(pingsMissed), nats.CustomInboxPrefix(fleet.InboxPrefix(fleet.HubName)), nats.DrainTimeout(drainWait),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // else it was closed here
				changed(err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { changed(nil) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { changed(err) }),
	}
	if d.Creds != nil {
		opts = append(opts, nats.UserCredentialBytes(d.Creds))
	}
	c, err := nats.Connect(d.URL, append(opts, more...)...)
	if err != nil {
		return nil, fmt.Errorf("the broker at %s: %w", Redacted(d.URL), err)
	}
	return c, nil
}

// Redacted returns a URL of a broker without the password or the token that may be in it.
func Redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "the given address"
	}
	return u.Scheme + "://" + u.Host
}

// PortOf returns the port of the URL of a broker, 0 if it has none that can be.
func PortOf(text string) uint16 {
	u, err := url.Parse(text)
	if err != nil {
		return 0
	}
	if u.Port() == "" {
		return 4222
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}
