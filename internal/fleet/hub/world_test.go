package hub

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/campaign"
	"qsniff/internal/fleet/hub/broker"
	"qsniff/internal/monitor/notify"
)

// dawn is when tests begin, by packets and by the broker.
const dawn = int64(1_700_000_000e9)

// patience is how long a test waits for what has to happen. Chosen: a machine that does much else.
const patience = 60 * time.Second

// world is a broker, and the time by which hubs and sensors live.
type world struct {
	t      *testing.T
	server *broker.Server
	js     jetstream.JetStream
	secret *fleet.Secret
	now    atomic.Int64
	seq    map[string]uint64
	sent   uint64 // messages
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func newWorld(t *testing.T) *world {
	s, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Store: t.TempDir(), Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	secret, err := fleet.NewSecret([]byte("of all sensors and hubs"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, server: s, secret: secret, seq: map[string]uint64{}}
	w.now.Store(dawn)
	if w.js, err = jetstream.New(w.dial(nil)); err != nil {
		t.Fatal(err)
	}
	return w
}

// dial connects to the broker, over connections that d makes.
func (w *world) dial(d nats.CustomDialer) *nats.Conn {
	w.t.Helper()
	c, err := connect(w.server.URL(), d)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c
}

func connect(url string, d nats.CustomDialer) (*nats.Conn, error) {
	opts := []nats.Option{nats.NoReconnect()}
	if d != nil {
		opts = append(opts, nats.SetCustomDialer(d))
	}
	return nats.Connect(url, opts...)
}

// testPace is the pace of hubs that live by the world's time.
var testPace = pace{600 * time.Millisecond, 20 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 10 * time.Millisecond}

// hub makes a hub on a connection.
func (w *world) hub(c *nats.Conn, m Messenger) *Hub {
	w.t.Helper()
	h, err := New(w.t.Context(), w.options(c, m))
	if err != nil {
		w.t.Fatal(err)
	}
	h.pace = testPace
	return h
}

// options are those of hubs that live by the world's time.
func (w *world) options(c *nats.Conn, m Messenger) Options {
	return Options{Conn: c, Prefix: "qsniff", Secret: w.secret, Retention: Retention{Age: time.Hour, Size: 64 << 20}, Messenger: m, Log: quiet(),
		Times: func(m fleet.Message, _, _ int64) (int64, int64) {
			t := fleet.HeadOf(m).Time
			return t + 200e6, t + 100e6
		},
		Now: func(int64) int64 { return w.now.Load() }}
}

// running is a hub at work.
type running struct {
	*Hub
	stop context.CancelFunc
	done chan struct{}
}

func (w *world) run(h *Hub) *running {
	ctx, stop := context.WithCancel(context.Background())
	r := &running{h, stop, make(chan struct{})}
	go func() {
		defer close(r.done)
		_ = h.Run(ctx)
	}()
	w.t.Cleanup(r.end)
	return r
}

// end ends a hub as a signal does.
func (r *running) end() {
	r.stop()
	<-r.done
}

// kill ends a hub as the end of its machine does: nothing of it reaches the broker any more.
func (r *running) kill() {
	r.opt.Conn.Close()
	r.end()
}

// until waits until something is so.
func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("it was never so: %s", what)
		}
	}
}

// publish sends a message as a sensor does.
func (w *world) publish(m fleet.Message, sensor string, k fleet.Kind) {
	w.t.Helper()
	h := fleet.HeadOf(m)
	w.seq[sensor]++
	*h = fleet.Head{Version: fleet.Version, Kind: k, Sensor: sensor, Run: "5f0c", Seq: w.seq[sensor], Time: w.now.Load()}
	data, err := fleet.Encode(m)
	if err != nil {
		w.t.Fatal(err)
	}
	w.raw(fleet.Subject("qsniff", sensor, k), h.MessageID(), data)
}

func (w *world) raw(subject, id string, data []byte) {
	w.t.Helper()
	w.sent++
	if _, err := w.js.PublishMsg(w.t.Context(), &nats.Msg{Subject: subject, Data: data, Header: nats.Header{fleet.HeaderSent: {strconv.FormatInt(w.now.Load(), 10)}}}, jetstream.WithMsgID(id)); err != nil {
		w.t.Fatal(err)
	}
}

