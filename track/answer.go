package track

import "qsniff/dissect"

// reply places a reply.
func (x *Exchanges) reply(m *Message) Part {
	if isChallenge(m) {
		return x.challenge(m)
	}
	in, k, e := x.oldest(m, m.Type.Asks, nil)
	if e == nil {
		return x.placeExtra(m)
	}
	if m.Age-e.age > int64(answerWait) {
		x.end(in, k, e)
		return x.placeExtra(m)
	}
	return x.answer(m, in, k, e)
}

// answer places the reply that ends e.
func (x *Exchanges) answer(m *Message, in table, k exchangeKey, e *exchange) Part {
	e.age = max(e.age, m.Age)
	e.answered = x.kindOf(m)
	e.state = e.state&^(owes|heard) | replied
	return x.retire(in, k, e).answeredBy(m, Answer)
}

// answeredBy is the part of m, which replies to e. Where the server demanded a
// challenge, nothing but a request that brings it back causes an answer; if the
// capture shows none, or only one after the first part of the reply, what caused
// it is not known.
func (e *exchange) answeredBy(m *Message, s Step) Part {
	p := e.part(s)
	if s == Answer {
		p.Trip = e.trip
	}
	frame, nanos := e.last()
	if !isChallenge(m) && e.state&given != 0 {
		if e.state&echoed == 0 {
			return p
		}
		frame, nanos = e.first+uint64(e.echoAt), e.echo
	}
	if frame >= m.Frame {
		return p
	}
	p.Request = frame
	p.Took = m.since(frame, nanos)
	return p
}

// isChallenge reports whether a reply is a challenge: it gives that, and may stand
// for the answers that the server holds back.
func isChallenge(m *Message) bool { return m.Type != nil && m.Type.Asks.Has(dissect.AskChallenge) }

// oldest returns, of the exchanges between the ends of m that are not over, about
// something in asks, and began before m, the one that waits longest; of those
// that want, if that is given.
func (x *Exchanges) oldest(m *Message, asks dissect.Asked, want func(*exchange) bool) (in table, k exchangeKey, best *exchange) {
	for ; asks != 0; asks &= asks - 1 {
		ak := m.key(asks)
		for _, t := range [...]table{x.challenged, x.open} {
			e := t.Peek(ak)
			if e == nil || e.first >= m.Frame || want != nil && !want(e) {
				continue
			}
			if best == nil || e.first < best.first {
				in, k, best = t, ak, e
			}
		}
	}
	return in, k, best
}

// unchallenged reports whether e waits for its first word of the server.
func unchallenged(e *exchange) bool { return e.state&(owes|given) == owes }

// waiting reports whether the server has not replied to the last request of e.
func waiting(e *exchange) bool { return e.state&owes != 0 }

// challenge places a challenge. Where the client asked for nothing else it is the
// answer. It belongs to the exchange that waits and has none yet; else, where the
// challenge changes or the client does not bring it back, to one that waits.
func (x *Exchanges) challenge(m *Message) Part {
	in, k, e := x.oldest(m, m.Type.Asks, unchallenged)
	if e == nil {
		in, k, e = x.oldest(m, m.Type.Asks, waiting)
	}
	switch {
	case e == nil:
		return x.again(m)
	case m.Age-e.age > int64(answerWait):
		x.end(in, k, e)
		return x.placeExtra(m)
	case k.asks == dissect.AskChallenge:
		return x.answer(m, in, k, e)
	}
	p := e.answeredBy(m, Challenge)
	x.judgeChallenge(m, e)
	e.trip, e.age = p.Took, max(e.age, m.Age)
	e.challenge = uint32(m.Key)
	e.state = e.state&^(owes|echoed|heard) | given
	if in == x.open {
		x.promote(k, e)
	} else {
		in.Get(k)
	}
	return p
}

// again places a challenge for which no exchange waits: a copy of one.
func (x *Exchanges) again(m *Message) Part {
	same := func(e *exchange) bool { return e.state&given != 0 && m.Key != 0 && e.challenge == uint32(m.Key) }
	if _, _, e := x.oldest(m, m.Type.Asks, same); e != nil {
		return e.answeredBy(m, Extra)
	}
	return x.placeExtra(m)
}

// promote moves e to the exchanges in which the server has said something.
func (x *Exchanges) promote(k exchangeKey, e *exchange) {
	was := *e
	x.open.Delete(k)
	for range spared {
		if x.challenged.Len() < x.challenged.Cap() {
			break
		}
		old, v, _ := x.challenged.Oldest()
		if v.state&echoed == 0 {
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

// placeExtra places a reply to no exchange that is under way: it is a further reply to
// one that is over, late, or nobody's.
func (x *Exchanges) placeExtra(m *Message) Part {
	var e *exchange
	for asks := m.Type.Asks; asks != 0; asks &= asks - 1 {
		p := x.past.Peek(m.key(asks))
		if p != nil && p.first < m.Frame && m.Age-p.age <= int64(keptFor) && (e == nil || p.first > e.first) {
			e = p
		}
	}
	switch {
	case e == nil:
		return Part{Step: Stray, Took: -1, Trip: -1}
	case e.state&replied != 0:
		x.judgeExtra(m, e)
		return e.answeredBy(m, Extra)
	}
	step := Answer
	switch {
	case m.Age-e.age > int64(answerWait):
		step = Late
		x.judgeLate(m, e)
	case e.state&silent != 0:
		return e.answeredBy(m, Extra)
	}
	if !isChallenge(m) {
		e.state |= replied
		e.answered = x.kindOf(m)
	}
	return e.answeredBy(m, step)
}

// unknown places a reply that cannot be read, as a set of which the first part is
// missing: where the client waits for one answer only, it is that.
func (x *Exchanges) unknown(m *Message) Part {
	in, k, e := x.oldest(m, dissect.LongAnswers, waiting)
	if e == nil {
		return x.unknownPast(m)
	}
	for asks := dissect.LongAnswers &^ k.asks; asks != 0; asks &= asks - 1 {
		if _, _, other := x.oldest(m, asks.First(), waiting); other != nil {
			return nothing
		}
	}
	return x.answer(m, in, k, e)
}

// unknownPast looks for the exchange of such a reply among those that are over
// because parts of it were the last that came.
func (x *Exchanges) unknownPast(m *Message) Part {
	var e *exchange
	for asks := dissect.LongAnswers; asks != 0; asks &= asks - 1 {
		p := x.past.Peek(m.key(asks))
		if p == nil || p.first >= m.Frame || p.state&(heard|replied) != heard {
			continue
		}
		if e != nil {
			return nothing
		}
		e = p
	}
	if e == nil {
		return nothing
	}
	e.state |= replied
	return e.answeredBy(m, Answer)
}

// Heard says that a part of a reply to something in asks came at age: nobody can
// say any more that the server is silent.
func (x *Exchanges) Heard(m *Message) {
	for asks := dissect.LongAnswers; asks != 0; asks &= asks - 1 {
		k := m.key(asks)
		for _, t := range [...]table{x.challenged, x.open} {
			e := t.Peek(k)
			if e == nil || e.first >= m.Frame || !waiting(e) {
				continue
			}
			t.Get(k)
			e.state |= heard
			e.age = max(e.age, m.Age)
		}
	}
}
