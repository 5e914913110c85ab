package track

import (
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// MonitorUnanswered is raised where A polls in a row of one client stay without an answer, one
// every B nanoseconds, and the server answers others meanwhile.
var MonitorUnanswered = finding.Code{ID: "MON-01", Severity: finding.Warn, Fault: finding.Path,
	Seen:   "polls that come at a fixed time stay without an answer, and the server answers the same question of others between them",
	Means:  "the client, as a monitor, takes a server for dead that works: a filter or a limit drops its requests, or they get lost",
	Owner:  "do not restart the server for that; let the monitor's address pass filters and limits",
	Client: "wait longer, and repeat a poll before it counts as an outage; qsniff polls shows what became of the requests",
	Format: "{a} polls in a row without an answer, one every {b.elapsed}, while the server answers others{unsure}"}

// pollers finds monitors that a server leaves without answers while it answers others.
type pollers struct {
	*Hosts
	pollers  *lru.Table[pairKey, poller]
	silences *states[silences] // by server
}

func newPollers(h *Hosts) check {
	c := &pollers{Hosts: h, pollers: newTable[pairKey, poller](h, maxPollers), silences: newServerStates[silences](h)}
	return check{finds: []*finding.Code{&MonitorUnanswered}, wants: []want{{noAnswer, c.addSilentPoll}, {answer, c.addAnswer}}}
}

// silences is how many requests to a server went without an answer since silentSince.
type silences struct {
	answersObsolete bool // it answered an obsolete request
	silences        uint32
	silentSince     int64
}

// poller is a client that a server leaves without answers: its last requests of one kind.
type poller struct {
	kind     uint8
	begun    [silentPolls]int64 // ages at which they began, the latest first
	first    [silentPolls]uint64
	n        uint8
	reported bool // since the last answer
}

// addSilentPoll adds a request that nobody answered, of a client that did not get an answer of any
// kind since the earlier ones, and raises that the server goes on answering others. The repeats of
// a request are one poll with it.
func (c *pollers) addSilentPoll(f *view) {
	s, kind := c.silences.at(f.server.slot), f.query
	if s.silences == 0 || f.Age-s.silentSince > int64(silentFor) {
		s.silentSince, s.silences = f.Age, 0
	}
	if s.silences++; f.client == nil && s.silences > maxSilences {
		return
	}
	if f.Type.Obsolete && !s.answersObsolete {
		return // no server has to answer it: nothing lies on the way
	}
	if f.Age-f.Began > int64(longestRetry) {
		return // it asks all the time: its exchanges end by the clock of Exchanges
	}
	q := enter(c.Hosts, c.pollers, pairOf(f.Fact))
	// Others are answered if one was since the poll before.
	since := f.Began - int64(aliveFor)
	if q.n > 0 {
		since = q.begun[0]
	}
	if q.n > 0 && int(q.kind) != kind {
		return
	}
	if f.server.served[kind] <= since {
		q.n = 0
		return
	}
	copy(q.begun[1:], q.begun[:])
	copy(q.first[1:], q.first[:])
	q.kind, q.begun[0], q.first[0] = uint8(kind), f.Began, f.ID
	q.n = min(q.n+1, silentPolls)
	if period := q.period(); period > 0 && !q.reported {
		q.reported = true
		c.Report(f.Fact, q.first[silentPolls-1], finding.Expert{Code: &MonitorUnanswered, A: silentPolls, B: uint64(period)}, c.isUnsure(q.begun[silentPolls-1]))
	}
}

// period returns the time from one poll to the next, 0 if that is not always the same.
func (q *poller) period() int64 {
	if q.n < silentPolls {
		return 0
	}
	least, most := q.begun[0]-q.begun[1], q.begun[0]-q.begun[1]
	for i := 2; i < silentPolls; i++ {
		d := q.begun[i-1] - q.begun[i]
		least, most = min(least, d), max(most, d)
	}
	mean := (q.begun[0] - q.begun[silentPolls-1]) / (silentPolls - 1)
	if least < int64(leastPoll) || 100*(most-least) >= pollSpread*mean {
		return 0
	}
	return mean
}

// addAnswer ends the silence of the server towards a client.
func (c *pollers) addAnswer(f *view) {
	if f.IsObsolete {
		c.silences.at(f.server.slot).answersObsolete = true
	}
	if c.pollers.Len() > 0 {
		c.pollers.Delete(pairOf(f.Fact))
	}
}

const (
	// limit: maxPollers is how many clients at a server are kept that wait for answers in vain. Chosen:
	// few clients ask a server again and again that does not answer them.
	maxPollers = 1024
	// limit: silentPolls is how many polls in a row must stay without an answer, with times between them
	// that differ by less than pollSpread percent: a program with a clock. One that did not prove its
	// address counts only where a server leaves maxSilences requests or fewer without an answer in
	// silentFor: more are a flood, whose addresses are invented. Chosen. Polls are leastPoll apart or
	// more, and repeated for longestRetry at most: what comes faster is several programs at one address,
	// or a flood.
	silentPolls  = 3
	pollSpread   = 10
	leastPoll    = answerWait
	longestRetry = 5 * time.Second
	maxSilences  = 32
	silentFor    = time.Minute
)
