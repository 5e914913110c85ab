package track

import (
	"net/netip"
	"slices"
	"time"

	"qsniff/dissect"
	"qsniff/dissect/finding"
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

// hostState is the state of a server that answers.
type hostState struct {
	answered int64             // age of its last answer to anybody; a challenge is none
	served   [queryKinds]int64 // the same for each kind of query; never if it was not answered
	muted    [queryKinds]mutedCount
	vain     [queryKinds - queryPlayers]vainCount // without information
	shared   sharedChallenge
	times    answerTimes
	demands  bool // a challenge in place of information was reported
	bytes    sameBytes
	framing  [queryKinds]framing
	// isReframed is set if two forms of answers were raised.
	isReframed bool
	// silences is how many requests went without an answer since silentSince.
	silences    uint32
	silentSince int64
	// unbrought is how many challenges were not brought back since unbroughtSince, of those after
	// which the client asked again.
	unbrought      uint32
	unbroughtSince int64

	copies         [copiedQuestions]copiedAnswer // of the last questions that were answered
	hasCopies      bool                          // LIE-10 was raised, or will be
	sole           soleClient
	open           openAnswers
	isPortReported bool // that it names another port
}

// mutedCount counts the valid requests of one kind that nobody answered since the last
// answer of that kind.
type mutedCount struct {
	queries    uint32
	clients    uint32 // different addresses, up to 2
	first      Host   // the first of them
	isReported bool
}

// sharedChallenge is the challenge that a server gives most, by Boyer and Moore's majority
// vote: each gift of the candidate is a vote for it, each gift of another challenge a vote
// against it, and at a negative count the other one becomes the candidate.
type sharedChallenge struct {
	challenge  uint32
	votes      int32
	given, all uint32                // times that the candidate, and any challenge, was given since it became that
	to         [sharedAddresses]Host // addresses that were given it
	addresses  uint8                 // in use of to
	first      uint64                // frame of its first gift
	isReported bool
}

// challengedClient is a client at a server that gave it a challenge.
type challengedClient struct {
	challenge, previous uint32             // the last two that it was given
	age                 int64              // of the last gift
	tries               [queryKinds]uint32 // valid requests since the last answer
	unheeded            [queryKinds]unheededCount
	isReported          bool
	given               gifts
	unbrought           [queryPlayers + 1]unbroughtChallenges // for information, and for players or rules
	path                replyPath
}

// unheededCount counts exchanges in a row with a valid challenge that ended without an answer.
type unheededCount struct {
	first uint64 // frame
	age   int64  // of the first
	n     uint8
}

// hasChallenge reports whether the challenge of the request, or silence, f was given to its
// client at most fresh nanoseconds ago.
func (p *challengedClient) hasChallenge(f *Fact, fresh int64) bool {
	key := uint32(f.Key)
	return key != 0 && (key == p.challenge || key == p.previous) && f.Age-p.age <= fresh
}

// findServer returns the state of the server of f, a new one if there is none.
func (h *Hosts) findServer(f *Fact) *hostState {
	k := EndOf(f.Server)
	if s := h.servers.Get(k); s != nil {
		return s
	}
	s, evicted := h.servers.Put(k)
	if evicted != nil {
		h.evicted++
	}
	*s = hostState{answered: never, served: [queryKinds]int64{never, never, never}, silentSince: never, unbroughtSince: never}
	return s
}

// AddBegun adds a part of a reply to what asks for asks, which may never come whole: its server does
// answer that. f has the ends and the time.
func (h *Hosts) AddBegun(f *Fact, asks dissect.Asked) {
	s := h.findServer(f)
	for kind := range queryKinds {
		if asks.Has(queryRoles[kind]) {
			s.recordServed(kind, f.Age)
		}
	}
}

// recordServed records that the server answered a query of a kind at age.
func (s *hostState) recordServed(kind int, age int64) {
	s.served[kind] = max(s.served[kind], age)
	s.muted[kind] = mutedCount{isReported: s.muted[kind].isReported}
}

// addServerReply adds a reply to a query, or a challenge, to the state of its server.
func (h *Hosts) addServerReply(f *Fact) {
	s := h.findServer(f)
	if f.Type.Asks.Has(dissect.AskChallenge) {
		if f.Key != 0 {
			h.recordChallenge(f, s)
			h.countShared(f, &s.shared)
		}
		if f.Asked.Has(dissect.AskInfo) && !s.demands {
			s.demands = true
			at := *f
			at.Client = netip.AddrPort{}
			h.raise(&at, f.Request, finding.Expert{Code: pairCodes(f.Proto).Demanded}, false)
		}
		return
	}
	s.answered = max(s.answered, f.Age)
	h.countCopies(f, s)
	if f.Step == Answer && f.Took >= 0 {
		s.times.add(f.Took)
	}
	h.checkGamePort(f, s)
	h.countClient(f, &s.sole)
	pair := pairOf(f)
	h.addPollAnswer(pair)
	p := h.proven.Peek(pair)
	h.recordAnswered(f, p)
	h.checkCache(f, s, p)
	if p == nil {
		h.countOpen(f, &s.open)
	}
	for kind := range queryKinds {
		if !f.Type.Asks.Has(queryRoles[kind]) {
			continue
		}
		h.checkFraming(f, s, kind)
		s.recordServed(kind, f.Age)
		if p != nil {
			p.tries[kind], p.unheeded[kind] = 0, unheededCount{}
		}
	}
}

// recordChallenge stores the challenge that a client was given.
func (h *Hosts) recordChallenge(f *Fact, s *hostState) {
	k := pairOf(f)
	p := h.proven.Get(k)
	if p == nil {
		p, _ = h.offered.Put(k) // evictions are not counted: floods from invented addresses fill the table
	}
	h.countUnbrought(f, p, s)
	if key := uint32(f.Key); key != p.challenge {
		p.given.addOther(f)
		p.challenge, p.previous = key, p.challenge
	}
	p.given.last = uint32(f.ID)
	p.age = f.Age
	p.path.addChallenge(f)
}

// addQuery adds a request. If it brings back a challenge, its client is at its address and
// moves to the proven ones.
func (h *Hosts) addQuery(f *Fact) {
	kind := queryKind(f.Type.Asks)
	if kind < 0 || f.Key == 0 {
		return
	}
	k := pairOf(f)
	p := h.proven.Get(k)
	if p == nil {
		o := h.offered.Peek(k)
		if o != nil {
			o.bringBack(kind)
		}
		if o == nil || !o.hasChallenge(f, int64(freshFor)) {
			return
		}
		was := *o
		h.offered.Delete(k)
		var evicted *lru.Evicted[pairKey, challengedClient]
		if p, evicted = h.proven.Put(k); evicted != nil {
			h.evicted++
		}
		*p = was
	} else {
		p.bringBack(kind)
	}
	if p.hasChallenge(f, int64(freshFor)) {
		p.tries[kind]++
		h.checkOrder(f, p)
	}
}

// addUnansweredQuery adds an exchange that ended without an answer. For most it counts only if
// its last request had a valid challenge.
func (h *Hosts) addUnansweredQuery(f *Fact) {
	kind := queryKind(f.Type.Asks)
	p, s := h.proven.Peek(pairOf(f)), h.servers.Peek(EndOf(f.Server))
	if kind < 0 || s == nil {
		return
	}
	h.addSilentPoll(f, s, kind, p != nil)
	if p == nil || !p.hasChallenge(f, int64(freshFor)) {
		return
	}
	d := &p.unheeded[kind]
	if d.n == 0 {
		d.first, d.age = f.ID, f.Age
	}
	d.n = min(d.n, 254) + 1
	alive := s.served[kind]
	if kind == queryInfo {
		alive = s.answered
	}
	if d.n >= deadEchoes && !p.isReported && alive > d.age && alive >= f.Age-int64(aliveFor) {
		p.isReported = true
		h.raise(f, d.first, finding.Expert{Code: pairCodes(f.Proto).Unheeded, A: uint64(d.n)}, h.isUnsure(d.age))
	}
	// That challenges come shows that the server lives and that both paths work, whoever else asks. Many servers
	// answer information alone: of those another finding speaks.
	if d.n >= lonelyEchoes && !p.isReported && p.age > d.age && s.served[kind] < d.age && (kind == queryInfo || s.answered < d.age) {
		p.isReported = true
		h.raise(f, d.first, finding.Expert{Code: pairCodes(f.Proto).Unheeded, A: uint64(d.n), B: dissect.UnheededAlone}, h.isUnsure(d.age))
	}
	if kind != queryInfo {
		h.countMuted(f, s, kind, p.tries[kind])
	}
	p.tries[kind] = 0
}

// countMuted counts requests for players or rules that nobody answered.
func (h *Hosts) countMuted(f *Fact, s *hostState, kind int, tries uint32) {
	m := &s.muted[kind]
	client := Host(f.Client.Addr().As16())
	switch {
	case m.queries == 0:
		m.first, m.clients = client, 1
	case m.first != client:
		m.clients = 2
	}
	m.queries += max(tries, 1)
	if m.isReported || m.queries < mutedQueries || m.clients < mutedClients ||
		s.served[queryInfo] < f.Age-int64(servedFor) {
		return
	}
	m.isReported = true
	x := finding.Expert{Code: pairCodes(f.Proto).Partial, A: uint64(m.queries)}
	if kind == queryRules {
		x.B = 1
		if s.muted[queryPlayers].queries == 0 {
			x.Code = pairCodes(f.Proto).Ruleless
		}
	}
	at := *f
	at.Client = netip.AddrPort{}
	h.raise(&at, f.Frame, x, h.isUnsure(f.Age-int64(servedFor)))
}

// countShared counts a challenge and the address to which it is given.
func (h *Hosts) countShared(f *Fact, x *sharedChallenge) {
	key := uint32(f.Key)
	x.all++
	if key == x.challenge {
		x.votes++
	} else if x.votes--; x.votes < 0 {
		*x = sharedChallenge{challenge: key, all: 1, first: f.Frame, isReported: x.isReported}
	}
	if key != x.challenge {
		return
	}
	x.given++
	client := Host(f.Client.Addr().As16())
	if int(x.addresses) < len(x.to) && !slices.Contains(x.to[:x.addresses], client) {
		x.to[x.addresses] = client
		x.addresses++
	}
	if x.isReported || uint32(x.addresses) < sharedWith || x.all < sharedOf || 100*uint64(x.given) < uint64(sharedShare)*uint64(x.all) {
		return
	}
	x.isReported = true
	at := *f
	at.Client = netip.AddrPort{}
	h.raise(&at, x.first, finding.Expert{Code: pairCodes(f.Proto).Shared, A: uint64(key), B: uint64(x.given)<<32 | uint64(x.all)}, false)
}

// unbroughtChallenges counts the challenges of one kind of query that a client did not bring back. It
// asks from a new port each time, or long after: otherwise its request shows that to Exchanges.
type unbroughtChallenges struct {
	age   int64  // of the challenge that waits to be brought back
	first uint64 // frame of the first one that was not
	port  uint16 // of the client
	kind  uint8  // the index of the query and 1; 0: none waits
	n     uint8  // in a row, so far
	soon  uint8  // further ones within the wait of this one
	// isUnsure is set if packets may be missing from the capture since the first one.
	isUnsure bool
}

// countUnbrought counts a challenge that a client is given in place of an answer, and raises that it
// was given such before, each time brought none back for as long as clients wait, and asks on. What
// is shown is the request that caused this one, so the whole wait lies in the capture. Challenges for
// players and for rules are one: clients get one with the first and use it for the other.
func (h *Hosts) countUnbrought(f *Fact, p *challengedClient, s *hostState) {
	code, kind := pairCodes(f.Proto).Ignored, queryKind(f.Asked)
	if code == nil || kind < 0 || f.Step != Challenge {
		return
	}
	c := &p.unbrought[min(kind, queryPlayers)]
	waited := f.Age - c.age
	switch {
	case c.kind == 0:
		*c = unbroughtChallenges{age: f.Age, first: f.Frame, port: f.Client.Port(), kind: uint8(kind + 1)}
		return
	case int(c.kind) != kind+1:
		return
	case waited <= int64(answerWait):
		c.soon = min(c.soon, 254) + 1
		return
	case c.soon > maxSoon: // a flood in the name of this address, or many clients behind it
		*c = unbroughtChallenges{age: f.Age, first: f.Frame, port: f.Client.Port(), kind: uint8(kind + 1)}
		return
	}
	if f.Age-s.unbroughtSince > int64(silentFor) {
		s.unbroughtSince, s.unbrought = f.Age, 0
	}
	s.unbrought++
	isShown := c.port == f.Client.Port() && waited <= int64(extraFor) // by the request
	c.isUnsure = c.isUnsure || h.isUnsure(c.age)
	c.age, c.port, c.soon = f.Age, f.Client.Port(), 0
	if isShown {
		return
	}
	if c.n = min(c.n, 254) + 1; c.n == unbroughtTimes && s.unbrought <= maxUnbrought {
		h.raise(f, c.first, finding.Expert{Code: code, A: f.Key&0xffff_ffff | uint64(c.n)<<32, B: uint64(waited)}, c.isUnsure)
	}
}

// bringBack records that the client brought a challenge back with a query of a kind, or that the
// query was answered without.
func (p *challengedClient) bringBack(kind int) {
	if kind == queryInfo {
		p.unbrought[queryInfo] = unbroughtChallenges{}
	}
	p.unbrought[queryPlayers] = unbroughtChallenges{}
}

// recordAnswered records an answer in an exchange in which the client was challenged: it need
// not bring the challenge back. p is the client if it is proven.
func (h *Hosts) recordAnswered(f *Fact, p *challengedClient) {
	if f.Trip < 0 {
		return
	}
	if p == nil {
		if p = h.offered.Peek(pairOf(f)); p == nil {
			return
		}
	}
	if f.Type.Asks.Has(dissect.AskInfo) {
		p.bringBack(queryInfo)
	} else {
		p.bringBack(queryPlayers)
	}
}

// gifts is which challenges a client was given in one exchange, where a repeated request got a
// second one before the first came back. Exchanges are known by the low bits of their numbers.
type gifts struct {
	last         uint32 // exchange of the last gift
	both         uint32 // exchange in which the client was given its last two; 0: there is none
	isNewerFirst bool   // of these the newer one came back, and the older did not yet
}

// addOther adds a challenge that is not that of the last gift.
func (g *gifts) addOther(f *Fact) {
	g.both, g.isNewerFirst = 0, false
	if f.Step == Extra && g.last == uint32(f.ID) {
		g.both = g.last
	}
}

// checkOrder raises that a client brings back the older of two challenges that it was given in
// one exchange after the newer one. One that waits for one reply at a time brings them back as
// they come.
func (h *Hosts) checkOrder(f *Fact, p *challengedClient) {
	switch g := &p.given; {
	case g.both == 0 || g.both != uint32(f.ID):
	case uint32(f.Key) == p.challenge:
		g.isNewerFirst = true
	case g.isNewerFirst:
		h.raise(f, f.ID, finding.Expert{Code: pairCodes(f.Proto).Mixed, A: uint64(p.previous), B: uint64(p.challenge)}, false)
		fallthrough
	default:
		g.both = 0
	}
}

// vainCount counts the requests of one kind that a server left unanswered.
type vainCount struct {
	requests uint32 // exchanges, of all clients
	since    int64  // age of the first of them
	first    uint64 // frame
}

// waitingClient is a client that asked a server for something in vain.
type waitingClient struct {
	times      [queryKinds]uint8 // exchanges that ended without an answer
	isReported [queryKinds]bool
}

// addVain adds an exchange that ended without an answer, and raises that its client waits for what
// the server never sends. It counts only if the server had no other reason for silence that the
// capture shows: the last request had a valid challenge, or none where the server demanded none.
func (h *Hosts) addVain(f *Fact) {
	kind, s := queryKind(f.Type.Asks), h.servers.Peek(EndOf(f.Server))
	if kind < 0 || kind == queryInfo || s == nil || s.served[kind] != never || s.served[queryInfo] < f.Age-int64(servedFor) || !h.isValid(f) {
		return
	}
	v := &s.vain[kind-queryPlayers]
	if v.requests == 0 {
		v.since, v.first = f.Age, f.ID
	}
	v.requests++
	c, evicted := h.waiting.Put(pairOf(f))
	if evicted != nil && evicted.Val.hasAskedAgain() { // those that asked once may be invented
		h.evicted++
	}
	c.times[kind] = min(c.times[kind], 254) + 1
	if c.isReported[kind] || c.times[kind] < vainTimes || v.requests < vainRequests {
		return
	}
	c.isReported[kind] = true
	x := finding.Expert{Code: pairCodes(f.Proto).Vain, A: uint64(v.requests)}
	if queryRoles[kind] == dissect.AskRules {
		x.B = 1
	}
	h.raise(f, v.first, x, h.isUnsure(v.since))
}

// hasAskedAgain reports whether the client asked in vain more than once.
func (c *waitingClient) hasAskedAgain() bool {
	return c.times[queryPlayers] > 1 || c.times[queryRules] > 1
}

// isValid reports whether the last request of the silence f was one that servers answer.
func (h *Hosts) isValid(f *Fact) bool {
	if f.Key == 0 {
		return !f.GotChallenge
	}
	p := h.proven.Peek(pairOf(f))
	return p != nil && p.hasChallenge(f, int64(freshFor))
}

const (
	// limit: sharedAddresses is how many addresses with one challenge are counted: as many as the finding
	// needs (sharedWith).
	sharedAddresses = 8
	// limit: freshFor is how old a challenge may be that counts as valid: no server is known whose
	// challenges outlast a round trip and expire sooner.
	freshFor = 30 * time.Second
	// limit: deadEchoes is how many valid requests in a row must stay without an answer: one is lost now
	// and then.
	deadEchoes = 2
	// limit: lonelyEchoes is the same where nobody else shows that the server lives, but it goes on giving
	// out challenges. Chosen: it gave one for each of these, so a path that loses packets would have to
	// lose those with a challenge alone, three times.
	lonelyEchoes = 3
	// limit: aliveFor is how long ago a server may have answered anybody to count as up.
	aliveFor = 10 * time.Second
	// limit: mutedQueries is how many requests for players or rules must stay without an answer, and
	// mutedClients from how many addresses: the path of a single client can be broken.
	mutedQueries = 5
	mutedClients = 2
	// limit: vainRequests is how many requests of one kind a server must leave unanswered, and answer
	// none, before it counts as one that never does; vainTimes is how often a client must have asked in
	// vain. Chosen: a client that asks once cannot know.
	vainRequests = 5
	vainTimes    = 2
	// limit: servedFor is how long ago the server of these may have answered a request for information.
	servedFor = time.Minute
	// limit: A server shares a challenge if it gives it to sharedWith addresses or more, and if it makes
	// up sharedShare percent of sharedOf challenges or more: a single address behind NAT or a proxy gets
	// the same challenge for ever.
	sharedWith  = 8
	sharedOf    = 16
	sharedShare = 90
	// limit: unbroughtTimes is how many challenges in a row a client must not bring back, each for
	// answerWait: one request may get lost. More than maxSoon further ones within that time are no client
	// that repeats its request. More than maxUnbrought in silentFor at one server are scans or a flood:
	// old clients are few. Chosen.
	unbroughtTimes = 2
	maxSoon        = 4
	maxUnbrought   = 16
)
