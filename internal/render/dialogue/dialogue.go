// Package dialogue collects the messages of each exchange, and those of each TCP
// connection, so that they can be printed together. It does not pair requests with
// replies (package track does), names no protocol, and does no I/O.
//
// Messages come in packet order, rendered, each with the track.Fact about it, and become
// turns of the dialogue with their id. Once a dialogue is over, it is handed to the
// renderer. Exchanges are written in the order of their first requests, each once it and
// all those before it are over. A connection is written once it was closed and no exchange
// that began before it is still open. Where too many dialogues are open, or their turns
// take too much memory, the oldest is written as far as it got.
package dialogue

import (
	"net/netip"
	"time"

	"qsniff/internal/base/lru"
	"qsniff/internal/render"
	"qsniff/internal/track"
	"qsniff/internal/track/fingerprint"
)

// Turn is one message, or a record. Text is valid during the call only.
type Turn struct {
	render.Turn
	First uint64 // first frame of the message
	// Conn is the first frame of the connection's first message; 0 over UDP.
	Conn uint64
	// About is a frame of the dialogue that a record is about; 0 if it names none.
	About          uint64
	Server, Client netip.AddrPort // of a record; not valid where it is about neither
	// HasWantedFrame reports whether Options.Frame is one of its frames.
	HasWantedFrame bool
	// IsUnmatched is set if a filter does not choose it, or not yet: then Late is not 0, and
	// IsChosen of the Collector decides by it once the dialogue is over.
	IsUnmatched bool
	Late        uint64
	Exchange    uint64 // of Late
}

// Options choose which dialogues are written, and how.
type Options struct {
	Renderer render.DialogueRenderer
	Frame    uint64  // only the dialogue that has this frame; 0: all
	Size     float64 // of the tables, as a multiple of the usual; 0 is 1

	// Stub and MaxText are for a renderer that can do without the texts of a dialogue: where
	// those that are open have more than MaxText bytes, dialogues come without texts. Of each
	// turn the first Stub bytes are left then. MaxText 0: all have their texts.
	Stub, MaxText int
}

// Collector holds the dialogues that are open. Each of its methods with a dst appends to
// it the dialogues that are over by then.
type Collector struct {
	// Flush, if not nil, is called with dst when it has flushBytes, and returns it empty:
	// thousands of dialogues can be over at once.
	Flush func(dst []byte) []byte

	// IsChosen reports whether the filter chooses a message, by Turn.Late and the exchange.
	IsChosen func(late, exchange uint64) bool

	opt       Options
	maxOpen   int
	maxBytes  int
	exchanges list                                    // in the order of their first requests
	streams   list                                    // open connections, in the order of their first messages
	closed    list                                    // connections that are over
	index     map[key]*dialogue                       // of all but those in closed
	frames    map[uint64]*dialogue                    // by frames of their messages
	ends      map[pair]*dialogue                      // the one that began last between two ends
	free      []*dialogue                             // to use again
	visits    *lru.Table[visitKey, fingerprint.Signs] // what clients showed, the fullest
	store     store
	shown     render.Dialogue // what the renderer is given, reused
	count     int             // of dialogues in all lists
	bytes     int             // that their turns take
	textBytes int             // that their texts take beyond the stubs
	// sampleLevel: one dialogue in 2^sampleLevel has its texts.
	sampleLevel int
	seq         uint64 // of the dialogue that began last

	isFound      bool      // a dialogue that is wanted was written
	nearest      [2]uint64 // ids before Options.Frame and after it
	writtenEarly uint64
}

// key identifies an exchange by its id, a connection by its first frame, or a record that
// stands alone by its frame. isRecord keeps such a record apart from an exchange that
// begins with the same frame: a record about a gap has the frame of the packet after it.
type key struct {
	isStream, isRecord bool
	id                 uint64
}

// pair is the two ends of a flow.
type pair struct{ server, client netip.AddrPort }

// visitKey is a server and the address of a client: programs ask from many ports.
type visitKey struct {
	server track.End
	client track.Host
}

func visitKeyOf(server, client netip.AddrPort) visitKey {
	return visitKey{track.EndOf(server), track.HostOf(client)}
}

// Hash mixes the key with the seed.
func (k visitKey) Hash(seed uint64) uint64 { return k.client.Hash(k.server.Hash(seed)) }

