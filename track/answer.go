package track

import "qsniff/dissect"

// placeReply returns the part of a reply: the answer of the oldest exchange that waits for
// it, if the wait is not over.
func (x *Exchanges) placeReply(m *Message) Part {
	if isChallenge(m) {
		return x.placeChallenge(m)
	}
	in, k, e := x.findOldest(m, m.Type.Asks, nil)
	if e == nil {
		return x.placeExtra(m)
	}
	if m.Age-e.lastAge > int64(answerWait) {
		x.endExchange(in, k, e)
		return x.placeExtra(m)
	}
	return x.placeAnswer(m, in, k, e)
}

// placeAnswer ends e with its answer m.
func (x *Exchanges) placeAnswer(m *Message, in table, k exchangeKey, e *exchange) Part {
	e.lastAge = max(e.lastAge, m.Age)
	e.answerKind = x.kindNumber(m)
	e.state = e.state&^(replyDue|partsCame) | answerCame
	return x.retire(in, k, e).replyPart(m, Answer)
}

// replyPart returns the part of m, which replies to e. Where the server demanded a
// challenge, only a request that brings it back causes an answer; if the
// capture shows none, or only one after the first part of the reply, Request stays 0.
func (e *exchange) replyPart(m *Message, step Step) Part {
	p := e.requestPart(step)
	if step == Answer {
		p.Trip = e.challengeTrip
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
func (x *Exchanges) findOldest(m *Message, asks dissect.Asked, accepts func(*exchange) bool) (in table, k exchangeKey, best *exchange) {
	for ; asks != 0; asks &= asks - 1 {
		ak := m.key(asks)
		for _, t := range [...]table{x.challenged, x.open} {
			e := t.Peek(ak)
			if e == nil || e.first >= m.Frame || accepts != nil && !accepts(e) {
				continue
			}
			if best == nil || e.first < best.first {
				in, k, best = t, ak, e
			}
		}
	}
	return in, k, best
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
	in, k, e := x.findOldest(m, m.Type.Asks, awaitsFirstReply)
	if e == nil {
		in, k, e = x.findOldest(m, m.Type.Asks, awaitsReply)
	}
	switch {
	case e == nil:
		return x.placeRepeatedChallenge(m)
	case m.Age-e.lastAge > int64(answerWait):
		x.endExchange(in, k, e)
		return x.placeExtra(m)
	case k.asks == dissect.AskChallenge:
		e.challenge = uint32(m.Key)
		return x.placeAnswer(m, in, k, e)
	}
	p := e.replyPart(m, Challenge)
	x.checkChallenge(m, e)
	e.challengeTrip, e.lastAge = p.Took, max(e.lastAge, m.Age)
	e.challenge = uint32(m.Key)
	e.state = e.state&^(replyDue|challengeEchoed|partsCame) | challengeGiven
	if in == x.open {
		x.moveToChallenged(k, e)
	} else {
		in.Get(k)
	}
	return p
}

// placeRepeatedChallenge returns the part of a challenge for which no exchange waits: that of
// a copy, if an exchange was given the same.
func (x *Exchanges) placeRepeatedChallenge(m *Message) Part {
	same := func(e *exchange) bool {
		return e.state&challengeGiven != 0 && m.Key != 0 && e.challenge == uint32(m.Key)
	}
	if _, _, e := x.findOldest(m, m.Type.Asks, same); e != nil {
		return e.replyPart(m, Extra)
	}
	return x.placeExtra(m)
}

// moveToChallenged moves e from the open exchanges to those in which the server gave a
// challenge. If that table is full, the oldest exchange whose challenge was not brought back
// is evicted; if the maxSpared oldest all were, the next one is.
func (x *Exchanges) moveToChallenged(k exchangeKey, e *exchange) {
	was := *e
	x.open.Delete(k)
	for range maxSpared {
		if x.challenged.Len() < x.challenged.Cap() {
			break
		}
		old, v, _ := x.challenged.Oldest()
		if v.state&challengeEchoed == 0 {
			break
		}
		x.challenged.Get(old)
	}
	p, evicted := x.challenged.Put(k)
	if evicted != nil {
		x.evicted++
	}
	*p = was
}

// placeExtra returns the part of a reply for which no exchange under way waits: a further or
// late reply to the latest that ended, or one that nobody asked for.
func (x *Exchanges) placeExtra(m *Message) Part {
	var e *exchange
	for asks := m.Type.Asks; asks != 0; asks &= asks - 1 {
		p := x.ended.Peek(m.key(asks))
		if p != nil && p.first < m.Frame && m.Age-p.lastAge <= int64(extraFor) && (e == nil || p.first > e.first) {
			e = p
		}
	}
	switch {
	case e == nil:
		return Part{Step: Stray, Took: -1, Trip: -1}
	case e.state&answerCame != 0:
		x.checkExtra(m, e)
		return e.replyPart(m, Extra)
	}
	step := Answer
	switch {
	case m.Age-e.lastAge > int64(answerWait):
		step = Late
		x.checkLate(m, e)
	case e.state&silenceReported != 0:
		return e.replyPart(m, Extra)
	}
	if !isChallenge(m) {
		e.state |= answerCame
		e.answerKind = x.kindNumber(m)
	}
	return e.replyPart(m, step)
}

// placeUnreadable returns the part of a reply whose type is unknown, such as a split one
// without its first part: it is the answer if the client waits for one long answer only.
func (x *Exchanges) placeUnreadable(m *Message) Part {
	in, k, e := x.findOldest(m, dissect.LongAnswers, awaitsReply)
	if e == nil {
		return x.placeUnreadableLate(m)
	}
	for asks := dissect.LongAnswers &^ k.asks; asks != 0; asks &= asks - 1 {
		if _, _, other := x.findOldest(m, asks.First(), awaitsReply); other != nil {
			return noPart
		}
	}
	return x.placeAnswer(m, in, k, e)
}

// placeUnreadableLate places such a reply among the ended exchanges of which parts of the
// answer had come.
func (x *Exchanges) placeUnreadableLate(m *Message) Part {
	var e *exchange
	for asks := dissect.LongAnswers; asks != 0; asks &= asks - 1 {
		p := x.ended.Peek(m.key(asks))
		if p == nil || p.first >= m.Frame || p.state&(partsCame|answerCame) != partsCame {
			continue
		}
		if e != nil {
			return noPart
		}
		e = p
	}
	if e == nil {
		return noPart
	}
	e.state |= answerCame
	return e.replyPart(m, Answer)
}

// RecordPart records that m, a part of a reply, came: the exchanges for which it may be wait
// on, and their servers are not reported as silent.
func (x *Exchanges) RecordPart(m *Message) {
	for asks := dissect.LongAnswers; asks != 0; asks &= asks - 1 {
		k := m.key(asks)
		for _, t := range [...]table{x.challenged, x.open} {
			e := t.Peek(k)
			if e == nil || e.first >= m.Frame || !awaitsReply(e) {
				continue
			}
			t.Get(k)
			e.state |= partsCame
			e.lastAge = max(e.lastAge, m.Age)
		}
	}
}
