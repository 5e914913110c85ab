package track

import (
	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// socketKey is a client's socket and a kind of question.
type socketKey struct {
	client End
	asks   dissect.Asked // one bit
}

// Hash mixes the key.
func (k socketKey) Hash(seed uint64) uint64 { return lru.Mix(k.client.Hash(seed), uint64(k.asks)) }

// askedServers are the servers that a client's socket asked one kind of question.
type askedServers struct {
	open [maxAsked]question
	n    uint8
	// overflowAge is the age of the last question for which there was no room: a reply since
	// then may be the answer to that.
	overflowAge int64
}

// question is a question to which the server has not replied.
type question struct {
	server End
	frame  uint64
	age    int64
}

// elsewhereKey is an asked server, its client and the end that replied: each is reported once.
type elsewhereKey struct {
	pair  pairKey
	other End
}

// Hash mixes the key.
func (k elsewhereKey) Hash(seed uint64) uint64 {
	return lru.Mix(lru.MixBytes(k.pair.Hash(seed), k.other.Host[:]), uint64(k.other.Port))
}

// note is a question, or a reply, as it waits to be entered among the sockets.
type note struct {
	client, server End
	asks           dissect.Asked // of a question one bit
	isReply        bool
	frame          uint64
	age            int64
}

// notes holds the last notes, a ring. Only a reply that nobody requested asks for the sockets.
// Until one comes, a request costs a note, and one that is too old by then is never entered.
type notes struct {
	ring  []note // nil before the first
	next  int    // place of the next note; the oldest follows
	count int    // not entered yet
	// lostAge is the age of the latest request whose client is not among the askers any more.
	lostAge int64
}

// addNote notes a question, or a reply to one.
func (h *Hosts) addNote(f *Fact, asks dissect.Asked) {
	t := &h.notes
	if t.ring == nil {
		t.ring, t.lostAge = make([]note, h.maxNotes), never
	}
	n := &t.ring[t.next]
	if t.count < len(t.ring) {
		t.count++
	} else if !n.isReply {
		t.lostAge = n.age
		if n.age >= f.Age-int64(elsewhereFor) {
			h.evicted++
		}
	}
	n.client.set(f.Client)
	n.server.set(f.Server)
	n.asks, n.isReply, n.frame, n.age = asks, f.Reply, f.Frame, f.Age
	if t.next++; t.next == len(t.ring) {
		t.next = 0
	}
}

// enterNotes enters the notes among the sockets at age. Those of twice elsewhereFor ago change
// nothing: a question counts for elsewhereFor, and for as long before that the others were in
// its way.
func (h *Hosts) enterNotes(age int64) {
	t := &h.notes
	since := age - 2*int64(elsewhereFor)
	for ; t.count > 0; t.count-- {
		at := t.next - t.count
		if at < 0 {
			at += len(t.ring)
		}
		switch n := &t.ring[at]; {
		case n.age < since:
		case n.isReply:
			h.dropAnswered(n)
		default:
			h.addAsker(n.client.Host, n.age)
			h.addQuestion(n)
		}
	}
}

// addQuestion records which server a client's socket asked.
func (h *Hosts) addQuestion(n *note) {
	s, evicted := h.sockets.Put(socketKey{n.client, n.asks})
	if evicted != nil {
		h.evicted++
	}
	if s.n == 0 && s.overflowAge == 0 {
		s.overflowAge = never
	}
	s.dropQuestions(n.server, n.age-int64(elsewhereFor))
	if int(s.n) == len(s.open) {
		s.overflowAge = n.age
		return
	}
	s.open[s.n] = question{n.server, n.frame, n.age}
	s.n++
}

// dropQuestions removes the questions to server, and those before age.
func (s *askedServers) dropQuestions(server End, age int64) {
	n := uint8(0)
	for _, a := range s.open[:s.n] {
		if a.server != server && a.age >= age {
			s.open[n] = a
			n++
		}
	}
	s.n = n
}

// dropAnswered removes the questions to the server that sent a reply.
func (h *Hosts) dropAnswered(n *note) {
	for asks := n.asks; asks != 0; asks &= asks - 1 {
		if s := h.sockets.Peek(socketKey{n.client, asks.First()}); s != nil {
			s.dropQuestions(n.server, n.age-int64(elsewhereFor))
		}
	}
}

// checkElsewhere raises that a reply came from an end that the client did not ask, if it is
// clear which server it asked, and reports whether it is.
func (h *Hosts) checkElsewhere(f *Fact) bool {
	h.enterNotes(f.Age)
	a, ok := h.findQuestion(f)
	if !ok {
		return false
	}
	k := elsewhereKey{pairKey{a.server, f.Client.Addr().As16()}, EndOf(f.Server)}
	if h.reportedElsewhere.Get(k) != nil {
		return true
	}
	h.reportedElsewhere.Put(k)
	at := *f
	at.Server = a.server.AddrPort()
	// What the client asked before the capture began is unknown, too.
	since := f.Age - int64(elsewhereFor)
	h.raise(&at, a.frame, finding.Expert{Code: &Elsewhere, Addr: f.Server, A: uint64(f.Age - a.age)},
		h.isUnsure(since) || h.firstAge > since)
	return true
}

// findQuestion returns the question that a reply from another end answers: the only open
// one, or the only one to a server with the same address or port.
func (h *Hosts) findQuestion(f *Fact) (best question, ok bool) {
	client, other := EndOf(f.Client), EndOf(f.Server)
	since := f.Age - int64(elsewhereFor)
	open, near, nearest := 0, 0, question{}
	for asks := f.Type.Asks; asks != 0; asks &= asks - 1 {
		s := h.sockets.Peek(socketKey{client, asks.First()})
		if s == nil {
			continue
		}
		if s.overflowAge >= since {
			return question{}, false
		}
		for _, a := range s.open[:s.n] {
			switch {
			case a.server == other:
				return question{}, false
			case a.age < since || a.frame >= f.Frame || open > 0 && a.server == best.server:
				continue
			}
			best, open = a, open+1
			if a.server.Host == other.Host || a.server.Port == other.Port {
				nearest, near = a, near+1
			}
		}
	}
	if near == 1 {
		return nearest, true
	}
	return best, open == 1
}
