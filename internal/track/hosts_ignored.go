package track

import (
	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// unbroughtChallenges counts the challenges of one kind of query that a client did not bring back. It
// asks from a new port each time, or long after: otherwise its request shows that to Exchanges.
type unbroughtChallenges struct {
	age   int64  // of the challenge that waits to be brought back
	first uint64 // frame of the first one that was not
	port  uint16 // of the client
	kind  uint8  // the index of the query and 1; 0: none waits
	n     uint8  // in a row, so far
	soon  uint8  // further ones within the wait of this one
	// isUnsure is set if packets may be missing from the capture since the first one.
	isUnsure bool
}

// countUnbrought counts a challenge that a client is given in place of an answer, and raises that it
// was given such before, each time brought none back for as long as clients wait, and asks on. What
// is shown is the request that caused this one, so the whole wait lies in the capture. Challenges for
// players and for rules are one: clients get one with the first and use it for the other.
func (h *Hosts) countUnbrought(f *Fact, p *challengedClient, s *hostState) {
	code, kind := pairCodes(f.Proto).Ignored, queryKind(f.Asked)
	if code == nil || kind < 0 || f.Step != Challenge {
		return
	}
	c := &p.unbrought[min(kind, queryPlayers)]
	waited := f.Age - c.age
	switch {
	case c.kind == 0:
		*c = unbroughtChallenges{age: f.Age, first: f.Frame, port: f.Client.Port(), kind: uint8(kind + 1)}
		return
	case int(c.kind) != kind+1:
		return
	case waited <= int64(answerWait):
		c.soon = min(c.soon, 254) + 1
		return
	case c.soon > maxSoon: // a flood in the name of this address, or many clients behind it
		*c = unbroughtChallenges{age: f.Age, first: f.Frame, port: f.Client.Port(), kind: uint8(kind + 1)}
		return
	}
	if f.Age-s.unbroughtSince > int64(silentFor) {
		s.unbroughtSince, s.unbrought = f.Age, 0
	}
	s.unbrought++
	isShown := c.port == f.Client.Port() && waited <= int64(extraFor) // by the request
	c.isUnsure = c.isUnsure || h.isUnsure(c.age)
	c.age, c.port, c.soon = f.Age, f.Client.Port(), 0
	if isShown {
		return
	}
	if c.n = min(c.n, 254) + 1; c.n == unbroughtTimes && s.unbrought <= maxUnbrought {
		h.raise(f, c.first, finding.Expert{Code: code, A: f.Key&0xffff_ffff | uint64(c.n)<<32, B: uint64(waited)}, c.isUnsure)
	}
}

// bringBack records that the client brought a challenge back with a query of a kind, or that the
// query was answered without.
func (p *challengedClient) bringBack(kind int) {
	if kind == queryInfo {
		p.unbrought[queryInfo] = unbroughtChallenges{}
	}
	p.unbrought[queryPlayers] = unbroughtChallenges{}
}

// recordAnswered records an answer in an exchange in which the client was challenged: it need
// not bring the challenge back. p is the client if it is proven.
func (h *Hosts) recordAnswered(f *Fact, p *challengedClient) {
	if f.Trip < 0 {
		return
	}
	if p == nil {
		if p = h.offered.Peek(pairOf(f)); p == nil {
			return
		}
	}
	if f.Type.Asks.Has(dissect.AskInfo) {
		p.bringBack(queryInfo)
	} else {
		p.bringBack(queryPlayers)
	}
}
