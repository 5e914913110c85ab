package track

import (
	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// vain finds clients that wait for what a server never sends.
type vain struct {
	*Hosts
	servers *states[[queryKinds - queryPlayers]vainCount] // without information
	waiting *lru.Table[pairKey, waitingClient]            // clients that asked in vain
}

func newVain(h *Hosts) check {
	c := &vain{Hosts: h, servers: newServerStates[[queryKinds - queryPlayers]vainCount](h), waiting: newTable[pairKey, waitingClient](h, maxWaiting)}
	return check{wants: []want{{noAnswer, c.addVain}}}
}

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
func (c *vain) addVain(f *view) {
	kind, s := f.query, f.server
	if kind == queryInfo || s.served[kind] != never || s.served[queryInfo] < f.Age-int64(servedFor) || !isValid(f) {
		return
	}
	v := &c.servers.at(s.slot)[kind-queryPlayers]
	if v.requests == 0 {
		v.since, v.first = f.Age, f.ID
	}
	v.requests++
	x, evicted := c.waiting.Put(pairOf(f.Fact))
	if evicted != nil && evicted.Val.hasAskedAgain() { // those that asked once may be invented
		c.evicted++
	}
	x.times[kind] = min(x.times[kind], 254) + 1
	if x.isReported[kind] || x.times[kind] < vainTimes || v.requests < vainRequests {
		return
	}
	x.isReported[kind] = true
	e := finding.Expert{Code: pairCodes(f.Proto).Vain, A: uint64(v.requests)}
	if queryRoles[kind] == dissect.AskRules {
		e.B = 1
	}
	c.Report(f.Fact, v.first, e, c.isUnsure(v.since))
}

// hasAskedAgain reports whether the client asked in vain more than once.
func (c *waitingClient) hasAskedAgain() bool {
	return c.times[queryPlayers] > 1 || c.times[queryRules] > 1
}

// isValid reports whether the last request of a silence was one that servers answer.
func isValid(f *view) bool {
	if f.Key == 0 {
		return !f.GotChallenge
	}
	return f.client != nil && f.client.hasChallenge(f.Fact, int64(freshFor))
}

const (
	// limit: maxWaiting is how many clients are kept that asked a server for players or rules in vain. Chosen:
	// such servers are few, and a flood that a server leaves unanswered fills the table.
	maxWaiting = 512
	// limit: vainRequests is how many requests of one kind a server must leave unanswered, and answer
	// none, before it counts as one that never does; vainTimes is how often a client must have asked in
	// vain. Chosen: a client that asks once cannot know.
	vainRequests = 5
	vainTimes    = 2
)
