package fleettest

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats-server/v2/server/ats"
	"github.com/nats-io/nats.go"
)

// Broker is a nats-server with JetStream in this process, which no port leads to: who has a Link
// reaches it. So it can live in a bubble of package synctest, where its clock is that of the packets.
type Broker struct {
	t      testing.TB
	dir    string
	mu     sync.Mutex
	nats   *server.Server // nil: it is down
	starts int
}

// KeepClock has the one clock of nats-server that is no broker's own, and would stop that of a bubble,
// run outside. It is called before the bubble begins, and empties what was pooled in another one: timers
// of a bubble are of no use outside of it.
func KeepClock(t testing.TB) {
	ats.Register()
	t.Cleanup(ats.Unregister)
	runtime.GC() // what is in a sync.Pool outlives one collection
	runtime.GC()
}

// NewBroker returns a broker that keeps its streams in a folder. It is down.
func NewBroker(t testing.TB, dir string) *Broker { return &Broker{t: t, dir: dir} }

// Start starts it.
func (b *Broker) Start() {
	b.t.Helper()
	n, err := server.NewServer(&server.Options{ServerName: "fleettest", DontListen: true, NoSigs: true, NoLog: true, JetStream: true,
		StoreDir: b.dir, SyncInterval: time.Minute, JetStreamMaxStore: 8 << 30, MaxPayload: 1 << 20})
	if err != nil {
		b.t.Fatal(err)
	}
	n.Start()
	if !n.ReadyForConnections(time.Minute) || !n.JetStreamEnabled() {
		b.t.Fatal("the broker did not start")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.nats = n
	b.starts++
}

// Stop ends it: all connections are cut.
func (b *Broker) Stop() {
	b.mu.Lock()
	n := b.nats
	b.nats = nil
	b.mu.Unlock()
	if n != nil {
		n.Shutdown()
		n.WaitForShutdown()
	}
}

// errDown is what connecting returns where the broker is down, or the network to it is cut.
var errDown = errors.New("the broker cannot be reached")

// Link is a way to a broker that can be cut. It is a nats.CustomDialer and a
// nats.InProcessConnProvider.
type Link struct {
	broker *Broker
	mu     sync.Mutex
	isCut  bool
	open   map[*linkConn]bool
}

// Link returns a way to the broker.
func (b *Broker) Link() *Link { return &Link{broker: b, open: map[*linkConn]bool{}} }

// Dial connects, whatever the address.
func (l *Link) Dial(_, _ string) (net.Conn, error) { return l.InProcessConn() }

// InProcessConn connects.
func (l *Link) InProcessConn() (net.Conn, error) {
	l.broker.mu.Lock()
	n := l.broker.nats
	l.broker.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if n == nil || l.isCut {
		return nil, errDown
	}
	inner, err := n.InProcessConn()
	if err != nil {
		return nil, err
	}
	c := &linkConn{Conn: inner, link: l}
	l.open[c] = true
	return c, nil
}

// Cut cuts the way, as a cable that is pulled does: nothing is said to either end, and what was on its
// way is lost.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = true
}

// Mend ends a cut. The connections that were open are of no use any more.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = false
	for c := range l.open {
		c.Conn.Close()
	}
	clear(l.open)
}

// linkConn is a connection over a Link.
type linkConn struct {
	net.Conn
	link *Link
}

func (c *linkConn) isCut() bool {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	return c.link.isCut
}

// Write writes to the other end, or to nobody.
func (c *linkConn) Write(b []byte) (int, error) {
	if c.isCut() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// Read reads what the other end wrote before the cut.
func (c *linkConn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.isCut() {
			return n, err
		}
	}
}

// Close closes it.
func (c *linkConn) Close() error {
	c.link.mu.Lock()
	delete(c.link.open, c)
	c.link.mu.Unlock()
	return c.Conn.Close()
}

// Connect connects over the link, again and again until the test ends.
func (l *Link) Connect(t testing.TB, more ...nats.Option) *nats.Conn {
	t.Helper()
	c, err := nats.Connect("", append([]nats.Option{nats.InProcessServer(l), nats.MaxReconnects(-1), nats.ReconnectWait(time.Second),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
