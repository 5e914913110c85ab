package track

import (
	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// unheeded finds servers that leave valid requests unanswered: those of one client, or all for players or rules.
type unheeded struct {
	*Hosts
	clients *states[unheededClient]
	muted   *states[[queryKinds]mutedCount] // by server
}

func newUnheeded(h *Hosts) check {
	c := &unheeded{Hosts: h, clients: newClientStates[unheededClient](h), muted: newServerStates[[queryKinds]mutedCount](h)}
	return check{wants: []want{
		{clientQuery | repeatedQuery, c.addQuery}, {answer, c.addAnswer}, {begunReply, c.addBegun}, {noAnswer, c.addUnansweredQuery},
	}}
}

// unheededClient is what a client at a server asked in vain.
type unheededClient struct {
	tries      [queryKinds]uint32 // valid requests since the last answer
	unheeded   [queryKinds]unheededCount
	isReported bool
}

// unheededCount counts exchanges in a row with a valid challenge that ended without an answer.
type unheededCount struct {
	first uint64 // frame
	age   int64  // of the first
	n     uint8
}

// mutedCount counts the valid requests of one kind that nobody answered since the last
// answer of that kind.
type mutedCount struct {
	queries    uint32
	clients    uint32 // different addresses, up to 2
	first      Host   // the first of them
	isReported bool
}

// addQuery counts a valid request.
func (c *unheeded) addQuery(f *view) {
	if p := f.proven(); p != nil && p.hasChallenge(f.Fact, int64(freshFor)) {
		c.clients.at(p.slot).tries[f.query]++
	}
}

// addAnswer adds an answer, after which all is well with that kind of query.
func (c *unheeded) addAnswer(f *view) {
	c.unmute(f, f.Type.Asks)
	p := f.proven()
	if p == nil {
		return
	}
	x := c.clients.at(p.slot)
	for kind, role := range queryRoles {
		if f.Type.Asks.Has(role) {
			x.tries[kind], x.unheeded[kind] = 0, unheededCount{}
		}
	}
}

// addBegun adds a part of an answer.
func (c *unheeded) addBegun(f *view) { c.unmute(f, f.begun) }

// unmute records that the server answers what asks for asks.
func (c *unheeded) unmute(f *view, asks dissect.Asked) {
	m := c.muted.at(f.server.slot)
	for kind, role := range queryRoles {
		if asks.Has(role) {
			m[kind] = mutedCount{isReported: m[kind].isReported}
		}
	}
}

// addUnansweredQuery adds an exchange that ended without an answer. It counts only if
// its last request had a valid challenge.
func (c *unheeded) addUnansweredQuery(f *view) {
	p, s, kind := f.client, f.server, f.query
	if p == nil || !p.hasChallenge(f.Fact, int64(freshFor)) {
		return
	}
	x := c.clients.at(p.slot)
	d := &x.unheeded[kind]
	if d.n == 0 {
		d.first, d.age = f.ID, f.Age
	}
	d.n = min(d.n, 254) + 1
	alive := s.served[kind]
	if kind == queryInfo {
		alive = s.answered
	}
	if d.n >= deadEchoes && !x.isReported && alive > d.age && alive >= f.Age-int64(aliveFor) {
		x.isReported = true
		c.Report(f.Fact, d.first, finding.Expert{Code: pairCodes(f.Proto).Unheeded, A: uint64(d.n)}, c.isUnsure(d.age))
	}
	// That challenges come shows that the server lives and that both paths work, whoever else asks. Many servers
	// answer information alone: of those another finding speaks.
	if d.n >= lonelyEchoes && !x.isReported && p.age > d.age && s.served[kind] < d.age && (kind == queryInfo || s.answered < d.age) {
		x.isReported = true
		c.Report(f.Fact, d.first, finding.Expert{Code: pairCodes(f.Proto).Unheeded, A: uint64(d.n), B: dissect.UnheededAlone}, c.isUnsure(d.age))
	}
	if kind != queryInfo {
		c.countMuted(f, x.tries[kind])
	}
	x.tries[kind] = 0
}

// countMuted counts requests for players or rules that nobody answered.
func (c *unheeded) countMuted(f *view, tries uint32) {
	kind, muted := f.query, c.muted.at(f.server.slot)
	m := &muted[kind]
	client := Host(f.Client.Addr().As16())
	switch {
	case m.queries == 0:
		m.first, m.clients = client, 1
	case m.first != client:
		m.clients = 2
	}
	m.queries += max(tries, 1)
	if m.isReported || m.queries < mutedQueries || m.clients < mutedClients ||
		f.server.served[queryInfo] < f.Age-int64(servedFor) {
		return
	}
	m.isReported = true
	x := finding.Expert{Code: pairCodes(f.Proto).Partial, A: uint64(m.queries)}
	if kind == queryRules {
		x.B = 1
		if muted[queryPlayers].queries == 0 {
			x.Code = pairCodes(f.Proto).Ruleless
		}
	}
	c.Report(serverOnly(f.Fact), f.Frame, x, c.isUnsure(f.Age-int64(servedFor)))
}

const (
	// limit: deadEchoes is how many valid requests in a row must stay without an answer: one is lost now
	// and then.
	deadEchoes = 2
	// limit: lonelyEchoes is the same where nobody else shows that the server lives, but it goes on giving
	// out challenges. Chosen: it gave one for each of these, so a path that loses packets would have to
	// lose those with a challenge alone, three times.
	lonelyEchoes = 3
	// limit: mutedQueries is how many requests for players or rules must stay without an answer, and
	// mutedClients from how many addresses: the path of a single client can be broken.
	mutedQueries = 5
	mutedClients = 2
)
