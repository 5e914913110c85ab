package stats

import (
	"net/netip"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/axiomhq/hyperloglog"

	"qsniff/dissect"
	"qsniff/finding"
	"qsniff/internal/hostset"
	"qsniff/internal/lru"
	"qsniff/track"
)

// Options choose what is collected. The zero value is everything.
type Options struct {
	Ours     *hostset.Set  // servers whose messages count; nil: all
	Interval time.Duration // of the series; 0: so that there are up to 60 points
	Top      int           // how many servers and clients are listed; 0: ten
	Scale    float64       // of the tables, as a multiple of the usual; 0: the usual
}

// defaultTop is how many rows of a list are read.
const defaultTop = 10

// Collector adds up facts. It implements track.Listener.
type Collector struct {
	opt      Options
	messages map[messageKey]*message
	// lastKey is of the message before, and last its counters: most messages are
	// of the same type as the one before.
	lastKey  messageKey
	last     *message
	servers  servers
	clients  *topList
	distinct *hyperloglog.Sketch
	key      uint64 // of its hashes; 0: not known yet
	kinds    map[kindKey]*kind
	// challenged remembers who was given a challenge by whom.
	challenged *lru.Table[pairKey, struct{}]
	found      map[*finding.Code]*Finding
	series     series
	sum        Summary // its counters; the rest is filled in by Summary

	challenge, response, train, total *hdr.Histogram
}

// messageKey tells messages apart. Types of one name are joined in the end.
type messageKey struct {
	proto *dissect.Proto
	typ   *dissect.Type
	reply bool
}

// message counts the messages of one type, and the question they ask or answer.
type message struct {
	tally
	kind *kind
}

// tally counts messages and their bytes.
type tally struct {
	n, bytes, wire uint64
}

func (t *tally) add(f *track.Fact) {
	t.n++
	t.bytes += uint64(f.Bytes)
	t.wire += uint64(f.Wire)
}

// New returns a collector.
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
		opt: opt, messages: map[messageKey]*message{}, kinds: map[kindKey]*kind{}, found: map[*finding.Code]*Finding{},
		servers: newServers(size(maxAnswering), size(maxSilent)), clients: newTopList(size(topClients)), distinct: distinct,
		challenged: lru.New[pairKey, struct{}](size(maxChallenged)),
		series:     newSeries(opt.Interval.Nanoseconds()),
		challenge:  times(), response: times(), train: times(), total: times(),
	}
}

// AddFact takes a message, or an answer that did not come.
func (c *Collector) AddFact(f *track.Fact, found []track.Found, post *track.ServerInfo) {
	if !c.opt.Ours.Has(f.Server) {
		if f.Step != track.Silence {
			c.sum.Others++
		}
		return
	}
	for _, x := range found {
		c.count(f.Frame, x)
	}
	if f.Step == track.Silence {
		c.silence(f)
		return
	}
	m := c.message(f)
	m.add(f)
	switch {
	case f.Reply:
		c.reply(f, m.kind, post)
	case f.Type == nil || !f.Type.Notice:
		c.request(f, m.kind)
	}
}

// AddFinding takes a finding that belongs to no message. One about a server that is not
// ours is left out.
func (c *Collector) AddFinding(frame uint64, _ int64, server, _ netip.AddrPort, found track.Found) {
	if server.IsValid() && !c.opt.Ours.Has(server) {
		return
	}
	c.count(frame, found)
	if found.Code == &track.Refused && found.Severity == track.Refused.Severity {
		c.servers.asked(server).refused++
	}
}

// count counts a finding.
func (c *Collector) count(frame uint64, found track.Found) {
	x := c.found[found.Code]
	if x == nil {
		x = &Finding{Code: found.Code, Severity: found.Severity, First: frame}
		c.found[found.Code] = x
	}
	x.Count++
	x.Severity = max(x.Severity, found.Severity)
	x.First = min(x.First, frame)
}

// message returns the counters of a message's type. Protocols declare a fixed
// number of types, which bounds the map.
func (c *Collector) message(f *track.Fact) *message {
	k := messageKey{f.Proto, f.Type, f.Reply}
	if c.last != nil && k == c.lastKey {
		return c.last
	}
	m := c.messages[k]
	if m == nil {
		m = &message{kind: c.kindOf(f)}
		c.messages[k] = m
	}
	c.lastKey, c.last = k, m
	return m
}

func (c *Collector) request(f *track.Fact, k *kind) {
	c.sum.Requests++
	p := c.series.at(f.Nanos)
	p.Requests++
	p.BytesIn += uint64(f.Bytes)
	client := hostKey(f.Client.Addr().As16())
	c.client(client, f)
	c.clients.add(client)
	s := c.servers.asked(f.Server)
	s.in.add(f)
	s.canChallenge = s.canChallenge || asks(f) == dissect.AskInfo && f.Type.BringsToken()
	switch f.Step {
	case track.Ask, track.Again:
		k.asks.add(f)
	case track.Echo:
		k.echoes.add(f)
	}
}

func (c *Collector) reply(f *track.Fact, k *kind, post *track.ServerInfo) {
	c.sum.Replies++
	p := c.series.at(f.Nanos)
	p.Replies++
	p.BytesOut += uint64(f.Bytes)
	client := hostKey(f.Client.Addr().As16())
	c.client(client, f)
	c.clients.see(client)
	s := c.servers.heard(f.Server, f.Step != track.Stray)
	s.out.add(f)
	if post != nil {
		s.says(post)
	}
	switch f.Step {
	case track.Challenge:
		c.challenged.Put(pairOf(f))
		if f.Took >= 0 {
			record(c.challenge, f.Took)
			s.challenge.add(f.Took)
		}
	case track.Answer, track.Late:
		c.answer(s, k, f)
		if givesToken(f) { // asked for by itself
			c.challenged.Put(pairOf(f))
		}
	case track.Extra:
		c.bring(k, f)
	}
}

// client counts a client. Its hash has a key of the first message, whose time no
// sender knows: nobody can choose addresses that make the estimate wrong.
func (c *Collector) client(k hostKey, f *track.Fact) {
	if c.key == 0 {
		c.key = k.Hash(keyOf(f.Server).Hash(uint64(f.Nanos))) | 1
	}
	c.distinct.InsertHash(lru.Mix(k.Hash(c.key), 0))
}

// answer takes the reply that ends an exchange.
func (c *Collector) answer(s *server, k *kind, f *track.Fact) {
	s.answered++
	c.sum.Answered++
	if f.Step == track.Late {
		s.late++
		c.sum.Late++
		if s.unanswered > 0 { // its silence was told of before
			s.unanswered--
			c.sum.Unanswered--
		}
	}
	known := c.bring(k, f)
	if asks(f) == dissect.AskInfo && s.canChallenge {
		s.habit(f, known)
	}
	if f.Took < 0 {
		return
	}
	record(c.response, f.Took)
	s.response.add(f.Took)
	if f.Packets > 1 {
		record(c.train, f.Train)
		s.train.add(f.Train)
	}
	record(c.total, max(f.Trip, 0)+f.Took+f.Train)
}

// silence takes an answer that did not come.
func (c *Collector) silence(f *track.Fact) {
	c.servers.asked(f.Server).unanswered++
	c.sum.Unanswered++
}

// record adds a time in nanoseconds to a distribution in microseconds.
func record(h *hdr.Histogram, nanos int64) {
	if err := h.RecordValue(min(micros(nanos), maxTime)); err != nil {
		panic(err) // it is within the limits
	}
}
