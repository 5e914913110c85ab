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
	// HasWantedFrame says that the frame of Options.Frame is one of its frames.
	HasWantedFrame bool
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
	shown     render.Dialogue
	count     int // dialogues in all lists
	bytes     int // that their turns take
	seq       uint64

	isFound      bool
	nearest      [2]uint64 // ids before Options.Frame and after it
	writtenEarly uint64
}

// key is an exchange by its id, a connection by its first frame, or a record that
// stands alone by its frame. An exchange may begin with that same frame: a gap has
// the frame of the packet after it.
type key struct {
	isStream, isRecord bool
	id                 uint64
}

// pair is the two ends of a flow.
type pair struct{ server, client netip.AddrPort }

// dialogue is one that is open.
type dialogue struct {
	prev, next *dialogue
	in         *list

	key      key
	ends     pair
	seq      uint64
	isWanted bool
	isOver   bool
	deadline int64 // it is over when this time has passed; 0: that is not known yet
	turns    chain
	summary  render.Dialogue // but for Turns
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
func (c *Collector) Found() bool { return c.isFound }

// Nearest returns the ids of the dialogues that come next before the wanted frame
// and after it, 0 where there is none.
func (c *Collector) Nearest() (before, after uint64) { return c.nearest[0], c.nearest[1] }

// WrittenEarly is how many dialogues were written before they were over to make room.
func (c *Collector) WrittenEarly() uint64 { return c.writtenEarly }

// AddMessage takes a message and what is known of it.
func (c *Collector) AddMessage(dst []byte, t *Turn, f *track.Fact) []byte {
	dst = c.writeEnded(dst, f.Nanos)
	k := key{id: f.ID}
	switch {
	case t.Conn != 0:
		k = key{isStream: true, id: t.Conn}
	case f.ID == 0:
		k.id = t.First
	}
	d := c.index[k]
	if d == nil {
		dst, d = c.openDialogue(dst, k, pair{f.Server, f.Client})
		d.summary.First = f.Nanos
		d.summary.HasEarlier = k.isStream && k.id != t.First || f.ID != 0 && f.ID != f.Frame
	}
	c.addTurn(d, t)
	c.frames[f.Frame] = d
	s := &d.summary
	if s.Proto == nil { // it is new, or a record opened the connection
		s.Proto, s.Type = f.Proto, f.Type
		c.setEnds(d, pair{f.Server, f.Client})
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
	if !k.isStream {
		d.recordStep(f)
	}
	return c.writeOverBudget(dst)
}

// recordStep notes how far a message brings its exchange.
func (d *dialogue) recordStep(f *track.Fact) {
	s := &d.summary
	switch f.Step {
	case track.NoStep:
		s.Outcome, d.isOver = render.OneWay, true
	case track.Stray:
		s.Outcome, d.isOver = render.Unsolicited, f.ID == 0
		d.deadline = f.Nanos + extraWait
	case track.Answer:
		s.Outcome, s.RTT, s.ChallengeRTT, s.Answer = render.Answered, f.Took, f.Trip, f.Status
		d.deadline = f.Nanos + extraWait
	case track.Late:
		s.Outcome, s.RTT, s.Answer = render.LateAnswer, f.Took, f.Status
		d.deadline = f.Nanos + extraWait
	case track.Extra:
		d.deadline = f.Nanos + extraWait
	case track.Challenge:
		s.Outcome, s.ChallengeRTT = render.Challenged, f.Took
		d.deadline = f.Nanos + patience
	default:
		s.Outcome, d.deadline = render.Undecided, f.Nanos+patience
	}
}

// MarkUnanswered takes the word that nobody answered an exchange in time, at a Unix time.
func (c *Collector) MarkUnanswered(dst []byte, f *track.Fact, nanos int64) []byte {
	dst = c.writeEnded(dst, nanos)
	if d := c.index[key{id: f.ID}]; d != nil {
		d.summary.Outcome, d.deadline = render.Unanswered, max(nanos, f.Nanos)+lateWait
	}
	return dst
}

// AddRecord takes a record. It becomes a turn of the connection it is of, else of the
// dialogue with the frame that it is about, else of the last one between its ends.
// Where none of these is open it stands alone.
func (c *Collector) AddRecord(dst []byte, t *Turn) []byte {
	dst = c.writeEnded(dst, t.Nanos)
	ends := pair{t.Server, t.Client}
	d := c.frames[t.About]
	if t.Conn != 0 {
		d = c.index[key{isStream: true, id: t.Conn}]
	} else if d == nil && ends.server.IsValid() {
		d = c.ends[ends]
	}
	if d == nil {
		k := key{isRecord: true, id: t.Frame}
		if t.Conn != 0 {
			k = key{isStream: true, id: t.Conn}
		}
		d = c.index[k] // two about one packet
		if d == nil {
			dst, d = c.openDialogue(dst, k, ends)
			d.summary.First, d.isOver = t.Nanos, !k.isStream
			d.summary.HasEarlier, d.summary.Outcome = k.isStream, render.OneWay
		}
	}
	c.addTurn(d, t)
	d.summary.Last = max(d.summary.Last, t.Nanos)
	return c.writeOverBudget(dst)
}

// CloseConnection takes the word that a connection is over, at a Unix time.
func (c *Collector) CloseConnection(dst []byte, conn uint64, nanos int64) []byte {
	dst = c.writeEnded(dst, nanos)
	d := c.index[key{isStream: true, id: conn}]
	if d == nil {
		return dst
	}
	d.in.remove(d)
	delete(c.index, d.key)
	c.closed.insert(d)
	return c.writeEnded(dst, nanos)
}

// AdvanceTime takes the time of the last packet, in Unix nanoseconds.
func (c *Collector) AdvanceTime(dst []byte, nanos int64) []byte { return c.writeEnded(dst, nanos) }

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
		if s := &d.summary; stopped && !s.IsStream && (s.Outcome == render.Undecided || s.Outcome == render.Challenged) {
			s.Outcome, s.IsStopped = render.Undecided, true
		}
		dst = c.write(dst, d)
		c.remove(d)
	}
	return dst
}

