package track

import (
	"math/bits"
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/base/lru"
)

// endsKey is the two ends of exchanges.
type endsKey struct {
	flowKey
	clientPort uint16
}

// Hash mixes the key with the seed, which makes the result unpredictable for senders.
func (k endsKey) Hash(seed uint64) uint64 { return lru.Mix(k.flowKey.hash(seed), uint64(k.clientPort)) }

// set makes k the ends of a server and a client. The port comes first as in flowKey.set.
func (k *endsKey) set(server, client netip.AddrPort) {
	k.clientPort = client.Port()
	k.flowKey.set(server, client.Addr())
}

// findEnds looks for the exchanges between the ends of m, which become those at hand.
func (x *Exchanges) findEnds(m *Message) {
	server, client := m.Dst, m.Src
	if m.Reply {
		server, client = client, server
	}
	x.flows.find(server, client.Addr())
	at := &x.at
	at.server, at.client, at.flow = server, client, x.flows.last.number
	x.locate(at)
}

// phase is where in its life an exchange is. Of those between the same ends with the same
// question, one at most is under way, and of the others only the latest counts.
type phase uint8

const (
	open       phase = iota // the server has not replied yet
	challenged              // the server replied with a challenge
	ended                   // the answer came, or the wait is over
	numPhases
)

// setPhase moves an exchange to another phase.
func (x *Exchanges) setPhase(e *exchange, p phase) {
	x.count[e.phase]--
	x.count[p]++
	e.phase = p
	x.settled.put(e.number, p != open)
}

// asks returns what the client asks for, one bit.
func (e *exchange) asks() dissect.Asked { return 1 << e.question }

// isSpared reports whether e, the oldest exchange, stays if another needs room: as long as
// not too many are in its phase, so that a flood of requests leaves challenged exchanges alone,
// and one of answered requests those that wait. Who brings a challenge back is at its address,
// which a flood from invented ones never does.
func (x *Exchanges) isSpared(e *exchange) bool {
	return x.count[e.phase] <= x.most[e.phase] || e.phase == challenged && e.state&challengeEchoed != 0
}

// makeRoom makes sure that the oldest entry of the ring is one that need not be kept. It spares
// maxSpared exchanges at most, and reports whether it spared one.
func (x *Exchanges) makeRoom() (hasSpared bool) {
	for n := 0; x.ring.IsFull(); n++ {
		first := x.ring.First()
		if !x.settled.has(first) && x.count[open] > x.most[open] {
			x.count[open]--
			x.evicted++
			break
		}
		e := &x.ring.At(first).Val
		if e.phase == ended || n == maxSpared || !x.isSpared(e) {
			x.count[e.phase]--
			if e.phase != ended {
				x.evicted++
			}
			break
		}
		x.spare()
		hasSpared = true
	}
	return hasSpared
}

// spare adds the oldest exchange again, as the newest one.
func (x *Exchanges) spare() {
	e := *x.ring.At(x.ring.First())
	at := ends{server: netip.AddrPortFrom(e.Key.server.Addr(), e.Key.port), client: netip.AddrPortFrom(e.Key.client.Addr(), e.Key.clientPort)}
	at.flow, _ = x.flows.table.Find(&e.Key.flowKey, x.flows.table.Hash(&e.Key.flowKey))
	x.locate(&at)
	number, v := x.attach(&at)
	older := v.older
	if older == e.Val.number { // links to an entry that is overwritten lead nowhere
		older = 0
	}
	*v, x.moved = e.Val, number
	v.number, v.older = number, older
	x.settled.put(number, v.phase != open)
}

// add begins an exchange between the ends at hand.
func (x *Exchanges) add(asks dissect.Asked) *exchange {
	if x.makeRoom() {
		x.locate(&x.at)
	}
	x.dropOlder(asks)
	number, e := x.attach(&x.at)
	e.question = uint8(bits.TrailingZeros32(uint32(asks)))
	x.settled.put(number, false)
	x.count[open]++
	return e
}

// get returns the exchange with a number, nil if there is none.
func (x *Exchanges) get(number uint32) *exchange {
	if number == 0 {
		return nil
	}
	if e := x.ring.At(number); e != nil {
		return &e.Val
	}
	return nil
}

// dropOlder unlinks the ended exchanges with this question, but for the latest. So there are
// two of each question between the same ends at most, however often one is asked.
func (x *Exchanges) dropOlder(asks dissect.Asked) {
	var newer *exchange
	seen := false
	for e := x.get(x.at.newest); e != nil; e = x.get(e.older) {
		if e.asks() == asks && seen {
			newer.older = e.older
			continue
		}
		seen = seen || e.asks() == asks
		newer = e
	}
}

// find returns the exchange between the ends at hand with this question that is under way, and
// the latest that ended; nil if there is none.
func (x *Exchanges) find(asks dissect.Asked) (underWay, past *exchange) {
	for e := x.get(x.at.newest); e != nil; e = x.get(e.older) {
		switch {
		case e.asks() != asks:
		case e.phase != ended:
			underWay = e
		case x.isGone(e):
			return underWay, nil
		default:
			return underWay, e
		}
	}
	return underWay, nil
}

// isGone reports whether e, which ended, did so too long ago to count.
func (x *Exchanges) isGone(e *exchange) bool { return e.lastAge < x.goneAge }

// findEnded returns, of the latest ended exchanges between the ends at hand of each question in
// asks, the one that began last, if accepts is true of it, and how many there are.
func (x *Exchanges) findEnded(asks dissect.Asked, accepts func(*exchange) bool) (best *exchange, n int) {
	for e := x.get(x.at.newest); e != nil; e = x.get(e.older) {
		if e.phase != ended || e.asks()&asks == 0 {
			continue
		}
		asks &^= e.asks()
		if !x.isGone(e) && accepts(e) {
			n++
			if best == nil || e.first > best.first {
				best = e
			}
		}
	}
	return best, n
}
