package track

import (
	"net/netip"
	"slices"

	"qsniff/dissect"
	"qsniff/finding"
	"qsniff/internal/lru"
)

// The numbers of the roles in dissect.Queries.
const (
	queryInfo = iota
	queryPlayers
	queryRules
	queryKinds
)

var queryRoles = [queryKinds]dissect.Asked{dissect.AskInfo, dissect.AskPlayers, dissect.AskRules}

// kindOf is the number of the one query in asks, or -1.
func kindOf(asks dissect.Asked) int { return slices.Index(queryRoles[:], asks&dissect.Queries) }

// host is what is kept of a server that answers.
type host struct {
	answered int64             // age of its last answer to anybody, a challenge is none
	served   [queryKinds]int64 // likewise, by what was asked; never if it was not
	muted    [queryKinds]muted
	shared   shared
}

// muted counts valid requests that nobody answered, since the last answer of their
// kind.
type muted struct {
	queries uint32
	clients uint32 // up to 2
	first   Host
	told    bool
}

// shared is the challenge that a server gives most: a majority vote over those it
// gave since that became the candidate.
type shared struct {
	challenge  uint32
	votes      int32
	given, all uint32
	to         [sharedAddresses]Host
	n          uint8
	first      uint64 // frame
	told       bool
}

// pair is what is kept of a server and a client.
type pair struct {
	challenge, before uint32 // the last two that were given
	age               int64  // of the last
	tries             [queryKinds]uint32
	dead              [queryKinds]dead
	told              bool
}

// dead counts exchanges with one valid challenge that ended without an answer.
type dead struct {
	first uint64 // frame
	age   int64  // of the first
	key   uint32
	n     uint8
}

// gave reports whether the request, or silence, f has a challenge that its client was
// given not long ago.
func (p *pair) gave(f *Fact, fresh int64) bool {
	key := uint32(f.Key)
	return key != 0 && (key == p.challenge || key == p.before) && f.Age-p.age <= fresh
}

// server returns what is kept of the server of f.
func (h *Hosts) server(f *Fact) *host {
	k := EndOf(f.Server)
	if s := h.servers.Get(k); s != nil {
		return s
	}
	s, evicted := h.servers.Put(k)
	if evicted != nil {
		h.evicted++
	}
	*s = host{answered: never, served: [queryKinds]int64{never, never, never}}
	return s
}

// serves takes a reply to a query, or a challenge.
func (h *Hosts) serves(f *Fact) {
	s := h.server(f)
	if f.Type.Asks.Has(dissect.AskChallenge) {
		if f.Key != 0 {
			h.offer(f)
			h.share(f, &s.shared)
		}
		return
	}
	s.answered = max(s.answered, f.Age)
	p := h.proven.Peek(pairOf(f))
	for kind := range queryKinds {
		if !f.Type.Asks.Has(queryRoles[kind]) {
			continue
		}
		s.served[kind] = max(s.served[kind], f.Age)
		s.muted[kind] = muted{told: s.muted[kind].told}
		if p != nil {
			p.tries[kind], p.dead[kind] = 0, dead{}
		}
	}
}

// offer remembers the challenge that a client was given.
func (h *Hosts) offer(f *Fact) {
	k := pairOf(f)
	p := h.proven.Get(k)
	if p == nil {
		p, _ = h.offered.Put(k) // floods from invented addresses fill it
	}
	if key := uint32(f.Key); key != p.challenge {
		p.challenge, p.before = key, p.challenge
	}
	p.age = f.Age
}

// query takes a request. Who brings a challenge back is at its address.
func (h *Hosts) query(f *Fact) {
	kind := kindOf(f.Type.Asks)
	if kind < 0 || f.Key == 0 {
		return
	}
	k := pairOf(f)
	p := h.proven.Get(k)
	if p == nil {
		o := h.offered.Peek(k)
		if o == nil || !o.gave(f, int64(freshFor)) {
			return
		}
		was := *o
		h.offered.Delete(k)
		var evicted *lru.Evicted[pairKey, pair]
		if p, evicted = h.proven.Put(k); evicted != nil {
			h.evicted++
		}
		*p = was
	}
	if p.gave(f, int64(freshFor)) {
		p.tries[kind]++
	}
}

// unanswered takes an exchange that ended without an answer. It counts where the
// last request had a valid challenge.
func (h *Hosts) unanswered(f *Fact) {
	kind := kindOf(f.Type.Asks)
	p, s := h.proven.Peek(pairOf(f)), h.servers.Peek(EndOf(f.Server))
	if kind < 0 || p == nil || s == nil || !p.gave(f, int64(freshFor)) {
		return
	}
	d := &p.dead[kind]
	if d.key != uint32(f.Key) {
		*d = dead{first: f.ID, age: f.Age, key: uint32(f.Key)}
	}
	d.n = min(d.n, 254) + 1
	alive := s.served[kind]
	if kind == queryInfo {
		alive = s.answered
	}
	if d.n >= deadEchoes && !p.told && alive > d.age && alive >= f.Age-int64(aliveFor) {
		p.told = true
		h.raise(f, d.first, finding.Expert{Code: pairCodes(f.Proto).Unheeded, A: uint64(d.n)}, h.unsure(d.age))
	}
	if kind != queryInfo {
		h.mute(f, s, kind, p.tries[kind])
	}
	p.tries[kind] = 0
}

// mute counts requests for players or rules that nobody answered.
func (h *Hosts) mute(f *Fact, s *host, kind int, tries uint32) {
	m := &s.muted[kind]
	client := Host(f.Client.Addr().As16())
	switch {
	case m.queries == 0:
		m.first, m.clients = client, 1
	case m.first != client:
		m.clients = 2
	}
	m.queries += max(tries, 1)
	if m.told || m.queries < mutedQueries || m.clients < mutedClients ||
		s.served[queryInfo] < f.Age-int64(servedFor) {
		return
	}
	m.told = true
	x := finding.Expert{Code: pairCodes(f.Proto).Partial, A: uint64(m.queries)}
	if kind == queryRules {
		x.B = 1
		if s.muted[queryPlayers].queries == 0 {
			x.Code = pairCodes(f.Proto).Ruleless
		}
	}
	at := *f
	at.Client = netip.AddrPort{}
	h.raise(&at, f.Frame, x, h.unsure(f.Age-int64(servedFor)))
}

// share counts a challenge by whom it is given to.
func (h *Hosts) share(f *Fact, x *shared) {
	key := uint32(f.Key)
	x.all++
	if key == x.challenge {
		x.votes++
	} else if x.votes--; x.votes < 0 {
		*x = shared{challenge: key, all: 1, first: f.Frame, told: x.told}
	}
	if key != x.challenge {
		return
	}
	x.given++
	client := Host(f.Client.Addr().As16())
	if int(x.n) < len(x.to) && !slices.Contains(x.to[:x.n], client) {
		x.to[x.n] = client
		x.n++
	}
	if x.told || uint32(x.n) < sharedWith || x.all < sharedOf || 100*uint64(x.given) < uint64(sharedShare)*uint64(x.all) {
		return
	}
	x.told = true
	at := *f
	at.Client = netip.AddrPort{}
	h.raise(&at, x.first, finding.Expert{Code: pairCodes(f.Proto).Shared, A: uint64(key), B: uint64(x.given)<<32 | uint64(x.all)}, false)
}
