package track

import (
	"math/bits"

	"qsniff/dissect"
	"qsniff/finding"
)

// pairCodes are the findings that a protocol declares about several messages
// together; empty if the protocol is not known.
func pairCodes(p *dissect.Proto) *dissect.PairCodes {
	if p == nil {
		return &dissect.PairCodes{}
	}
	return &p.Pairs
}

// raise adds a finding about the whole message, if its protocol has it.
func (m *Message) raise(c *finding.Code, a, b uint64) {
	if c == nil {
		return
	}
	m.Expert = append(m.Expert, finding.Expert{Code: c, Severity: c.Severity, Field: -1, A: a, B: b})
}

// judgeRequest raises what a further request of e does with the challenge that the
// client was given; own tells that it brings back the last one, or one of another exchange. Nothing is
// said of one that the capture cut.
func (x *Exchanges) judgeRequest(m *Message, e *exchange, own bool) {
	codes := pairCodes(m.Proto)
	switch {
	case e.state&given == 0 || own || e.challenge == 0 || !m.Type.BringsToken():
	case m.Key != 0 && bits.ReverseBytes32(uint32(m.Key)) == e.challenge:
		m.raise(codes.Swapped, uint64(e.challenge), m.Key&0xffff_ffff)
	case m.Key != 0 && e.state&rotated == 0:
		m.raise(codes.Foreign, uint64(e.challenge), m.Key&0xffff_ffff)
	case m.Key == 0 && e.state&(owes|echoed) == 0 && m.Age-e.age > int64(crossing):
		m.raise(codes.Ignored, uint64(e.challenge), uint64(m.Age-e.age))
	}
}

// judgeAnew raises that m, which begins an exchange, does not bring back the challenge
// with which the one before ended: clients that wait for longer than exchanges last
// are as deaf as others. past is the exchange before, or nil.
func (x *Exchanges) judgeAnew(m *Message, past *exchange) {
	switch {
	case past == nil || m.Key != 0 || !m.Type.BringsToken():
	case past.state&(given|owes|echoed|replied) != given || past.challenge == 0:
	case past.age > x.gap && m.Age-past.age <= int64(keptFor):
		m.raise(pairCodes(m.Proto).Ignored, uint64(past.challenge), uint64(m.Age-past.age))
	}
}

// gave reports whether the capture shows that the server gave the challenge of m to
// the client in any exchange between these ends. Servers give one to an address, so
// it is as good as the exchange's own.
func (x *Exchanges) gave(m *Message) bool {
	for asks := m.Proto.TokenRoles(); asks != 0; asks &= asks - 1 {
		k := m.key(asks)
		for _, t := range [...]table{x.challenged, x.past} {
			if e := t.Peek(k); e != nil && e.state&given != 0 && e.challenge == uint32(m.Key) {
				return true
			}
		}
	}
	return false
}

// judgeChallenge raises what a challenge in e, which waits, shows.
func (x *Exchanges) judgeChallenge(m *Message, e *exchange) {
	if e.state&given == 0 || e.challenge == 0 || m.Key == 0 || uint32(m.Key) == e.challenge {
		return
	}
	if e.state&echoed != 0 && e.echoAt > e.plainAt {
		m.raise(pairCodes(m.Proto).Rotates, uint64(e.challenge), m.Key&0xffff_ffff)
	}
	e.state |= rotated
}

// judgeExtra raises what a reply after the answer shows.
func (x *Exchanges) judgeExtra(m *Message, e *exchange) {
	if !m.Type.Asks.Has(dissect.AskInfo) || isChallenge(m) || e.asked == 0 || e.answered == 0 || m.Age-e.age > int64(answerWait) {
		return
	}
	if x.kinds[e.answered-1].typ != m.Type { // the forms may be of two protocols: who asked decides
		m.raise(pairCodes(x.kinds[e.asked-1].proto).TwoForms, 0, 0)
	}
}

// judgeLate raises that a reply came when the wait was over.
func (x *Exchanges) judgeLate(m *Message, e *exchange) {
	if took := m.since(e.last()); took >= 0 {
		m.raise(&LateReply, uint64(took), 0)
	}
}