// attack publishes an event of an incident, of an attack by one source.
func (w *world) attack(sensor, event string) {
	w.t.Helper()
	server := netip.MustParseAddrPort("198.51.100.7:27015")
	in := &fleet.Incident{ID: 1, Event: event, Category: "flood_few", Level: "alert", Protocol: "a2s", Target: server.String(), Servers: 1,
		Targets: []netip.AddrPort{server}, Start: dawn, Detected: dawn + 5e9, Peak: 5000, Mean: 4000, Baseline: 10, Requests: 40000, Confidence: .9, Distinct: 1,
		Top:      []fleet.Network{{Prefix: w.secret.SealHost(netip.MustParseAddr("203.0.113.9")), Queries: 40000}},
		Networks: []fleet.Network{{Prefix: w.secret.SealNetwork(netip.MustParsePrefix("203.0.113.0/24")), Queries: 40000}}}
	if event == "close" {
		in.End = w.now.Load()
	}
	w.publish(in, sensor, fleet.KindIncident)
}

// attackAll has hosts attacked by the same source.
func (w *world) attackAll(event string, sensors ...string) {
	for _, s := range sensors {
		w.publish(&fleet.Host{Program: "1.0", Input: "eth0", Servers: 1}, s, fleet.KindHost)
		w.attack(s, event)
	}
}

// pass lets a time go by.
func (w *world) pass(d time.Duration) { w.now.Add(int64(d)) }

// passAfter does so once a hub has read all that was published.
func (w *world) passAfter(r *running, d time.Duration) {
	w.t.Helper()
	w.until("all is read", func() bool { return r.View().Leads && r.View().Totals.Messages == w.sent })
	w.pass(d)
}

// published returns the events of campaigns in the stream.
func (w *world) published() (all []campaign.Campaign) {
	w.t.Helper()
	s, err := w.js.Stream(w.t.Context(), "QSNIFF_CAMPAIGNS")
	if err != nil {
		w.t.Fatal(err)
	}
	for seq := uint64(1); seq <= s.CachedInfo().State.LastSeq; seq++ {
		m, err := s.GetMsg(w.t.Context(), seq)
		if err != nil {
			w.t.Fatal(err)
		}
		var c campaign.Campaign
		if err := json.Unmarshal(m.Data, &c); err != nil {
			w.t.Fatal(err)
		}
		if m.Subject == "qsniff._hub.campaign" {
			all = append(all, c)
		}
	}
	return all
}

// numbers returns the events of the only campaign, as open1 update2.
func (w *world) numbers() (text string) {
	w.t.Helper()
	id := ""
	for _, c := range w.published() {
		if id != "" && c.ID != id {
			w.t.Fatalf("a second campaign: %s after %s", c.ID, id)
		}
		id = c.ID
		text += " " + c.Event + strconv.FormatUint(c.Number, 10)
	}
	return text
}

// sink is a messenger that notes what it gets.
type sink struct {
	mu    sync.Mutex
	notes []*notify.Note
	hangs bool // delivers nothing
}

func (s *sink) Put(n *notify.Note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, n)
}

func (s *sink) Counts() (way notify.QueueCounts, sinks []notify.SinkCounts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := notify.SinkCounts{Name: "sink", Sent: uint64(len(s.notes))}
	if s.hangs {
		c.Sent = 0
	}
	return way, []notify.SinkCounts{c}
}

// told returns the threads and events of notes of campaigns.
func (s *sink) told() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.notes {
		if n.Record == "campaign" {
			all = append(all, n.Thread+" "+string(n.Event))
		}
	}
	return all
}

// cutter makes connections that are cut at the n-th thing that is written to them.
type cutter struct{ left atomic.Int64 }

func (c *cutter) Dial(network, address string) (net.Conn, error) {
	conn, err := net.Dial(network, address)
	return &cutConn{conn, c}, err
}

type cutConn struct {
	net.Conn
	c *cutter
}

func (c *cutConn) Write(b []byte) (int, error) {
	if c.c.left.Add(-1) < 0 {
		c.Conn.Close()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}
