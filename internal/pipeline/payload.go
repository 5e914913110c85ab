package pipeline

import (
	"net/netip"

	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/reassembly"
	"qsniff/reassembly/split"
)

// payload is the bytes that a message is made of, from one datagram, from several that
// were joined, or from a connection, and where they came from.
type payload struct {
	src, dst     netip.AddrPort
	data         []byte
	run          int // length of data before the first gap: only that much is dissected
	wire         int // length as sent
	frame        uint64
	frames       []uint64
	nanos        int64
	began        int64              // time stamp of its first packet; 0 if only nanos is known
	conn         uint64             // of TCP, the number of the connection from 1
	pieces       []reassembly.Piece // which frame brought which bytes; nil if one brought all, or if they were compressed
	origin       []reassembly.Piece // like pieces, also where one frame brought all or they were compressed; nil: all of data is one datagram's
	seq          uint32             // of TCP, the sequence number of data[0]
	ipPieces     int                // number of IP fragments that it came in; 0: not fragmented
	set          *split.Set
	ways         []packet.Way // around the packet that completed it
	from         *origin      // of that packet; nil if it is not at hand
	joined       *dissect.Joined
	isReply      bool
	isMisfit     bool   // its UDP length does not fit: the receiver drops it
	isIncomplete bool   // what is missing will not come
	why          string // what became of the missing bytes; empty if none are missing
	isTCP        bool
	stream       uint64 // first frame of its connection's first message
	key          uint64 // its place among what is written at the same packet; 0: its first frame
	record       string // see render.Event
	cut          string // likewise
	first        *look  // what sightMaker found out about it; nil if it did not look
}

// isMismatched reports whether s came out of a compressed stream and is not what the header of the
// stream declares. Nothing is learned of a server from it.
func (s *payload) isMismatched() bool { return s.set != nil && s.set.Outcome == split.BadBzip2 }

// outcome is what became of a payload.
type outcome uint8

const (
	reported  outcome = iota
	unclaimed         // no protocol claims it
	sentBack          // it sends a request back, and was counted
	doubtful          // it could be a message, and nothing confirms that
)

// train is the time from the first packet of s to the last, in nanoseconds.
func (s *payload) train() int64 {
	if s.began == 0 || len(s.frames) < 2 {
		return 0
	}
	return s.nanos - s.began
}

// firstFrame returns the key by which s is ordered among what is written at one packet.
func (s *payload) firstFrame() uint64 {
	if s.key > 0 {
		return s.key
	}
	if len(s.frames) > 0 {
		return s.frames[0]
	}
	return s.frame
}
