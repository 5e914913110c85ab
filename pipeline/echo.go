package pipeline

import (
	"bytes"
	"net/netip"
	"time"

	"qsniff/dissect"
	"qsniff/track"
)

// echoes finds datagrams that send a request back: all of it (the echo service, UDP port 7), or with a
// reply of another protocol after it (servers of the Cube 2 engine, AssaultCube). By its bytes such a
// datagram is a request, so that the server would be a client, and each of its clients a server.
//
// A request arrives: it is kept, as the open one between its ends. A reply that a protocol recognises
// closes it. What comes the other way within echoWindow and begins with the bytes of the open request is
// an echo. An attacker who wants a flood to be taken for echoes has to have each packet preceded by its
// like from the victim; and echoes are counted, as traffic of another protocol.
type echoes struct {
	table []openRequest // by the ends, without direction; nil before the first request

	// What was found out about the item at work, which two stages ask about.
	index  int32
	frame  uint64
	isEcho bool
	asked  uint32 // bytes of the request
}

// openRequest is the latest request between two ends.
type openRequest struct {
	from, to uint64 // hashes of its ends
	age      int64
	wire     uint32 // its length
	n        uint8  // how many of its first bytes are kept
	b        [echoBytes]byte
}

const (
	// limit: echoPlaces is the room of a partition, as of copies: for the requests of a millisecond of a
	// million a second. A newer request takes the place of an older one.
	echoPlaces = 1 << 8
	// limit: echoBytes is how much of a request is compared. Chosen: A2S_INFO with its challenge has 29 bytes.
	echoBytes = 32
	// limit: echoWindow is how long a request is open. Chosen: longer than any round trip, and shorter than
	// the intervals at which two servers ask each other.
	echoWindow = time.Second
)

// take reports whether it, a datagram that is a request by its bytes, is an echo, and keeps it if not.
// from and to are hashes of its ends, as of track.End.
func (e *echoes) take(now *current, it *item, from, to uint64) bool {
	if e.index == now.index && e.frame == it.frame {
		return e.isEcho
	}
	if e.table == nil {
		e.table = make([]openRequest, echoPlaces)
	}
	x := &e.table[(from^to)%echoPlaces]
	e.index, e.frame = now.index, it.frame
	e.isEcho = x.from == to && x.to == from && it.age-x.age <= int64(echoWindow) &&
		uint32(it.Wire) >= x.wire && len(it.Payload) >= int(x.n) && bytes.Equal(it.Payload[:x.n], x.b[:x.n])
	if e.isEcho {
		e.asked = x.wire
		x.from, x.to = 0, 0 // one datagram is the echo of a request
		return true
	}
	x.from, x.to, x.age, x.wire, x.n = from, to, it.age, uint32(it.Wire), uint8(copy(x.b[:], it.Payload))
	return false
}

// close drops the request that a reply between the ends answers.
func (e *echoes) close(from, to uint64) {
	if e.table == nil {
		return
	}
	if x := &e.table[(from^to)%echoPlaces]; x.from == to && x.to == from {
		x.from, x.to = 0, 0
	}
}

// takeEcho reports whether it, which is a request by its bytes, is an echo, and counts and reports it then.
func (d *identifier) takeEcho(it *item) bool {
	e := d.echoes
	if e.index != d.now.index || e.frame != it.frame {
		e.take(d.now, it, track.EndOf(it.Src).Hash(d.now.seed), track.EndOf(it.Dst).Hash(d.now.seed))
	}
	if !e.isEcho {
		return false
	}
	d.now.n.echoes++
	d.parser.tracker.emitter.emitEcho(it, e.asked)
	return true
}

// closeRequest drops the request that a reply, from src to dst, answers.
func (d *identifier) closeRequest(src, dst netip.AddrPort) {
	if d.echoes.table != nil {
		d.echoes.close(track.EndOf(src).Hash(d.now.seed), track.EndOf(dst).Hash(d.now.seed))
	}
}

// emitEcho adds the clue that the server that sent it sends requests back; asked is the length of one.
func (e *emitter) emitEcho(it *item, asked uint32) {
	if !e.wantsClues {
		return
	}
	e.emitForeign(&dissect.Echo, it.Src, it.Dst, false)
	f := &e.now.seg.spans[len(e.now.seg.spans)-1].fact
	f.Bytes, f.Key = uint32(it.Wire), uint64(asked)
}
