package pipeline

import (
	"qsniff/dissect"
	"qsniff/reassembly/tcpstream"
)

// connection is the state of one TCP connection.
type connection struct {
	dissector dissect.StreamDissector // nil: its protocol is unknown
	sess      dissect.Session
	server    int    // index of the server's end
	why       string // why dissector is believed to be right; a constant
	conn      *tcpstream.Conn
	number    uint64 // from 1, in the order in which connections were identified
	used      uint64 // frame at which it last had a message
	first     uint64 // first frame of its first message
	key       uint64 // first frame of what was reported last
	frame     uint64 // its last frame
	nanos     int64  // and the time of that
	dirs      [2]direction

	isEvicted bool // its session was evicted: it is ignored
}

// isOver reports whether both ends have closed their direction.
func (k *connection) isOver() bool { return k.dirs[0].isClosed && k.dirs[1].isClosed }

// worth returns how much is lost if the connection is evicted: nothing if both ends have
// closed it, 1 if only one end has spoken, whose address can be forged, 2 if both have.
func (k *connection) worth() int {
	switch {
	case k.isOver():
		return 0
	case k.dirs[0].hasSpoken != k.dirs[1].hasSpoken:
		return 1
	}
	return 2
}

// direction is the state of reading what one end sends.
type direction struct {
	skip           uint64 // bytes to skip: the rest of a message that a gap is in
	isLost         bool   // the start of the next message has to be searched for
	followsGap     bool   // bytes are missing before the next message
	mayMissOther   bool   // messages of the other end may be missing before it
	missed         uint64 // bytes that were missing while the protocol was unknown
	hasSpoken      bool   // it had a message
	hasWeakMessage bool   // there is a whole message that is too weak to be believed
	passed         uint64 // bytes since the last message that could not be read
	isClosed       bool   // its sender has closed it
	// disputed are bytes of which it is unknown what the receiver read; N is 0 if there are none.
	disputed tcpstream.Dispute

	// While the protocol is unknown:
	isBegun    bool // its first bytes were looked at
	isSearched bool // the start of a message was searched for
	sought     int  // bytes that were searched
}

// addDispute adds bytes of which it is unknown what the receiver read, and those between them and
// others that no message had yet.
func (w *direction) addDispute(x tcpstream.Dispute) {
	if y := &w.disputed; y.N > 0 {
		if int32(y.Seq-x.Seq) < 0 {
			x.Seq = y.Seq
		}
		if int32(y.End-x.End) > 0 {
			x.End = y.End
		}
	}
	w.disputed = x
}

// takeDisputed reports whether disputed bytes are among the n from number seq on. Messages are
// asked about in order: those that end up to there are removed.
func (w *direction) takeDisputed(seq uint32, n int) bool {
	x := w.disputed
	end := seq + uint32(n)
	if x.N > 0 && int32(end-x.End) >= 0 {
		w.disputed.N = 0
	}
	return x.N > 0 && int32(x.Seq-end) < 0 && int32(x.End-seq) > 0
}

// serverEnd returns the index of the server's end, if end dir speaks to the server
// (toServer) or is the server.
func serverEnd(dir int, toServer bool) int {
	if toServer {
		return 1 - dir
	}
	return dir
}
