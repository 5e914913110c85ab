package track

import (
	"math"
	"net/netip"

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
// never prove their address is evicted first. It is not safe for concurrent use.
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

// budget is the recent requests of one client to a master server.
type budget struct {
	ages        [pageBudget]int64 // of its last requests, a ring
	frames      [pageBudget]uint64
	next        uint8  // place of the oldest request, or of the next if the ring is not full
	isFull      bool   // ages and frames are
	isReported  bool   // a finding was raised since the last answer
	silent      uint8  // exchanges in a row without an answer
	silentFirst uint64 // frame of the first of them
	silentAge   int64  // its age
	answerAge   int64  // of the last answer; never if there was none
	overAge     int64  // of the last request over the budget; never if there was none since the last answer
	overSpan    int64  // nanoseconds from the first request of that minute to that one
	overFirst   uint64 // frame of the first request of that minute
}

// addPageRequest adds a request for a page of servers to the budget of its client.
func (h *Hosts) addPageRequest(f *Fact) {
	b, evicted := h.budgets.Put(pairOf(f))
	if evicted != nil {
		h.evicted++
	}
	if !b.isFull && b.next == 0 {
		b.overAge, b.answerAge = never, never
	}
	if span := f.Age - b.ages[b.next]; b.isFull && span <= int64(pageMinute) {
		b.overAge, b.overSpan, b.overFirst = f.Age, span, b.frames[b.next]
	}
	b.ages[b.next], b.frames[b.next] = f.Age, f.Frame
	if b.next++; int(b.next) == len(b.ages) {
		b.next, b.isFull = 0, true
	}
}

// addUnansweredPage adds a request for a page that nobody answered, and raises that the master
// server stopped answering a client which exceeds its budget, or answers a client nothing.
func (h *Hosts) addUnansweredPage(f *Fact) {
	b := h.budgets.Get(pairOf(f))
	if b == nil {
		return
	}
	if b.silent == 0 {
		b.silentFirst, b.silentAge = f.ID, f.Age
	}
	b.silent = min(b.silent, 254) + 1
	isOver := b.overAge >= f.Age-int64(pageMinute)
	switch {
	case b.isReported || b.silent < minUnserved:
	case isOver && b.answerAge != never:
		b.isReported = true
		h.raise(f, b.overFirst, finding.Expert{Code: pairCodes(f.Proto).Budget, A: pageBudget + 1, B: uint64(b.overSpan)}, h.isUnsure(f.Age-int64(pageMinute)))
	case b.answerAge == never || f.Age-b.answerAge > int64(silencePause):
		b.isReported = true
		h.raise(f, b.silentFirst, finding.Expert{Code: pairCodes(f.Proto).Silent, A: uint64(b.silent), B: uint64(f.Nanos / 1e9)}, h.replyAge == never || h.isUnsure(b.silentAge))
	}
}
