package stats

import (
	"cmp"
	"slices"

	"qsniff/internal/track"
)

// partners is what a server was asked and by whom, without time. The counts of kinds are exact;
// those of clients are of the Space-Saving algorithm, as in topList: a client without a counter
// takes over the smallest one, whose count is then too high by what it had.
type partners struct {
	kinds   []serverKind
	rest    Outcomes // of kinds for which there was no room
	clients []serverClient
}

type serverKind struct {
	key   kindKey
	names kindNames
	Outcomes
}

type serverClient struct {
	key         hostKey
	count, over uint64 // over of count may be of others
}

// Outcomes counts requests and what became of them.
type Outcomes struct{ Requests, Answered, Unanswered uint64 }

// ServerKind is what a server was asked. IsRest: kinds for which there was no room, together.
type ServerKind struct {
	Protocol, Message string
	IsRest            bool
	Outcomes
}

// of returns the name of a kind: that of its request, which its key has if it asks nothing.
func (n *kindNames) of(k kindKey) string { return cmp.Or(k.name, n.request, n.reply) }

// countPartner counts a fact of the server that has the row.
func (r *row) countPartner(kind kindKey, f *track.Fact) {
	if r.partners == nil {
		r.partners = &partners{kinds: make([]serverKind, 0, serverKinds), clients: make([]serverClient, 0, serverClients)}
	}
	r.partners.findKind(kind, f).count(f)
	if !f.Reply && f.Step != track.Silence {
		r.partners.countClient(f.Client.Addr().As16())
	}
}

// reset drops what was counted, and returns p.
func (p *partners) reset() *partners {
	if p != nil {
		*p = partners{kinds: p.kinds[:0], clients: p.clients[:0]}
	}
	return p
}

// findKind returns the counts of a kind.
func (p *partners) findKind(kind kindKey, f *track.Fact) *Outcomes {
	for i := range p.kinds {
		if x := &p.kinds[i]; x.key == kind {
			x.names.learn(f)
			return &x.Outcomes
		}
	}
	if len(p.kinds) == cap(p.kinds) {
		return &p.rest
	}
	x := serverKind{key: kind}
	x.names.learn(f)
	p.kinds = append(p.kinds, x)
	return &p.kinds[len(p.kinds)-1].Outcomes
}

func (o *Outcomes) count(f *track.Fact) {
	switch {
	case f.Step == track.Silence:
		o.Unanswered++
	case !f.Reply:
		o.Requests++
	case f.Step == track.Answer:
		o.Answered++
	case f.Step == track.Late:
		o.Answered++
		if o.Unanswered > 0 { // its silence was counted before
			o.Unanswered--
		}
	}
}

func (p *partners) countClient(k hostKey) {
	least := 0
	for i := range p.clients {
		x := &p.clients[i]
		if x.key == k {
			x.count++
			return
		}
		if x.count < p.clients[least].count {
			least = i
		}
	}
	if len(p.clients) < cap(p.clients) {
		p.clients = append(p.clients, serverClient{key: k, count: 1})
		return
	}
	x := &p.clients[least]
	*x = serverClient{key: k, count: x.count + 1, over: x.count}
}

// listKinds returns the kinds by requests, most first, and the rest last.
func (p *partners) listKinds() (all []ServerKind) {
	if p == nil {
		return nil
	}
	for i := range p.kinds {
		x := &p.kinds[i]
		all = append(all, ServerKind{Protocol: x.key.proto.Name, Message: x.names.of(x.key), Outcomes: x.Outcomes})
	}
	slices.SortStableFunc(all, func(a, b ServerKind) int { return cmp.Compare(b.Requests, a.Requests) })
	if p.rest != (Outcomes{}) {
		all = append(all, ServerKind{IsRest: true, Outcomes: p.rest})
	}
	return all
}

// listClients returns the clients that stand out: those of whose count at most half may be of
// others.
func (p *partners) listClients() (all []Client) {
	if p == nil {
		return nil
	}
	for _, x := range p.clients {
		if x.count > 2*x.over {
			all = append(all, Client{Addr: x.key.addr(), Requests: x.count, Error: x.over})
		}
	}
	slices.SortFunc(all, func(a, b Client) int {
		return cmp.Or(cmp.Compare(b.Requests-b.Error, a.Requests-a.Error), cmp.Compare(b.Requests, a.Requests), a.Addr.Compare(b.Addr))
	})
	return all
}
