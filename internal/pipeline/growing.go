package pipeline

import (
	"time"

	"qsniff/capture"
)

// Growing reads a source in a goroutine of its own, so that time passes while it has nothing: then
// Read returns an empty batch, as an interface does.
type Growing struct {
	src   capture.Source
	clock func() int64
	every time.Duration
	got   chan delivery
	free  chan *capture.Batch
	timer *time.Timer
	stats capture.Stats
	// high is the latest time stamp so far, and since when, by clock, nothing has come.
	high, since int64
	err         error
}

// delivery is a batch of a growing source.
type delivery struct {
	b     *capture.Batch
	stats capture.Stats
	err   error
}

// NewGrowing returns a source of the packets of src. clock returns nanoseconds of a clock that is never set;
// every is how long Read waits for packets.
func NewGrowing(src capture.Source, clock func() int64, every time.Duration) *Growing {
	g := &Growing{
		src:   src,
		clock: clock,
		every: every,
		got:   make(chan delivery),
		free:  make(chan *capture.Batch, 2),
		timer: time.NewTimer(every),
		since: clock(),
	}
	g.free <- new(capture.Batch)
	g.free <- new(capture.Batch)
	go g.readOn()
	return g
}

// readOn reads until the source ends. If the run ends first, readOn goes on until the program ends.
func (g *Growing) readOn() {
	for b := range g.free {
		err := g.src.Read(b)
		g.got <- delivery{b, g.src.Stats(), err}
		if err != nil {
			return
		}
	}
}

// Read fills b with what has come, or with nothing after a while.
func (g *Growing) Read(b *capture.Batch) error {
	if g.err != nil {
		b.Reset()
		return g.err
	}
	g.timer.Reset(g.every)
	select {
	case d := <-g.got:
		*b, *d.b = *d.b, *b
		g.stats, g.err = d.stats, d.err
		g.free <- d.b
		if n := len(b.Packets); n > 0 {
			g.high, g.since = max(g.high, b.Packets[n-1].Nanos), g.clock()
		}
		return d.err
	case <-g.timer.C:
		b.Reset()
		return nil
	}
}

// Now is the clock of the run: the time stamps, and what has passed since they last came.
func (g *Growing) Now() int64 { return g.high + max(g.clock()-g.since-growingLag, 0) }

// Stats are those after the last batch.
func (g *Growing) Stats() capture.Stats { return g.stats }

// Close does nothing: the source is in use until the program ends.
func (g *Growing) Close() error { return nil }

// limit: growingLag is how long a capture that grows may bring nothing before time passes without it.
// Chosen: programs that write captures hold packets back until several kilobytes have come together.
const growingLag = int64(5 * time.Second)
