package diff

import (
	"net/netip"
	"time"
)

// Way is where a datagram goes.
type Way uint8

// The ways.
const (
	UnknownWay Way = iota
	ToServer
	ToClient
	numWays
)

// String is the name in output.
func (w Way) String() string { return [...]string{"unknown", "to_server", "to_client"}[w] }

// Class is what became of a datagram. Each has one, the last of this list that fits: a changed one
// that is late is Changed.
type Class uint8

// The classes. Those up to Changed are of datagrams in both captures.
const (
	Same            Class = iota // at both points, unchanged, in order and in time
	Retransmitted                // of TCP: as Same, and its bytes had been sent before
	Reordered                    // overtaken by one of its flow that was sent later
	Late                         // it took longer than usual, by more than Options.Late
	Changed                      // other bytes at HOST than at EDGE
	Reframed                     // of a message that is in other datagrams at HOST than at EDGE: whole, or in other parts
	Lost                         // at EDGE only
	Extra                        // at HOST only
	Duplicated                   // a copy of one that was counted, at one of the points
	Uncaptured                   // at one point only, and it passed the other, whose capture lost it
	Injected                     // a TCP reset that its sender did not send: at the point of the receiver only
	AnsweredBetween              // a reply that came from between the points, or the request that got it and went no further
	Outside                      // at one point, at a time that the other capture does not cover
	NumClasses
)

// String is the name in output.
func (c Class) String() string {
	return [...]string{"same", "retransmitted", "reordered", "late", "changed", "reframed", "lost", "extra", "duplicated", "uncaptured", "injected", "answered_between", "outside"}[c]
}

// isPair reports whether datagrams of the class are in both captures.
func (c Class) isPair() bool { return c <= Changed }

// Capture is what was read at one point.
type Capture struct {
	Packets, Datagrams uint64
	Segments           uint64 // of TCP, compared
	TCP, Others        uint64 // not compared
	Incomplete         uint64 // sets of IP fragments that never came together
	Cut                uint64 // datagrams that the snap length cut
	Dropped            uint64 // packets that the capturing program lost
	First, Last        int64  // Unix nanoseconds, in the clock of the capture

	cutTo cuts
}

// Difference is a datagram, or a pair, that is not Same and not Outside.
type Difference struct {
	Class  Class
	Way    Way
	Kind   uint16    // index in Result.Kinds
	Frames [2]uint64 // by Side; 0: not in that capture
	Sizes  [2]uint16 // bytes of payload
	Nanos  int64     // in the clock of HOST: where it was sent, or seen
	Delay  int64     // of a pair, nanoseconds from point to point
	Count  [2]uint16 // of a reframed message, its datagrams at each side; Frames are the first ones
	TTL    [2]uint8

	// Of an answer from in between: the frame of its request at the point of the clients, the frame at
	// the other point that has the same bytes and by how many nanoseconds it is older, or 0, and the
	// time to live of the server's own replies, or 0.
	Request, SameAs uint64
	Age             int64
	UsualTTL        uint8

	src, dst end
}

// ends returns server and client, in the names of a side.
func (r *Result) ends(d *Difference, s Side) (server, client netip.AddrPort) {
	src, dst := r.names.nameAt(s, d.src).addrPort(), r.names.nameAt(s, d.dst).addrPort()
	if d.Way == ToClient {
		return src, dst
	}
	return dst, src
}

// Ends returns server and client of a difference as the capture calls them that has it, EDGE if both
// do. Where the way is unknown they are destination and source.
func (r *Result) Ends(d *Difference) (server, client netip.AddrPort) {
	if d.Frames[Edge] == 0 {
		return r.ends(d, Host)
	}
	return r.ends(d, Edge)
}

// Row counts what became of one kind of messages of one server.
type Row struct {
	Server netip.AddrPort // as HOST has it; not valid: those for which there was no row
	Kind   uint16
	Way    Way
	// Sent are those at the point from which they come, without copies, whose fate both
	// captures show; Arrived are those of them at the other point too.
	Sent, Arrived uint64
	Fates
	Slowest   int64 // nanoseconds from point to point
	FirstLost [2]uint64
}

// Fates counts datagrams by what became of them. Its tags are those of the JSON output.
type Fates struct {
	Kept          uint64 `json:"kept_between" jsonschema:"requests that were answered in between"` // among Sent
	Retransmitted uint64 `json:"retransmitted" jsonschema:"TCP segments that were sent again"`
	Late          uint64 `json:"late" jsonschema:"that took longer than usual"`
	Reordered     uint64 `json:"reordered" jsonschema:"that were overtaken"`
	Changed       uint64 `json:"changed" jsonschema:"with other bytes"`
	Duplicated    uint64 `json:"duplicated" jsonschema:"copies"`
	Uncaptured    uint64 `json:"uncaptured" jsonschema:"of those that arrived, at one point only, as the capture of the other lost them"`
	Reframed      uint64 `json:"reframed" jsonschema:"of messages in other datagrams at host than at edge"`
	Appeared      uint64 `json:"appeared" jsonschema:"that were not sent"` // at the other point alone
	Injected      uint64 `json:"injected" jsonschema:"of them, TCP resets"`
	Answered      uint64 `json:"answered_between" jsonschema:"replies from in between"` // among Appeared
	Outside       uint64 `json:"outside" jsonschema:"at times that one capture does not cover"`
}

// Missing returns how many were lost on their way.
func (r *Row) Missing() uint64 { return r.Sent - r.Arrived - r.Kept }

