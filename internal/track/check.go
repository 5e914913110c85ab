package track

import (
	"math/bits"
	"time"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// LateReply is raised by a reply that came after the wait for it was over: A is the time since
// the last request, in nanoseconds.
var LateReply = finding.Code{ID: "NET-05", Severity: finding.Note, Fault: finding.Path,
	Seen:   "a reply more than 3 s after the last request that it can answer",
	Means:  "most clients have stopped waiting by then, and show the server as offline though it answers",
	Owner:  "look for the delay in the server or before it",
	Client: "raise the time-out, and take an answer as long as the socket is open",
	Format: "reply {a.ms} ms after the last request"}

// pairCodes returns the findings that a protocol declares about several messages
// together; none if the protocol is unknown.
func pairCodes(p *dissect.Proto) *dissect.PairCodes {
	if p == nil {
		return &dissect.PairCodes{}
	}
	return &p.Pairs
}

// raise adds a finding about the whole message; c is nil if its protocol has no such finding.
func (m *Message) raise(c *finding.Code, a, b uint64) {
	if c == nil {
		return
	}
	m.Expert = append(m.Expert, finding.Expert{Code: c, Severity: c.Severity, Field: -1, A: a, B: b})
}

// checkRequest raises what is wrong with a further request of e, given the challenge that the
// client got. isEcho is set if the request brings back the last one, or one that the server
// gave it in another exchange. A challenge that the capture cut is not checked.
func (x *Exchanges) checkRequest(m *Message, e *exchange, isEcho bool) {
	codes := pairCodes(m.Proto)
	switch {
	case e.state&challengeGiven == 0 || isEcho || e.challenge == 0 || !m.Type.BringsToken():
	case m.Key != 0 && bits.ReverseBytes32(uint32(m.Key)) == e.challenge:
		m.raise(codes.Swapped, uint64(e.challenge), m.Key&0xffff_ffff)
	case m.Key != 0 && e.state&challengeChanged == 0:
		m.raise(codes.Foreign, uint64(e.challenge), m.Key&0xffff_ffff)
	case m.Key == 0 && e.state&(replyDue|challengeEchoed) == 0 && m.Age-e.lastAge > int64(crossingFor):
		m.raise(codes.Ignored, uint64(e.challenge), uint64(m.Age-e.lastAge))
	}
}

// checkFirstRequest raises that m, which begins an exchange, does not bring back the challenge
// with which the previous one ended: clients that retry only after retryFor ignore challenges
// like others. past is the previous exchange, or nil.
func (x *Exchanges) checkFirstRequest(m *Message, past *exchange) {
	switch {
	case m.Key != 0 && m.Type.BringsToken():
		x.checkBrought(m)
	case past == nil || m.Key != 0 || !m.Type.BringsToken():
	case past.state&(challengeGiven|replyDue|challengeEchoed|answerCame) != challengeGiven || past.challenge == 0:
	case past.lastAge > x.lastGap && m.Age-past.lastAge <= int64(extraFor):
		m.raise(pairCodes(m.Proto).Ignored, uint64(past.challenge), uint64(m.Age-past.lastAge))
	}
}

// checkBrought raises that m, which begins an exchange, brings back another challenge than
// the one that its client asked for by a question of its own.
func (x *Exchanges) checkBrought(m *Message) {
	_, e := x.find(dissect.AskChallenge)
	switch {
	case e == nil || e.state&answerCame == 0 || e.challenge == 0 || e.challenge == uint32(m.Key):
	case e.lastAge <= x.lastGap || m.Age-e.lastAge > int64(extraFor) || x.hasGiven(m):
	case bits.ReverseBytes32(uint32(m.Key)) == e.challenge:
		m.raise(pairCodes(m.Proto).Swapped, uint64(e.challenge), m.Key&0xffff_ffff)
	default:
		m.raise(pairCodes(m.Proto).Foreign, uint64(e.challenge), m.Key&0xffff_ffff)
	}
}

// hasGiven reports whether the capture shows that the server gave the challenge of m to
// the client in any exchange between these ends. Servers give a challenge to an address, so
// it is as good as the exchange's own.
func (x *Exchanges) hasGiven(m *Message) bool {
	gave := func(e *exchange) bool { return e.state&challengeGiven != 0 && e.challenge == uint32(m.Key) }
	asks := m.Proto.TokenRoles()
	for e := x.get(x.at.newest); e != nil; e = x.get(e.older) {
		if e.phase == challenged && e.asks()&asks != 0 && gave(e) {
			return true
		}
	}
	_, n := x.findEnded(asks, gave)
	return n > 0
}

// checkChallenge raises that a challenge replaces another one that the client had just
// brought back, unless it may be the reply to a repeated request without one: servers reply to
// each, and some with another challenge each time.
func (x *Exchanges) checkChallenge(m *Message, e *exchange) {
	if e.state&challengeGiven == 0 || e.challenge == 0 || m.Key == 0 || uint32(m.Key) == e.challenge {
		return
	}
	if e.state&challengeEchoed != 0 && e.plains == 0 {
		m.raise(pairCodes(m.Proto).Rotates, uint64(e.challenge), m.Key&0xffff_ffff)
	}
	e.state |= challengeChanged
}

// checkFresh raises that m, a challenge, replies to a request of e which could have brought back
// the one of another exchange: the client had it, and the server accepted it.
func (x *Exchanges) checkFresh(m *Message, e *exchange) {
	code := pairCodes(m.Proto).Unused
	if code == nil || e.asks()&(dissect.Queries&^dissect.AskInfo) == 0 || e.requestKey != 0 || e.state&challengeGiven != 0 {
		return
	}
	past, _ := x.findEnded(dissect.Queries, func(o *exchange) bool {
		return o.state&(challengeEchoed|answerCame|challengeChanged) == challengeEchoed|answerCame && o.challenge != 0 &&
			o.first+uint64(o.echoOffset) < e.first && m.Age-o.begun <= int64(freshFor)
	})
	if past != nil {
		m.raise(code, uint64(past.challenge), uint64(m.Age-past.lastAge))
	}
}

// onlyCause returns what e asks, if no other question than that can have caused a challenge
// which replies to it, and 0 otherwise.
func (x *Exchanges) onlyCause(e *exchange, asks dissect.Asked) dissect.Asked {
	for o := x.get(x.at.newest); o != nil; o = x.get(o.older) {
		if o.asks() != e.asks() && o.asks()&asks != 0 && o.state&answerCame == 0 && !x.isGone(o) {
			return 0
		}
	}
	return e.asks()
}

// checkExtra raises that a server answers one question in two forms.
func (x *Exchanges) checkExtra(m *Message, e *exchange) {
	if !m.Type.Asks.Has(dissect.AskInfo) || isChallenge(m) || e.requestKind == 0 || e.answerKind == 0 || m.Age-e.lastAge > int64(answerWait) {
		return
	}
	if x.kinds[e.answerKind-1].typ != m.Type { // the forms may be of two protocols: who asked decides
		m.raise(pairCodes(x.kinds[e.requestKind-1].proto).TwoForms, 0, 0)
	}
}

// checkLate raises that a reply came after the wait was over.
func (x *Exchanges) checkLate(m *Message, e *exchange) {
	if took := m.timeSince(e.lastRequest()); took >= 0 {
		m.raise(&LateReply, uint64(took), 0)
	}
}

// CaptureDamaged is raised where a stretch of a capture could not be read: A is the number of
// bytes that were skipped. The detail is where and why.
var CaptureDamaged = finding.Code{ID: "CAP-01", Severity: finding.Warn, Fault: finding.Capture,
	Seen:   "a part of the capture file could not be read",
	Means:  "packets are missing: what looks like loss or silence after this place may be the file's fault",
	Owner:  "capture again, or copy the file again: it is cut, or bytes in it are corrupted",
	Client: "nothing: the file has the fault, and the traffic may have none",
	Format: "capture incomplete: {a} {a:byte|bytes} could not be read, packets are missing: "}

// Refused is raised by an ICMP error that quotes a query or a reply: A is its
// type and B its code. The detail is their meaning and the quoted packet.
var Refused = finding.Code{ID: "NET-04", Severity: finding.Error, Fault: finding.Server,
	Seen:   "an ICMP error that quotes a query or a reply",
	Means:  "it did not arrive: of a query, nothing listens on that port, or a firewall rejects it; of a reply, the client has closed its port, often because it stopped waiting",
	Owner:  "of a query, check whether the server runs at that port, and the firewall of the host that sent the error; of a reply, look how late it was",
	Client: "of a query, stop waiting, say \"refused\" and check the port, as the query port is often not the game port; of a reply, keep the socket open for longer",
	Format: "ICMP error: "}

// Codes returns the findings of this package. Findings that belong to a protocol are declared
// by the protocol, see dissect.PairCodes.
func Codes() []*finding.Code {
	return append([]*finding.Code{&CaptureDamaged, &Refused, &LateReply, &Misfit, &RefusedInWords, &RefusedForPace}, NewHosts(0).codes...)
}

// Misfit is raised by a datagram whose UDP length does not fit its IP packet.
var Misfit = finding.Code{ID: "NET-09", Severity: finding.Error, Fault: finding.Client,
	Seen:   "a datagram whose length in the UDP header is 0 over IPv4, or above what its IP packet has",
	Means:  "the receiver's system drops it (Linux does) and no program gets it: it is no request of an exchange, and its answer does not come",
	Owner:  "nothing: the system drops the datagram, and the server never sees it",
	Client: "send through a UDP socket; a program that makes its packets counts eight bytes of header and the payload, and a router that changes them is at fault",
	Format: "the UDP length does not fit the IP packet: the receiver drops it"}

// RefusedInWords is raised by a text that a server sends in place of an answer. The detail is the text.
var RefusedInWords = finding.Code{ID: "NET-11", Severity: finding.Warn, Fault: finding.Server,
	Seen:   "a text for the console, in place of the answer to a query",
	Means:  "the server refuses this client, and says why: most often its address is banned, which nobody sees in a server browser, where the server only looks offline",
	Owner:  "remove the ban of the address if it is a monitor's (removeip ADDRESS, listip)",
	Client: "show the text, and count the query as refused, not as lost",
	Format: "the server refused"}

// RefusedForPace is RefusedInWords where the text says that the client asks too often.
var RefusedForPace = finding.Code{ID: "NET-12", Severity: finding.Warn, Fault: finding.Client,
	Seen:   "a text for the console, in place of the answer to a query, that says that the client asks too often",
	Means:  "the server limits how often an address may ask; several programs behind one address count as one",
	Owner:  "raise the limit (sv_max_queries_sec) if the client is a monitor of yours",
	Client: "ask less often, and wait after such a text",
	Format: "the server refused, as the client asks too often"}

// jumpDetector detects that the clock which stamps packets was set forward: then the stamps
// jump, but the time that passes on live traffic (Age) does not.
type jumpDetector struct {
	age       int64  // of the latest message
	ahead     int64  // its stamp minus its age
	jumpFrame uint64 // the first frame after the last jump
}

// observe compares the clocks at a message and sets jumpFrame if they drifted apart by more
// than maxDrift since the one before.
func (c *jumpDetector) observe(m *Message) {
	if c.age != 0 && m.Age <= c.age {
		return // the message may be out of order
	}
	ahead := m.Nanos - m.Age
	if c.age != 0 && ahead-c.ahead > int64(maxDrift) {
		c.jumpFrame = m.Frame
	}
	c.age, c.ahead = m.Age, ahead
}

// timeSince returns the nanoseconds from a packet to m; -1 if the clock was set in between.
func (m *Message) timeSince(frame uint64, nanos int64) int64 {
	if m.Nanos < nanos || frame < m.jumpFrame {
		return -1
	}
	return m.Nanos - nanos
}

const (
	// limit: maxDrift is how far the stamps and the age of packets may drift apart between two messages
	// before the clock counts as set forward. Chosen: far above what they drift by themselves.
	maxDrift = time.Second
	// limit: crossingFor is how long after a challenge a repeated request may arrive that its client sent
	// before the challenge came: a round trip around the world.
	crossingFor = 300 * time.Millisecond
)