// openDialogue makes a dialogue, and room for it.
func (c *Collector) openDialogue(dst []byte, k key, ends pair) ([]byte, *dialogue) {
	if c.count == c.maxOpen {
		dst = c.writeOldest(dst, true)
	}
	var d *dialogue
	if n := len(c.free); n > 0 {
		d, c.free = c.free[n-1], c.free[:n-1]
	} else {
		d = new(dialogue)
	}
	c.seq++
	*d = dialogue{key: k, seq: c.seq,
		summary: render.Dialogue{ID: k.id, IsStream: k.isStream, RTT: -1, ChallengeRTT: -1}}
	c.count++
	c.index[k] = d
	c.setEnds(d, ends)
	if k.isStream {
		c.streams.append(d)
	} else {
		c.exchanges.append(d)
	}
	return dst, d
}

// setEnds notes whose dialogue d is.
func (c *Collector) setEnds(d *dialogue, ends pair) {
	if c.ends[d.ends] == d {
		delete(c.ends, d.ends)
	}
	d.ends, d.summary.Server, d.summary.Client = ends, ends.server, ends.client
	if ends.server.IsValid() {
		c.ends[ends] = d
	}
}

// addTurn appends a turn.
func (c *Collector) addTurn(d *dialogue, t *Turn) {
	c.store.add(&d.turns, t.Turn)
	c.bytes += len(t.Text) + turnBytes
	d.isWanted = d.isWanted || t.HasWantedFrame
}

// writeEnded writes what is over at a time. Clocks of captures step, so that no earlier
// one is remembered.
func (c *Collector) writeEnded(dst []byte, nanos int64) []byte {
	for {
		x, s := c.exchanges.first, c.closed.first
		d := x
		switch {
		case s != nil && (x == nil || s.seq < x.seq):
			d = s
		case x == nil || !x.isOver && (x.deadline == 0 || x.deadline >= nanos):
			return dst
		}
		dst = c.write(dst, d)
		c.remove(d)
	}
}
