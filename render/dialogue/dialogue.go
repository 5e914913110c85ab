// Package dialogue puts messages together that belong together: the requests and
// replies of an exchange, all messages of a TCP connection. It takes rendered
// messages in packet order, with what is known of them, and hands each dialogue to
// the renderer when it is over. It does not pair requests with replies (package
// track does), knows no protocol, and does no I/O.
//
// Exchanges are written in the order of their first requests, each when it and all
// those before it are over. A connection is written when it was closed and no
// exchange that began before it is still open.
package dialogue

import (
	"net/netip"

	"qsniff/render"
	"qsniff/track"
)

// Turn is one message, or a record. Text is valid during the call only.
type Turn struct {
	render.Turn
	First uint64 // first frame that it came in
	// Conn is the first frame of the connection's first message; 0 over UDP.
	Conn uint64
	// About is a frame of the dialogue that a record is about; 0 if it names none.
	About          uint64
	Server, Client netip.AddrPort // of a record; not valid where it is about neither
	// Wanted says that the frame of Options.Frame is one of its frames.
	Wanted bool
}

// Options choose which dialogues are written, and how.
type Options struct {
	Renderer render.DialogueRenderer
	Frame    uint64  // only the dialogue that has this frame; 0: all
	Size     float64 // of the tables, as a multiple of the usual; 0 is 1
}

// Collector keeps the dialogues that are open. Its methods append to dst those that
// are over.
type Collector struct {
	// Flush is called with dst where many dialogues are over at once, and returns an empty
	// one: thousands can be. nil: they are all appended.
	Flush func(dst []byte) []byte

	opt       Options
	maxOpen   int
	maxBytes  int
	exchanges list                 // in the order of their first requests
	streams   list                 // likewise
	closed    list                 // streams that are over
	index     map[key]*dialogue    // of those that are open, and of exchanges that may still get a message
	frames    map[uint64]*dialogue // by frames of their messages
	ends      map[pair]*dialogue   // the one that began last between two ends
	free      []*dialogue
	store     store
	view      render.Dialogue
	n         int // dialogues in all lists
	bytes     int // that their turns take
	seq       uint64

	found bool
	near  [2]uint64 // ids before Options.Frame and after it
	early uint64
}

// key is an exchange by its id, a connection by its first frame, or a record that
// stands alone by its frame. An exchange may begin with that same frame: a gap has
// the frame of the packet after it.
type key struct {
	stream, record bool
	id             uint64
}

// pair is the two ends of a flow.
type pair struct{ server, client netip.AddrPort }

// dialogue is one that is open.
type dialogue struct {
	prev, next *dialogue
	in         *list

	key     key
	ends    pair
	seq     uint64
	wanted  bool
	over    bool
	until   int64 // it is over when this time has passed; 0: that is not known yet
	turns   chain
	summary render.Dialogue // but for Turns
}

// New returns an empty collector.
func New(opt Options) *Collector {
	if opt.Size == 0 {
		opt.Size = 1
	}
	return &Collector{opt: opt, maxOpen: max(1, int(DefaultOpen*opt.Size)), maxBytes: int(DefaultBytes * opt.Size),
		index: map[key]*dialogue{}, frames: map[uint64]*dialogue{}, ends: map[pair]*dialogue{}}
}

// Frame is the frame of the dialogue that is wanted; 0 if all are.
func (c *Collector) Frame() uint64 { return c.opt.Frame }

// Renderer makes the turns.
func (c *Collector) Renderer() render.Renderer { return c.opt.Renderer }

// Found reports whether the one dialogue that is wanted was written.
func (c *Collector) Found() bool { return c.found }

// Near returns the ids of the dialogues that come next before the wanted frame
// and after it, 0 where there is none.
func (c *Collector) Near() (before, after uint64) { return c.near[0], c.near[1] }

// Early is how many dialogues were written before they were over to make room.
func (c *Collector) Early() uint64 { return c.early }

// Message takes a message and what is known of it.
func (c *Collector) Message(dst []byte, t *Turn, f *track.Fact) []byte {
	dst = c.pass(dst, f.Nanos)
	k := key{id: f.ID}
	switch {
	case t.Conn != 0:
		k = key{stream: true, id: t.Conn}
	case f.ID == 0:
		k.id = t.First
	}
	d := c.index[k]
	if d == nil {
		dst, d = c.open(dst, k, pair{f.Server, f.Client})
		d.summary.First = f.Nanos
		d.summary.Continues = k.stream && k.id != t.First || f.ID != 0 && f.ID != f.Frame
	}
	c.add(d, t)
	c.frames[f.Frame] = d
	s := &d.summary
	if s.Proto == nil { // it is new, or a record opened the connection
		s.Proto, s.Type = f.Proto, f.Type
		c.between(d, pair{f.Server, f.Client})
	}
	s.First, s.Last = min(s.First, f.Nanos), max(s.Last, f.Nanos)
	s.Packets += f.Packets
	switch {
	case f.Step == track.Challenge:
		s.Challenges++
	case f.Reply:
		s.Replies++
	default:
		s.Requests++
	}
	if !k.stream {
		d.step(f)
	}
	return c.shrink(dst)
}