// dialogue is an exchange, a connection or a lone record that was not written yet.
type dialogue struct {
	prev, next *dialogue
	in         *list

	key      key
	ends     pair
	seq      uint64 // position in the order in which dialogues began
	isWanted bool   // one of its turns has Options.Frame
	isOver   bool   // whatever the deadline
	isChosen bool   // one of its turns is chosen
	isStub   bool   // its turns have no texts
	text     int    // bytes of its texts beyond the stubs
	late     []lateTurn
	deadline int64 // Unix time after which it is over; 0 if that is unknown
	turns    chain
	summary  render.Dialogue // but for Turns
}

// lateTurn is a turn, or several, that is chosen or not by the outcome of an exchange.
type lateTurn struct{ late, exchange uint64 }

// New returns an empty collector.
func New(opt Options) *Collector {
	if opt.Size == 0 {
		opt.Size = 1
	}
	return &Collector{opt: opt, maxOpen: max(1, int(DefaultOpen*opt.Size)), maxBytes: int(DefaultBytes * opt.Size),
		visits: lru.New[visitKey, fingerprint.Signs](max(1, int(maxVisits*opt.Size))),
		index:  map[key]*dialogue{}, frames: map[uint64]*dialogue{}, ends: map[pair]*dialogue{}}
}

// Frame returns Options.Frame: a frame of the only dialogue that is wanted; 0 if all are.
func (c *Collector) Frame() uint64 { return c.opt.Frame }

// Renderer returns the renderer for the turns.
func (c *Collector) Renderer() render.Renderer { return c.opt.Renderer }

// Found reports whether the one dialogue that is wanted was written.
func (c *Collector) Found() bool { return c.isFound }

// Nearest returns the ids of the dialogues that come next before the wanted frame
// and after it, 0 where there is none.
func (c *Collector) Nearest() (before, after uint64) { return c.nearest[0], c.nearest[1] }

// WrittenEarly returns how many dialogues were written before they were over, to make
// room.
func (c *Collector) WrittenEarly() uint64 { return c.writtenEarly }

// AddMessage adds a message as a turn of the connection t.Conn or else of the exchange
// f.ID. A message that belongs to neither is a dialogue by itself.
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
	if f.Signs != 0 {
		if seen, _ := c.visits.Put(visitKeyOf(f.Server, f.Client)); f.Signs.IsFuller(*seen) {
			*seen = f.Signs
		}
	}
	return c.writeOverBudget(dst)
}

