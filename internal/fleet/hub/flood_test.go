package hub

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"qsniff/internal/fleet"
)

// state returns the state of a stream, with how many messages each subject has.
func (w *world) state(name string) jetstream.StreamState {
	w.t.Helper()
	s, err := w.js.Stream(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	info, err := s.Info(w.t.Context(), jetstream.WithSubjectFilter(">"))
	if err != nil {
		w.t.Fatal(err)
	}
	return info.State
}

// displaced returns how many messages of a stream their own sensor has displaced by newer ones of the same subject.
func (w *world) displaced(name string) uint64 {
	w.t.Helper()
	s := w.state(name)
	return s.LastSeq - s.Msgs
}

// flood publishes as many of the longest messages as a stream has bytes, and half of that again, as a sensor that was
// taken over may. It returns how many the broker took.
func (w *world) flood(sensor string, k fleet.Kind, size int64) (taken int) {
	w.t.Helper()
	js, err := jetstream.New(w.dial(nil), jetstream.WithPublishAsyncMaxPending(64))
	if err != nil {
		w.t.Fatal(err)
	}
	data := bytes.Repeat([]byte{'x'}, fleet.MaxOf(k))
	var acks []jetstream.PubAckFuture
	for i := range size * 3 / 2 / int64(len(data)) {
		f, err := js.PublishMsgAsync(&nats.Msg{Subject: fleet.Subject("qsniff", sensor, k), Data: data}, jetstream.WithMsgID(fmt.Sprint(sensor, k, i)), jetstream.WithRetryAttempts(0), jetstream.WithStallWait(patience))
		if err != nil {
			w.t.Fatal(err)
		}
		acks = append(acks, f)
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(patience):
		w.t.Fatal("the broker does not answer")
	}
	for _, f := range acks {
		select {
		case <-f.Ok():
			taken++
		case <-f.Err():
		}
	}
	return taken
}

// smallHub makes a hub with small streams.
func (w *world) smallHub() *Hub {
	w.t.Helper()
	o := w.options(w.dial(nil), nil)
	o.Retention.Size = 24 << 20
	h, err := New(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	h.pace = testPace
	return h
}

// TestFloodDisplacesNothing: while no hub runs, a sensor sends more than the streams hold, of every kind. What another
// one sent before is there all the same, what it sends afterwards is taken, and half of each stream is left to others.
// A longer message than a sensor makes is refused.
func TestFloodDisplacesNothing(t *testing.T) {
	w := newWorld(t)
	h := w.smallHub()
	honest := func() {
		for range 20 {
			w.attackAll("update", "ams-1")
		}
	}
	honest()
	size := h.opt.Retention.Size
	for _, k := range []fleet.Kind{fleet.KindServer, fleet.KindHost} {
		w.flood("evil", k, size)
	}
	for _, k := range []fleet.Kind{fleet.KindIncident, fleet.KindFinding, fleet.KindInventory} {
		w.flood("evil", k, eventsSize(size))
	}
	honest()
	for name, subject := range map[string]string{h.names.Counts: "qsniff.ams-1.host", h.names.Events: "qsniff.ams-1.incident"} {
		x := w.state(name)
		if x.Subjects[subject] != 40 {
			t.Errorf("%s: %d of 40 messages of the other sensor", name, x.Subjects[subject])
		}
		limit := size
		if name == h.names.Events {
			limit = eventsSize(size)
		}
		t.Logf("%s: %d bytes of %d, %v", name, x.Bytes, limit, x.Subjects)
		if name == h.names.Counts && int64(x.Bytes) > limit/2+1<<20 {
			t.Errorf("%s: %d bytes of %d are the sensor's", name, x.Bytes, limit)
		}
	}
	_, err := w.js.PublishMsg(t.Context(), &nats.Msg{Subject: "qsniff.evil.server", Data: make([]byte, fleet.MaxCounts+headRoom+1)})
	if err == nil {
		t.Error("a message that is too long was taken")
	}
}

// TestTrim: the hub removes the oldest messages that it has read before a stream is full, or the disk, and none that it
// has not read: when it cannot, new messages are refused.
func TestTrim(t *testing.T) {
	w := newWorld(t)
	h := w.smallHub()
	size := h.opt.Retention.Size
	for i := range 5 { // each fills a fifth
		w.flood(fmt.Sprint("host-", i), fleet.KindServer, size/2)
	}
	before := w.state(h.names.Counts)
	if int64(before.Bytes) < size*trimFrom/trimOf {
		t.Fatalf("%d bytes of %d", before.Bytes, size)
	}
	if taken := w.flood("host-9", fleet.KindHost, size/4); taken > 200 || w.state(h.names.Counts).FirstSeq != before.FirstSeq {
		t.Errorf("full: %d more were taken, the first is %d, before %d", taken, w.state(h.names.Counts).FirstSeq, before.FirstSeq)
	}
	displaced := w.displaced(h.names.Counts)
	a := w.run(h)
	w.until("there is room", func() bool { return int64(w.state(h.names.Counts).Bytes) <= size*trimFrom/trimOf })
	w.until("all is read", func() bool { v := a.View(); return v != nil && v.Totals.Messages >= before.Msgs })
	if lost := a.View().Totals.Lost; lost != displaced {
		t.Errorf("%d messages were lost, not %d", lost, displaced)
	}
	if taken := w.flood("host-9", fleet.KindHost, size/16); taken == 0 {
		t.Error("nothing is taken")
	}
	a.end()

	// Nothing is read beyond, so nothing is removed beyond.
	r := reader{stream: h.counts, next: w.state(h.names.Counts).FirstSeq + 5}
	last := r.next - 1
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := r.look(ctx); err != nil {
		t.Fatal(err)
	}
	if err := r.trim(ctx, 1<<20, last); err != nil || w.state(h.names.Counts).FirstSeq != r.next {
		t.Errorf("the first is %d, not %d; %v", w.state(h.names.Counts).FirstSeq, r.next, err)
	}
}

// TestTrimKeepsUnwritten: a hub that is killed once it has made room has removed nothing that the next one must read: the
// state was written before.
func TestTrimKeepsUnwritten(t *testing.T) {
	w := newWorld(t)
	h := w.smallHub()
	size := h.opt.Retention.Size
	for i := range 5 {
		w.flood(fmt.Sprint("host-", i), fleet.KindServer, size/2)
	}
	displaced, first := w.displaced(h.names.Counts), w.state(h.names.Counts).FirstSeq
	a := w.run(h)
	w.until("something is removed", func() bool { return w.state(h.names.Counts).FirstSeq > first })
	a.kill()
	b := w.run(w.smallHub())
	w.until("the next hub has read everything", func() bool { return b.IsReady() && b.View() != nil && b.View().Leader.ID == b.ID() })
	if lost := b.View().Totals.Lost; lost != displaced {
		t.Errorf("%d messages were lost, not %d", lost, displaced)
	}
}
