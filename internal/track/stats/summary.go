package stats

import (
	"cmp"
	"maps"
	"math"
	"net/netip"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
	"qsniff/internal/track/fingerprint"
)

// Summary is the result of a Collector. It shares no memory with it.
type Summary struct {
	Messages []Message // by count, largest first
	Servers  []Server  // by requests, most first
	// ServersUnlisted is how many of the kept servers are not in Servers, and
	// ServersEvicted how many times one was evicted.
	ServersUnlisted, ServersEvicted uint64

	Clients []Client // by certain requests, most first
	// Programs are by what signs clients that have a counter are recognised, most clients first.
	Programs []Program
	Distinct Distinct
	// ClientError is by how much the count of any client can be too high.
	ClientError uint64

	Requests, Replies    uint64
	Answered, Unanswered uint64
	Fates[uint64]
	// Paired counts replies over UDP whose request is in the capture, Strays those whose is not.
	Paired, Strays uint64
	Late           uint64 // of Answered: after the end of the wait
	// Others counts messages of servers that are not in Options.Ours; the other numbers do not
	// include them.
	Others uint64

	// For what a client waits: the round trip of a challenge; then from a request
	// to the first packet of its answer, network included; then to the
	// last packet, if there are several; and all of these together.
	Challenge, Response, Train, Total Times

	Questions []Question
	Findings  []Finding // worst first

	Interval time.Duration
	// Widened is set if the interval is longer than the given one, because the
	// capture is too long for that.
	Widened     bool
	SeriesStart int64 // Unix nanoseconds
	Points      []Point
}

// OneWay returns which direction the capture has if the other one is missing: "requests" or
// "replies". It is empty if both are there, or neither.
func (s *Summary) OneWay() string {
	switch {
	case s.Requests > 0 && s.Replies == 0:
		return "requests"
	case s.Replies > 0 && s.Requests == 0:
		return "replies"
	}
	return ""
}

// Message counts the messages of one type in one direction.
type Message struct {
	Protocol, Name string // Name is empty if unknown
	Reply          bool
	Count, Bytes   uint64
}

// Server is what one server did. Bytes are of payloads, WireIn and WireOut with
// the headers of IP and UDP or TCP.
type Server struct {
	Addr                 netip.AddrPort
	Requests, Replies    uint64
	Answered, Unanswered uint64
	Fates[uint64]
	Late              uint64
	BytesIn, BytesOut uint64
	WireIn, WireOut   uint64

	// HasInfo is set if the server reported something of itself. Then Name and Map
	// are the start of its latest texts, as they came from the network, and
	// the counts are -1 if it did not report them.
	HasInfo                   bool
	Name, Map                 []byte
	Players, Max, Bots, Queue int32

	// Challenged counts answers to information requests that brought a challenge, of this
	// exchange or an earlier one; Unchallenged those to plain requests.
	Challenged, Unchallenged uint64

	// ICMPErrors counts ICMP errors that quote queries to it: these did not arrive.
	ICMPErrors uint64

	Response Times // from a request to the first packet of its answer
	// Mean times of the challenge's round trip, and from the first packet of an
	// answer to its last. -1 if there are none.
	Challenge, Train time.Duration
}

// Times is a distribution of times. Error is the share of a percentile by which it can be
// off; Max is exact.
type Times struct {
	Count              uint64
	P50, P95, P99, Max time.Duration
	Error              float64
}

// Client is an address and the number of its requests: at least Requests -
// Error, at most Requests.
type Client struct {
	Addr            netip.Addr
	Requests, Error uint64
	Signs           fingerprint.Signs // of the visit that shows most of its program; 0: nobody answered it
}

// Program is how many clients show the same signs, of those that Summary could list.
type Program struct {
	Signs             fingerprint.Signs
	Clients, Requests uint64
}

// Distinct is the number of clients. Error is a share of Estimate: three
// standard errors, or 0 if the number is exact.
type Distinct struct {
	Estimate        uint64
	Error, Standard float64
}

// Question is how much larger the answers to one question are than its requests, before a
// challenge and after it.
type Question struct {
	Protocol, Request string
	Before, After     Gain
}

// Gain is the mean size of answers divided by that of requests: of payloads, and with the
// headers of IP and UDP.
type Gain struct {
	Answers       uint64
	Payload, Wire float64
}

// Finding counts one kind of finding.
type Finding struct {
	Code     *finding.Code
	Severity finding.Severity // the worst that was raised
	Count    uint64
	First    uint64 // frame
}

// Point is what came in one interval. Bytes are of payloads.
type Point struct {
	Requests, Replies uint64
	BytesIn, BytesOut uint64
}

