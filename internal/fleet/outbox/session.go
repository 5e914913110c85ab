package outbox

import (
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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
