package outbox

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"qsniff/internal/base/digits"
	"qsniff/internal/base/display"
	"qsniff/internal/fleet"
)

// session is one connection to a broker. It is never connected again: the next one is another session.
type session struct {
	conn    *nats.Conn
	js      jetstream.JetStream
	trouble chan error // what ends it
	flying  []flight   // in the order in which they were published
	window  int        // how many may fly
}

// flight is a message that was published and not acknowledged.
type flight struct {
	*record
	at     time.Time
	ack    jetstream.PubAckFuture
	failed error // it was not published at all
}

var (
	errCut   = errors.New("the connection was cut")
	errNoAck = errors.New("no acknowledgement in time")
)

// connect makes a session. It waits for connectTime at most for each broker.
func (o *Outbox) connect() (*session, error) {
	s := &session{trouble: make(chan error, 1), window: 1}
	fail := func(err error) {
		select {
		case s.trouble <- err:
		default:
		}
	}
	opts := []nats.Option{
		nats.Name("qsniff " + o.opt.Sensor), nats.NoReconnect(), nats.IgnoreDiscoveredServers(), nats.Timeout(connectTime),
		nats.CustomInboxPrefix(fleet.InboxPrefix(o.opt.Sensor)), nats.SkipHostLookup(),
		nats.SetCustomDialer(o.dialer()),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { fail(err) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err == nil {
				err = errCut
			}
			fail(err)
		}),
	}
	opts = append(opts, func(to *nats.Options) error {
		to.Secure, to.TLSConfig = o.who.wantTLS, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.who.roots} // a broker may insist
		return nil
	})
	if o.who.login != nil {
		opts = append(opts, o.who.login)
	}
	var err error
	if s.conn, err = nats.Connect(o.urls(), opts...); err != nil {
		return nil, err
	}
	if s.js, err = jetstream.New(s.conn, jetstream.WithPublishAsyncMaxPending(2*inFlight)); err != nil {
		s.conn.Close()
		return nil, err
	}
	return s, nil
}

// dialer returns what makes connections.
func (o *Outbox) dialer() nats.CustomDialer {
	if o.opt.Dialer != nil {
		return o.opt.Dialer
	}
	return &net.Dialer{Timeout: connectTime, Resolver: &net.Resolver{PreferGo: true}} // the C library's loads more of itself
}

// urls returns the brokers as the library takes them.
func (o *Outbox) urls() (text string) {
	for i, b := range o.brokers {
		if i > 0 {
			text += ","
		}
		scheme := "nats://"
		if b.IsTLS {
			scheme = "tls://"
		}
		text += scheme + net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	return text
}

// publish publishes a message.
func (s *session) publish(o *Outbox, r *record) {
	f := flight{record: r, at: time.Now()}
	m := nats.NewMsg(fleet.Subject(o.opt.Prefix, o.opt.Sensor, r.Kind))
	m.Data = r.Line
	m.Header.Set(fleet.HeaderSent, strconv.FormatInt(f.at.UnixNano(), 10))
	f.ack, f.failed = s.js.PublishMsgAsync(m, jetstream.WithMsgID(r.ID), jetstream.WithRetryAttempts(0))
	s.flying = append(s.flying, f)
}

// first returns the channels that get the outcome of the oldest flight; both are nil if nothing flies.
func (s *session) first() (acked <-chan *jetstream.PubAck, failed <-chan error) {
	if len(s.flying) == 0 {
		return nil, nil
	}
	f := &s.flying[0]
	if f.failed != nil {
		c := make(chan error, 1)
		c <- f.failed
		return nil, c
	}
	return f.ack.Ok(), f.ack.Err()
}

// isLate reports whether the oldest flight has waited too long.
func (s *session) isLate() bool { return len(s.flying) > 0 && time.Since(s.flying[0].at) > ackTime }

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

// Codes of errors of JetStream that the library has no names for.
const (
	codeNoStorage   = 10047 // insufficient storage resources available
	codeNoResources = 10023 // insufficient resources
	codeStoreFailed = 10077 // the stream or its store refused it, for want of room as well
)

// isFinal reports whether the broker will not take a message, however often it gets it.
func isFinal(err error) bool {
	return errors.Is(err, nats.ErrMaxPayload) || codeOf(err) == jetstream.JSErrCodeStreamMessageExceedsMaximum
}

// codeOf returns the code of an error of JetStream, 0 of others.
func codeOf(err error) jetstream.ErrorCode {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode
	}
	var js jetstream.JetStreamError
	if errors.As(err, &js) && js.APIError() != nil {
		return js.APIError().ErrorCode
	}
	return 0
}

