// Package tcpstream puts the segments of TCP connections (RFC 9293) in order, in a
// fixed amount of memory. It offers each direction's bytes to a Sink as soon as they are
// in order, reports where bytes are missing and why, and keeps what the Sink has not
// consumed.
//
// It is not a TCP: it checks no checksum, no state of an end and no option. Of two copies
// of the same bytes it takes the one that Linux takes (overlap.go). It is not a
// dissector either: the Sink finds where messages begin and end. It is not fit
// for concurrent use: one Assembler serves one partition. It has no clock: time is
// packet time.
//
// A segment arrives.
//
//  1. A SYN, or a segment with data, begins a connection if there is none between its
//     ends. A SYN of another connection is a rival, until data confirms it.
//  2. Bytes that are next in order are offered to the Sink at once. What it leaves waits
//     in one span for the bytes that follow.
//  3. Bytes after a hole are kept in runs, until the hole is filled, or until it has
//     waited too long and is skipped.
//  4. A direction ends with its FIN, a reset, a new connection between the same ends,
//     silence, eviction or the end of the capture.
package tcpstream

import (
	"net/netip"

	"qsniff/capture/packet"
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// Segment is one TCP segment. The Assembler copies what it keeps.
type Segment struct {
	Src, Dst netip.AddrPort
	TCP      packet.TCPHeader
	Data     []byte // payload as captured
	Wire     int    // its length as sent: more than len(Data) if the capture cut it
	Frame    uint64
	Nanos    int64 // packet time
}

// Chunk is the bytes of a direction that are in order and not consumed. It is valid
// during the call.
type Chunk struct {
	Data []byte
	Seq  uint32 // the sequence number of its first byte
	// Pieces are the frames that brought Data, in order and without gaps.
	// Where segments are many and short, one piece stands for several: then Frame
	// is the latest of theirs.
	Pieces []TimedPiece
}

// TimedPiece records that one frame brought the bytes [Off, Off+Len) of a Chunk, and when.
type TimedPiece struct {
	Frame    uint64
	Off, Len uint32
	Nanos    int64
	start    uint32 // number of the first byte of what the receiver holds it in, see order.go
}

// addFrame makes p stand for one more frame.
func (p *TimedPiece) addFrame(frame uint64, nanos int64) {
	if frame >= p.Frame {
		p.Frame, p.Nanos = frame, nanos
	}
}

// Reason is why a stream is interrupted or over.
type Reason uint8

// The reasons. After the first three the stream goes on.
const (
	Lost     Reason = iota // segments are missing in the capture
	Cut                    // the snap length cut a segment
	GivenUp                // other connections needed the memory, or Limits.DirBytes was reached
	Finished               // its sender closed it, with a FIN
	Reset                  // one of the ends reset the connection
	Reused                 // a new connection has the same ends
	Ended                  // the capture ended
	Expired                // nothing came for too long
	Evicted                // there were too many connections
)

// Break is an interruption of a direction, or its end.
type Break struct {
	Why Reason
	Len uint64 // Lost, Cut, GivenUp: number of missing bytes
}

// Sink receives the streams. Of the Assembler's methods it may call Ignore
// and Offer, and those only for the connection that it was called for.
type Sink interface {
	// Data offers all unconsumed bytes of direction dir, the index of their sender
	// in Ends. It returns how many of them the sink has consumed, and how many
	// bytes after those there must be before Data is called again; 0 is any number.
	Data(c *Conn, dir int, ch *Chunk) (done, need int)
	// Break reports that direction dir is interrupted or over. ch has the unconsumed
	// bytes before that, which are dropped afterwards. After Lost, Cut and GivenUp bytes
	// may follow that lie after the hole. They may also follow, without a hole, after
	// a Finished or Reset that was forged.
	Break(c *Conn, dir int, ch *Chunk, b Break)
	// Conflict reports that a segment has bytes of direction dir that differ from those
	// that came before and are still kept. Those that Linux takes are used; other systems
	// may take the others.
	Conflict(c *Conn, dir int, x Dispute)
	// Close reports that the connection was removed: its Slot may be used again. Both
	// directions had a last Break before, unless the connection was ignored.
	Close(c *Conn)
}

// Dispute is about bytes that came twice with different values.
type Dispute struct {
	Frame uint64 // of the second segment
	N     int    // how many there are, at least 1
	// The numbers of the first and after the last of them; equal bytes may be between.
	Seq, End uint32
}

// add adds the byte with a number.
func (x *Dispute) add(seq uint32) {
	if x.N == 0 {
		x.Seq, x.End = seq, seq+1
	}
	if int32(seq-x.Seq) < 0 {
		x.Seq = seq
	}
	if int32(seq-x.End) >= 0 {
		x.End = seq + 1
	}
	x.N++
}

// Counters are running totals.
type Counters struct {
	Segments      uint64 // given to Add
	Stray         uint64 // segments of no known connection that begin none
	BadFlags      uint64 // segments with SYN and with FIN or RST; not used
	Conns         uint64 // connections begun
	Ignored       uint64 // connections that the sink asked to ignore
	Bytes         uint64 // delivered, in order
	Retransmitted uint64 // segments whose bytes had all been delivered, declared missing or kept
	OutOfOrder    uint64 // segments kept after a hole
	Outside       uint64 // segments whose number is too far from the expected one
	Conflicts     uint64 // segments that contradict bytes that are kept
	Gaps          uint64 // holes of segments that the capture does not have
	GapBytes      uint64 // bytes in them
	Cut           uint64 // holes of bytes that the snap length cut
	CutBytes      uint64 // bytes in them
	GivenUp       uint64 // bytes dropped for memory
	RivalSYNs     uint64 // SYNs that would replace a connection that lives; kept until data confirms them
	Reused        uint64 // connections replaced by new ones with the same ends
	Expired       uint64 // connections that were silent too long
	Evicted       uint64 // connections that had to make room
	BackwardsTime uint64 // segments or ticks older than one before
}

// Assembler puts the segments of any number of connections in order within fixed
// memory.
type Assembler struct {
	Counters Counters

	sink      Sink
	lim       Limits
	now       int64
	timersRan int64 // when runTimers was called last

	index   *lru.Table[key, uint32] // slots
	conns   []*Conn                 // by slot; each is used again
	fresh   []Conn                  // not used yet
	unused  *Conn                   // chained by links[byClass]
	classes [numClasses]list
	holding list    // connections that keep bytes or wait for them
	walk    []*Conn // scratch of runTimers

	mem   spans
	split []TimedPiece // scratch of overwrite, made when first needed
	chunk Chunk
	one   [1]TimedPiece // of a chunk of one segment that is not kept
}

// New returns an Assembler. It takes memory for connections and for bytes that wait when
// they need it, up to the limits, and keeps it.
func New(l Limits, s Sink) *Assembler {
	l = l.withDefaults()
	a := &Assembler{
		sink:  s,
		lim:   l,
		index: lru.New[key, uint32](l.Conns),
		conns: make([]*Conn, 0, l.Conns),
		walk:  make([]*Conn, 0, l.Conns),
		mem:   newSpans(l.Bytes, orderFor(l.DirBytes)),
	}
	for i := range a.classes {
		a.classes[i].which = byClass
	}
	a.holding.which = byHolding
	return a
}

// Add adds the next segment of the capture. Its data are passed to the Sink before
// Add returns.
func (a *Assembler) Add(s *Segment) {
	a.Counters.Segments++
	a.advance(s.Nanos)
	if a.now-a.timersRan >= timersEvery {
		a.runTimers()
	}
	f := s.TCP.Flags
	if f&packet.FlagSYN != 0 && f&(packet.FlagRST|packet.FlagFIN) != 0 {
		a.Counters.BadFlags++
		return
	}
	k, side := keyOf(s.Src, s.Dst)
	c := a.findOrBegin(k, side, s)
	if c == nil {
		return
	}
	a.markUsed(c)
	c.Segments++
	if len(s.Data) > 0 {
		c.DataSegments++
	}
	if c.isIgnored {
		return
	}
	switch {
	case f&packet.FlagRST != 0:
		a.reset(c, side, s)
	default:
		if f&packet.FlagSYN == 0 {
			c.isEstablished = true
		}
		if f&packet.FlagACK != 0 {
			a.acknowledge(&c.halves[1-side], s.TCP.Ack)
		}
		a.receiveData(c, side, s)
	}
	a.updateLists(c)
}

// Tick advances packet time to nanos, skips the holes that have waited too long and
// closes the connections that have expired. Time that goes backwards stands still
// instead.
func (a *Assembler) Tick(nanos int64) {
	a.advance(nanos)
	a.runTimers()
}

// Flush ends the capture at nanos: it closes all connections as Ended, by class, and
// within one in the order of their last segments. The Assembler is empty afterwards and
// can be used again.
func (a *Assembler) Flush(nanos int64) {
	a.Tick(nanos)
	for a.index.Len() > 0 { // a class may get more while a later one is closed
		for i := range a.classes {
			for a.classes[i].oldest != nil {
				a.close(a.classes[i].oldest, Ended)
			}
		}
	}
	a.now, a.timersRan = 0, 0
}

// Offer calls Data with the bytes of direction dir of c that wait, however few: the need
// that the Sink returned last does not count any more. It may be called from Data for the
// other direction.
func (a *Assembler) Offer(c *Conn, dir int) {
	side := c.sides()[dir]
	h := &c.halves[side]
	if h.waits == 0 || c.isIgnored {
		return
	}
	was := a.chunk // of the call that this one is within
	h.need = 0
	a.offer(c, side)
	a.chunk = was
}

// Ignore drops what is kept of c and stops all calls for it except Close. The connection
// stays in the table, so that its further segments cost a look-up only and begin no new
// one.
func (a *Assembler) Ignore(c *Conn) {
	if c.isIgnored {
		return
	}
	a.Counters.Ignored++
	c.isIgnored = true
	for side := range c.halves {
		a.releaseAll(&c.halves[side])
	}
	a.updateLists(c)
}

func (a *Assembler) advance(nanos int64) {
	if nanos < a.now {
		a.Counters.BackwardsTime++
		return
	}
	a.now = nanos
}

// The findings about connections. A is a number of bytes.
var (
	Missing = finding.Code{ID: "NET-06", Severity: finding.Note, Fault: finding.Capture,
		Seen:   "segments of a TCP connection are not in the capture, or were cut by its snap length",
		Means:  "the ends of the connection had these bytes, or they would not have gone on: the capture lost them; messages in them are missing, and those around them may be cut",
		Owner:  "capture with a larger buffer, without a snap length, and on a port that mirrors both directions",
		Client: "nothing: it had these bytes, only the capture has not",
		Format: "{a} {a:byte|bytes} of the connection are missing in the capture"}
	Conflict = finding.Code{ID: "NET-07", Severity: finding.Warn, Fault: finding.Path,
		Seen:   "a TCP segment repeats bytes with another content",
		Means:  "something on the way changes packets, or a sender hides from those who listen: shown is what Linux gives its program, and other systems may read the other copy; no text of a console that the bytes are in is shown",
		Owner:  "look for a proxy or a firewall that rewrites; otherwise treat the sender as hostile",
		Client: "nothing: its system chooses one of the copies before a program reads it",
		Format: "{a} {a:byte|bytes} came again with another content; shown is the copy that Linux takes"}
	Skipped = finding.Code{ID: "NET-08", Severity: finding.Note, Fault: finding.Capture,
		Seen:   "bytes of a TCP connection that belong to no message that could be read",
		Means:  "after a gap, an impossible length, or at the start of a capture that began in the middle, the next message has to be found by its form",
		Owner:  "nothing after a gap or at the start of a capture; otherwise see what was reported before it",
		Client: "close a connection in which the next size makes no sense, and connect anew",
		Format: "{a} {a:byte|bytes} of the connection could not be read, up to the next message"}
	Dropped = finding.Code{ID: "LIM-02", Severity: finding.Warn, Fault: finding.Capture,
		Seen:   "bytes of a TCP connection were kept, and dropped before they were read because memory was needed",
		Means:  "many connections wait for missing segments at once, or one sends more than a message may have; messages in these bytes are missing",
		Owner:  "read the capture with a larger --memory, or fewer connections at a time",
		Client: "nothing: qsniff ran out of memory for this connection, which says nothing about it",
		Format: "{a} {a:byte|bytes} of the connection were dropped to stay within memory"}
)

// Codes lists the findings of this package.
var Codes = []*finding.Code{&Missing, &Conflict, &Skipped, &Dropped}

// IsGap reports whether the stream goes on after bytes that are missing.
func (r Reason) IsGap() bool { return r <= GivenUp }
