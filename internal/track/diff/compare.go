// Package diff finds what happened to UDP datagrams, and to TCP segments of consoles, between two
// points at which both were captured: EDGE, near the clients, and HOST, near the servers. It reads captures and
// prints nothing; it names no protocol and decodes only to name kinds of messages and the
// fields that differ.
//
// Both captures are read three times.
//
//	Survey    a sample of the contents of both, the same at both points: contents that are
//	          there once at each show the difference of the clocks and its drift (clock.go),
//	          and which addresses were translated (survey.go). Who serves is learned, too.
//	Compare   windows of both captures in the clock of HOST (window.go). Datagrams with the
//	          same content and the same ends are paired by order and time (align.go); what is
//	          left is a copy, part of a message that is in other datagrams at the other point
//	          (reframe.go), a changed datagram, an answer from in between, or missing
//	          (classify.go). A datagram is judged once the whole wait for its counterpart lies
//	          in memory.
//	Collect   the bytes of changed datagrams, and the packets that the caller writes.
//
// TCP segments take the same way (segment.go): those with data, and those that begin or end a connection. Equal
// bytes are distinguished by their place in the stream (segment.go), those that were cut in another way are
// found by hashes that can be joined (align.go, segment.go), and connections that one capture
// alone has are listed (segment.go).
//
// Every datagram of both captures, and every segment that is compared, gets exactly one Class. What one capture does not cover in
// time is not judged.
package diff

import (
	"context"
	"errors"
	"math"
	"time"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/base/lru"
	"qsniff/reassembly/split"
)

// Options are what two captures are compared by.
type Options struct {
	Registry *dissect.Registry
	// Open opens the capture of a side. It is called several times, as captures are read more than
	// once. What it returns is closed.
	Open    func(Side) (capture.Source, error)
	Servers *hostset.Set  // who serves; nil: learned
	Wait    time.Duration // how long a datagram may take; 0: DefaultWait
	Late    time.Duration // how much longer than usual a late one takes; 0: DefaultLate
	Scale   float64       // size of the memory as a multiple of the usual one; 0: 1
	// Judged, if not nil, is called with every frame of a datagram that is neither Same nor
	// Outside, and its class: the fragments of one, too.
	Judged func(s Side, c Class, frame uint64)
	// Wants, if not nil, chooses the datagrams that are counted and listed, by their packet as captured,
	// with its frame and Unix nanoseconds. All are compared; of a pair one is enough.
	Wants func(p *packet.Packet, frame uint64, nanos int64) bool
	// Progress, if not nil, is called after each batch with the reading that is under way and how far
	// both captures are read in it.
	Progress func(r Reading, done capture.Stats)
}

// Reading is one of the times that both captures are read.
type Reading uint8

// The readings.
const (
	Surveying Reading = iota
	Comparing
	Collecting
)

// String is what is done in the reading.
func (r Reading) String() string {
	return [...]string{"surveying", "comparing", "collecting changes"}[r]
}

// Run compares two captures. It returns an error with a Result where a capture is malformed or cut short,
// or where ctx ended while they were compared: what precedes the place was judged, and Result.Compared
// counts it. If ctx ends before, there is no Result.
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.Wait == 0 {
		o.Wait = DefaultWait
	}
	if o.Late == 0 {
		o.Late = DefaultLate
	}
	if o.Scale == 0 {
		o.Scale = 1
	}
	x := &runner{opt: &o, id: newIdentifier(o.Registry), cut: uncut}
	surveys, err := x.survey(ctx)
	if surveys[Edge] == nil || surveys[Host] == nil || ctx.Err() != nil {
		return nil, err
	}
	result, again := x.compare(ctx, surveys)
	if again == nil {
		again = x.collectChanged(ctx, result)
	}
	if err == nil {
		err = again
	}
	return result, err
}

// runner reads the captures again and again.
type runner struct {
	opt  *Options
	id   *identifier
	seed uint64
	cut  cuts
	// surveys are kept for who serves.
	surveys [2]*survey
}

// open opens both captures.
func (x *runner) open() (all [2]*reader, err error) {
	for s := range all {
		src, err := x.opt.Open(Side(s))
		if err != nil {
			closeAll(all)
			return all, err
		}
		all[s] = newReader(src, x.id, x.seed, x.cut)
	}
	return all, nil
}

// report calls Options.Progress with how far a reading is.
func (x *runner) report(what Reading, all [2]*reader) {
	if x.opt.Progress == nil {
		return
	}
	var sum capture.Stats
	for _, r := range all {
		n := r.src.Stats()
		sum.Received, sum.Bytes, sum.Size = sum.Received+n.Received, sum.Bytes+n.Bytes, sum.Size+n.Size
	}
	x.opt.Progress(what, sum)
}

// closeAll closes what is open, and returns why reading ended, if not at the end of a capture.
func closeAll(all [2]*reader) error {
	var errs []error
	for _, r := range all {
		if r != nil {
			errs = append(errs, r.failure(), r.src.Close())
		}
	}
	return errors.Join(errs...)
}

// drawSeed makes the seed of hashes from the captures: the same for the same ones, and unknown to who
// sends a packet.
func (x *runner) drawSeed() error {
	all, err := x.open()
	if err != nil {
		return err
	}
	for _, r := range all {
		_ = r.src.Read(&r.batch) // the survey returns the error
		for i := range r.batch.Packets {
			p := &r.batch.Packets[i]
			x.seed = lru.MixBytes(lru.Mix(x.seed, uint64(p.Nanos)), p.Data)
		}
		r.src.Close()
	}
	return nil
}