// step notes how far a message brings its exchange.
func (d *dialogue) step(f *track.Fact) {
	s := &d.summary
	switch f.Step {
	case track.NoStep:
		s.Outcome, d.over = render.OneWay, true
	case track.Stray:
		s.Outcome, d.over = render.Unsolicited, f.ID == 0
		d.until = f.Nanos + extraWait
	case track.Answer:
		s.Outcome, s.Took, s.Trip, s.Answer = render.Answered, f.Took, f.Trip, f.Status
		d.until = f.Nanos + extraWait
	case track.Late:
		s.Outcome, s.Took, s.Answer = render.LateAnswer, f.Took, f.Status
		d.until = f.Nanos + extraWait
	case track.Extra:
		d.until = f.Nanos + extraWait
	case track.Challenge:
		s.Outcome, s.Trip = render.Challenged, f.Took
		d.until = f.Nanos + patience
	default:
		s.Outcome, d.until = render.Undecided, f.Nanos+patience
	}
}

// Silence takes the word that nobody answered an exchange in time, at a Unix time.
func (c *Collector) Silence(dst []byte, f *track.Fact, nanos int64) []byte {
	dst = c.pass(dst, nanos)
	if d := c.index[key{id: f.ID}]; d != nil {
		d.summary.Outcome, d.until = render.Unanswered, max(nanos, f.Nanos)+lateWait
	}
	return dst
}

// Record takes a record. It becomes a turn of the connection it is of, else of the
// dialogue with the frame that it is about, else of the last one between its ends.
// Where none of these is open it stands alone.
func (c *Collector) Record(dst []byte, t *Turn) []byte {
	dst = c.pass(dst, t.Nanos)
	ends := pair{t.Server, t.Client}
	d := c.frames[t.About]
	if t.Conn != 0 {
		d = c.index[key{stream: true, id: t.Conn}]
	} else if d == nil && ends.server.IsValid() {
		d = c.ends[ends]
	}
	if d == nil {
		k := key{record: true, id: t.Frame}
		if t.Conn != 0 {
			k = key{stream: true, id: t.Conn}
		}
		d = c.index[k] // two about one packet
		if d == nil {
			dst, d = c.open(dst, k, ends)
			d.summary.First, d.over = t.Nanos, !k.stream
			d.summary.Continues, d.summary.Outcome = k.stream, render.OneWay
		}
	}
	c.add(d, t)
	d.summary.Last = max(d.summary.Last, t.Nanos)
	return c.shrink(dst)
}

// Close takes the word that a connection is over, at a Unix time.
func (c *Collector) Close(dst []byte, conn uint64, nanos int64) []byte {
	dst = c.pass(dst, nanos)
	d := c.index[key{stream: true, id: conn}]
	if d == nil {
		return dst
	}
	d.in.remove(d)
	delete(c.index, d.key)
	c.closed.insert(d)
	return c.pass(dst, nanos)
}

// Tick takes the time of the last packet, in Unix nanoseconds.
func (c *Collector) Tick(dst []byte, nanos int64) []byte { return c.pass(dst, nanos) }

// Finish appends all that is left: the run is over. Where that was stopped before
// the end of the capture, what did not come yet may be in the rest.
func (c *Collector) Finish(dst []byte, stopped bool) []byte {
	for _, l := range []*list{&c.streams, &c.closed} {
		for d := l.first; d != nil; d = l.first {
			l.remove(d)
			c.exchanges.insert(d)
		}
	}
	for d := c.exchanges.first; d != nil; d = c.exchanges.first {
		if s := &d.summary; stopped && !s.Stream && (s.Outcome == render.Undecided || s.Outcome == render.Challenged) {
			s.Outcome, s.Stopped = render.Undecided, true
		}
		dst = c.write(dst, d)
		c.drop(d)
	}
	return dst
}

// open makes a dialogue, and room for it.
func (c *Collector) open(dst []byte, k key, ends pair) ([]byte, *dialogue) {
	if c.n == c.maxOpen {
		dst = c.giveUp(dst, true)
	}
	var d *dialogue
	if n := len(c.free); n > 0 {
		d, c.free = c.free[n-1], c.free[:n-1]
	} else {
		d = new(dialogue)
	}
	c.seq++
	*d = dialogue{key: k, seq: c.seq,
		summary: render.Dialogue{ID: k.id, Stream: k.stream, Took: -1, Trip: -1}}
	c.n++
	c.index[k] = d
	c.between(d, ends)
	if k.stream {
		c.streams.push(d)
	} else {
		c.exchanges.push(d)
	}
	return dst, d
}

// between notes whose dialogue d is.
func (c *Collector) between(d *dialogue, ends pair) {
	if c.ends[d.ends] == d {
		delete(c.ends, d.ends)
	}
	d.ends, d.summary.Server, d.summary.Client = ends, ends.server, ends.client
	if ends.server.IsValid() {
		c.ends[ends] = d
	}
}

// add appends a turn.
func (c *Collector) add(d *dialogue, t *Turn) {
	c.store.add(&d.turns, t.Turn)
	c.bytes += len(t.Text) + turnBytes
	d.wanted = d.wanted || t.Wanted
}

// pass writes what is over at a time. Clocks of captures step, so that no earlier
// one is remembered.
func (c *Collector) pass(dst []byte, nanos int64) []byte {
	for {
		x, s := c.exchanges.first, c.closed.first
		d := x
		switch {
		case s != nil && (x == nil || s.seq < x.seq):
			d = s
		case x == nil || !x.over && (x.until == 0 || x.until >= nanos):
			return dst
		}
		dst = c.write(dst, d)
		c.drop(d)
	}
}
