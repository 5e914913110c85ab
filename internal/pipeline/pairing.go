package pipeline

import (
	"time"

	"qsniff/internal/render/tally"
)

// pairing pairs requests and replies of a part of the flows of a partition, to find captures of which a
// switch or router kept one of N packets: there few replies have their request, and few requests their
// reply, at servers that are asked and that answer. It goes by single datagrams, so that each command has
// the same figures, whether it reads messages or not.
//
// A request arrives: it is kept, as the open one between its ends. A reply closes it, and is paired for
// pairWindow. Requests in floods come from so many ends that their flows crowd the table: then fewer of the
// flows are paired, half of them each time, and what was counted is counted anew.
type pairing struct {
	table   []pairedFlow         // by a hash of both ends; nil before the first request
	servers [pairServers]askedOf // by a hash of the end
	skip    uint16               // flows are paired whose item.pair has none of these bits
	kept    uint32               // requests of these flows since skip changed
	crowded uint32               // of these, those that found another flow in their place
	n       tally.Pairing
}

// pairedFlow is the latest request between two ends, as endBits.
type pairedFlow struct {
	client, server uint64
	age            int64
	isOpen         bool
	isShared       bool // other flows wanted its place: their replies are not strays
}

// askedOf is a server.
type askedOf struct {
	server           uint64
	wasAsked, writes bool // writes: it sent a reply
}

const (
	// limit: pairPlaces is the room of a partition, 4 KB: 2,048 flows in all.
	pairPlaces = 1 << 7
	// limit: pairServers is how many servers of a partition are known. Chosen: more than a host has.
	pairServers = 1 << 6
	// limit: pairWindow is how long a request waits for its reply: as long as exchanges wait (track).
	pairWindow = 3 * time.Second
	// limit: pairCrowded is how many requests must find their place taken before fewer flows are paired;
	// they must be one in pairCrowdedShare, too.
	pairCrowded      = 64
	pairCrowdedShare = 8
	// limit: leastPaired is the smallest share of flows that are paired, as bits of item.pair that must be 0.
	leastPaired = 1<<12 - 1
)

// find returns the places of a flow and of its server.
func (p *pairing) find(client, server uint64) (*pairedFlow, *askedOf) {
	const odd = 0x9e3779b97f4a7c15
	s := (server ^ server>>32) * odd
	return &p.table[(client^client>>29^s)*odd>>57], &p.servers[s>>58]
}

// addRequest counts a request that client sent to server; both are endBits.
func (p *pairing) addRequest(it *item, client, server uint64) {
	if it.weight > 1 {
		return // a sample, as is known
	}
	p.n.Requests++
	if it.pair&p.skip != 0 {
		return
	}
	if p.table == nil {
		p.table = make([]pairedFlow, pairPlaces)
	}
	x, s := p.find(client, server)
	if s.server != server {
		*s = askedOf{server: server}
	}
	s.wasAsked = true
	p.kept++
	isFresh := it.age-x.age <= int64(pairWindow)
	switch isSame := x.client == client && x.server == server; {
	case isFresh && isSame && x.isOpen:
		return // it asks again
	case isFresh && !isSame && x.client != 0:
		x.isShared = true
		p.crowd()
		return
	case !isFresh:
		p.endRequest(x)
		x.isShared = false
	}
	x.client, x.server, x.age, x.isOpen = client, server, it.age, true
}

// endRequest counts the request of a flow as unanswered if it is open, and its server sends replies.
func (p *pairing) endRequest(x *pairedFlow) {
	if !x.isOpen {
		return
	}
	if _, s := p.find(x.client, x.server); s.server == x.server && s.writes {
		p.n.Unanswered++
	}
}

// addReply counts a reply.
func (p *pairing) addReply(it *item) {
	if it.weight > 1 {
		return
	}
	p.n.Replies++
	if p.table == nil || it.pair&p.skip != 0 {
		return
	}
	client, server := endBits(it.Dst), endBits(it.Src)
	x, s := p.find(client, server)
	if s.server == server {
		s.writes = true
	}
	isFresh := it.age-x.age <= int64(pairWindow)
	switch {
	case isFresh && x.client == client && x.server == server:
		p.n.Paired++
		if x.isOpen {
			x.isOpen = false
			p.n.Answered++
		}
	case isFresh && x.isShared || s.server != server || !s.wasAsked:
	default:
		p.n.Strays++
	}
}

// crowd counts a request that found another flow in its place.
func (p *pairing) crowd() {
	if p.crowded++; p.crowded < pairCrowded || p.crowded*pairCrowdedShare < p.kept || p.skip >= leastPaired {
		return
	}
	p.skip = p.skip<<1 | 1
	p.kept, p.crowded = 0, 0
	p.n = tally.Pairing{Requests: p.n.Requests, Replies: p.n.Replies}
	clear(p.table)
}