// survey takes the surveys: again, if datagrams turn out to be cut, by as many bytes as all have.
func (x *runner) survey(ctx context.Context) (surveys [2]*survey, err error) {
	if err := x.drawSeed(); err != nil {
		return surveys, err
	}
	for {
		all, err := x.open()
		if err != nil {
			return surveys, err
		}
		cut := uncut
		for s, r := range all {
			surveys[s] = takeSurvey(ctx, r, func() { x.report(Surveying, all) })
			cut = cut.min(surveys[s].counts.cutTo)
		}
		err = closeAll(all)
		if cut.min(x.cut) == x.cut || ctx.Err() != nil {
			return surveys, err
		}
		x.cut = cut
	}
}

// compare makes the result of two surveys.
func (x *runner) compare(ctx context.Context, surveys [2]*survey) (*Result, error) {
	o := x.opt
	edge, host := surveys[Edge], surveys[Host]
	clock, seen := fitClock(pairSamples(edge, host, o.Servers), func() []sighting { return pairEarly(edge, host, o.Servers) })
	names := newEndMap()
	for i := range seen {
		names.learn(seen[i].edge.src, seen[i].host.src)
		names.learn(seen[i].edge.dst, seen[i].host.dst)
	}
	isServer := func(e end) bool {
		if o.Servers != nil {
			return o.Servers.Has(e.addrPort())
		}
		return edge.served(e) > 0
	}
	names.settle(isServer)
	r := &Result{Captures: [2]Capture{edge.counts, host.counts}, Clock: *clock, Late: o.Late, Wait: o.Wait, names: names}
	if x.cut != uncut {
		r.ComparedTo = min(x.cut.datagrams, x.cut.segments)
	}
	x.surveys = surveys
	for s := range surveys {
		surveys[s].samples, surveys[s].early = nil, nil // only who serves is needed from here on
	}
	readers, err := x.open()
	if err != nil {
		return nil, err
	}
	c := newComparer(o, r, surveys, readers)
	c.run(ctx, func() { x.report(Comparing, readers) })
	if ctx.Err() != nil {
		r.IsInterrupted = true
	}
	for s := range readers {
		n := &readers[s].counts
		r.Compared[s] = n.Packets
		r.Captures[s].TCP, r.Captures[s].Segments = n.TCP, n.Segments // the survey learned meanwhile who serves
	}
	_ = closeAll(readers) // the survey met the same damage
	c.listConnections()
	r.Kinds, r.Rows, r.NoKind = x.id.kinds, c.listRows(), x.id.noKind
	for s := range surveys {
		r.ServersEvicted += surveys[s].evicted
		r.NoPieces += c.windows[s].noPieces
		r.NoSets += c.windows[s].noSets
	}
	r.Translations, r.Untracked = names.list(isServer), names.full
	return r, ctx.Err()
}

func newComparer(o *Options, r *Result, surveys [2]*survey, readers [2]*reader) *comparer {
	c := &comparer{opt: o, names: r.names, surveys: surveys, readers: readers, result: r, rows: map[rowKey]*Row{},
		conns: lru.New[connKey, conn](maxConns), shifts: lru.New[connKey, shift](maxConns),
		replies: lru.New[replyKey, seenReply](maxReplies), ttls: lru.New[end, uint8](maxServers), answers: map[uint64]answer{}, reframed: map[uint64]reframed{}}
	c.align = aligner{clock: &r.Clock, wait: int64(o.Wait)}
	for s := range c.windows {
		readers[s].servers, readers[s].streams, readers[s].wants = surveys[s], surveys[s], o.Wants
		c.sent[s] = lru.New[connKey, sentTo](maxConns)
		w := &c.windows[s]
		w.room, w.latest = max(leastWindow, int(windowDatagrams*o.Scale)), math.MinInt64
		if n := r.Captures[s].Datagrams + r.Captures[s].Segments; n > uint64(w.room) { // else it grows
			w.all = make([]datagram, 0, w.room+capture.MaxPackets)
			w.keys = make([]key, 0, cap(w.all))
		}
		if in := readers[s]; in.cut.datagrams == uncut.datagrams { // else the bytes are not all there
			in.parts = split.New(split.Limits{Bytes: fragmentBytes})
			in.parts.Deliver = func(x *split.Set) { w.keepSet(in, x) }
		}
		if o.Judged != nil {
			w.pieces = map[uint64][]uint64{}
			readers[s].onPieces = w.keepPieces
		}
		const never = math.MaxInt64 / 2
		c.covered[s] = [2]int64{never, -never}
		if n := &r.Captures[s]; n.Packets > 0 {
			c.covered[s] = [2]int64{n.First, n.Last}
			if Side(s) == Edge {
				c.covered[s] = [2]int64{r.Clock.toHost(n.First), r.Clock.toHost(n.Last)}
			}
		}
	}
	return c
}

const (
	// limit: DefaultWait is how long a datagram may take from one point to the other. Chosen: query
	// clients have given up by then.
	DefaultWait = 2 * time.Second

	// limit: windowDatagrams is how many datagrams of each capture are in memory at a time, with the usual
	// --memory: 6 MiB each, with what sorts them. Where a capture has more in twice the wait, datagrams are judged
	// before it is over, which is counted.
	windowDatagrams = 3 << 14

	// limit: leastWindow is the least such number.
	leastWindow = 1 << 12

	// limit: maxConns is how many connections over TCP are remembered, and the directions of these for each capture; the one that was
	// silent longest is evicted. Chosen: consoles have few, and all of it takes 3 MiB.
	maxConns = 1 << 13

	// limit: maxReplies is how many contents of replies are remembered, for the age of the bytes that an answer from
	// in between repeats.
	maxReplies = 1 << 12

	// limit: fragmentBytes is the memory in which fragments of each capture are joined.
	fragmentBytes = 2 << 20
)