// Challenges returns how often the server challenges requests for information, as
// far as its answers show: "always", "sometimes", "never", or "" if it
// answered none, or was asked in protocols without a challenge for that only.
func (s *Server) Challenges() string {
	switch {
	case s.Challenged+s.Unchallenged == 0:
		return ""
	case s.Unchallenged == 0:
		return "always"
	case s.Challenged == 0:
		return "never"
	}
	return "sometimes"
}

// ChallengedShare returns the share of answered information requests that it challenged.
func (s *Server) ChallengedShare() float64 {
	return float64(s.Challenged) / float64(max(s.Challenged+s.Unchallenged, 1))
}

// WhyOthers is the reason for Summary.Others in outputs. In JSON reasons are keys, which scripts
// rely on: the words stay.
const WhyOthers = "messages of servers that --servers leaves out"

// Summary returns the result of the facts so far. The series extends to end, the time
// of the last packet. The collector must not be used afterwards.
func (c *Collector) Summary(end int64) *Summary {
	s := c.sum
	s.Messages = c.listMessages()
	c.listServers(&s)
	s.Clients = c.listClients()
	s.Programs = c.listPrograms()
	s.Distinct = c.estimateClients()
	s.ClientError = c.maxClientError()
	s.Challenge, s.Response, s.Train, s.Total = summarize(c.challenge), summarize(c.response), summarize(c.train), summarize(c.total)
	s.Questions = c.listQuestions()
	for _, f := range c.findings {
		s.Findings = append(s.Findings, *f)
	}
	slices.SortFunc(s.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Code.ID, b.Code.ID))
	})
	c.finishSeries(&s, end)
	return &s
}

// listMessages joins types of one name: protocols have several types of one name for requests
// that ask for different things.
func (c *Collector) listMessages() []Message {
	type name struct {
		protocol, message string
		reply             bool
	}
	sums := map[name]Message{}
	for k, t := range c.messages {
		n := name{protocol: k.proto.Name, reply: k.reply}
		if k.typ != nil {
			n.message = k.typ.Name
		}
		m := sums[n]
		sums[n] = Message{n.protocol, n.message, n.reply, m.Count + t.n, m.Bytes + t.bytes}
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b Message) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Name, b.Name),
			compareRequestsFirst(a.Reply, b.Reply))
	})
}

// compareRequestsFirst orders requests before replies.
func compareRequestsFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// rankedServer is a server that may get into the list.
type rankedServer struct {
	end netip.AddrPort
	s   *serverState
}

// listServers sets the servers of sum: the Options.Top with the most requests.
func (c *Collector) listServers(sum *Summary) {
	t := &c.servers
	var all []rankedServer
	for _, table := range []*lru.Table[endKey, serverState]{t.answering, t.others} {
		for k, s := range table.All() {
			all = append(all, rankedServer{k.end(), s})
		}
	}
	slices.SortFunc(all, func(a, b rankedServer) int {
		return cmp.Or(cmp.Compare(b.s.in.n, a.s.in.n), cmp.Compare(b.s.out.n, a.s.out.n), a.end.Compare(b.end))
	})
	listed := min(len(all), c.opt.Top)
	sum.ServersUnlisted, sum.ServersEvicted = uint64(len(all)-listed), t.evicted
	for _, r := range all[:listed] {
		sum.Servers = append(sum.Servers, r.summarize())
	}
}

// summarize returns the server as the summary lists it.
func (r *rankedServer) summarize() Server {
	s := r.s
	row := Server{
		Addr: r.end, Requests: s.in.n, Replies: s.out.n,
		Answered: s.answered, Unanswered: s.unanswered, Fates: s.fates, Late: s.late,
		BytesIn: s.in.bytes, BytesOut: s.out.bytes, WireIn: s.in.wire, WireOut: s.out.wire,
		HasInfo: s.hasInfo, Players: s.info.Players, Max: s.info.Max, Bots: s.info.Bots, Queue: s.info.Queue, Challenged: s.challenged, Unchallenged: s.unchallenged, ICMPErrors: s.icmpErrors,
		Response: s.response.summarize(), Challenge: s.challenge.mean(), Train: s.train.mean(),
	}
	if s.hasInfo {
		row.Name, row.Map = slices.Clone(s.info.Name.Whole()), slices.Clone(s.info.Map.Whole())
	}
	return row
}

// summarize returns the percentiles of one server.
func (l *latency) summarize() Times {
	us := func(n uint32) time.Duration { return time.Duration(n) * time.Microsecond }
	t := Times{Count: l.n, P50: us(l.percentile(0.5)), P95: us(l.percentile(0.95)), P99: us(l.percentile(0.99)), Max: us(l.max)}
	if !l.isExact() {
		t.Error = latencyError
	}
	return t
}

