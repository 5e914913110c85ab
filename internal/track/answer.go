package track

import (
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/lru"
)

// placeReply returns the part of a reply: the answer of the oldest exchange that waits for
// it, if the wait is not over.
func (x *Exchanges) placeReply(m *Message) Part {
	if isChallenge(m) {
		return x.placeChallenge(m)
	}
	e := x.findOldest(m, m.Type.Asks, nil)
	if e == nil && m.Type.Prints != nil {
		if p, ok := x.placeRefusal(m); ok {
			return p
		}
	}
	if e == nil {
		return x.placeExtra(m)
	}
	if m.Age-e.lastAge > int64(answerWait) {
		x.endExchangeAt(e)
		return x.placeExtra(m)
	}
	return x.placeAnswer(m, e)
}

// placeAnswer ends e with its answer m.
func (x *Exchanges) placeAnswer(m *Message, e *exchange) Part {
	e.lastAge = max(e.lastAge, m.Age)
	e.answerKind = x.kindNumber(m)
	e.state = e.state&^(replyDue|partsCame) | answerCame
	x.setPhase(e, ended)
	p := x.replyPart(e, m, Answer)
	p.Signs = x.recordVisit(e)
	return p
}

// refusable are the questions in whose place a server can send a text: all that need no login.
const refusable = dissect.Public | dissect.AskConnect | dissect.AskRconChallenge

// placeRefusal returns the part of m, a text for the console of its receiver, which asked for no console: it is sent in
// place of the answer to the oldest request that waits, and ends the wait. ok is false where none waits, or where the text
// may be more output of a command before.
func (x *Exchanges) placeRefusal(m *Message) (p Part, ok bool) {
	e := x.findOldest(m, refusable, awaitsReply)
	if e == nil || m.Age-e.lastAge > int64(answerWait) {
		return p, false
	}
	if past, _ := x.findEnded(m.Type.Asks, func(o *exchange) bool { return m.Age-o.lastAge <= int64(extraFor) }); past != nil {
		return p, false
	}
	e.lastAge = max(e.lastAge, m.Age)
	e.state = e.state&^(replyDue|partsCame) | answerCame
	x.setPhase(e, ended)
	return x.replyPart(e, m, Refusal), true
}

// replyPart returns the part of m, which replies to e. Where the server demanded a
// challenge, only a request that brings it back causes an answer; if the
// capture shows none, or only one after the first part of the reply, Request stays 0.
func (x *Exchanges) replyPart(e *exchange, m *Message, step Step) (p Part) {
	e.fillPart(&p, step)
	if step == Answer {
		p.Trip = e.challengeTrip
		p.RequestBytes = e.size % maxSize
		p.IsObsolete = e.requestKind > 0 && x.kinds[e.requestKind-1].typ.Obsolete
	}
	frame, nanos := e.lastRequest()
	if !isChallenge(m) && e.state&challengeGiven != 0 {
		if e.state&challengeEchoed == 0 {
			return p
		}
		frame, nanos = e.first+uint64(e.echoOffset), e.echoNanos
	}
	if frame >= m.Frame {
		return p
	}
	p.Request = frame
	p.Took = m.timeSince(frame, nanos)
	return p
}

// isChallenge reports whether a reply gives a challenge, which may come in place of the
// answers to any question.
func isChallenge(m *Message) bool { return m.Type != nil && m.Type.Asks.Has(dissect.AskChallenge) }

// findOldest returns, of the exchanges between the ends of m that are under way, began before m
// and ask for something in asks, the one that began first; if accepts is not nil, of those
// that it accepts.
func (x *Exchanges) findOldest(m *Message, asks dissect.Asked, accepts func(*exchange) bool) (best *exchange) {
	for e := x.get(x.at.newest); e != nil; e = x.get(e.older) {
		switch {
		case e.phase == ended || e.asks()&asks == 0 || e.first >= m.Frame || accepts != nil && !accepts(e):
		case best == nil || e.first < best.first:
			best = e
		}
	}
	return best
}

