package track

import (
	"time"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// Elsewhere is raised by a reply from another address or port than the one that the
// client asked: Addr is its source, A the time since the request in nanoseconds.
var Elsewhere = finding.Code{ID: "NET-01", Severity: finding.Error, Fault: finding.Server,
	Seen:   "a reply to what a client asked, from another address or port than the one it asked",
	Means:  "the server has several addresses and answers from the wrong one, or NAT changes the port; most clients drop such a reply, and firewalls do",
	Owner:  "bind the server to the address that clients ask, or let the router translate replies back",
	Client: "say that another address answered, in place of \"offline\"; dropping the reply is right",
	Format: "a reply came from {addr}, which this client did not ask, {a.ms} ms after the request{unsure}"}

// strays finds replies that nobody requested, at least not of their server.
type strays struct {
	*Hosts
	notes             notes // of what the sockets do not have yet
	maxNotes          int
	sockets           *lru.Table[socketKey, askedServers]
	reportedElsewhere *lru.Table[elsewhereKey, struct{}]
	unrequested       *lru.Table[pairKey, unrequested]
	askers            *lru.Table[Host, int64] // ages of the last requests, as far as notes were entered
}

func newStrays(h *Hosts) check {
	c := &strays{
		Hosts:             h,
		maxNotes:          max(int(maxNotes*h.size), 1),
		sockets:           newTable[socketKey, askedServers](h, maxSockets),
		reportedElsewhere: newTable[elsewhereKey, struct{}](h, maxElsewhere),
		unrequested:       newTable[pairKey, unrequested](h, maxUnrequested),
		askers:            newTable[Host, int64](h, maxAskers),
	}
	return check{
		finds: []*finding.Code{&Elsewhere, &Unrequested},
		wants: []want{{requests | replies, c.addNote}, {strayReply, c.addStray}},
	}
}

// addStray adds a reply that its server was not asked for.
func (c *strays) addStray(f *view) {
	if !c.checkElsewhere(f) {
		c.addUnrequested(f)
	}
}

// socketKey is a client's socket and a kind of question.
type socketKey struct {
	client End
	asks   dissect.Asked // one bit
}

// Hash mixes the key.
func (k socketKey) Hash(seed uint64) uint64 { return lru.Mix(k.client.Hash(seed), uint64(k.asks)) }

// askedServers are the servers that a client's socket asked one kind of question.
type askedServers struct {
	open [maxAsked]question
	n    uint8
	// overflowAge is the age of the last question for which there was no room: a reply since
	// then may be the answer to that.
	overflowAge int64
}

// question is a question to which the server has not replied.
type question struct {
	server End
	frame  uint64
	age    int64
}

// elsewhereKey is an asked server, its client and the end that replied: each is reported once.
type elsewhereKey struct {
	pair  pairKey
	other End
}

// Hash mixes the key.
func (k elsewhereKey) Hash(seed uint64) uint64 {
	return lru.Mix(lru.MixBytes(k.pair.Hash(seed), k.other.Host[:]), uint64(k.other.Port))
}

// note is a question, or a reply, as it waits to be entered among the sockets.
type note struct {
	client, server End
	asks           dissect.Asked // of a question one bit
	isReply        bool
	frame          uint64
	age            int64
}

// notes holds the last notes, a ring. Only a reply that nobody requested asks for the sockets.
// Until one comes, a request costs a note, and one that is too old by then is never entered.
type notes struct {
	ring  []note // nil before the first
	next  int    // place of the next note; the oldest follows
	count int    // not entered yet
	// lostAge is the age of the latest request whose client is not among the askers any more.
	lostAge int64
}

// addNote notes a question, or a reply to one.
func (c *strays) addNote(v *view) {
	t, f := &c.notes, v.Fact
	asks := f.Type.Asks
	if !f.Reply {
		asks = asks.First()
	}
	if t.ring == nil {
		t.ring, t.lostAge = make([]note, c.maxNotes), never
	}
	n := &t.ring[t.next]
	if t.count < len(t.ring) {
		t.count++
	} else if !n.isReply {
		t.lostAge = n.age
		if n.age >= f.Age-int64(elsewhereFor) {
			c.evicted++
		}
	}
	n.client.set(f.Client)
	n.server.set(f.Server)
	n.asks, n.isReply, n.frame, n.age = asks, f.Reply, f.Frame, f.Age
	if t.next++; t.next == len(t.ring) {
		t.next = 0
	}
}

// enterNotes enters the notes among the sockets at age. Those of twice elsewhereFor ago change
// nothing: a question counts for elsewhereFor, and for as long before that the others were in
// its way.
func (c *strays) enterNotes(age int64) {
	t := &c.notes
	since := age - 2*int64(elsewhereFor)
	for ; t.count > 0; t.count-- {
		at := t.next - t.count
		if at < 0 {
			at += len(t.ring)
		}
		switch n := &t.ring[at]; {
		case n.age < since:
		case n.isReply:
			c.dropAnswered(n)
		default:
			c.addAsker(n.client.Host, n.age)
			c.addQuestion(n)
		}
	}
}

// addQuestion records which server a client's socket asked.
func (c *strays) addQuestion(n *note) {
	s := enter(c.Hosts, c.sockets, socketKey{n.client, n.asks})
	if s.n == 0 && s.overflowAge == 0 {
		s.overflowAge = never
	}
	s.dropQuestions(n.server, n.age-int64(elsewhereFor))
	if int(s.n) == len(s.open) {
		s.overflowAge = n.age
		return
	}
	s.open[s.n] = question{n.server, n.frame, n.age}
	s.n++
}

// dropQuestions removes the questions to server, and those before age.
func (s *askedServers) dropQuestions(server End, age int64) {
	n := uint8(0)
	for _, a := range s.open[:s.n] {
		if a.server != server && a.age >= age {
			s.open[n] = a
			n++
		}
	}
	s.n = n
}

// dropAnswered removes the questions to the server that sent a reply.
func (c *strays) dropAnswered(n *note) {
	for asks := n.asks; asks != 0; asks &= asks - 1 {
		if s := c.sockets.Peek(socketKey{n.client, asks.First()}); s != nil {
			s.dropQuestions(n.server, n.age-int64(elsewhereFor))
		}
	}
}

// checkElsewhere raises that a reply came from an end that the client did not ask, if it is
// clear which server it asked, and reports whether it is.
func (c *strays) checkElsewhere(f *view) bool {
	c.enterNotes(f.Age)
	a, ok := c.findQuestion(f)
	if !ok {
		return false
	}
	k := elsewhereKey{pairKey{a.server, f.Client.Addr().As16()}, EndOf(f.Server)}
	if c.reportedElsewhere.Get(k) != nil {
		return true
	}
	c.reportedElsewhere.Put(k)
	at := *f.Fact
	at.Server = a.server.AddrPort()
	// What the client asked before the capture began is unknown, too.
	since := f.Age - int64(elsewhereFor)
	c.Report(&at, a.frame, finding.Expert{Code: &Elsewhere, Addr: f.Server, A: uint64(f.Age - a.age)},
		c.isUnsure(since) || c.firstAge > since)
	return true
}

// findQuestion returns the question that a reply from another end answers: the only open
// one, or the only one to a server with the same address or port.
func (c *strays) findQuestion(f *view) (best question, ok bool) {
	client, other := EndOf(f.Client), EndOf(f.Server)
	since := f.Age - int64(elsewhereFor)
	open, near, nearest := 0, 0, question{}
	for asks := f.Type.Asks; asks != 0; asks &= asks - 1 {
		s := c.sockets.Peek(socketKey{client, asks.First()})
		if s == nil {
			continue
		}
		if s.overflowAge >= since {
			return question{}, false
		}
		for _, a := range s.open[:s.n] {
			switch {
			case a.server == other:
				return question{}, false
			case a.age < since || a.frame >= f.Frame || open > 0 && a.server == best.server:
				continue
			}
			best, open = a, open+1
			if a.server.Host == other.Host || a.server.Port == other.Port {
				nearest, near = a, near+1
			}
		}
	}
	if near == 1 {
		return nearest, true
	}
	return best, open == 1
}

// Unrequested is raised where a server sends A replies within B nanoseconds to a host that asked
// nobody.
var Unrequested = finding.Code{ID: "LIE-01", Severity: finding.Warn, Fault: finding.Server,
	Seen:   "at least 5 replies with information within a second, from one server to a host that asked no server in the 10 s before",
	Means:  "replies that nobody requested make a server look near or full in some clients, or somebody asks in the host's name; they can be forged, too",
	Owner:  "capture at the server: requests in the host's name there mean reflection, none that it sends by itself or that the replies are forged",
	Client: "drop replies while no request is open, and take no ping from them",
	Format: "{a} replies with information within {b.ms} ms, to a host that asked nobody in the 10 s before{unsure}"}

// unrequested is the replies of a server to an address that asked for none. Under the key of no
// server it is what all servers together sent to the address.
type unrequested struct {
	ages       [unrequestedReplies]int64 // of the last ones, the latest first
	frames     [unrequestedReplies]uint64
	n          uint8
	servers    uint32 // of all servers together: that sent any
	isReported bool
}

// addUnrequested adds information that no request in the capture caused, and raises that a server
// sends much of it to an address which asks nobody. Of an address that gets it from many servers
// nothing is raised: somebody uses them against it, or forges them all.
func (c *strays) addUnrequested(f *view) {
	if !f.Type.Asks.Has(dissect.AskInfo) || f.Type.Asks.Has(dissect.AskChallenge) {
		return
	}
	k := pairOf(f.Fact)
	u := enter(c.Hosts, c.unrequested, k)
	isNew := u.n == 0
	copy(u.ages[1:], u.ages[:])
	copy(u.frames[1:], u.frames[:])
	u.ages[0], u.frames[0] = f.Age, f.Frame
	u.n = min(u.n+1, unrequestedReplies)
	if isNew {
		all, _ := c.unrequested.Put(pairKey{client: k.client})
		all.servers++
		return
	}
	last := unrequestedReplies - 1
	if u.isReported || u.n < unrequestedReplies || f.Age-u.ages[last] > int64(unrequestedFor) {
		return
	}
	since := u.ages[last] - quietFor
	asked := c.askers.Peek(k.client)
	all := c.unrequested.Get(pairKey{client: k.client})
	if asked != nil && *asked >= since || c.notes.lostAge >= since || c.firstAge > since || all == nil || all.servers > unrequestedServers {
		return
	}
	u.isReported = true
	// Neither a request to the server nor one of the client: perhaps the capture has one direction.
	isOneWay := asked == nil && c.servers.Peek(k.server) == nil
	c.Report(f.Fact, u.frames[last], finding.Expert{Code: &Unrequested, A: unrequestedReplies, B: uint64(f.Age - u.ages[last])}, isOneWay || c.isUnsure(since))
}

// addAsker records that an address asked at age.
func (c *strays) addAsker(client Host, age int64) {
	at, evicted := c.askers.Put(client)
	if evicted != nil {
		c.notes.lostAge = max(c.notes.lostAge, evicted.Val)
	}
	*at = max(*at, age)
}

const (
	// limit: maxSockets is how many sockets of clients are kept with what they asked: a server with a
	// hundred queries a second has some hundred within the five seconds that count. A flood from invented
	// addresses fills the table, and an answer from another address goes unnoticed meanwhile.
	maxSockets = 4096
	// limit: maxNotes is how many questions and replies are noted, 0.5 MiB, until a reply that nobody
	// requested shows that the sockets matter: with a challenge, four for each of 2,000 sockets.
	maxNotes = 8192
	// limit: maxElsewhere is how many reported answers from other addresses are kept, so as not to report
	// them again.
	maxElsewhere = 1024
	// limit: maxUnrequested is how many pairs of a server and an address are kept that got replies which
	// nobody requested, maxAskers how many addresses that requested any, in the capture's last seconds.
	// Chosen: a host in whose name somebody asks gets replies of some hundred servers a second.
	maxUnrequested = 1024
	maxAskers      = 4096
	// limit: maxAsked is how many servers one socket can have asked the same question. Server browsers ask
	// more: then it cannot be determined which one a reply answers.
	maxAsked = 4
	// limit: elsewhereFor is how long a reply from another address can be the answer to what the client
	// asked: as long as the most patient clients wait.
	elsewhereFor = 5 * time.Second
	// limit: unrequestedReplies are how many replies within unrequestedFor an address gets that asked
	// nobody for quietFor, as long as notes are entered for. From more than unrequestedServers servers it
	// is the victim of all of them, which package flood reports.
	unrequestedReplies = 5
	unrequestedFor     = time.Second
	quietFor           = 2 * int64(elsewhereFor)
	unrequestedServers = 8
)
