package track

import (
	"net/netip"
	"reflect"
	"slices"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/lru"
)

// The indices of the roles in dissect.Queries.
const (
	queryInfo = iota
	queryPlayers
	queryRules
	queryKinds
)

var queryRoles = [queryKinds]dissect.Asked{dissect.AskInfo, dissect.AskPlayers, dissect.AskRules}

// queryKind returns the index of the one query in asks, or -1.
func queryKind(asks dissect.Asked) int { return slices.Index(queryRoles[:], asks&dissect.Queries) }

// serverState is the state of a server that answers.
type serverState struct {
	slot
	answered int64             // age of its last answer to anybody; a challenge is none
	served   [queryKinds]int64 // the same for each kind of query; never if it was not answered
}

// recordServed records that the server answered a query of the kinds in asks at age.
func (s *serverState) recordServed(asks dissect.Asked, age int64) {
	for kind, role := range queryRoles {
		if asks.Has(role) {
			s.served[kind] = max(s.served[kind], age)
		}
	}
}

// clientState is a client at a server that gave it a challenge.
type clientState struct {
	slot
	challenge, previous uint32 // the last two that it was given
	age                 int64  // of the last gift
	isProven            bool   // it brought one back, so it is at its address
}

// hasChallenge reports whether the challenge of the request, or silence, f was given to its
// client at most fresh nanoseconds ago.
func (c *clientState) hasChallenge(f *Fact, fresh int64) bool {
	key := uint32(f.Key)
	return key != 0 && (key == c.challenge || key == c.previous) && f.Age-c.age <= fresh
}

// latestServer is the server that was looked up last: floods ask one. The zero value is none.
type latestServer struct {
	end   netip.AddrPort
	state *serverState // nil if it is not known
}

// peekServer returns the state of the server of f, nil if it is not known.
func (h *Hosts) peekServer(f *Fact) *serverState {
	if h.latest.end != f.Server {
		h.latest = latestServer{f.Server, h.servers.Peek(EndOf(f.Server))}
	}
	return h.latest.state
}

// findServer returns the state of the server of f, a new one if there is none.
func (h *Hosts) findServer(f *Fact) *serverState {
	k := EndOf(f.Server)
	if s := h.servers.Get(k); s != nil {
		return s
	}
	h.latest = latestServer{}
	s, evicted := h.servers.Put(k)
	if evicted != nil {
		h.evicted++
		h.slots.release(evicted.Val.slot)
	}
	*s = serverState{slot: h.slots.take(), answered: never, served: [queryKinds]int64{never, never, never}}
	return s
}

// findReplier finds the ends of a reply to a query, and records what it shows of them: an answer, or a
// challenge.
func (h *Hosts) findReplier(v *view, k kinds) {
	v.server = h.findServer(v.Fact)
	if k == challenge {
		if v.Key != 0 {
			h.recordChallenge(v)
		}
		return
	}
	v.server.answered = max(v.server.answered, v.Age)
	v.server.recordServed(v.Type.Asks, v.Age)
	pair := pairOf(v.Fact)
	if v.client = h.proven.Peek(pair); v.client == nil && v.Trip >= 0 {
		v.client = h.offered.Peek(pair)
	}
}

// recordChallenge stores the challenge that a client was given.
func (h *Hosts) recordChallenge(v *view) {
	k := pairOf(v.Fact)
	c := h.proven.Get(k)
	if c == nil {
		var evicted *lru.Evicted[pairKey, clientState]
		c, evicted = h.offered.Put(k) // evictions are not counted: floods from invented addresses fill the table
		if evicted != nil {
			h.clients.release(evicted.Val.slot)
		}
		if c.number == 0 {
			c.slot = h.clients.take()
		}
	}
	key := uint32(v.Key)
	if v.isNew = key != c.challenge; v.isNew {
		c.challenge, c.previous = key, c.challenge
	}
	c.age = v.Age
	v.client = c
}

// findClient finds the client of a query. If it brings back a challenge, the client is at its address and
// moves to the proven ones.
func (h *Hosts) findClient(v *view) {
	if v.query < 0 {
		return
	}
	k := pairOf(v.Fact)
	if v.client = h.proven.Get(k); v.client != nil {
		return
	}
	v.client = h.offered.Peek(k)
	if v.client == nil || !v.client.hasChallenge(v.Fact, int64(freshFor)) {
		return
	}
	was := *v.client
	was.isProven = true
	h.offered.Delete(k)
	c, evicted := h.proven.Put(k)
	if evicted != nil {
		h.evicted++
		h.clients.release(evicted.Val.slot)
	}
	*c = was
	v.client = c
}

// slot is where checks have their states of one server, or client. Its number is above 0, and no other's
// that has the place before or after it.
type slot struct{ place, number uint32 }

// slots hands out the places of the entries of tables.
type slots struct {
	released []uint32
	fresh    uint32 // the first place that was never taken
	number   uint32 // the last one
}

func (s *slots) take() slot {
	s.number = max(s.number+1, 1)
	if n := len(s.released); n > 0 {
		place := s.released[n-1]
		s.released = s.released[:n-1]
		return slot{place, s.number}
	}
	s.fresh++
	return slot{s.fresh - 1, s.number}
}

func (s *slots) release(at slot) { s.released = append(s.released, at.place) }

// states is what a check has of each server, or of each client: a T for each slot, the zero one at first.
type states[T any] struct {
	capacity int
	all      []slotState[T] // nil before the first
}

type slotState[T any] struct {
	number uint32 // of the slot
	of     T
}

// newServerStates returns states for the servers of h.
func newServerStates[T any](h *Hosts) *states[T] { return newStates[T](h, h.servers.Cap()) }

// newClientStates returns states for the clients of h.
func newClientStates[T any](h *Hosts) *states[T] {
	return newStates[T](h, h.offered.Cap()+h.proven.Cap())
}

func newStates[T any](h *Hosts, capacity int) *states[T] {
	s := &states[T]{capacity: capacity}
	h.tables = append(h.tables, table{s, reflect.TypeFor[slotState[T]]().Size()})
	return s
}

// Len is how many states there is memory for.
func (s *states[T]) Len() int { return len(s.all) }

// Cap is how many there can be.
func (s *states[T]) Cap() int { return s.capacity }

// at returns the state of a slot.
func (s *states[T]) at(a slot) *T {
	if s.all == nil {
		s.all = make([]slotState[T], s.capacity)
	}
	x := &s.all[a.place]
	if x.number != a.number {
		*x = slotState[T]{number: a.number}
	}
	return &x.of
}

const (
	// limit: freshFor is how old a challenge may be that counts as valid: no server is known whose
	// challenges outlast a round trip and expire sooner.
	freshFor = 30 * time.Second
	// limit: aliveFor is how long ago a server may have answered anybody to count as up.
	aliveFor = 10 * time.Second
	// limit: servedFor is how long ago the server may have answered a request for information that does not
	// answer those for players or rules.
	servedFor = time.Minute
)
