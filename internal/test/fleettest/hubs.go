package fleettest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/hub"
	"qsniff/internal/monitor/notify"
)

// Hub is a hub at work, with a way of its own to the broker.
type Hub struct {
	*hub.Hub
	Link *Link
	// Told has the notes that the hub passed on.
	Told recorder

	conn   *nats.Conn
	stop   context.CancelFunc
	done   chan struct{}
	isOver bool
}

// StartHub starts a hub. The broker must be up.
func StartHub(t testing.TB, b *Broker) *Hub {
	t.Helper()
	h := &Hub{Link: b.Link(), done: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	h.conn = h.Link.Connect(t, nats.PingInterval(5*time.Second), nats.MaxPingsOutstanding(2))
	var err error
	h.Hub, err = hub.New(ctx, hub.Options{Conn: h.conn, Prefix: fleet.DefaultPrefix, Secret: Secret(),
		Retention: hub.Retention{Age: 24 * time.Hour, Size: 4 << 30}, Messenger: &h.Told, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(h.done)
		if err := h.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	return h
}

// Stop ends a hub in order.
func (h *Hub) Stop() {
	if h.isOver {
		return
	}
	h.isOver = true
	h.stop()
	<-h.done
	h.conn.Close()
}

// Kill ends a hub that can say nothing to anybody any more.
func (h *Hub) Kill() {
	h.isOver = true
	h.Link.Cut()
	h.stop()
	h.conn.Close()
	<-h.done
}

// recorder is a hub.Messenger that delivers at once.
type recorder struct {
	mu    sync.Mutex
	notes []notify.Note
}

// Put takes a note.
func (r *recorder) Put(n *notify.Note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, *n)
}

// Counts returns that all notes were delivered.
func (r *recorder) Counts() (way notify.QueueCounts, sinks []notify.SinkCounts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return way, []notify.SinkCounts{{Name: "recorder", Sent: uint64(len(r.notes))}}
}

// Notes returns what was told so far.
func (r *recorder) Notes() []notify.Note {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]notify.Note(nil), r.notes...)
}
