package track

import (
	"qsniff/dissect"
	"qsniff/internal/base/lru"
)

// callKey is a connection and the number of a request in it.
type callKey struct{ conn, number uint64 }

// Hash mixes the key with the seed.
func (k callKey) Hash(seed uint64) uint64 { return lru.Mix(lru.Mix(seed, k.conn), k.number) }

// call is a request in a connection. It waits for its reply without a time limit: in a
// connection nothing is lost, and a command may run for long.
type call struct {
	frame      uint64
	nanos      int64
	asks       dissect.Asked
	isAnswered bool
}

// placeCall returns the part of a message of a connection, whose Key is its protocol's number
// of the request.
func (x *Exchanges) placeCall(m *Message) Part {
	if m.Key == 0 {
		return noPart
	}
	k := callKey{m.Conn, m.Key}
	if !m.Reply {
		c, evicted := x.calls.Put(k)
		if evicted != nil && !evicted.Val.isAnswered {
			x.evicted++
		}
		*c = call{frame: m.Frame, nanos: m.Nanos, asks: asksOf(m)}
		return Part{Step: Ask, ID: m.Frame, Took: -1, Trip: -1}
	}
	c := x.calls.Get(k)
	if c == nil {
		return Part{Step: Stray, Took: -1, Trip: -1}
	}
	step := Answer
	if c.isAnswered || c.asks != asksOf(m) && asksOf(m) != 0 && c.asks != 0 { // the empty reply that precedes the answer to a login
		step = Extra
	} else {
		c.isAnswered = true
	}
	return c.replyPart(m, step)
}

// replyPart returns the part of m, which replies to c.
func (c *call) replyPart(m *Message, s Step) Part {
	return Part{Step: s, ID: c.frame, Request: c.frame, Took: m.timeSince(c.frame, c.nanos), Trip: -1}
}

// PlaceJoined returns the part of a reply that was joined from messages of a connection,
// each of which went through Place.
func (x *Exchanges) PlaceJoined(m *Message) Part {
	if c := x.calls.Peek(callKey{m.Conn, m.Key}); c != nil {
		m.jumpFrame = x.jumps.jumpFrame
		return c.replyPart(m, NoStep)
	}
	return noPart
}

// asksOf returns what m asks for or gives; 0 if that is unknown.
func asksOf(m *Message) dissect.Asked {
	if m.Type == nil {
		return 0
	}
	return m.Type.Asks
}
