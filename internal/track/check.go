package track

import (
	"math/bits"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

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
