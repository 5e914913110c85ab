package track

import "qsniff/dissect/finding"

// copiedAnswer counts the answers to one question.
type copiedAnswer struct {
	id uint32 // frame of its first request, the lower bits; 0: none
	n  uint32
}

// pendingCopies is a question of which a server goes on sending answers: when no more come, the number is raised.
type pendingCopies struct {
	fact  Fact // of the last answer
	n     uint32
	isSet bool
}

// countCopies counts an answer to a query, and raises that a server sends many to one question: once for each server,
// with all answers to the first such question, which the answer to the next one ends. One host can ask several at once,
// so those to the last ones are counted.
func (h *Hosts) countCopies(f *Fact, s *hostState) {
	if s.hasCopies {
		h.updateCopies(f)
		return
	}
	if f.ID == 0 {
		return
	}
	c := &s.copies[f.ID%copiedQuestions]
	switch {
	case f.Step == Answer:
		*c = copiedAnswer{id: uint32(f.ID), n: 1}
		return
	case f.Step != Extra || c.id != uint32(f.ID):
		return
	}
	if c.n++; c.n < manyAnswers {
		return
	}
	s.hasCopies = true
	for i := range h.copies {
		if p := &h.copies[i]; !p.isSet {
			*p = pendingCopies{fact: *f, n: c.n, isSet: true}
			return
		}
	}
	h.raiseCopies(&pendingCopies{fact: *f, n: c.n}, f.Frame, f.Nanos)
}

// updateCopies adds an answer of a server that sent many to one question, or raises how many that were.
func (h *Hosts) updateCopies(f *Fact) {
	for i := range h.copies {
		p := &h.copies[i]
		switch {
		case !p.isSet || p.fact.Server != f.Server:
		case p.fact.ID == f.ID:
			p.n++
			p.fact = *f
		case f.Step == Answer && (f.Client == p.fact.Client || f.Age-p.fact.Age > int64(answerWait)):
			h.raiseCopies(p, f.Frame, f.Nanos)
		}
	}
}

// raiseCopies raises how many answers to one question came, at the packet that shows that there are no more.
func (h *Hosts) raiseCopies(p *pendingCopies, frame uint64, nanos int64) {
	p.isSet = false
	p.fact.Frame, p.fact.Nanos = frame, nanos
	h.raise(&p.fact, p.fact.ID, finding.Expert{Code: &ManyAnswers, A: uint64(p.n)}, false)
}

// Finish raises what waits for more facts: none will come.
func (h *Hosts) Finish() {
	for i := range h.copies {
		if p := &h.copies[i]; p.isSet {
			h.raiseCopies(p, h.lastFrame, h.lastNanos)
		}
	}
}
