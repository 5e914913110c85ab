package stats

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// Cause is why a poll got no answer in time.
type Cause uint8

// The causes.
const (
	// Lost: the server answered the same question of others meanwhile, and the client's polls
	// before or after.
	Lost Cause = iota
	// Filtered: the same, for filteredPolls polls in a row or more.
	Filtered
	// Unused: the server gave a challenge, and the client did not bring it back.
	Unused
	// Rejected: an ICMP error answered.
	Rejected
	// Down: the server answered nobody's question of that kind meanwhile, as far as the capture
	// shows.
	Down
	NumCauses
)

// Poller is a client at one server, with what became of its polls: a request with its repeats is one.
type Poller struct {
	Server         netip.AddrPort
	Client         netip.Addr
	Polls          uint64
	Answered, Late uint64 // in time, and after the end of the wait
	Causes         [NumCauses]uint64
	// Every is the mean time between its requests of one kind; 0 if there is one only.
	Every time.Duration
}

// Unanswered returns how many polls got no answer in time.
func (p *Poller) Unanswered() (n uint64) {
	for _, c := range p.Causes {
		n += c
	}
	return n + p.Late
}

// Undecided returns how many polls were not over when the capture ended, or are parts of nothing
// else that was counted.
func (p *Poller) Undecided() uint64 { return p.Polls - min(p.Answered+p.Unanswered(), p.Polls) }

// PollSummary is the result of a PollCollector.
type PollSummary struct {
	Pollers  []Poller // with minPolls polls or more; the most without an answer first
	Unlisted uint64   // clients at a server with fewer
	Evicted  uint64   // times that a client at a server was evicted after its first poll
}

// PollCollector follows what becomes of each client's polls. It implements track.Listener.
type PollCollector struct {
	ours *hostset.Set
	// once has the clients that asked a server once, which is all that invented ones do.
	once, often *lru.Table[pairKey, pollState]
	answered    *lru.Table[questionAt, lastAnswers]
	evicted     uint64
	age         int64 // of the latest fact
}

// pollState is a Poller while it is counted. Times are ages.
type pollState struct {
	Poller
	asks        dissect.Asked // of its first request
	first, last int64         // of requests that ask the same
	asked       uint64        // of these
	streak      uint64        // of polls in a row that are Lost or Filtered
	rejected    int64         // time stamp of the last ICMP error
	lastID      uint64        // of the exchange with lastCause
	lastCause   Cause
	open        [openPolls]openPoll // exchanges with a challenge that did not come back
}

// openPoll is an exchange with a challenge; its id is 0 if it is none.
type openPoll struct {
	id  uint64
	age int64
}

// questionAt is a kind of question at a server.
type questionAt struct {
	server endKey
	asks   dissect.Asked
}

// Hash mixes the key.
func (k questionAt) Hash(seed uint64) uint64 { return lru.Mix(k.server.Hash(seed), uint64(k.asks)) }

// lastAnswers are the ages of the last answer to anybody, and to anybody but that one.
type lastAnswers struct {
	client      hostKey
	last, other int64
}

// NewPolls returns an empty collector, with tables of scale times the usual size (0: the usual),
// of polls to the servers in ours; nil: all.
func NewPolls(ours *hostset.Set, scale float64) *PollCollector {
	if scale == 0 {
		scale = 1
	}
	n := int(maxPollers * scale)
	return &PollCollector{ours: ours, once: lru.New[pairKey, pollState](n), often: lru.New[pairKey, pollState](n), answered: lru.New[questionAt, lastAnswers](n)}
}

// AddFact adds a message, or an answer that did not come.
func (c *PollCollector) AddFact(f *track.Fact, _ []track.Found, _ *track.ServerInfo) {
	if f.TCP || f.ID == 0 || f.Type == nil || !f.Type.Asks.Has(dissect.Public) || !c.ours.Has(f.Server) {
		return
	}
	c.age = max(c.age, f.Age)
	p := c.find(f)
	if p == nil {
		return
	}
	p.closeOpen(f.ID, f.Age)
	switch f.Step {
	case track.Ask:
		p.addPoll(f)
	case track.Challenge:
		p.addOpen(f)
	case track.Answer, track.Late:
		c.addAnswer(f, p)
	case track.Silence:
		c.addSilence(f, p)
	}
}

// AddFinding adds an ICMP error; other findings show nothing of polls.
func (c *PollCollector) AddFinding(_ uint64, nanos int64, server, client netip.AddrPort, found track.Found) {
	if found.Code != &track.Refused {
		return
	}
	k := pairKey{server.Addr().As16(), client.Addr().As16(), server.Port()}
	for _, t := range []*lru.Table[pairKey, pollState]{c.once, c.often} {
		if p := t.Peek(k); p != nil {
			p.rejected = nanos
		}
	}
}

