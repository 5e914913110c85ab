package track

import (
	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// vainCount counts the requests of one kind that a server left unanswered.
type vainCount struct {
	requests uint32 // exchanges, of all clients
	since    int64  // age of the first of them
	first    uint64 // frame
}

// waitingClient is a client that asked a server for something in vain.
type waitingClient struct {
	times      [queryKinds]uint8 // exchanges that ended without an answer
	isReported [queryKinds]bool
}

// addVain adds an exchange that ended without an answer, and raises that its client waits for what
// the server never sends. It counts only if the server had no other reason for silence that the
// capture shows: the last request had a valid challenge, or none where the server demanded none.
func (h *Hosts) addVain(f *Fact) {
	kind, s := queryKind(f.Type.Asks), h.servers.Peek(EndOf(f.Server))
	if kind < 0 || kind == queryInfo || s == nil || s.served[kind] != never || s.served[queryInfo] < f.Age-int64(servedFor) || !h.isValid(f) {
		return
	}
	v := &s.vain[kind-queryPlayers]
	if v.requests == 0 {
		v.since, v.first = f.Age, f.ID
	}
	v.requests++
	c, evicted := h.waiting.Put(pairOf(f))
	if evicted != nil && evicted.Val.hasAskedAgain() { // those that asked once may be invented
		h.evicted++
	}
	c.times[kind] = min(c.times[kind], 254) + 1
	if c.isReported[kind] || c.times[kind] < vainTimes || v.requests < vainRequests {
		return
	}
	c.isReported[kind] = true
	x := finding.Expert{Code: pairCodes(f.Proto).Vain, A: uint64(v.requests)}
	if queryRoles[kind] == dissect.AskRules {
		x.B = 1
	}
	h.raise(f, v.first, x, h.isUnsure(v.since))
}

// hasAskedAgain reports whether the client asked in vain more than once.
func (c *waitingClient) hasAskedAgain() bool {
	return c.times[queryPlayers] > 1 || c.times[queryRules] > 1
}

// isValid reports whether the last request of the silence f was one that servers answer.
func (h *Hosts) isValid(f *Fact) bool {
	if f.Key == 0 {
		return !f.GotChallenge
	}
	p := h.proven.Peek(pairOf(f))
	return p != nil && p.hasChallenge(f, int64(freshFor))
}
