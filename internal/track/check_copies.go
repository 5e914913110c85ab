package track

import (
	"qsniff/dissect/finding"
)

// ManyAnswers is raised where a server sends A answers to one question.
var ManyAnswers = finding.Code{ID: "LIE-10", Severity: finding.Warn, Fault: finding.Server,
	Seen:   "at least 10 answers to one question of a client",
	Means:  "the server, or something before it, sends its answer again and again, so that one is there when the next question comes: browsers then show a ping that is far too low, and whoever forges an address gets as many answers sent there",
	Owner:  "take the module that does so off, as server lists remove servers for it",
	Client: "take the first answer to each question for its time, open a new socket for the next question, and drop what comes in between",
	Format: "{a} answers to one question"}

// copies finds servers that send many answers to one question.
type copies struct {
	*Hosts
	servers *states[copyingServer]
	pending [copyingServers]pendingCopies
}

func newCopies(h *Hosts) check {
	c := &copies{Hosts: h, servers: newServerStates[copyingServer](h)}
	return check{finds: []*finding.Code{&ManyAnswers}, wants: []want{{answer, c.countCopies}}, finish: c.finish}
}

// copyingServer is a server that answers.
type copyingServer struct {
	copies    [copiedQuestions]copiedAnswer // of the last questions that were answered
	hasCopies bool                          // the finding was raised, or will be
}

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
func (c *copies) countCopies(f *view) {
	s := c.servers.at(f.server.slot)
	if s.hasCopies {
		c.updateCopies(f)
		return
	}
	if f.ID == 0 {
		return
	}
	x := &s.copies[f.ID%copiedQuestions]
	switch {
	case f.Step == Answer:
		*x = copiedAnswer{id: uint32(f.ID), n: 1}
		return
	case f.Step != Extra || x.id != uint32(f.ID):
		return
	}
	if x.n++; x.n < manyAnswers {
		return
	}
	s.hasCopies = true
	for i := range c.pending {
		if p := &c.pending[i]; !p.isSet {
			*p = pendingCopies{fact: *f.Fact, n: x.n, isSet: true}
			return
		}
	}
	c.raiseCopies(&pendingCopies{fact: *f.Fact, n: x.n}, f.Frame, f.Nanos)
}

// updateCopies adds an answer of a server that sent many to one question, or raises how many that were.
func (c *copies) updateCopies(f *view) {
	for i := range c.pending {
		p := &c.pending[i]
		switch {
		case !p.isSet || p.fact.Server != f.Server:
		case p.fact.ID == f.ID:
			p.n++
			p.fact = *f.Fact
		case f.Step == Answer && (f.Client == p.fact.Client || f.Age-p.fact.Age > int64(answerWait)):
			c.raiseCopies(p, f.Frame, f.Nanos)
		}
	}
}

// raiseCopies raises how many answers to one question came, at the packet that shows that there are no more.
func (c *copies) raiseCopies(p *pendingCopies, frame uint64, nanos int64) {
	p.isSet = false
	p.fact.Frame, p.fact.Nanos = frame, nanos
	c.Report(&p.fact, p.fact.ID, finding.Expert{Code: &ManyAnswers, A: uint64(p.n)}, false)
}

// finish raises what waits for more answers.
func (c *copies) finish() {
	for i := range c.pending {
		if p := &c.pending[i]; p.isSet {
			c.raiseCopies(p, c.lastFrame, c.lastNanos)
		}
	}
}

const (
	// limit: copiedQuestions is of how many questions of a server the answers are counted, and
	// copyingServers how many servers can be sending answers to one question at a time. Chosen.
	copiedQuestions = 4
	copyingServers  = 4
	// limit: manyAnswers is from how many answers on to one question no network makes the copies: a mirror
	// makes one, a router with two paths another. Servers with two forms of information send three.
	manyAnswers = 10
)