// summarize returns the percentiles of all servers.
func summarize(h *hdr.Histogram) Times {
	p := h.ValueAtPercentilesSlice([]float64{50, 95, 99})
	us := func(n int64) time.Duration { return time.Duration(min(n, h.Max())) * time.Microsecond }
	if h.TotalCount() == 0 {
		return Times{}
	}
	return Times{Count: uint64(h.TotalCount()), P50: us(p[0]), P95: us(p[1]), P99: us(p[2]), Max: us(h.Max()),
		Error: math.Pow10(-timeDigits)}
}

// listClients lists the clients that stand out: those of whose count at most half may be of
// other addresses.
func (c *Collector) listClients() []Client {
	var rows []Client
	turnedAway := c.clients.door.rounds
	for _, e := range c.clients.entries {
		if most, maxError := e.count+turnedAway, e.maxError+turnedAway; most > 2*maxError {
			rows = append(rows, Client{e.key.addr(), most, maxError, e.signs})
		}
	}
	slices.SortFunc(rows, func(a, b Client) int {
		return cmp.Or(cmp.Compare(b.Requests-b.Error, a.Requests-a.Error), cmp.Compare(b.Requests, a.Requests), a.Addr.Compare(b.Addr))
	})
	return rows[:min(len(rows), c.opt.Top)]
}

// listPrograms counts the clients that have a counter by their programs, and those of one name
// that are more sure apart.
func (c *Collector) listPrograms() []Program {
	type identity struct {
		name       string
		confidence dissect.Confidence
	}
	byName := map[identity]Program{}
	for i := range c.clients.entries {
		e := &c.clients.entries[i]
		if e.signs == 0 {
			continue
		}
		var is identity
		is.name, is.confidence = e.signs.Name()
		p := byName[is]
		byName[is] = Program{max(p.Signs, e.signs), p.Clients + 1, p.Requests + e.count - e.maxError}
	}
	rows := slices.SortedFunc(maps.Values(byName), func(a, b Program) int {
		return cmp.Or(cmp.Compare(b.Clients, a.Clients), cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Signs, b.Signs))
	})
	return rows[:min(len(rows), c.opt.Top)]
}

// maxClientError returns the smallest counter, and what the doorkeeper turned away: the most
// that a client which is not listed can have asked, and by which a count can be too high.
func (c *Collector) maxClientError() uint64 {
	if n := len(c.clients.order); n > 0 && c.clients.hasOverflowed {
		return c.clients.entries[c.clients.order[n-1]].count + c.clients.door.rounds
	}
	return 0
}

// estimateClients returns the number of different clients.
func (c *Collector) estimateClients() Distinct {
	if !c.clients.hasOverflowed {
		return Distinct{Estimate: uint64(len(c.clients.entries))}
	}
	// There are at least as many clients as counters.
	standard := 1.04 / math.Sqrt(1<<distinctBits) // Flajolet et al. 2007
	return Distinct{Estimate: max(c.distinct.Estimate(), uint64(len(c.clients.entries))),
		Error: distinctSigmas * standard, Standard: standard}
}

// listQuestions lists the questions in datagrams that had answers.
func (c *Collector) listQuestions() []Question {
	byRole := slices.SortedFunc(maps.Keys(c.questions), func(a, b questionKey) int { return cmp.Compare(a.asks, b.asks) })
	var rows []Question
	for _, k := range byRole {
		x := c.questions[k]
		if x.isTCP || x.name == "" || x.plainAnswers.n+x.challengedAnswers.n == 0 {
			continue // TCP, or the capture has only answers or only requests
		}
		echoes := &x.echoes
		if echoes.n == 0 { // the clients brought challenges from before the capture
			echoes = &x.requests
		}
		rows = append(rows, Question{k.proto.Name, x.name, gainOf(&x.requests, &x.plainAnswers), gainOf(echoes, &x.challengedAnswers)})
	}
	slices.SortStableFunc(rows, func(a, b Question) int { // stable: requests may have one name for several questions
		return cmp.Or(cmp.Compare(b.Before.Answers+b.After.Answers, a.Before.Answers+a.After.Answers),
			cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Request, b.Request))
	})
	return rows
}

// finishSeries sets the time series of s, up to end.
func (c *Collector) finishSeries(s *Summary, end int64) {
	if c.series.points == nil {
		s.Interval = c.opt.Interval
		return
	}
	c.series.pointAt(end)
	if c.opt.Interval == 0 {
		c.series.narrow()
	}
	s.Interval, s.SeriesStart, s.Points = time.Duration(c.series.interval), c.series.start, c.series.points
	s.Widened = c.opt.Interval != 0 && s.Interval != c.opt.Interval
}

const (
	// limit: distinctSigmas is how many standard errors the reported error is: the estimate is within it
	// in 997 of 1,000 captures.
	distinctSigmas = 3
)
