package track

import (
	"math/bits"
	"slices"
	"time"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// eager finds clients that repeat a request before its answer can have come.
type eager struct {
	*Hosts
	times   *states[answerTimes] // by server
	clients *lru.Table[End, eagerClients]
}

func newEager(h *Hosts) check {
	c := &eager{Hosts: h, times: newServerStates[answerTimes](h), clients: newTable[End, eagerClients](h, maxEager)}
	return check{wants: []want{{repeatedQuery, c.checkPace}, {answer, c.addAnswer}}}
}

// addAnswer counts an answer by its time.
func (c *eager) addAnswer(f *view) {
	if f.Step == Answer && f.Took >= 0 {
		c.times.at(f.server.slot).add(f.Took)
	}
}

// answerTimes counts the answers of a server by the time that they took: bucket 0 those below
// eagerFloor, and of the others four for each doubling.
type answerTimes struct {
	buckets [timeBuckets]uint8
	all     uint8
}

const (
	stepsPerDoubling = 4
	timeBuckets      = 1 + 6*stepsPerDoubling // up to 64 times eagerFloor, which is more than answerWait
)

// bucketStart returns the shortest time in a bucket.
func bucketStart(i int) int64 {
	if i == 0 {
		return 0
	}
	doublings, step := (i-1)/stepsPerDoubling, (i-1)%stepsPerDoubling
	return int64(eagerFloor) << doublings * int64(stepsPerDoubling+step) / stepsPerDoubling
}

// add adds an answer that took nanos. When a count is full all are halved: what was long ago
// counts less.
func (t *answerTimes) add(nanos int64) {
	i := 0
	if n := uint64(nanos) * stepsPerDoubling / uint64(eagerFloor); n >= stepsPerDoubling {
		doublings := bits.Len64(n) - bits.Len64(stepsPerDoubling)
		i = min(1+stepsPerDoubling*doublings+int(n>>doublings)-stepsPerDoubling, timeBuckets-1)
	}
	t.buckets[i]++
	if t.all++; t.all < maxTimes {
		return
	}
	t.all = 0
	for i := range t.buckets {
		t.buckets[i] /= 2
		t.all += t.buckets[i]
	}
}

// slow returns a time that slowShare percent of the answers exceed or more, 0 if that is below
// eagerFloor or there are less than slowOf answers.
func (t *answerTimes) slow() int64 {
	if t.all < slowOf {
		return 0
	}
	above := uint32(0)
	for i := len(t.buckets) - 1; i > 0; i-- {
		if above += uint32(t.buckets[i]); 100*above >= slowShare*uint32(t.all) {
			return bucketStart(i)
		}
	}
	return 0
}

// eagerClients are the clients of a server that were reported for repeating too soon.
type eagerClients struct {
	hosts [eagerPerServer]Host
	n     uint8
}

// checkPace raises that a client repeats a request too soon. That no reply came in between is
// unsure where the server was not seen to answer anybody: its replies may go another way.
func (c *eager) checkPace(f *view) {
	s := c.servers.Peek(EndOf(f.Server))
	slow := int64(0)
	if s != nil && f.Gap >= int64(eagerFloor) && f.Gap < int64(answerWait) {
		slow = c.times.at(s.slot).slow()
	}
	e := finding.Expert{Code: pairCodes(f.Proto).Eager, A: uint64(f.Gap), B: uint64(slow)}
	switch {
	case f.IsThird:
		e.B = dissect.ThirdRequest
	case f.Gap >= max(int64(eagerFloor), slow):
		return
	}
	if e.Code == nil {
		return
	}
	x := enter(c.Hosts, c.clients, EndOf(f.Server))
	client := Host(f.Client.Addr().As16())
	if int(x.n) == len(x.hosts) || slices.Contains(x.hosts[:x.n], client) {
		return
	}
	x.hosts[x.n] = client
	x.n++
	c.Report(f.Fact, f.ID, e, s == nil || c.isUnsure(f.Age-int64(copiesFor)))
}

const (
	// limit: maxEager is how many servers with clients that repeat too soon are kept. Chosen: such servers
	// are few.
	maxEager = 128
	// limit: eagerPerServer is how many clients of one server are reported for repeating too soon. Chosen:
	// more are a flood, in which one client more says nothing new.
	eagerPerServer = 8
	// limit: maxTimes is how many answers of a server are counted by their time until all counts are
	// halved. Chosen: enough for percents.
	maxTimes = 250
	// limit: eagerFloor is how soon a repeated request is too soon for any server: a round trip on a
	// continent. For a server of which slowOf answers or more are known, a time that slowShare percent of
	// them exceed is too soon as well: its answer is probably on the way.
	eagerFloor = 50 * time.Millisecond
	slowOf     = 20
	slowShare  = 5
)
