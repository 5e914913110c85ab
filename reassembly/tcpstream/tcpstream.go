// Package tcpstream puts the segments of TCP connections (RFC 9293) in order, in a
// fixed amount of memory. It offers each direction's bytes as soon as they are in
// order, says where bytes are missing and why, and keeps what its user has not
// consumed.
//
// It is not a TCP: it judges no checksum, no state of an end and no option, and
// which of two copies of the same bytes an end believed it cannot say. It is not a
// dissector either: where messages begin and end is for its user. It is not fit
// for concurrent use: one Assembler serves one partition. It has no clock: time is
// packet time.
package tcpstream

import (
	"net/netip"

	"qsniff/internal/lru"
	"qsniff/netlayer"
	"qsniff/reassembly"
)

// Segment is one TCP segment. The Assembler copies what it keeps.
type Segment struct {
	Src, Dst netip.AddrPort
	TCP      netlayer.TCPHeader
	Data     []byte // payload as captured
	Wire     int    // its length as sent: more than len(Data) if the capture cut it
	Frame    uint64
	Nanos    int64 // packet time
}

// Chunk is what a direction has that was not consumed. It is valid during the call.
type Chunk struct {
	Data []byte
	// Pieces tell which frame brought which bytes of Data; they lie side by side.
	// Where segments are many and short, one piece stands for several: then Frame
	// is the latest of theirs.
	Pieces []TimedPiece
}

// TimedPiece says which frame brought which bytes of a Chunk, and when.
type TimedPiece struct {
	reassembly.Piece
	Nanos int64
}

// addFrame makes p stand for a frame more.
func (p *TimedPiece) addFrame(frame uint64, nanos int64) {
	if frame >= p.Frame {
		p.Frame, p.Nanos = frame, nanos
	}
}

// Reason says why a stream is interrupted or over.
type Reason uint8

// The reasons. After the first three the stream goes on.
const (
	Lost     Reason = iota // the capture lost segments
	Cut                    // the snap length cut a segment
	GivenUp                // memory was needed, or the direction had all it may have
	Finished               // its sender had no more to say
	Reset                  // one of the ends broke the connection off
	Reused                 // a new connection has the same ends
	Ended                  // the capture ended
	Expired                // nothing came for too long
	Evicted                // there were too many connections
)

// Break says why bytes that were offered go no further.
type Break struct {
	Why Reason
	Len uint64 // Lost, Cut, GivenUp: bytes that are missing before what comes next
}

// Sink receives the streams. Of the Assembler's methods it may call Ignore
// and Offer, and those only for the connection that it was called for.
type Sink interface {
	// Data offers all unconsumed bytes of direction dir, the index of their sender
	// in Ends. It returns how many of them the sink is through with, and how many
	// bytes it wants to see, counted after those, before it is asked again; with
	// 0 any.
	Data(c *Conn, dir int, ch *Chunk) (done, need int)
	// Break says that direction dir is interrupted or over. The unconsumed bytes in
	// front, if any, are dropped afterwards. After Lost, Cut and GivenUp bytes may
	// follow that lie after the hole. So may after Finished and Reset, without a
	// hole, when those turn out to be forged.
	Break(c *Conn, dir int, ch *Chunk, b Break)
	// Conflict says that the segment in frame has n bytes of direction dir that
	// differ from those that came before and are still kept. The earlier ones are
	// used; what the receiver did, nobody knows.
	Conflict(c *Conn, dir int, frame uint64, n int)
	// Close says that the connection is forgotten: its Slot may be used again. Both
	// directions had a last Break before, unless the connection was ignored.
	Close(c *Conn)
}

// Counters are running totals.
type Counters struct {
	Segments      uint64 // given to Add
	Stray         uint64 // of no known connection, and beginning none
	BadFlags      uint64 // a SYN that would end the connection too; not used
	Conns         uint64 // connections begun
	Ignored       uint64 // connections that the sink wanted no more of
	Bytes         uint64 // delivered, in order
	Retransmitted uint64 // segments whose bytes had all been delivered, declared missing or kept
	OutOfOrder    uint64 // segments kept after a hole
	Outside       uint64 // segments whose number is too far from the expected one
	Conflicts     uint64 // segments that contradict bytes that are kept
	Gaps          uint64 // holes that the capture left
	GapBytes      uint64 // bytes in them
	Cut           uint64 // holes that the snap length left
	CutBytes      uint64 // bytes in them
	GivenUp       uint64 // bytes dropped for memory
	RivalSYNs     uint64 // SYNs that would replace a connection that lives; remembered
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
	timersRan int64 // when timers was called last

	index   *lru.Table[key, uint32] // slots
	conns   []*Conn                 // by slot; each is used again
	unused  *Conn                   // chained by the links of their class
	classes [numClasses]list
	holding list // connections that keep bytes or wait for them
	walk    []*Conn

	mem   spans
	chunk Chunk
	one   [1]TimedPiece // of a chunk that was not kept
}

// New returns an Assembler. Memory for connections and for bytes that wait is taken
// when the first need it, up to the limits, and kept.
func New(l Limits, s Sink) *Assembler {
	l = l.withDefaults()
	a := &Assembler{
		sink:  s,
		lim:   l,
		index: lru.New[key, uint32](l.Conns),
		conns: make([]*Conn, 0, l.Conns),
		walk:  make([]*Conn, 0, l.Conns),
		mem:   newSpans(l.Bytes),
	}
	for i := range a.classes {
		a.classes[i].which = byClass
	}
	a.holding.which = byHolding
	return a
}

// Add takes the next segment of the capture.
func (a *Assembler) Add(s *Segment) {
	a.Counters.Segments++
	a.advance(s.Nanos)
	if a.now-a.timersRan >= timersEvery {
		a.runTimers()
	}
	f := s.TCP.Flags
	if f&netlayer.FlagSYN != 0 && f&(netlayer.FlagRST|netlayer.FlagFIN) != 0 {
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
	case f&netlayer.FlagRST != 0:
		a.reset(c, side, s)
	default:
		if f&netlayer.FlagSYN == 0 {
			c.isEstablished = true
		}
		if f&netlayer.FlagACK != 0 {
			a.acknowledge(&c.halves[1-side], s.TCP.Ack)
		}
		a.receiveData(c, side, s)
	}
	a.updateLists(c)
}

// Tick says that packet time has come to nanos, and gives up the holes and the
// connections that have waited long enough. Time that goes backwards stands still
// instead.
func (a *Assembler) Tick(nanos int64) {
	a.advance(nanos)
	a.runTimers()
}

// Flush says that the capture ends at nanos: everything is delivered as Ended, in
// the order in which connections were last heard of within their kind. The
// Assembler is empty afterwards and can be used again.
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

// Offer shows the Sink what direction dir of c keeps, however little that is: the
// Sink has changed its mind about need. It may be called from Data for the other
// direction.
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

// Ignore says that c is of no interest: nothing of it is kept or delivered any
// more except Close. It stays in the table, so that its segments cost a look-up.
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
