package pipeline

import (
	"bytes"
	"encoding/binary"
	"math"
	"net/netip"
	"time"

	"qsniff/dissect"
)

// echoes finds datagrams that send a request back: all of it (the echo service, UDP port 7), or with a
// reply of another protocol after it (servers of the Cube 2 engine, AssaultCube). By its bytes such a
// datagram is a request, so that the server would be a client, and each of its clients a server.
//
// A request arrives: it is kept, as the open one between its ends. A reply that a protocol recognises
// closes it. What comes the other way within echoWindow and begins with the bytes of the open request is
// an echo. An attacker who wants a flood to be taken for echoes has to have each packet preceded by its
// like from the victim; and echoes are counted, as traffic of another protocol.
//
// A server that answered an open request is no echo, nor is one that sent back none of quietAfter requests:
// requests to it are not kept, and most of a flood takes three comparisons. When a server that had been quiet
// sends what may be an echo, that one is not told, and requests to it are kept again.
type echoes struct {
	// The result for the item at work, which two stages ask for.
	index  int32
	isEcho bool
	frame  uint64
	asked  uint32 // bytes of the request

	table   []openRequest            // by a hash of the addresses, without direction; nil before the first request
	unkept  uint64                   // a bit for each place in servers: requests to that server are not kept
	tags    [echoPlaces]uint16       // of the senders of the requests in table, so that most of a flood reads none of them
	servers [echoServers]askedServer // by serverPlace
	pairs   pairing                  // gets each request that is none
}

// openRequest is the latest request between two ends. It has 64 bytes, a line of the cache.
type openRequest struct {
	from, to uint64 // its ends, as endBits
	age      int64
	wire     uint16 // its length
	n        uint8  // how many of its first bytes are kept
	b        [echoBytes]byte
}

// askedServer is a server as echoes knows it.
type askedServer struct {
	end   uint64 // endBits
	times uint32 // requests since it is known, up to quietAfter; hasAnswered
}

// hasAnswered is the askedServer.times of a server that answered a request.
const hasAnswered = math.MaxUint32

const (
	// limit: quietAfter is how many requests a server gets without an echo until none is kept. Chosen: an echo
	// service sends back each of them at once.
	quietAfter = 1000
	// limit: echoPlaces is the room of a partition, 4 KB: 1,024 requests in all. A newer request takes the place
	// of an older one.
	echoPlaces = 1 << 6
	// limit: echoBytes is how much of a request is compared. Chosen: A2S_INFO with its challenge has 29 bytes.
	echoBytes = 29
	// limit: echoServers is how many servers are known; a newer one takes the place of an older one. Chosen:
	// more than a host has, and 1 KB.
	echoServers = 1 << 6
	// limit: echoWindow is how long a request is open. Chosen: longer than any round trip, and shorter than
	// the intervals at which two servers ask each other.
	echoWindow = time.Second
)

// endBits returns the port of an end and the lowest bits of its address. The place in the table has a hash of
// both addresses.
func endBits(a netip.AddrPort) uint64 {
	if a.Addr().Is4() {
		b := a.Addr().As4()
		return uint64(a.Port())<<32 | uint64(binary.BigEndian.Uint32(b[:]))
	}
	b := a.Addr().As16()
	return uint64(a.Port())<<48 ^ binary.BigEndian.Uint64(b[:8]) ^ binary.BigEndian.Uint64(b[8:])
}

// endTag returns a few bits of an end's endBits.
func endTag(end uint64) uint16 { return uint16(end ^ end>>16 ^ end>>32) }

// take reports whether it, a datagram that is a request by its bytes, is an echo, and keeps it if not.
func (e *echoes) take(now *current, it *item) bool {
	if e.index == now.index && e.frame == it.frame {
		return e.isEcho
	}
	if e.table == nil {
		e.table = make([]openRequest, echoPlaces)
	}
	place := it.pair % echoPlaces
	x, tag := &e.table[place], &e.tags[place]
	to := endBits(it.Dst)
	e.index, e.frame = now.index, it.frame
	from, at := endBits(it.Src), serverPlace(to)
	mayEcho := *tag == endTag(to)
	e.isEcho = mayEcho && x.from == to && x.to == from && it.age-x.age <= int64(echoWindow) &&
		it.Wire >= int(x.wire) && len(it.Payload) >= int(x.n) && bytes.Equal(it.Payload[:x.n], x.b[:x.n])
	if sender := serverPlace(from); e.isEcho || e.unkept>>sender&1 != 0 {
		e.keepAgain(sender, from)
	}
	if e.isEcho {
		e.asked = uint32(x.wire)
		x.from, x.to = 0, 0 // one datagram is the echo of a request
		return true
	}
	e.pairs.addRequest(it, from, to)
	target := &e.servers[at]
	if target.end != to {
		*target = askedServer{end: to}
		e.unkept &^= 1 << at
	}
	if e.unkept>>at&1 != 0 && !mayEcho {
		return false
	}
	if target.times < quietAfter {
		if target.times++; target.times == quietAfter {
			e.unkept |= 1 << at
		}
	}
	*tag = endTag(from)
	x.from, x.to, x.age = from, to, it.age
	x.wire, x.n = uint16(it.Wire), uint8(copy(x.b[:], it.Payload))
	return false
}

// close drops the request that it, a reply, answers.
func (e *echoes) close(it *item) {
	if e.table == nil {
		return
	}
	server := endBits(it.Src)
	if x := &e.table[it.pair%echoPlaces]; x.from == endBits(it.Dst) && x.to == server {
		x.from, x.to = 0, 0
		at := serverPlace(server)
		e.servers[at] = askedServer{server, hasAnswered}
		e.unkept |= 1 << at
	}
}

// keepAgain keeps requests again to the server at a place, if that is sender and has not answered any.
func (e *echoes) keepAgain(at uint64, sender uint64) {
	if s := &e.servers[at]; s.end == sender && s.times <= quietAfter {
		s.times = 0
		e.unkept &^= 1 << at
	}
}

// serverPlace returns the place of a server in servers.
func serverPlace(end uint64) uint64 { return (end ^ end>>32) * 0x9e3779b97f4a7c15 >> 58 }

// takeEcho reports whether it, which is a request by its bytes, is an echo, and counts and reports it then.
func (d *identifier) takeEcho(it *item) bool {
	if !d.echoes.take(d.now, it) {
		return false
	}
	d.now.n.echoes++
	d.parser.tracker.emitter.emitEcho(it, d.echoes.asked)
	return true
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
