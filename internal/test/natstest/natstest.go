// Package natstest runs real brokers, NATS with JetStream, for tests.
package natstest

import (
	"fmt"
	"net"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"qsniff/internal/test/timing"
)

// Broker is a server with JetStream in this process. It has the same port and the same files whenever
// it is started.
type Broker struct {
	*server.Server
	t    testing.TB
	opts server.Options
}

// Start starts a broker until the test ends; change, unless it is nil, may change its options.
func Start(t testing.TB, change func(o *server.Options)) *Broker {
	t.Helper()
	b := &Broker{t: t, opts: server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}}
	if change != nil {
		change(&b.opts)
	}
	b.Restart()
	b.opts.Port = b.Addr().(*net.TCPAddr).Port
	t.Cleanup(b.Stop)
	return b
}

// Restart starts the broker again after Stop.
func (b *Broker) Restart() {
	b.t.Helper()
	o := b.opts
	var err error
	if b.Server, err = server.NewServer(&o); err != nil {
		b.t.Fatal(err)
	}
	b.Server.Start()
	if !b.ReadyForConnections(timing.Patience) {
		b.t.Fatal("the broker does not start")
	}
}

// Stop stops the broker, and cuts its connections.
func (b *Broker) Stop() {
	b.Shutdown()
	b.WaitForShutdown()
}

// URL returns the address of the broker.
func (b *Broker) URL() string { return fmt.Sprintf("nats://127.0.0.1:%d", b.opts.Port) }

// Connect returns JetStream on a connection within the process, until the test ends.
func (b *Broker) Connect(opts ...nats.Option) jetstream.JetStream {
	b.t.Helper()
	conn, err := nats.Connect("", append(opts, nats.InProcessServer(b.Server))...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		b.t.Fatal(err)
	}
	return js
}

// MakeStream makes a file stream for subjects.
func MakeStream(t testing.TB, js jetstream.JetStream, name string, subjects ...string) {
	t.Helper()
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: subjects, Storage: jetstream.FileStorage}); err != nil {
		t.Fatal(err)
	}
}

// Messages returns all messages of a stream, in its order.
func Messages(t testing.TB, js jetstream.JetStream, name string) (all []*jetstream.RawStreamMsg) {
	t.Helper()
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for no := uint64(1); no <= s.CachedInfo().State.LastSeq; no++ {
		m, err := s.GetMsg(t.Context(), no)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}
