package track

import (
	"qsniff/internal/base/lru"
)

// links lead from a flow to its newest exchange, by the numbers of both. As a rule the exchanges of
// a flow are between one pair of ends: then no other index has them, and a message needs a single
// search, that for its flow. A flow with several sockets of its client is spread: the ring finds its
// exchanges by their ends. It also finds those whose flow was evicted, or that never had one.
type links struct {
	newest   []uint32 // by the number of the flow, modulo their number; 0: there was none
	isSpread numberSet
}

func newLinks(flows int) links {
	spread := newNumberSet(flows)
	return links{newest: make([]uint32, 64*len(spread)), isSpread: spread}
}

// at returns the place of a flow.
func (l *links) at(flow uint32) *uint32 { return &l.newest[int(flow)&(len(l.newest)-1)] }

// put sets the newest exchange of a flow.
func (l *links) put(flow, exchange uint32, isSpread bool) {
	*l.at(flow) = exchange
	l.isSpread.put(flow, isSpread)
}

// move gives a flow the exchanges of another, or none if that is 0.
func (l *links) move(from, to uint32) {
	if from == 0 {
		*l.at(to) = 0
		return
	}
	l.put(to, *l.at(from), l.isSpread.has(from))
}

// ends is a pair of ends of messages, and the newest exchange between them.
type ends struct {
	key    endsKey // as the ring has them
	flow   uint32  // its number; 0: it is unknown
	newest uint32  // number of the exchange; 0: there is none
	// isIndexed is set if the ring finds the exchanges between these ends, or is to find the next.
	isIndexed bool
}

// locate looks for the newest exchange between ends whose flow is set.
func (x *Exchanges) locate(at *ends) {
	linked := x.linked(at.flow)
	isSpread := linked != nil && x.links.isSpread.has(at.flow)
	at.newest, at.isIndexed = 0, at.flow == 0 || isSpread
	switch {
	case linked != nil && !isSpread:
		at.isIndexed = linked.Key != at.key
		if !at.isIndexed {
			at.newest = linked.Val.number
		}
	case isSpread, x.ring.At(x.orphan) != nil:
		at.isIndexed = true
		at.newest, _ = x.ring.Find(&at.key, x.ring.Hash(&at.key))
	}
}

// attach adds an exchange between ends that were located, as the newest.
func (x *Exchanges) attach(at *ends) (number uint32, e *exchange) {
	if linked := x.linked(at.flow); at.isIndexed && linked != nil && !x.links.isSpread.has(at.flow) {
		x.index(linked)
	}
	number, entry := x.ring.Append()
	entry.Key = at.key
	if at.isIndexed {
		x.ring.Index(number, x.ring.Hash(&entry.Key), at.newest)
	}
	e = &entry.Val
	if at.flow == 0 {
		x.orphan = number
	} else {
		x.links.put(at.flow, number, at.isIndexed)
	}
	e.number, e.older, at.newest = number, at.newest, number
	return number, e
}

// linked returns the newest exchange of a flow, nil if there is none.
func (x *Exchanges) linked(flow uint32) *lru.Entry[endsKey, exchange] {
	if flow == 0 {
		return nil
	}
	return x.ring.At(*x.links.at(flow))
}

// index makes the ring find an exchange, and those between the same ends before it.
func (x *Exchanges) index(e *lru.Entry[endsKey, exchange]) {
	x.ring.Index(e.Val.number, x.ring.Hash(&e.Key), 0)
}

// releaseFlow makes the ring find the exchanges of a flow that is evicted.
func (x *Exchanges) releaseFlow(flow uint32) {
	linked := x.linked(flow)
	if linked == nil {
		return
	}
	if !x.links.isSpread.has(flow) {
		x.index(linked)
	}
	if next, n := x.ring.Next(), linked.Val.number; next-n < next-x.orphan {
		x.orphan = n
	}
}

// numberSet is a set of numbers of the entries in a lru.Ring, with a bit for each. It lies apart
// from the entries, so that the oldest one need not be fetched from memory to be evicted.
type numberSet []uint64

// newNumberSet returns an empty set for a ring of a capacity.
func newNumberSet(capacity int) numberSet {
	words := 1
	for 64*words < capacity {
		words *= 2
	}
	return make(numberSet, words)
}

// at returns where the bit of a number is.
func (s numberSet) at(number uint32) (word *uint64, bit uint64) {
	return &s[int(number/64)&(len(s)-1)], 1 << (number % 64)
}

func (s numberSet) has(number uint32) bool {
	word, bit := s.at(number)
	return *word&bit != 0
}

// put adds or removes a number.
func (s numberSet) put(number uint32, isIn bool) {
	word, bit := s.at(number)
	*word &^= bit
	if isIn {
		*word |= bit
	}
}
