package track

import (
	"math"
	"net/netip"
	"time"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// Hosts finds what only the messages of several address pairs show together, or many of one
// pair. It takes facts in packet order, so its findings do not depend on how partitions
// share the work.
//
// No finding rests on a packet that is not there, except where an exchange reports a
// Silence. Hosts does not distinguish floods from users, but what it holds of clients that
// never prove their address is evicted first. The tables take 6.4 MiB in all. In a full one the entry that was
// not used for longest is evicted; Evicted counts the evictions that can hide a finding.
//
// It is not safe for concurrent use.
type Hosts struct {
	Reporter

	notes             notes // of what the sockets do not have yet
	maxNotes          int
	sockets           *lru.Table[socketKey, askedServers]
	reportedElsewhere *lru.Table[elsewhereKey, struct{}]
	servers           *lru.Table[End, hostState]
	offered           *lru.Table[pairKey, challengedClient] // clients that were given a challenge
	proven            *lru.Table[pairKey, challengedClient] // those that brought it back
	waiting           *lru.Table[pairKey, waitingClient]    // clients that asked in vain
	eager             *lru.Table[End, eagerClients]
	budgets           *lru.Table[pairKey, budget]
	lists             *lru.Table[listKey, serverList]
	logins            *lru.Table[loginKey, uint32]
	sources           *lru.Table[Host, loginSource]
	unrequested       *lru.Table[pairKey, unrequested]
	askers            *lru.Table[Host, int64] // ages of the last requests, as far as notes were entered
	pollers           *lru.Table[pairKey, poller]
	askedPorts        *lru.Table[End, askedPort]
	consoles          *lru.Table[pairKey, consoleChallenge]
	foreign           *lru.Table[foreignKey, struct{}]
	copies            [copyingServers]pendingCopies
	joins             *lru.Table[pairKey, joining]
	handshakes        *lru.Table[hostPair, struct{}]
	repliers          *lru.Table[Host, int64] // ages of the last replies to requests

	hasBegun  bool
	firstAge  int64  // Age of the first fact
	lastFrame uint64 // of the last fact, and its time
	lastNanos int64
	lastGap   int64 // age of the last gap in the capture
	isLossy   bool  // packets are missing at an unknown place
	replyAge  int64 // age of the last reply in a datagram; never if none was captured
	evicted   uint64
}

// Reporter passes on findings that rest on several facts.
type Reporter struct {
	// Raise is called with each finding, at the fact that decides it. Set it before
	// the first call.
	Raise  func(*Raised)
	out    Raised
	frames [2]uint64
}

// Raised is a finding of a Reporter. It is valid during the call of Raise.
type Raised struct {
	Expert finding.Expert
	Frames []uint64 // on which it rests, oldest first; the last one decided it
	Nanos  int64    // Unix time of the last of Frames
	// Server and Client are invalid if the finding is about neither.
	Server, Client netip.AddrPort
}

// never is an age before all others.
const never = math.MinInt64

// NewHosts returns empty tables of size times the usual size.
func NewHosts(size float64) *Hosts {
	n := func(n int) int { return int(float64(n) * size) }
	return &Hosts{
		maxNotes:          max(n(maxNotes), 1),
		sockets:           lru.New[socketKey, askedServers](n(maxSockets)),
		reportedElsewhere: lru.New[elsewhereKey, struct{}](n(maxElsewhere)),
		servers:           lru.New[End, hostState](n(maxHosts)),
		offered:           lru.New[pairKey, challengedClient](n(maxOffered)),
		proven:            lru.New[pairKey, challengedClient](n(maxProven)),
		waiting:           lru.New[pairKey, waitingClient](n(maxWaiting)),
		eager:             lru.New[End, eagerClients](n(maxEager)),
		budgets:           lru.New[pairKey, budget](n(maxBudgets)),
		lists:             lru.New[listKey, serverList](n(maxLists)),
		logins:            lru.New[loginKey, uint32](n(maxLogins)),
		sources:           lru.New[Host, loginSource](n(maxSources)),
		unrequested:       lru.New[pairKey, unrequested](n(maxUnrequested)),
		askers:            lru.New[Host, int64](n(maxAskers)),
		pollers:           lru.New[pairKey, poller](n(maxPollers)),
		askedPorts:        lru.New[End, askedPort](n(maxAskedPorts)),
		consoles:          lru.New[pairKey, consoleChallenge](n(maxConsoles)),
		foreign:           lru.New[foreignKey, struct{}](n(maxForeign)),
		joins:             lru.New[pairKey, joining](n(maxJoins)),
		handshakes:        lru.New[hostPair, struct{}](n(maxForeign)),
		repliers:          lru.New[Host, int64](n(maxRepliers)),
		lastGap:           never,
		replyAge:          never,
	}
}

// Evicted returns how many servers and clients were evicted.
func (h *Hosts) Evicted() uint64 { return h.evicted }

// RecordGap records that packets are missing from the capture at age.
func (h *Hosts) RecordGap(age int64) { h.lastGap = max(h.lastGap, age) }

// SetLossy records that packets are missing from the capture at an unknown place.
func (h *Hosts) SetLossy() { h.isLossy = true }

// AddFact adds a message, or an answer that did not come.
func (h *Hosts) AddFact(f *Fact) {
	if !h.hasBegun {
		h.hasBegun, h.firstAge = true, f.Age
	}
	if f.Frame > h.lastFrame {
		h.lastFrame, h.lastNanos = f.Frame, f.Nanos
	}
	switch {
	case f.Type == nil || f.Type.Notice:
	case f.Type.Asks.Has(dissect.AskLogin):
		h.addLogin(f)
	case f.TCP:
	case f.Step == Silence:
		h.addSilence(f)
	case f.Reply:
		h.addReply(f)
	default:
		h.addRequest(f)
	}
}

// addRequest adds a request in a datagram.
func (h *Hosts) addRequest(f *Fact) {
	if f.Type.Asks != 0 {
		h.addNote(f, f.Type.Asks.First())
	}
	switch {
	case f.Type.Asks.Has(dissect.Queries):
		if f.Gap > 0 {
			h.checkPace(f)
		}
		h.addQuery(f)
	case f.Type.Asks.Has(dissect.AskServers):
		h.addPageRequest(f)
		h.addPageQuestion(f)
	}
}

// addReply adds a reply in a datagram. A reply that nobody requested is no evidence about
// its server, as anybody can forge it.
func (h *Hosts) addReply(f *Fact) {
	h.replyAge = max(h.replyAge, f.Age)
	switch f.Step {
	case NoStep:
		return
	case Stray:
		if !h.checkElsewhere(f) {
			h.addUnrequested(f)
		}
		return
	}
	h.addNote(f, f.Type.Asks)
	h.recordReplier(f)
	switch {
	case f.Type.Asks.Has(dissect.Queries):
		h.addServerReply(f)
	case f.Type.Asks.Has(dissect.AskServers):
		h.addPage(f)
		if b := h.budgets.Get(pairOf(f)); b != nil {
			b.answerAge, b.isReported, b.silent, b.overAge = f.Age, false, 0, never
		}
	case f.Type.Asks.Has(dissect.AskChallenge):
		h.addJoin(f)
	case f.Type.Asks.Has(dissect.AskRconChallenge):
		h.addConsoleChallenge(f)
	case f.Refused:
		h.checkConsole(f)
	case f.Proto.QueryOffset != 0:
		h.addHeardQuery(f)
	}
}

// addSilence adds an answer that did not come.
func (h *Hosts) addSilence(f *Fact) {
	switch {
	case f.Type.Asks.Has(dissect.Queries):
		h.addUnansweredQuery(f)
		h.addVain(f)
	case f.Type.Asks.Has(dissect.AskServers):
		h.addUnansweredPage(f)
	case f.Type.Asks.Has(dissect.AskChallenge):
		h.addUnansweredJoin(f)
	case f.Type.Asks.Has(dissect.AskRcon):
		h.checkConsole(f)
	case f.Proto.QueryOffset != 0:
		h.addUnheardQuery(f)
	}
}

// isUnsure reports whether packets may be missing from the capture since age.
func (h *Hosts) isUnsure(age int64) bool { return h.isLossy || h.lastGap >= age }

// isOneSided reports whether the capture shows no reply of the host of server, at any of its ports and to
// anybody, since shortly before age: perhaps it has requests to it only, or does so by now. What others reply
// shows nothing of it, as their packets may take another way.
func (h *Hosts) isOneSided(server netip.AddrPort, age int64) bool {
	v := h.repliers.Peek(HostOf(server))
	return v == nil || *v < age-int64(bothSidesFor)
}

// recordReplier records that a host replied to a request.
func (h *Hosts) recordReplier(f *Fact) {
	v, evicted := h.repliers.Put(HostOf(f.Server))
	if evicted != nil {
		h.evicted++
	}
	if *v == 0 || *v < f.Age {
		*v = f.Age
	}
}

// raise is Report.
func (h *Hosts) raise(f *Fact, first uint64, x finding.Expert, isUnsure bool) {
	h.Report(f, first, x, isUnsure)
}

// Report raises a finding at f, one severity lower if it is unsure, and nothing if
// the protocol has no such finding. first is the frame where the evidence begins, and may
// be that of f.
func (h *Reporter) Report(f *Fact, first uint64, x finding.Expert, isUnsure bool) {
	if x.Code == nil {
		return
	}
	x.Severity, x.Field = x.Code.Severity, -1
	if isUnsure && x.Severity > finding.Chat {
		x.Severity--
	}
	frames := h.frames[:0]
	if first < f.Frame { // of two exchanges at once, the one that began first may end last
		frames = append(frames, first)
	}
	frames = append(frames, f.Frame)
	h.out = Raised{Expert: x, Frames: frames, Nanos: f.Nanos, Server: f.Server, Client: f.Client}
	h.Raise(&h.out)
}

// pairKey is a server and the address of a client, without its port: servers issue challenges
// and count requests by address.
type pairKey struct {
	server End
	client Host
}

// Hash mixes the key: no sketch has it, so each address takes one product.
func (k pairKey) Hash(seed uint64) uint64 {
	h := lru.Mix16(seed, (*[16]byte)(&k.server.Host))
	return lru.Mix(lru.Mix16(h, (*[16]byte)(&k.client)), uint64(k.server.Port))
}

// pairOf returns the pair of f.
func pairOf(f *Fact) pairKey { return pairKey{EndOf(f.Server), f.Client.Addr().As16()} }

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
	// limit: maxHosts is how many answering servers are kept: hosts have some hundred on one address.
	// Servers that only send replies nobody requested do not enter the table.
	maxHosts = 2048
	// limit: maxOffered and maxProven are how many clients are kept that were given a challenge, and that
	// brought it back: only the first can be invented.
	maxOffered = 2048
	maxProven  = 4096
	// limit: maxWaiting is how many clients are kept that asked a server for players or rules in vain, and
	// maxEager how many servers with clients that repeat too soon. Chosen: such servers and clients are
	// few, and a flood that a server leaves unanswered fills the first.
	maxWaiting = 512
	maxEager   = 128
	// limit: maxBudgets is how many clients of master servers are kept: few ask them.
	maxBudgets = 512
	// limit: maxLogins is how many logins can wait for their answers, and maxSources how many addresses
	// are kept that were refused one: a TCP connection takes a real address, of which botnets have
	// thousands.
	maxLogins  = 1024
	maxSources = 1024
	// limit: maxUnrequested is how many pairs of a server and an address are kept that got replies which
	// nobody requested, maxAskers how many addresses that requested any, in the capture's last seconds.
	// Chosen: a host in whose name somebody asks gets replies of some hundred servers a second.
	maxUnrequested = 1024
	maxAskers      = 4096
	// limit: maxPollers is how many clients at a server are kept that wait for answers in vain. Chosen:
	// few clients ask a server again and again that does not answer them.
	maxPollers = 1024
	// limit: maxAskedPorts is how many ports are kept that a protocol whose queries go to another port
	// than the game's was asked or answered at, maxConsoles how many clients that were given a challenge
	// for console commands, and maxForeign how many servers at whose ports other protocols are spoken, and
	// how many pairs of hosts whose connections failed. Chosen: hosts have some hundred servers, and few
	// use consoles.
	maxAskedPorts = 512
	maxConsoles   = 256
	maxForeign    = 256
	// limit: maxJoins is how many pairs of a master server and a server that joins it are kept. Chosen: a
	// server joins three.
	maxJoins = 256
	// limit: maxRepliers is how many hosts that reply are kept; the findings of a host that was evicted
	// are milder. Chosen: a network of 24 bits.
	maxRepliers = 256
	// limit: copiedQuestions is of how many questions of a server the answers are counted, and
	// copyingServers how many servers can be sending answers to one question at a time. Chosen.
	copiedQuestions = 4
	copyingServers  = 4
	// limit: bothSidesFor is how long before a request that nobody answers a reply of the same host to
	// anybody shows that the capture has its replies: one that lost their direction since, or never had
	// this host's, is no evidence of silence. Chosen: tools that ask at all ask once a minute.
	bothSidesFor = time.Minute
)
