package track

import (
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
)

// OneAddress is raised when all A answers of a server went to one private address, Addr, at B
// ports or more.
var OneAddress = finding.Code{ID: "NET-03", Severity: finding.Warn, Fault: finding.Middlebox,
	Seen:  "all queries that a server answered came from one private address, from several ports",
	Means: "if more than one client asks, a bridge of containers or a proxy before the server replaces their addresses: limits by address then take all clients for one, and bans hit all",
	Do:    "give the container the network of its host, or have the proxy keep the clients' addresses; if this is one program that asks from a new port each time, nothing is wrong",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "all "...), e.A, 10)
		dst = e.Addr.Addr().AppendTo(append(dst, " queries answered so far came from the private address "...))
		dst = strconv.AppendUint(append(dst, ", from at least "...), e.B, 10)
		return append(dst, " ports"...)
	}}

// soleClient is the one address that all of a server's answers went to so far.
type soleClient struct {
	host     Host
	first    uint64 // frame of the first answer
	answers  uint32
	ports    [solePorts]uint16
	numPorts uint8
	isOver   bool // there is another address, or the finding was raised
}

// countClient counts an answer, and raises that all clients of a server have one private
// address.
func (h *Hosts) countClient(f *Fact, c *soleClient) {
	if c.isOver || f.Step != Answer {
		return
	}
	host := HostOf(f.Client)
	if c.answers == 0 {
		c.host, c.first = host, f.Frame
		c.isOver = !f.Client.Addr().Unmap().IsPrivate()
	}
	if c.isOver = c.isOver || host != c.host; c.isOver {
		return
	}
	c.answers++
	if n := int(c.numPorts); n < len(c.ports) && !slices.Contains(c.ports[:n], f.Client.Port()) {
		c.ports[n] = f.Client.Port()
		c.numPorts++
	}
	if c.answers < soleAnswers || c.numPorts < solePorts {
		return
	}
	c.isOver = true
	at := *f
	at.Client = netip.AddrPortFrom(at.Client.Addr(), 0)
	h.raise(&at, c.first, finding.Expert{Code: &OneAddress, Addr: at.Client, A: uint64(c.answers), B: uint64(c.numPorts)}, false)
}

// serverOnly returns f as it is about its server and no client.
func serverOnly(f *Fact) *Fact {
	at := *f
	at.Client = netip.AddrPort{}
	return &at
}

// MonitorUnanswered is raised where A polls in a row of one client stay without an answer, one
// every B nanoseconds, and the server answers others meanwhile.
var MonitorUnanswered = finding.Code{ID: "MON-01", Severity: finding.Warn, Fault: finding.Path,
	Seen:  "polls that come at a fixed time stay without an answer, and the server answers the same question of others between them",
	Means: "the client, as a monitor, takes a server for dead that works: a filter or a limit drops its requests, or they get lost",
	Do:    "do not restart the server for that; let the monitor's address pass, and have it wait longer; qsniff polls shows what became of its requests",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		dst = digits.AppendElapsed(append(dst, " polls in a row without an answer, one every "...), int64(e.B), " ")
		return finding.AppendUnsure(append(dst, ", while the server answers others"...), e)
	}}

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
func (h *Hosts) addSilentPoll(f *Fact, s *hostState, kind int, isProven bool) {
	if f.Age-s.silentSince > int64(silentFor) {
		s.silentSince, s.silences = f.Age, 0
	}
	if s.silences++; !isProven && s.silences > maxSilences {
		return
	}
	if f.Age-f.Began > int64(longestRetry) {
		return // it asks all the time: its exchanges end by the clock of Exchanges
	}
	q, evicted := h.pollers.Put(pairOf(f))
	if evicted != nil {
		h.evicted++
	}
	// Others are answered if one was since the poll before.
	since := f.Began - int64(aliveFor)
	if q.n > 0 {
		since = q.begun[0]
	}
	if q.n > 0 && int(q.kind) != kind {
		return
	}
	if s.served[kind] <= since {
		q.n = 0
		return
	}
	copy(q.begun[1:], q.begun[:])
	copy(q.first[1:], q.first[:])
	q.kind, q.begun[0], q.first[0] = uint8(kind), f.Began, f.ID
	q.n = min(q.n+1, silentPolls)
	if period := q.period(); period > 0 && !q.reported {
		q.reported = true
		h.raise(f, q.first[silentPolls-1], finding.Expert{Code: &MonitorUnanswered, A: silentPolls, B: uint64(period)}, h.isUnsure(q.begun[silentPolls-1]))
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

// addPollAnswer ends the silence of the server towards the client of f.
func (h *Hosts) addPollAnswer(k pairKey) {
	if h.pollers.Len() > 0 {
		h.pollers.Delete(k)
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
func (h *Hosts) checkPace(f *Fact) {
	s := h.servers.Peek(EndOf(f.Server))
	slow := int64(0)
	if s != nil && f.Gap >= int64(eagerFloor) && f.Gap < int64(answerWait) {
		slow = s.times.slow()
	}
	x := finding.Expert{Code: pairCodes(f.Proto).Eager, A: uint64(f.Gap), B: uint64(slow)}
	switch {
	case f.IsThird:
		x.B = dissect.ThirdRequest
	case f.Gap >= max(int64(eagerFloor), slow):
		return
	}
	if x.Code == nil {
		return
	}
	c, evicted := h.eager.Put(EndOf(f.Server))
	if evicted != nil {
		h.evicted++
	}
	client := Host(f.Client.Addr().As16())
	if int(c.n) == len(c.hosts) || slices.Contains(c.hosts[:c.n], client) {
		return
	}
	c.hosts[c.n] = client
	c.n++
	h.raise(f, f.ID, x, s == nil || h.isUnsure(f.Age-int64(copiesFor)))
}

const (
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
	// limit: A server has clients of one private address if it answered soleAnswers queries, from
	// solePorts ports or more, and all were from there.
	soleAnswers = 20
	solePorts   = 5
)