// awaitsFirstReply reports whether the server has sent nothing in e yet.
func awaitsFirstReply(e *exchange) bool { return e.state&(replyDue|challengeGiven) == replyDue }

// awaitsReply reports whether the server has not replied to the last request of e.
func awaitsReply(e *exchange) bool { return e.state&replyDue != 0 }

// placeChallenge returns the part of a challenge. If the client asked for nothing else, the
// challenge is the answer. Otherwise it goes to the oldest exchange that waits and has none;
// if there is none, to the oldest that waits: the server changed the challenge, or the
// client did not bring it back.
func (x *Exchanges) placeChallenge(m *Message) Part {
	e := x.findOldest(m, m.Type.Asks, awaitsFirstReply)
	if e == nil {
		e = x.findOldest(m, m.Type.Asks, awaitsReply)
	}
	switch {
	case e == nil:
		return x.placeRepeatedChallenge(m)
	case m.Age-e.lastAge > int64(answerWait):
		x.endExchangeAt(e)
		return x.placeExtra(m)
	case e.asks() == dissect.AskChallenge:
		e.challenge = uint32(m.Key)
		return x.placeAnswer(m, e)
	}
	p := x.replyPart(e, m, Challenge)
	p.Asked = x.onlyCause(e, m.Type.Asks)
	x.checkFresh(m, e)
	x.checkChallenge(m, e)
	e.countChallenge()
	e.challengeTrip, e.lastAge = p.Took, max(e.lastAge, m.Age)
	e.challenge = uint32(m.Key)
	e.state = e.state&^(replyDue|challengeEchoed|partsCame) | challengeGiven
	x.setPhase(e, challenged)
	return p
}

// placeRepeatedChallenge returns the part of a challenge for which no exchange waits: that of
// a copy, if an exchange was given the same, or that of the reply to a repeated request.
func (x *Exchanges) placeRepeatedChallenge(m *Message) Part {
	same := func(e *exchange) bool {
		return e.state&challengeGiven != 0 && m.Key != 0 && e.challenge == uint32(m.Key)
	}
	repeated := func(e *exchange) bool {
		return e.state&(challengeGiven|challengeEchoed) == challengeGiven && e.plainOffset > 0
	}
	e := x.findOldest(m, m.Type.Asks, same)
	if e == nil {
		if e = x.findOldest(m, m.Type.Asks, repeated); e == nil {
			return x.placeExtra(m)
		}
		e.state |= challengeChanged
	}
	e.countChallenge()
	return x.replyPart(e, m, Extra)
}

// countChallenge counts a challenge as the reply to a request without one, as long as there is
// such a request.
func (e *exchange) countChallenge() {
	if e.plains > 0 {
		e.plains--
	}
}

// placeExtra returns the part of a reply for which no exchange under way waits: a further or
// late reply to the latest that ended, or one that nobody asked for.
func (x *Exchanges) placeExtra(m *Message) Part {
	e, _ := x.findEnded(m.Type.Asks, func(e *exchange) bool {
		return e.first < m.Frame && m.Age-e.lastAge <= int64(extraFor)
	})
	switch {
	case e == nil:
		return Part{Step: Stray, Took: -1, Trip: -1}
	case e.state&answerCame != 0:
		x.checkExtra(m, e)
		return x.replyPart(e, m, Extra)
	}
	step := Answer
	switch {
	case m.Age-e.lastAge > int64(answerWait):
		step = Late
		x.checkLate(m, e)
	case e.state&silenceReported != 0:
		return x.replyPart(e, m, Extra)
	}
	if !isChallenge(m) {
		e.state |= answerCame
		e.answerKind = x.kindNumber(m)
	}
	return x.replyPart(e, m, step)
}