// find returns the state of the client of f at its server; nil if it is unknown and f begins no poll.
func (c *PollCollector) find(f *track.Fact) *pollState {
	k := pairOf(f)
	if p := c.often.Get(k); p != nil {
		return p
	}
	p := c.once.Peek(k)
	switch {
	case f.Step != track.Ask:
		return p
	case p == nil:
		p, _ = c.once.Put(k)
		*p = pollState{Poller: Poller{Server: f.Server, Client: f.Client.Addr()}, asks: f.Type.Asks}
		return p
	}
	was := *p
	c.once.Delete(k)
	p, evicted := c.often.Put(k)
	if evicted != nil {
		c.evicted++
	}
	*p = was
	return p
}

// addPoll adds the first request of an exchange.
func (p *pollState) addPoll(f *track.Fact) {
	p.Polls++
	if f.Type.Asks != p.asks {
		return
	}
	if p.asked == 0 {
		p.first = f.Age
	}
	p.last = f.Age
	p.asked++
}

// every returns the mean time between requests so far, 0 if there is one only.
func (p *pollState) every() time.Duration {
	if p.asked < 2 {
		return 0
	}
	return time.Duration((p.last - p.first) / int64(p.asked-1))
}

// addOpen adds an exchange whose client was given a challenge.
func (p *pollState) addOpen(f *track.Fact) {
	for i := range p.open {
		if p.open[i].id == 0 {
			p.open[i] = openPoll{f.ID, f.Age}
			return
		}
	}
}

// closeOpen ends the wait for the challenge of an exchange, and of those that waited too long.
func (p *pollState) closeOpen(id uint64, age int64) {
	for i := range p.open {
		switch o := &p.open[i]; {
		case o.id == 0:
		case o.id == id:
			*o = openPoll{}
		case age-o.age > int64(unusedAfter):
			*o = openPoll{}
			p.Causes[Unused]++
			p.streak = 0
		}
	}
}

// addAnswer adds an answer. One that is late was counted as missing before.
func (c *PollCollector) addAnswer(f *track.Fact, p *pollState) {
	p.streak = 0
	if f.Step == track.Late {
		if p.lastID == f.ID && p.Causes[p.lastCause] > 0 {
			p.Causes[p.lastCause]--
			p.lastID = 0
		}
		p.Late++
		return
	}
	p.Answered++
	client := hostKey(f.Client.Addr().As16())
	for asks := f.Type.Asks & dissect.Public; asks != 0; asks &= asks - 1 {
		a, _ := c.answered.Put(questionAt{keyOf(f.Server), asks.First()})
		if a.client != client {
			a.client, a.other = client, a.last
		}
		a.last = f.Age
	}
}

// addSilence adds an exchange without an answer.
func (c *PollCollector) addSilence(f *track.Fact, p *pollState) {
	since := f.Began - max(int64(aliveFor), int64(p.every()))
	others := int64(0)
	if a := c.answered.Peek(questionAt{keyOf(f.Server), f.Type.Asks.First()}); a != nil {
		if others = a.last; a.client == f.Client.Addr().As16() {
			others = a.other
		}
	}
	cause := Lost
	switch {
	case p.rejected > 0 && p.rejected >= f.Nanos-int64(aliveFor):
		cause, p.streak = Rejected, 0
	case others == 0 || others <= since:
		cause, p.streak = Down, 0
	default:
		if p.streak++; p.streak == filteredPolls {
			p.Causes[Lost] -= min(p.Causes[Lost], filteredPolls-1)
			p.Causes[Filtered] += filteredPolls - 1
		}
		if p.streak >= filteredPolls {
			cause = Filtered
		}
	}
	p.Causes[cause]++
	p.lastCause, p.lastID = cause, f.ID
}

// Summary returns what became of the polls so far. The collector must not be used afterwards.
func (c *PollCollector) Summary() *PollSummary {
	s := &PollSummary{Evicted: c.evicted, Unlisted: uint64(c.once.Len())}
	for _, p := range c.often.All() {
		p.closeOpen(0, c.age)
		if p.Polls < minPolls {
			s.Unlisted++
			continue
		}
		p.Every = p.every()
		s.Pollers = append(s.Pollers, p.Poller)
	}
	slices.SortFunc(s.Pollers, func(a, b Poller) int {
		return cmp.Or(cmp.Compare(b.Unanswered(), a.Unanswered()), cmp.Compare(b.Polls, a.Polls), a.Server.Compare(b.Server), a.Client.Compare(b.Client))
	})
	return s
}

