package pipeline

import (
	"context"
	"errors"
	"io"
	"testing"

	"qsniff/capture"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/race"
	"qsniff/track"
)

func TestWatchingAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	w := &watching{watchers: []track.Watcher{&counter{}}, doubt: newDoubt()}
	x := sight{}
	if n := testing.AllocsPerRun(10_000, func() {
		x.Age += 1e8
		x.Src[15]++
		w.tellWatchers(&x)
	}); n != 0 {
		t.Errorf("%v allocations for each sighting", n)
	}
}

// counter is the cheapest watcher.
type counter struct{ n int }

func (c *counter) Sight(*track.Sighting) { c.n++ }
func (c *counter) Tick(age, nanos int64) {}
func (c *counter) Lost(packets uint64)   {}
func (c *counter) End(age, nanos int64)  {}

// hanging is a source that brings no more packets and does not end, with a capturing
// program that lost some.
type hanging struct {
	capture.Source
	lost uint64
	over chan struct{}
}

func (h *hanging) Read(b *capture.Batch) error {
	err := h.Source.Read(b)
	if errors.Is(err, io.EOF) {
		if len(b.Packets) > 0 {
			return nil
		}
		<-h.over
	}
	return err
}

func (h *hanging) Stats() capture.Stats {
	s := h.Source.Stats()
	s.Dropped = h.lost
	return s
}

// impatient interrupts the run at the first packet.
type impatient struct {
	log
	interrupt context.CancelFunc
}

func (x *impatient) Sight(s *track.Sighting) {
	x.log.Sight(s)
	x.interrupt()
}

// TestWatchersWhenInterrupted: a run that is interrupted ends for watchers, too, and
// they know what the capturing program lost.
func TestWatchersWhenInterrupted(t *testing.T) {
	for _, jobs := range []int{1, 2, 4} {
		ctx, interrupt := context.WithCancel(context.Background())
		h := &hanging{Source: open(t, sourced(t, "> "+infoAsked+"\n")), lost: 7, over: make(chan struct{})}
		l := &impatient{interrupt: interrupt}
		_, err := Run(ctx, Config{Source: h, Registry: protos.Registry(t), Out: io.Discard, Jobs: jobs, Watchers: []track.Watcher{l}})
		close(h.over)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d jobs: got  %v\nwant %v", jobs, err, context.Canceled)
		}
		if !l.over || len(l.seen) != 1 || l.lost != 7 {
			t.Errorf("%d jobs: got  over %v, %d sightings, %d lost\nwant over, 1 sighting, 7 lost", jobs, l.over, len(l.seen), l.lost)
		}
	}
}