// recordStep sets the outcome of an exchange, and its deadline, by the step that a message
// is in it.
func (d *dialogue) recordStep(f *track.Fact) {
	s := &d.summary
	switch f.Step {
	case track.NoStep:
		s.Outcome, d.isOver = render.OneWay, true
	case track.Stray:
		s.Outcome, d.isOver = render.Unsolicited, f.ID == 0
		d.deadline = f.Nanos + extraWait
	case track.Answer, track.Refusal:
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

// MarkUnanswered sets the outcome of the exchange f.ID, whose wait for an answer ended at
// nanos.
func (c *Collector) MarkUnanswered(dst []byte, f *track.Fact, nanos int64) []byte {
	dst = c.writeEnded(dst, nanos)
	if d := c.index[key{id: f.ID}]; d != nil {
		d.summary.Outcome, d.deadline = render.Unanswered, max(nanos, f.Nanos)+lateWait
	}
	return dst
}

// AddRecord adds a record as a turn of the connection t.Conn, else of the dialogue with
// the frame t.About, else of the dialogue that began last between t.Server and t.Client.
// Where none of these is open, the record stands alone.
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
		d = c.index[k] // another record may be about the same packet
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

// CloseConnection ends the connection whose first frame is conn, at nanos.
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

// AdvanceTime appends the dialogues that are over at nanos, the time of the last packet.
func (c *Collector) AdvanceTime(dst []byte, nanos int64) []byte { return c.writeEnded(dst, nanos) }

// Finish appends all dialogues that are left at the end of the run. isStopped reports
// whether the run was ended before the end of the capture: an answer that did not come
// may be in the rest.
func (c *Collector) Finish(dst []byte, isStopped bool) []byte {
	for _, l := range []*list{&c.streams, &c.closed} {
		for d := l.first; d != nil; d = l.first {
			l.remove(d)
			c.exchanges.insert(d)
		}
	}
	for d := c.exchanges.first; d != nil; d = c.exchanges.first {
		if s := &d.summary; isStopped && !s.IsStream && (s.Outcome == render.Undecided || s.Outcome == render.Challenged) {
			s.Outcome, s.IsStopped = render.Undecided, true
		}
		dst = c.write(dst, d)
		c.remove(d)
	}
	return dst
}

// openDialogue returns a new dialogue. Where maxOpen are open, it writes and removes the
// oldest first.
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
	*d = dialogue{key: k, seq: c.seq, late: d.late[:0],
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

// setEnds sets the two ends of d, and makes d the dialogue between them that began last.
func (c *Collector) setEnds(d *dialogue, ends pair) {
	if c.ends[d.ends] == d {
		delete(c.ends, d.ends)
	}
	d.ends, d.summary.Server, d.summary.Client = ends, ends.server, ends.client
	if ends.server.IsValid() {
		c.ends[ends] = d
	}
}

// addTurn appends t to the turns of d.
func (c *Collector) addTurn(d *dialogue, t *Turn) {
	if c.opt.MaxText > 0 {
		c.limitText(d, t)
	}
	c.store.add(&d.turns, t.Turn)
	c.bytes += len(t.Text) + turnBytes
	d.isWanted = d.isWanted || t.HasWantedFrame
	d.isChosen = d.isChosen || !t.IsUnmatched
	if t.Late == 0 || d.isChosen {
		return
	}
	if n := len(d.late); n > 0 && d.late[n-1].exchange == t.Exchange {
		d.late[n-1].late |= t.Late
	} else {
		d.late = append(d.late, lateTurn{t.Late, t.Exchange})
	}
}

// writeEnded writes the dialogues that are over at nanos, oldest first, and stops at the
// first exchange that is not. It compares with nanos as it is, and not with the latest
// time seen: the clock of a capture may step back.
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

// limitText cuts t to its stub if its dialogue is not in the sample. A hash of its id decides
// about a dialogue, so that one in the sample has all of its texts. Each time that texts exceed
// MaxText, half as many dialogues are in the sample.
func (c *Collector) limitText(d *dialogue, t *Turn) {
	n := max(0, len(t.Text)-c.opt.Stub)
	if d.turns.count == 0 {
		d.isStub = !c.isSampled(d)
	}
	for !d.isStub && c.textBytes+n > c.opt.MaxText {
		c.sampleLevel++
		c.cutTexts()
		d.isStub = !c.isSampled(d)
	}
	if d.isStub {
		t.Text = t.Text[:len(t.Text)-n]
		return
	}
	d.text += n
	c.textBytes += n
	c.bytes -= n // they have a limit of their own
}

// isSampled reports whether d is one of those that have texts: one in 2^sampleLevel.
func (c *Collector) isSampled(d *dialogue) bool {
	return c.sampleLevel < 64 && lru.Mix(1, d.key.id)&(1<<c.sampleLevel-1) == 0
}

// cutTexts cuts the turns of the dialogues that are not in the sample any more.
func (c *Collector) cutTexts() {
	for _, l := range [...]*list{&c.exchanges, &c.streams, &c.closed} {
		for d := l.first; d != nil; d = d.next {
			if !d.isStub && !c.isSampled(d) {
				d.isStub = true
				c.textBytes -= d.text
				d.text = 0
				c.store.cut(&d.turns, c.opt.Stub)
			}
		}
	}
}

// releaseTexts counts the texts of d no longer. When the others take less than a quarter of
// MaxText, twice as many of the dialogues that begin from then on are in the sample.
func (c *Collector) releaseTexts(d *dialogue) {
	c.textBytes -= d.text
	d.text = 0
	if c.textBytes < c.opt.MaxText/4 && c.sampleLevel > 0 {
		c.sampleLevel--
	}
}

const (
	// limit: DefaultOpen is how many dialogues are kept at a time. An exchange is over
	// seconds after its last message, so that a server with a hundred queries a
	// second has hundreds open; under a flood the oldest makes room.
	DefaultOpen = 4096

	// limit: maxVisits is how many pairs of client and server are kept with what the client showed,
	// 0.3 MiB: the exchanges of DefaultOpen dialogues. Of one that is evicted, exchanges are
	// written without the name of its program.
	maxVisits = 4096

	// limit: DefaultBytes bounds what the turns of all dialogues take: 1.5 KiB for each of
	// DefaultOpen, or several long transcripts. Where they take more, the oldest dialogue
	// is written as far as it got.
	DefaultBytes = 6 << 20

	// limit: extraWait is how long an answered exchange stays open. Chosen: servers that answer
	// one request in several formats send all of them within it.
	extraWait = int64(time.Second)

	// limit: lateWait is how long an exchange stays open that nobody answered in time. Chosen: an
	// answer that comes at all comes within it.
	lateWait = int64(10 * time.Second)

	// limit: patience is how long an exchange stays open after its last message while package
	// track has not reported that it stays unanswered. Chosen: longer than any wait of track.
	patience = int64(60 * time.Second)
)