// placeUnreadable returns the part of a reply whose type is unknown, such as a split one
// without its first part: it is the answer if the client waits for one long answer only.
func (x *Exchanges) placeUnreadable(m *Message) Part {
	e := x.findOldest(m, dissect.LongAnswers, awaitsReply)
	if e == nil {
		return x.placeUnreadableLate(m)
	}
	if x.findOldest(m, dissect.LongAnswers&^e.asks(), awaitsReply) != nil {
		return noPart
	}
	return x.placeAnswer(m, e)
}

// placeUnreadableLate places such a reply among the ended exchanges of which parts of the
// answer had come.
func (x *Exchanges) placeUnreadableLate(m *Message) Part {
	e, n := x.findEnded(dissect.LongAnswers, func(e *exchange) bool {
		return e.first < m.Frame && e.state&(partsCame|answerCame) == partsCame
	})
	if n != 1 {
		return noPart
	}
	e.state |= answerCame
	return x.replyPart(e, m, Answer)
}

// RecordPart records that m, a part of a reply, came: the exchanges for which it may be wait
// on, and their servers are not reported as silent. It returns what they ask, 0 if there are none.
func (x *Exchanges) RecordPart(m *Message) (asks dissect.Asked) {
	x.findEnds(m)
	for e := x.get(x.at.newest); e != nil; e = x.get(e.older) {
		if e.phase != ended && e.asks()&dissect.LongAnswers != 0 && e.first < m.Frame && awaitsReply(e) {
			e.state |= partsCame
			e.lastAge = max(e.lastAge, m.Age)
			asks |= e.asks()
		}
	}
	return asks
}

// callKey is a connection and the number of a request in it.
type callKey struct{ conn, number uint64 }

// Hash mixes the key with the seed.
func (k callKey) Hash(seed uint64) uint64 { return lru.Mix(lru.Mix(seed, k.conn), k.number) }

// call is a request in a connection. It waits for its reply without a time limit: in a
// connection nothing is lost, and a command may run for long.
type call struct {
	frame      uint64
	nanos      int64
	asks       dissect.Asked
	isAnswered bool
}

// placeCall returns the part of a message of a connection, whose Key is its protocol's number
// of the request.
func (x *Exchanges) placeCall(m *Message) Part {
	if m.Key == 0 {
		return noPart
	}
	k := callKey{m.Conn, m.Key}
	if !m.Reply {
		c, evicted := x.calls.Put(k)
		if evicted != nil && !evicted.Val.isAnswered {
			x.evicted++
		}
		*c = call{frame: m.Frame, nanos: m.Nanos, asks: asksOf(m)}
		return Part{Step: Ask, ID: m.Frame, Took: -1, Trip: -1}
	}
	c := x.calls.Get(k)
	if c == nil {
		return Part{Step: Stray, Took: -1, Trip: -1}
	}
	step := Answer
	if c.isAnswered || c.asks != asksOf(m) && asksOf(m) != 0 && c.asks != 0 { // the empty reply that precedes the answer to a login
		step = Extra
	} else {
		c.isAnswered = true
	}
	return c.replyPart(m, step)
}

// replyPart returns the part of m, which replies to c.
func (c *call) replyPart(m *Message, s Step) Part {
	return Part{Step: s, ID: c.frame, Request: c.frame, Took: m.timeSince(c.frame, c.nanos), Trip: -1}
}

// PlaceJoined returns the part of a reply that was joined from messages of a connection,
// each of which went through Place.
func (x *Exchanges) PlaceJoined(m *Message) Part {
	if c := x.calls.Peek(callKey{m.Conn, m.Key}); c != nil {
		m.jumpFrame = x.jumps.jumpFrame
		return c.replyPart(m, NoStep)
	}
	return noPart
}

// asksOf returns what m asks for or gives; 0 if that is unknown.
func asksOf(m *Message) dissect.Asked {
	if m.Type == nil {
		return 0
	}
	return m.Type.Asks
}

const (
	// limit: answerWait is how long a request can be answered: query clients give up after 1 to 3 s.
	answerWait = 3 * time.Second
	// limit: extraFor is how long after its end an exchange still takes replies: a late one, or a further
	// one.
	extraFor = 15 * time.Second
)
