package track

import (
	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// unbrought finds clients that do not bring challenges back.
type unbrought struct {
	*Hosts
	clients *states[[queryPlayers + 1]unbroughtChallenges] // for information, and for players or rules
	servers *states[unbroughtCount]
}

func newUnbrought(h *Hosts) check {
	c := &unbrought{Hosts: h, clients: newClientStates[[queryPlayers + 1]unbroughtChallenges](h), servers: newServerStates[unbroughtCount](h)}
	return check{wants: []want{{challenge, c.countUnbrought}, {clientQuery | repeatedQuery, c.addQuery}, {answer, c.addAnswer}}}
}

// unbroughtCount is how many challenges of a server were not brought back since unbroughtSince, of those after
// which the client asked again.
type unbroughtCount struct {
	unbrought      uint32
	unbroughtSince int64
}

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
func (c *unbrought) countUnbrought(f *view) {
	code, kind := pairCodes(f.Proto).Ignored, queryKind(f.Asked)
	if code == nil || kind < 0 || f.client == nil || f.Step != Challenge {
		return
	}
	x, s := &c.clients.at(f.client.slot)[min(kind, queryPlayers)], c.servers.at(f.server.slot)
	waited := f.Age - x.age
	switch {
	case x.kind == 0:
		*x = unbroughtChallenges{age: f.Age, first: f.Frame, port: f.Client.Port(), kind: uint8(kind + 1)}
		return
	case int(x.kind) != kind+1:
		return
	case waited <= int64(answerWait):
		x.soon = min(x.soon, 254) + 1
		return
	case x.soon > maxSoon: // a flood in the name of this address, or many clients behind it
		*x = unbroughtChallenges{age: f.Age, first: f.Frame, port: f.Client.Port(), kind: uint8(kind + 1)}
		return
	}
	if s.unbrought == 0 || f.Age-s.unbroughtSince > int64(silentFor) {
		s.unbroughtSince, s.unbrought = f.Age, 0
	}
	s.unbrought++
	isShown := x.port == f.Client.Port() && waited <= int64(extraFor) // by the request
	x.isUnsure = x.isUnsure || c.isUnsure(x.age)
	x.age, x.port, x.soon = f.Age, f.Client.Port(), 0
	if isShown {
		return
	}
	if x.n = min(x.n, 254) + 1; x.n == unbroughtTimes && s.unbrought <= maxUnbrought {
		c.Report(f.Fact, x.first, finding.Expert{Code: code, A: f.Key&0xffff_ffff | uint64(x.n)<<32, B: uint64(waited)}, x.isUnsure)
	}
}

// addQuery adds a query, which brings a challenge back if its client is known.
func (c *unbrought) addQuery(f *view) {
	if f.client != nil {
		c.bringBack(f.client, f.query)
	}
}

// addAnswer adds an answer in an exchange in which the client was challenged: it need not bring the challenge
// back.
func (c *unbrought) addAnswer(f *view) {
	switch {
	case f.Trip < 0 || f.client == nil:
	case f.Type.Asks.Has(dissect.AskInfo):
		c.bringBack(f.client, queryInfo)
	default:
		c.bringBack(f.client, queryPlayers)
	}
}

// bringBack records that a client brought a challenge back with a query of a kind, or that the
// query was answered without.
func (c *unbrought) bringBack(client *clientState, kind int) {
	x := c.clients.at(client.slot)
	if kind == queryInfo {
		x[queryInfo] = unbroughtChallenges{}
	}
	x[queryPlayers] = unbroughtChallenges{}
}

const (
	// limit: unbroughtTimes is how many challenges in a row a client must not bring back, each for
	// answerWait: one request may get lost. More than maxSoon further ones within that time are no client
	// that repeats its request. More than maxUnbrought in silentFor at one server are scans or a flood:
	// old clients are few. Chosen.
	unbroughtTimes = 2
	maxSoon        = 4
	maxUnbrought   = 16
)