// questionKey is one question of a protocol.
type questionKey struct {
	proto *dissect.Proto
	asks  dissect.Asked
}

// questionTally counts the messages of one question and their bytes.
type questionTally struct {
	name                            string // of the first request's type
	isTCP                           bool   // then the source cannot be forged, and large answers are no danger
	requests, echoes                tally
	plainAnswers, challengedAnswers tally // replies to clients that were not challenged, and that were
}

// questionOf returns the question that a message asks or answers, one bit: the first of
// several. A challenge answers the question for a challenge, whatever was asked.
func questionOf(f *track.Fact) dissect.Asked {
	switch {
	case f.Type == nil:
		return 0
	case f.Reply && f.Type.Asks&dissect.AskChallenge != 0:
		return dissect.AskChallenge
	}
	return f.Type.Asks & -f.Type.Asks
}

// findQuestion returns the counters of the question that a message asks or answers, new ones if
// there are none. Protocols declare a fixed number of questions.
func (c *Collector) findQuestion(f *track.Fact) *questionTally {
	k := questionKey{f.Proto, questionOf(f)}
	x := c.questions[k]
	if x == nil {
		x = &questionTally{isTCP: f.TCP}
		c.questions[k] = x
	}
	if x.name == "" && !f.Reply && f.Type != nil {
		x.name = f.Type.Name
	}
	return x
}

// pairKey is a server and a client's address: query tools ask each question
// from a socket of its own, and challenges are for addresses.
type pairKey struct {
	server, client hostKey
	port           uint16
}

// Hash mixes the key.
func (k pairKey) Hash(seed uint64) uint64 {
	return lru.Mix(lru.MixBytes(lru.MixBytes(seed, k.server[:]), k.client[:]), uint64(k.port))
}

// pairOf returns the pair of f.
func pairOf(f *track.Fact) pairKey {
	return pairKey{f.Server.Addr().As16(), f.Client.Addr().As16(), f.Server.Port()}
}

// addAnswerSize adds a reply to its question, and reports whether the client had been
// challenged: in this exchange, or in an earlier one whose challenge it may have
// brought again.
func (c *Collector) addAnswerSize(k *questionTally, f *track.Fact) (challenged bool) {
	if !givesToken(f) && (f.Trip >= 0 || c.challenged.Get(pairOf(f)) != nil) {
		k.challengedAnswers.add(f)
		return true
	}
	k.plainAnswers.add(f)
	return false
}

// addFurtherSize adds a further reply to a request to the size of its answer.
func (c *Collector) addFurtherSize(k *questionTally, f *track.Fact) {
	t := &k.plainAnswers
	if !givesToken(f) && (f.Trip >= 0 || c.challenged.Get(pairOf(f)) != nil) {
		t = &k.challengedAnswers
	}
	if t.n == 0 { // of the request no answer was seen
		t.add(f)
		return
	}
	t.bytes += f.Count() * uint64(f.Bytes)
	t.wire += f.Count() * uint64(f.Wire)
}

// givesToken reports whether a reply is a challenge. A client needs none to get that.
func givesToken(f *track.Fact) bool { return f.Type != nil && f.Type.GivesToken() }

// gainOf returns the mean size of all answers to a request divided by that of the requests.
func gainOf(requests, answers *tally) Gain {
	g := Gain{Answers: answers.n}
	if answers.n == 0 || requests.n == 0 || requests.bytes == 0 {
		return g
	}
	perAnswer, perRequest := 1/float64(answers.n), 1/float64(requests.n)
	g.Payload = float64(answers.bytes) * perAnswer / (float64(requests.bytes) * perRequest)
	g.Wire = float64(answers.wire) * perAnswer / (float64(requests.wire) * perRequest)
	return g
}

const (
	// limit: maxPollers is how many clients at a server are kept that asked more than once, and as many
	// that asked once, 1.3 MiB each. Chosen: a host has hundreds of clients that come again.
	maxPollers = 4096
	// limit: openPolls is how many polls of a client can wait for its challenge at a time: one of each
	// kind.
	openPolls = 3
	// limit: minPolls is how many polls make a client a row: what asks less often does not poll.
	minPolls = 3
	// limit: filteredPolls is how many polls in a row must go without an answer to be no loss: as many as
	// the finding about them takes (track).
	filteredPolls = 3
	// limit: unusedAfter is how long after a challenge it counts as not brought back: track waits as long.
	unusedAfter = 3 * time.Second
	// limit: aliveFor is how long before a client's first poll an answer to others shows that the server
	// is up, and how long an ICMP error is about a request before it.
	aliveFor = 10 * time.Second
)
