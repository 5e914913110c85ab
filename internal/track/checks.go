package track

import (
	"math/bits"
	"reflect"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// newChecks are the checks of Hosts, in the order in which findings about one fact are raised. Each
// is a file, which has its findings, its limits and its tables.
var newChecks = [...]func(*Hosts) check{
	newStrays, newLogins, newEager, newUnbrought, newMixed, newShared, newCopies, newPorts, newSoleClients,
	newPollers, newCaches, newAmplifiers, newFramings, newUnheeded, newVain, newBudgets, newPages,
	newJoins, newConsoles, newForeign, newStale, newCounts, newTwins, newEngineLimits,
}

// check finds what several messages show together.
type check struct {
	finds  []*finding.Code // but for those that a protocol declares, see dissect.PairCodes
	wants  []want
	finish func() // raises what waits for more facts, when none will come; may be nil
}

// want is kinds of facts and what is called with each of them.
type want struct {
	kinds kinds
	add   func(*view)
}

// view is a fact with what Hosts has of its ends. It is valid during a call of want.add.
type view struct {
	*Fact
	query  int          // index of the one query that it asks or leaves unanswered; -1 if it is not one
	server *serverState // of facts about queries that were answered, or not; nil if the server never answered
	// client is that of a query, or of its answer, if it was given a challenge; of a silence only if it
	// brought it back.
	client *clientState
	isNew  bool          // the challenge is not the last one that the client was given
	begun  dissect.Asked // what the part of a reply answers
	family string        // of a protocol that is not ours
	how    int           // how a connection failed, see dissect.HandshakeRefused
}

// proven returns the client of v if it brought a challenge back, and nil otherwise.
func (v *view) proven() *clientState {
	if v.client == nil || !v.client.isProven {
		return nil
	}
	return v.client
}

// contents returns what an answer says of its server, nil if v is none or nothing.
func (v *view) contents() *Said {
	if v.Step != Answer {
		return nil
	}
	return v.Said
}

// kinds is a set of kinds of facts, and one bit is a kind.
type kinds uint32

// Kinds of facts. Requests and replies are in datagrams but for logins; replies answer a request
// but for plainReply and strayReply.
const (
	login         kinds = 1 << iota // or the answer to one
	query                           // for information, players or rules, that is none of the next two
	clientQuery                     // of a client that was given a challenge
	repeatedQuery                   // like the one before
	pageRequest                     // to a master server
	otherRequest                    // that asks for something
	plainReply                      // of which it is not known whether it answers something
	strayReply                      // that nobody requested
	challenge                       // in place of the answer to a query
	answer                          // to a query
	page
	joinChallenge
	rconChallenge
	refusedCommand // of a command
	offsetReply    // of a protocol whose servers answer at another port than the game's
	otherReply
	noAnswer // to a query, as the others below
	noServer // no answer either, to a query at a port that never answered one
	noPage
	noJoin
	noCommand
	noOffsetReply
	begunReply
	foreignMessage // of another protocol
	echoed         // a request, sent back
	handshake      // that failed
	doubtful       // may be a request
	numKinds       = iota
	queries        = query | clientQuery | repeatedQuery
	requests       = queries | pageRequest | otherRequest
	replies        = challenge | answer | page | joinChallenge | rconChallenge | refusedCommand | offsetReply | otherReply
)

// kindOf returns the kind of a message, or of an answer that did not come; 0 if no check wants such.
func kindOf(f *Fact) kinds {
	switch {
	case f.Type == nil || f.Type.Notice:
		return 0
	case f.Type.Asks.Has(dissect.AskLogin):
		return login
	case f.TCP:
		return 0
	case f.Step == Silence:
		return kindOfSilence(f)
	case f.Reply:
		return kindOfReply(f)
	case f.Type.Asks.Has(dissect.Queries):
		return query
	case f.Type.Asks.Has(dissect.AskServers):
		return pageRequest
	case f.Type.Asks != 0:
		return otherRequest
	}
	return 0
}

func kindOfReply(f *Fact) kinds {
	asks := f.Type.Asks
	switch {
	case f.Step == NoStep:
		return plainReply
	case f.Step == Stray:
		return strayReply
	case asks.Has(dissect.Queries) && asks.Has(dissect.AskChallenge):
		return challenge
	case asks.Has(dissect.Queries):
		return answer
	case asks.Has(dissect.AskServers):
		return page
	case asks.Has(dissect.AskChallenge):
		return joinChallenge
	case asks.Has(dissect.AskRconChallenge):
		return rconChallenge
	case f.Refused:
		return refusedCommand
	case f.Proto.QueryOffset != 0:
		return offsetReply
	}
	return otherReply
}

func kindOfSilence(f *Fact) kinds {
	asks := f.Type.Asks
	switch {
	case asks.Has(dissect.Queries):
		return noAnswer
	case asks.Has(dissect.AskServers):
		return noPage
	case asks.Has(dissect.AskChallenge):
		return noJoin
	case asks.Has(dissect.AskRcon):
		return noCommand
	case f.Proto.QueryOffset != 0:
		return noOffsetReply
	}
	return 0
}

// route calls the checks that want the view at hand, of one kind.
func (h *Hosts) route(k kinds) {
	if k == 0 {
		return
	}
	for _, add := range h.wanted[bits.TrailingZeros32(uint32(k))] {
		add(&h.view)
	}
}

// AddBegun adds a part of a reply to what asks for asks, which may never come whole: its server does
// answer that. f has the ends and the time.
func (h *Hosts) AddBegun(f *Fact, asks dissect.Asked) {
	h.view = view{Fact: f, query: -1, begun: asks, server: h.findServer(f)}
	h.view.server.recordServed(asks, f.Age)
	h.route(begunReply)
}

// AddForeign adds that another protocol is spoken at a port where one of ours usually is. f has
// its frame, times and ends. family is the protocol's name.
func (h *Hosts) AddForeign(f *Fact, family string) {
	h.view = view{Fact: f, family: family}
	h.route(foreignMessage)
}

// AddEcho adds a datagram that sends a request back. f has its frame, times, ends and length, and as Key the
// length of the request.
func (h *Hosts) AddEcho(f *Fact) {
	h.view = view{Fact: f}
	h.route(echoed)
}

// AddHandshake adds a TCP connection that failed before anything was said: f has its frame, times, ends and the protocol
// whose port it is, how is one of dissect.HandshakeRefused and those after it.
func (h *Hosts) AddHandshake(f *Fact, how int) {
	h.view = view{Fact: f, how: how}
	h.route(handshake)
}

// AddDoubtful adds a datagram that may be a request, and that nothing confirms: f is the fact of
// the request.
func (h *Hosts) AddDoubtful(f *Fact) {
	h.view = view{Fact: f}
	h.route(doubtful)
}

// Finish raises what waits for more facts: none will come.
func (h *Hosts) Finish() {
	for _, finish := range h.finish {
		finish()
	}
}

// table is a table of Hosts or of a check, and what an entry takes.
type table struct {
	entries interface {
		Len() int
		Cap() int
	}
	entryBytes uintptr
}

// newTable returns a table with room for n entries, times the size of h's tables.
func newTable[K lru.Key, V any](h *Hosts, n int) *lru.Table[K, V] {
	const links = 3*4 + 2*4 // hash and order of an entry, and its share of the index
	t := lru.New[K, V](int(float64(n) * h.size))
	h.tables = append(h.tables, table{t, reflect.TypeFor[lru.Evicted[K, V]]().Size() + links})
	return t
}

// enter returns the value of k in t, and counts the entry that was evicted for it.
func enter[K lru.Key, V any](h *Hosts, t *lru.Table[K, V], k K) *V {
	v, evicted := t.Put(k)
	if evicted != nil {
		h.evicted++
	}
	return v
}
