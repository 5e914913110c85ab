package stats

import (
	"cmp"
	"maps"
	"math"
	"net/netip"
	"slices"
	"time"
	"unicode/utf8"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"qsniff/internal/lru"
)

// Summary says what the facts so far came to. The series goes on to end, the time
// of the last packet. The collector is not to be used afterwards.
func (c *Collector) Summary(end int64) *Summary {
	s := c.sum
	s.Messages = c.messageRows()
	c.serverRows(&s)
	s.Clients = c.clientRows()
	s.Distinct = c.distinctClients()
	s.ClientError = c.clientError()
	s.Challenge, s.Response, s.Train, s.Total = timesOf(c.challenge), timesOf(c.response), timesOf(c.train), timesOf(c.total)
	s.Kinds = c.kindRows()
	for _, f := range c.found {
		s.Findings = append(s.Findings, *f)
	}
	slices.SortFunc(s.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Code.ID, b.Code.ID))
	})
	c.seriesRows(&s, end)
	return &s
}

// messageRows joins types of one name: protocols tell requests of one name apart
// by what they ask for.
func (c *Collector) messageRows() []Message {
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
			requestsFirst(a.Reply, b.Reply))
	})
}

func requestsFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// ranked is a server that may get into the list.
type ranked struct {
	end netip.AddrPort
	s   *server
}

// serverRows lists the busiest servers.
func (c *Collector) serverRows(sum *Summary) {
	t := &c.servers
	var all []ranked
	for _, table := range []*lru.Table[endKey, server]{t.answering, t.others} {
		for k, s := range table.All() {
			all = append(all, ranked{k.end(), s})
		}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.s.in.n, a.s.in.n), cmp.Compare(b.s.out.n, a.s.out.n), a.end.Compare(b.end))
	})
	listed := min(len(all), c.opt.Top)
	sum.ServersLeft, sum.ServersForgotten = uint64(len(all)-listed), t.forgotten
	for _, r := range all[:listed] {
		sum.Servers = append(sum.Servers, r.row())
	}
}

func (r *ranked) row() Server {
	s := r.s
	row := Server{
		Addr: r.end, Requests: s.in.n, Replies: s.out.n,
		Answered: s.answered, Unanswered: s.unanswered, Late: s.late,
		BytesIn: s.in.bytes, BytesOut: s.out.bytes, WireIn: s.in.wire, WireOut: s.out.wire,
		Posted: s.posted, Players: s.post.Players, Max: s.post.Max, Challenged: s.challenged, Open: s.open, ICMPErrors: s.refused,
		Response: s.response.times(), Challenge: s.challenge.value(), Train: s.train.value(),
	}
	if s.posted {
		row.Name, row.Map = whole(s.post.Name.Bytes()), whole(s.post.Map.Bytes())
	}
	return row
}

// whole returns the start of a text without a character that the cut halved.
func whole(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if last := b[len(b)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				b = b[:len(b)-i]
			}
			break
		}
	}
	return slices.Clone(b)
}

// times are the percentiles of one server.
func (l *latency) times() Times {
	us := func(n uint32) time.Duration { return time.Duration(n) * time.Microsecond }
	t := Times{Count: l.n, P50: us(l.percentile(0.5)), P95: us(l.percentile(0.95)), P99: us(l.percentile(0.99)), Max: us(l.max)}
	if !l.exact() {
		t.Error = latencyError
	}
	return t
}

func timesOf(h *hdr.Histogram) Times {
	p := h.ValueAtPercentilesSlice([]float64{50, 95, 99})
	us := func(n int64) time.Duration { return time.Duration(min(n, h.Max())) * time.Microsecond }
	if h.TotalCount() == 0 {
		return Times{}
	}
	return Times{Count: uint64(h.TotalCount()), P50: us(p[0]), P95: us(p[1]), P99: us(p[2]), Max: us(h.Max()),
		Error: math.Pow10(-timeDigits)}
}

// clientRows lists the clients that stand out. One of whose count more than half
// may be somebody else's does not.
func (c *Collector) clientRows() []Client {
	var rows []Client
	for _, e := range c.clients.entries {
		if e.count > 2*e.over {
			rows = append(rows, Client{e.key.addr(), e.count, e.over})
		}
	}
	slices.SortFunc(rows, func(a, b Client) int {
		return cmp.Or(cmp.Compare(b.Requests-b.Error, a.Requests-a.Error), cmp.Compare(b.Requests, a.Requests), a.Addr.Compare(b.Addr))
	})
	return rows[:min(len(rows), c.opt.Top)]
}

// clientError is the most that a client can have asked without being listed, and
// that a count can be too high: the smallest counter.
func (c *Collector) clientError() uint64 {
	if n := len(c.clients.order); n > 0 && c.clients.lost {
		return c.clients.entries[c.clients.order[n-1]].count
	}
	return 0
}

func (c *Collector) distinctClients() Distinct {
	if !c.clients.lost {
		return Distinct{Estimate: uint64(len(c.clients.entries))}
	}
	// The sketch cannot say less than there are counters.
	standard := 1.04 / math.Sqrt(1<<distinctBits) // Flajolet et al. 2007
	return Distinct{Estimate: max(c.distinct.Estimate(), uint64(len(c.clients.entries))),
		Error: distinctSigmas * standard, Standard: standard}
}

// kindRows lists the questions in datagrams that had answers.
func (c *Collector) kindRows() []Kind {
	byRole := slices.SortedFunc(maps.Keys(c.kinds), func(a, b kindKey) int { return cmp.Compare(a.asks, b.asks) })
	var rows []Kind
	for _, k := range byRole {
		x := c.kinds[k]
		if x.tcp || x.name == "" || x.open.n+x.after.n == 0 {
			continue // or only answers were captured, or only requests
		}
		echoes := &x.echoes
		if echoes.n == 0 { // the challenge was known from before
			echoes = &x.asks
		}
		rows = append(rows, Kind{k.proto.Name, x.name, gain(&x.asks, &x.open), gain(echoes, &x.after)})
	}
	slices.SortStableFunc(rows, func(a, b Kind) int { // requests may have one name for several questions
		return cmp.Or(cmp.Compare(b.Before.Answers+b.After.Answers, a.Before.Answers+a.After.Answers),
			cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Request, b.Request))
	})
	return rows
}

// seriesRows completes the time series.
func (c *Collector) seriesRows(s *Summary, end int64) {
	if c.series.points == nil {
		s.Interval = c.opt.Interval
		return
	}
	c.series.at(end)
	if c.opt.Interval == 0 {
		c.series.auto()
	}
	s.Interval, s.SeriesStart, s.Points = time.Duration(c.series.interval), c.series.start, c.series.points
	s.Widened = c.opt.Interval != 0 && s.Interval != c.opt.Interval
}
