package track

import (
	"qsniff/dissect"
	"qsniff/internal/lru"
)

// callKey names a request in a connection.
type callKey struct{ conn, number uint64 }

// Hash mixes the key with the seed.
func (k callKey) Hash(seed uint64) uint64 { return lru.Mix(lru.Mix(seed, k.conn), k.number) }

// call is what is known of a request in a connection. It waits until its protocol
// says that a reply is its: in a connection nothing is lost, and a command may run
// for long.
type call struct {
	frame   uint64
	nanos   int64
	asks    dissect.Asked
	replied bool
}

// placeCall places a message of a connection, which its protocol has numbered.
func (x *Exchanges) placeCall(m *Message) Part {
	if m.Key == 0 {
		return nothing
	}
	k := callKey{m.Conn, m.Key}
	if !m.Reply {
		c, evicted := x.calls.Put(k)
		if evicted != nil && !evicted.Val.replied {
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
	if c.replied || c.asks != asksOf(m) && asksOf(m) != 0 && c.asks != 0 { // what stands before the answer to a login
		step = Extra
	} else {
		c.replied = true
	}
	return c.answeredBy(m, step)
}

// answeredBy is the part of m, which replies to c.
func (c *call) answeredBy(m *Message, s Step) Part {
	return Part{Step: s, ID: c.frame, Request: c.frame, Took: m.since(c.frame, c.nanos), Trip: -1}
}

// Joined is the part of a reply that was joined from messages of a connection,
// which Place has seen.
func (x *Exchanges) Joined(m *Message) Part {
	if c := x.calls.Peek(callKey{m.Conn, m.Key}); c != nil {
		m.set = x.clock.set
		return c.answeredBy(m, NoStep)
	}
	return nothing
}

func asksOf(m *Message) dissect.Asked {
	if m.Type == nil {
		return 0
	}
	return m.Type.Asks
}