// wordsFor returns an error in words for people: what is wrong, and what to do about it.
func (o *Outbox) wordsFor(err error) string {
	for _, words := range []func(error) string{o.wordsForRights, wordsForStream, wordsForTLS, wordsForNetwork} {
		if text := words(err); text != "" {
			return text
		}
	}
	return string(display.AppendVisible(nil, []byte(err.Error()))) // parts of it are the broker's
}

// wordsForRights is about who the sensor is, and what it may do.
func (o *Outbox) wordsForRights(err error) string {
	switch {
	case errors.Is(err, nats.ErrPermissionViolation):
		return fmt.Sprintf("permission denied: the credentials must allow to publish to %s.%s.> and to subscribe to %s.>",
			o.opt.Prefix, o.opt.Sensor, fleet.InboxPrefix(o.opt.Sensor))
	case errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAccountAuthExpired):
		return "the broker refuses the credentials: they have expired"
	case errors.Is(err, nats.ErrAuthRevoked):
		return "the broker refuses the credentials: they were revoked"
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrNkeysNotSupported):
		if o.who.login == nil {
			return "the broker wants credentials: --fleet-creds FILE has them"
		}
		return "the broker refuses the credentials"
	}
	return ""
}

// wordsForStream is about what takes messages at the broker.
func wordsForStream(err error) string {
	switch code := codeOf(err); {
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders), code == jetstream.JSErrCodeStreamNotFound:
		return "the broker has no stream for the messages: qsniff-hub makes it"
	case code == jetstream.JSErrCodeJetStreamNotEnabled, code == jetstream.JSErrCodeJetStreamNotEnabledForAccount:
		return "the broker has no JetStream for these credentials"
	case code == codeNoStorage, code == codeNoResources, code == codeStoreFailed:
		return "the broker has no room for the messages"
	case errors.Is(err, nats.ErrMaxPayload), code == jetstream.JSErrCodeStreamMessageExceedsMaximum:
		return "the broker takes no messages of this size"
	}
	return ""
}

// wordsForTLS is about certificates.
func wordsForTLS(err error) string {
	var unknown x509.UnknownAuthorityError
	var other x509.HostnameError
	var invalid x509.CertificateInvalidError
	var header tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		return "nobody that is trusted has signed the certificate of the broker: --fleet-ca FILE names who may"
	case errors.As(err, &other):
		return "the certificate of the broker is for another name"
	case errors.As(err, &invalid):
		return "the certificate of the broker is not valid: it has expired, or is not for servers"
	case errors.Is(err, nats.ErrSecureConnWanted), errors.As(err, &header):
		return "the broker does not encrypt, which tls:// and --fleet-ca ask for"
	case errors.Is(err, nats.ErrSecureConnRequired):
		return "the broker wants an encrypted connection: tls://"
	}
	return ""
}

// wordsForNetwork is about the way to the broker.
func wordsForNetwork(err error) string {
	var name *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return "no server of names has the name of the broker"
	case errors.As(err, &name):
		return "no server of names answers"
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, syscall.ECONNREFUSED):
		return "no broker listens there"
	case errors.Is(err, errCut), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, nats.ErrStaleConnection), errors.Is(err, nats.ErrDisconnected):
		return "the connection was cut"
	case errors.Is(err, errNoAck), errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	}
	return ""
}