// Result is what Run finds.
type Result struct {
	Captures [2]Capture
	// IsInterrupted is set if the caller ended the run: Compared packets of each capture were compared, and
	// what came less than the wait before the last of them was not judged.
	IsInterrupted bool
	Compared      [2]uint64
	Clock         Clock
	Late          time.Duration // the options
	Wait          time.Duration
	// ComparedTo is the length in bytes to which payloads were compared, as captures were cut; 0: all
	// of them.
	ComparedTo   int
	Kinds        []Kind
	Counts       [2][NumClasses][numWays]uint64 // datagrams of each side
	Unwanted     [2]uint64                      // datagrams that the caller did not want: they are in no other count
	Rows         []Row
	Sizes        [numWays]SizeLoss // of datagrams
	Connections  Connections       // over TCP
	Translations []Translation     // ends that have another name at HOST
	Differences  []Difference      // in the order in which they were judged
	Reframed     uint64            // messages that have other datagrams at one point than at the other
	Shortages

	names    *endMap
	payloads [2]map[uint64][]byte
}

// Shortages counts what limited memory had no room for. Its tags are those of the JSON output.
type Shortages struct {
	JudgedEarly    uint64 `json:"judged_early" jsonschema:"because the table was full"` // before the whole wait was over
	Unlisted       uint64 `json:"unlisted" jsonschema:"differences that had no room"`
	Untracked      uint64 `json:"untracked" jsonschema:"ends whose translation had no room"`
	NoRow          uint64 `json:"no_row" jsonschema:"datagrams in the row without a server"`
	NoKind         uint64 `json:"no_kind" jsonschema:"datagrams whose message had no room"`
	NoBytes        uint64 `json:"no_bytes" jsonschema:"changed datagrams whose bytes had no room"`
	NoSets         uint64 `json:"no_sets" jsonschema:"messages in parts that had no room"`
	NoPieces       uint64 `json:"no_pieces" jsonschema:"fragments whose frames had no room"`
	ServersEvicted uint64 `json:"servers_evicted" jsonschema:"ends that serve, evicted"`
	RepliesEvicted uint64 `json:"replies_evicted" jsonschema:"contents of replies, evicted"`
	ConnsEvicted   uint64 `json:"connections_evicted" jsonschema:"connections, and directions of them, evicted"`
}

// Count returns how many datagrams have a class; a pair is one.
func (r *Result) Count(c Class) (n uint64) {
	for w := range numWays {
		n += r.Counts[Edge][c][w]
		if !c.isPair() {
			n += r.Counts[Host][c][w]
		}
	}
	return n
}

// Uncaptured returns how many datagrams passed a side whose capture lost them.
func (r *Result) Uncaptured(s Side) (n uint64) {
	for w := range numWays {
		n += r.Counts[s.other()][Uncaptured][w]
	}
	return n
}

// Outside returns how many datagrams of a side the other capture does not cover.
func (r *Result) Outside(s Side) (n uint64) {
	for w := range numWays {
		n += r.Counts[s][Outside][w]
	}
	return n
}

// Matched returns how many datagrams are in both captures.
func (r *Result) Matched() (n uint64) {
	for c := range NumClasses {
		if c.isPair() {
			n += r.Count(c)
		}
	}
	return n
}

// Clients returns the side that is nearer to the clients: EDGE, unless the captures were given the
// other way round.
func (r *Result) Clients() Side {
	if r.Clock.IsReversed {
		return Host
	}
	return Edge
}

// Sender returns the side from which datagrams come, and false where that is unknown.
func (r *Result) Sender(w Way) (Side, bool) {
	switch w {
	case ToServer:
		return r.Clients(), true
	case ToClient:
		return r.Clients().other(), true
	}
	return Edge, false
}

// IsTCP reports whether it is of a TCP segment.
func (d *Difference) IsTCP() bool { return d.src.isTCP }

// Name returns the protocol and the message of a kind; of what is no message protocol is empty.
func (r *Result) Name(kind uint16) (protocol, message string) {
	switch k := &r.Kinds[kind]; {
	case k.Type != nil:
		return k.Proto.Name, k.Type.Name
	}
	return "", [numUntyped]string{"other", "split part", "TCP data", "TCP SYN", "TCP SYN and ACK", "TCP FIN", "TCP RST"}[kind]
}

// leastFiltered is how many of a kind have to be lost, and all of them, for it to count as filtered. Chosen: five
// of five are not lost by chance where others arrive.
const leastFiltered = 5

// IsFiltered reports whether nothing of a row arrived while other kinds did that go the same way.
func (r *Result) IsFiltered(row *Row) bool {
	if row.Arrived > 0 || row.Missing() < leastFiltered || row.Way == UnknownWay {
		return false
	}
	for i := range r.Rows {
		o := &r.Rows[i]
		if o.Way == row.Way && o.Server == row.Server && o.Arrived > 0 {
			return true
		}
	}
	return false
}

// Total adds up the rows of a way.
func (r *Result) Total(w Way) *Row {
	var all Row
	for i := range r.Rows {
		if o := &r.Rows[i]; o.Way == w {
			all.Sent += o.Sent
			all.Arrived += o.Arrived
			all.Kept += o.Kept
			all.Retransmitted += o.Retransmitted
			all.Late += o.Late
			all.Reordered += o.Reordered
			all.Changed += o.Changed
			all.Duplicated += o.Duplicated
			all.Uncaptured += o.Uncaptured
			all.Reframed += o.Reframed
			all.Appeared += o.Appeared
			all.Injected += o.Injected
			all.Answered += o.Answered
			all.Outside += o.Outside
			all.Slowest = max(all.Slowest, o.Slowest)
		}
	}
	return &all
}

// Usual returns how long datagrams usually take on a way, in nanoseconds.
func (c *Clock) Usual(w Way) int64 { return c.usual[w] }
