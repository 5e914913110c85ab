package pipeline

import (
	"qsniff/dissect"
	"qsniff/reassembly/tcpstream"
)

// connection is what is known of one connection.
type connection struct {
	dissector dissect.StreamDissector // nil: nobody's yet
	sess      dissect.Session
	server    int    // index of the server's end
	why       string // what the belief in dis rests on; a constant
	conn      *tcpstream.Conn
	number    uint64 // from 1, in the order in which connections were identified
	used      uint64 // frame at which it last had a message
	first     uint64 // first frame of its first message
	key       uint64 // first frame of what was reported last
	frame     uint64 // its last frame
	nanos     int64  // and the time of that
	dirs      [2]direction

	isEvicted bool // it was ours, and its session made room
}

// isOver reports whether both ends have closed their direction.
func (k *connection) isOver() bool { return k.dirs[0].isClosed && k.dirs[1].isClosed }

// worth orders connections by what is lost with them: one that both ends have
// closed, one in which a single end has spoken, whose address can be forged, one
// in which both have.
func (k *connection) worth() int {
	switch {
	case k.isOver():
		return 0
	case k.dirs[0].hasSpoken != k.dirs[1].hasSpoken:
		return 1
	}
	return 2
}

// direction is where reading is in what one end sends.
type direction struct {
	skip           uint64 // bytes that are left of a message whose middle is missing
	isLost         bool   // where a message begins has to be found
	followsGap     bool   // the next message does not follow the one before
	mayMissOther   bool   // nor, maybe, what the other end said before it
	missed         uint64 // bytes that were missing while the connection was nobody's
	hasSpoken      bool   // it had a message
	hasWeakMessage bool   // there is a whole message that is too weak to be believed
	passed         uint64 // bytes since the last message that could not be read
	isClosed       bool   // its sender has closed it

	// While the connection is nobody's:
	isBegun    bool // it was looked at
	isSearched bool // its begin was looked for
	sought     int  // bytes passed in doing so
}

// serverEnd is the index of the server's end, where end dir speaks to the server or
// is it.
func serverEnd(dir int, toServer bool) int {
	if toServer {
		return 1 - dir
	}
	return dir
}
