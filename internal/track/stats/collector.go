// Package stats counts what the messages of a run show: how many of which type,
// what each server answers and how fast, who asks, how the rate changes. It takes
// facts in packet order (Collector is a track.Listener) and takes a fixed amount of memory
// however long the capture is and however many addresses are in it: tables are
// bounded, distinct clients and the list of the busiest are sketches that report how
// wrong they can be. It pairs no messages, raises no findings and prints nothing.
//
// What counts as what:
//
//	request     a message to a server: steps ask, again and echo, and one-way
//	            messages; not what a server sends unasked, such as log lines
//	reply       a message of a server to a client, challenges included
//	answered    exchanges that got their reply, in time or late
//	unanswered  exchanges whose wait ended inside the capture without one
//
// A request whose wait reaches beyond the end of the capture is in neither of the
// last two, and nothing is concluded from its silence.
package stats

import (
	"net/netip"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/axiomhq/hyperloglog"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/hostset"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// Options choose what is collected. The zero value collects everything.
type Options struct {
	Ours     *hostset.Set  // servers whose messages count; nil: all
	Interval time.Duration // of the series; 0: chosen so that there are up to 60 points
	Top      int           // how many servers and clients are listed; 0: ten
	Scale    float64       // of the tables, as a multiple of the usual; 0: the usual
}

// defaultTop is how many rows of a list people read. Chosen.
const defaultTop = 10

// Collector counts facts. It implements track.Listener.
type Collector struct {
	opt      Options
	messages map[messageKey]*messageTally
	// lastKey is the type of the previous message, and lastMessage its counters: most messages
	// are of the same type as the previous one.
	lastKey     messageKey
	lastMessage *messageTally
	servers     serverTables
	clients     *topList
	distinct    *hyperloglog.Sketch
	hashKey     uint64 // of its hashes; 0: not known yet
	questions   map[questionKey]*questionTally
	// challenged holds the pairs of server and client in which a challenge was given.
	challenged *lru.Table[pairKey, struct{}]
	findings   map[*finding.Code]*Finding
	series     series
	sum        Summary // its counters; the rest is filled in by Summary

	challenge, response, train, total *hdr.Histogram
}

// messageKey is a type of message in one direction. Types of one name are joined in the
// summary.
type messageKey struct {
	proto *dissect.Proto
	typ   *dissect.Type
	reply bool
}

// messageTally counts the messages of one type. question is the one they ask or answer.
type messageTally struct {
	tally
	question *questionTally
}

// tally counts messages and their bytes.
type tally struct {
	n, bytes, wire uint64
}

func (t *tally) add(f *track.Fact) {
	n := f.Count()
	t.n += n
	t.bytes += n * uint64(f.Bytes)
	t.wire += n * uint64(f.Wire)
}

// New returns an empty collector.
func New(opt Options) *Collector {
	if opt.Top == 0 {
		opt.Top = defaultTop
	}
	if opt.Scale == 0 {
		opt.Scale = 1
	}
	size := func(n int) int { return int(float64(n) * opt.Scale) }
	times := func() *hdr.Histogram { return hdr.New(1, maxTime, timeDigits) }
	distinct, err := hyperloglog.NewSketch(distinctBits, false)
	if err != nil {
		panic(err) // the precision is a constant
	}
	return &Collector{
		opt: opt, messages: map[messageKey]*messageTally{}, questions: map[questionKey]*questionTally{}, findings: map[*finding.Code]*Finding{},
		servers: newServerTables(size(maxAnswering), size(maxSilent)), clients: newTopList(size(topClients)), distinct: distinct,
		challenged: lru.New[pairKey, struct{}](size(maxChallenged)),
		series:     newSeries(opt.Interval.Nanoseconds(), max(min(size(maxPoints), maxPoints), autoPoints*autoFactor)),
		challenge:  times(), response: times(), train: times(), total: times(),
	}
}

// AddFact adds a message, or an answer that did not come. Messages of a server that is not in
// Options.Ours count only as Others.
func (c *Collector) AddFact(f *track.Fact, found []track.Found, info *track.ServerInfo) {
	if !c.opt.Ours.Has(f.Server) {
		if f.Step != track.Silence {
			c.sum.Others++
		}
		return
	}
	for _, x := range found {
		c.countFinding(f.Frame, x)
	}
	if f.Step == track.Silence {
		c.addSilence(f)
		return
	}
	m := c.findMessage(f)
	m.add(f)
	switch {
	case f.Reply:
		c.addReply(f, m.question, info)
	case f.Type == nil || !f.Type.Notice:
		c.addRequest(f, m.question)
	}
}

// AddFinding adds a finding that belongs to no message. One about a server that is not
// in Options.Ours does not count.
func (c *Collector) AddFinding(frame uint64, _ int64, server, _ netip.AddrPort, found track.Found) {
	if server.IsValid() && !c.opt.Ours.Has(server) {
		return
	}
	c.countFinding(frame, found)
	if found.Code == &track.Refused && found.Severity == track.Refused.Severity {
		c.servers.findAsked(server).icmpErrors++
	}
}

// countFinding counts a finding.
func (c *Collector) countFinding(frame uint64, found track.Found) {
	x := c.findings[found.Code]
	if x == nil {
		x = &Finding{Code: found.Code, Severity: found.Severity, First: frame}
		c.findings[found.Code] = x
	}
	x.Count++
	x.Severity = max(x.Severity, found.Severity)
	x.First = min(x.First, frame)
}

// findMessage returns the counters of a message's type, new ones if there are none.
// Protocols declare a fixed number of types, which bounds the map.
func (c *Collector) findMessage(f *track.Fact) *messageTally {
	k := messageKey{f.Proto, f.Type, f.Reply}
	if c.lastMessage != nil && k == c.lastKey {
		return c.lastMessage
	}
	m := c.messages[k]
	if m == nil {
		m = &messageTally{question: c.findQuestion(f)}
		c.messages[k] = m
	}
	c.lastKey, c.lastMessage = k, m
	return m
}

// addRequest counts a request, or a one-way message to a server.
func (c *Collector) addRequest(f *track.Fact, k *questionTally) {
	n := f.Count()
	c.sum.Requests += n
	p := c.series.pointAt(f.Nanos)
	p.Requests += n
	p.BytesIn += n * uint64(f.Bytes)
	var client hostKey
	client.set(f.Client)
	c.clients.add(&client, c.countClient(&client, f))
	s := c.servers.findAsked(f.Server)
	s.in.add(f)
	s.canChallenge = s.canChallenge || questionOf(f) == dissect.AskInfo && f.Type.BringsToken()
	switch f.Step {
	case track.Ask, track.Again:
		k.requests.add(f)
	case track.Echo:
		k.echoes.add(f)
	}
}

// addReply counts a message of a server to a client, and what it answers.
func (c *Collector) addReply(f *track.Fact, k *questionTally, info *track.ServerInfo) {
	n := f.Count()
	c.sum.Replies += n
	p := c.series.pointAt(f.Nanos)
	p.Replies += n
	p.BytesOut += n * uint64(f.Bytes)
	var client hostKey
	client.set(f.Client)
	c.countClient(&client, f)
	c.clients.reserve(client)
	if f.Signs != 0 {
		c.clients.addSigns(client, f.Signs)
	}
	s := c.servers.findReplying(f.Server, f.Step != track.Stray)
	s.out.add(f)
	if info != nil {
		s.addInfo(info)
	}
	if !f.TCP {
		switch f.Step {
		case track.Stray:
			c.sum.Strays += n
		case track.Challenge, track.Answer, track.Late, track.Extra, track.Refusal:
			c.sum.Paired += n
		}
	}
	s.fates.add(f)
	c.sum.Fates.add(f)
	switch f.Step {
	case track.Challenge:
		c.challenged.Put(pairOf(f))
		if f.Took >= 0 {
			recordTime(c.challenge, f.Took)
			s.challenge.add(f.Took)
		}
	case track.Answer, track.Late:
		c.addAnswer(s, k, f)
		if givesToken(f) { // asked for by itself
			c.challenged.Put(pairOf(f))
		}
	case track.Extra:
		c.addFurtherSize(k, f)
	}
}

// countClient counts a client in the estimate of distinct ones, and returns its hash. That is
// keyed with the time of the first message, which no sender knows: nobody can choose addresses
// that make the estimate wrong.
func (c *Collector) countClient(k *hostKey, f *track.Fact) (hash uint64) {
	if c.hashKey == 0 {
		c.hashKey = k.hash(keyOf(f.Server).Hash(uint64(f.Nanos))) | 1
	}
	hash = lru.Mix(k.hash(c.hashKey), 0)
	c.distinct.InsertHash(hash)
	return hash
}

// addAnswer adds the reply that ends an exchange.
func (c *Collector) addAnswer(s *serverState, k *questionTally, f *track.Fact) {
	s.answered += f.Count()
	c.sum.Answered += f.Count()
	if f.Step == track.Late {
		s.late++
		c.sum.Late++
		if s.unanswered > 0 { // its silence was counted before
			s.unanswered--
			c.sum.Unanswered--
		}
	}
	wasChallenged := c.addAnswerSize(k, f)
	if questionOf(f) == dissect.AskInfo && s.canChallenge {
		s.countChallenge(f, wasChallenged)
	}
	if f.Took < 0 {
		return
	}
	recordTime(c.response, f.Took)
	s.response.add(f.Took)
	if f.Packets > 1 {
		recordTime(c.train, f.Train)
		s.train.add(f.Train)
	}
	recordTime(c.total, max(f.Trip, 0)+f.Took+f.Train)
}

// addSilence adds an answer that did not come.
func (c *Collector) addSilence(f *track.Fact) {
	s := c.servers.findAsked(f.Server)
	s.unanswered++
	s.fates.add(f)
	c.sum.Unanswered++
	c.sum.Fates.add(f)
}

// recordTime adds a time in nanoseconds to a distribution in microseconds.
func recordTime(h *hdr.Histogram, nanos int64) {
	if err := h.RecordValue(min(roundMicros(nanos), maxTime)); err != nil {
		panic(err) // min keeps it within the limits
	}
}

// series counts what came in each interval of time. When there are more than
// most intervals, several become one.
type series struct {
	start    int64 // Unix nanoseconds of the first message
	interval int64
	factor   int64 // how many intervals become one
	most     int   // points
	points   []Point
}

// If no interval was given, the series begins with milliseconds, of which autoFactor at a
// time become one: so each of the intervals to choose from in the end is a multiple.
const (
	autoInterval = 1_000_000
	autoFactor   = 10
)

// newSeries returns a series of at most so many points with an interval in nanoseconds; 0: one
// that is chosen later.
func newSeries(interval int64, most int) series {
	if interval > 0 {
		return series{interval: interval, factor: 2, most: most}
	}
	return series{interval: autoInterval, factor: autoFactor, most: most}
}

// pointAt returns the point of a time. A time before the first message counts
// with it: time in a capture can go backwards.
func (s *series) pointAt(nanos int64) *Point {
	if s.points == nil { // allocated at once: growing by doubling would leave 6 MiB of garbage
		s.start, s.points = nanos, make([]Point, 0, s.most)
	}
	age := uint64(max(nanos, s.start)) - uint64(s.start) // does not overflow, whatever the two are
	for age/uint64(s.interval) >= uint64(s.most) {
		s.merge(s.factor)
	}
	i := int(age / uint64(s.interval))
	for len(s.points) <= i {
		s.points = append(s.points, Point{})
	}
	return &s.points[i]
}

// merge makes one point of each n.
func (s *series) merge(n int64) {
	for i := range s.points {
		to := &s.points[int64(i)/n]
		if int64(i)%n == 0 {
			*to = s.points[i]
		} else {
			to.add(&s.points[i])
		}
	}
	s.points = s.points[:(int64(len(s.points))+n-1)/n]
	s.interval *= n
}

// narrow merges points until at most autoPoints are left, in intervals of one, two
// or five.
func (s *series) narrow() {
	for step := 0; len(s.points) > autoPoints; step++ {
		n := [3]int64{2, 5, 10}[step%3]
		if points := (int64(len(s.points)) + n - 1) / n; points <= autoPoints {
			s.merge(n)
		} else if n == 10 {
			s.merge(10)
		}
	}
}

func (p *Point) add(q *Point) {
	p.Requests += q.Requests
	p.Replies += q.Replies
	p.BytesIn += q.BytesIn
	p.BytesOut += q.BytesOut
}

const (
	// limit: maxAnswering is how many servers that answer are kept, 2.5 MiB: the largest hosts have
	// hundreds on one address, a server browser asks thousands. The server whose last message is longest
	// ago is evicted.
	maxAnswering = 4096
	// limit: maxSilent is how many servers are kept of which only requests or only replies were captured,
	// 2.5 MiB. They have a table of their own, so that requests to a million forged destinations, or
	// replies from a million forged sources, cannot evict servers that answer.
	maxSilent = 4096
	// limit: maxChallenged is how many pairs of server and client are kept in which a challenge was given,
	// 1 MiB. A pair that was evicted and returns with its old challenge counts as one that was not
	// challenged.
	maxChallenged = 16384
	// limit: topClients is how many clients the top list counts, 0.5 MiB. A client that sent more than one
	// in topClients of all requests, and one more for each round of the doorkeeper, is certainly in it.
	topClients = 4096
	// limit: distinctBits gives the sketch of distinct clients 2^16 registers of a byte: a standard error
	// of 0.41 %.
	distinctBits = 16
	// limit: maxPoints is how many intervals the time series holds, 2 MiB: 18 hours of seconds. A longer
	// capture makes the intervals longer.
	maxPoints = 1 << 16
	// limit: autoPoints is how many points the series has at most if no interval was given: as many
	// columns as fit beside a label.
	autoPoints = 60
	// limit: maxTime is the longest time that the distributions of all servers distinguish, in
	// microseconds: ten minutes. Nobody waits as long.
	maxTime = 600_000_000
	// limit: timeDigits is how many significant digits of a time they keep.
	timeDigits = 3
)
