// Package monitor counts what servers are asked and answer, for as long as a capture runs:
// what qsniff monitor shows to Prometheus, to its page and to a terminal. It is no store of
// time series, and it keeps nothing about clients: no address of one is in what it gives out.
//
// A packet arrives, and the Meter gets its sighting, as the detector of floods does. Messages
// in datagrams are not read for it, which would take twice the time; a request and its reply
// meet in a small table by the hashes of their ends. The replies that say what a server is are
// read once a second.
//
//	track.Sighting   request, challenge, reply, part, junk, ICMP error, login
//	  |
//	  v
//	Meter            slot of the server x kind of message; pairs finds what was answered
//	  |
//	  |  Publish, after each batch, if somebody asked
//	  v
//	Snapshot         read by internal/monitor/metrics and whatever else shows something
//
// A server has counters of its own, a slot, if it was named, or once it has answered somebody:
// requests to a million forged addresses, or replies from them, make no slots. All others
// share one.
package monitor

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/mem"
	"qsniff/internal/render/counters"
	"qsniff/internal/track"
	"qsniff/internal/track/stats"
)

// Options are what a Meter counts.
type Options struct {
	// Servers have counters of their own from the beginning.
	Servers []netip.AddrPort
	// MayList reports whether another server gets counters once it has answered; nil: any may.
	MayList func(netip.AddrPort) bool
	// MaxServers is how many such servers there can be at a time.
	MaxServers int
	// Scale multiplies the size of the table of requests that wait.
	Scale float64
	// Clock returns nanoseconds of a clock that is never set: it makes snapshots no more frequent
	// than they have to be.
	Clock func() int64
}

// Meter counts. It is a track.ProfileWatcher. It is for the goroutine that runs the pipeline,
// but for Snapshot, which any may call.
type Meter struct {
	opt        Options
	kinds      kinds
	slots      *slots
	pairs      pairs
	clock      clock
	incidents  incidentBook
	window     window
	lost       uint64 // stretches of packets that are missing
	lastPacket int64  // Unix time
	answered   uint16 // slot of the server whose answer was the last sighting; 0: it was none
	expire     func(*request)

	making  *making     // nil: no snapshot is being made
	isAsked atomic.Bool // a snapshot is wanted
	mu      sync.Mutex  // guards the fields below
	last    *Snapshot
	made    chan struct{} // closed with the next snapshot
}

// New returns a Meter of the messages of protos.
func New(protos []*dissect.Proto, opt Options) *Meter {
	size := max(int(openRequests*opt.Scale), pairWays)
	m := &Meter{opt: opt, kinds: newKinds(protos), slots: newSlots(opt.Servers, min(opt.MaxServers, MostServers)), pairs: newPairs(size),
		made: make(chan struct{})}
	m.expire = func(r *request) { m.decide(r, Unanswered, uint64(r.open)) }
	m.last = m.take(new(counters.Result))
	m.last.made = 0 // the first one who asks gets another one
	return m
}

// SetServers replaces Options.Servers and Options.MayList between two packets. Servers keep the
// counters that they have.
func (m *Meter) SetServers(named []netip.AddrPort, mayList func(netip.AddrPort) bool) {
	m.slots.name(named)
	m.opt.MayList = mayList
}

// Sight counts a packet.
func (m *Meter) Sight(s *track.Sighting) {
	m.answered, m.lastPacket = 0, s.Nanos
	m.pass(s.Age, s.Nanos)
	switch s.What {
	case track.IsRequest, track.IsLogin:
		m.addRequest(s)
	case track.IsReply, track.IsChallenge, track.IsPart, track.IsWelcome, track.IsRejected:
		m.addReply(s)
	case track.IsJunk:
		if s.Foreign == 0 {
			m.slots.list[m.slots.find(&s.Dst, s.DstPort, s.ServerHash)].Junk.add(s)
		}
	case track.IsUnreachable:
		if r := m.pairs.waiting(hashOf(s), ^dissect.Asked(0), &m.kinds, microsOf(s.Age)); r != nil {
			m.decideOne(r, Unreachable)
		}
	}
}

// Foresee implements track.Foreseer.
func (m *Meter) Foresee(s *track.Sighting) { m.pairs.foresee(hashOf(s)) }

// hashOf returns a hash of both ends, whichever is the server.
func hashOf(s *track.Sighting) uint64 { return s.FromHash() ^ s.ToHash() }

// addRequest counts a request, and notes that it waits for an answer.
func (m *Meter) addRequest(s *track.Sighting) {
	at, kind := m.slots.find(&s.Dst, s.DstPort, s.ServerHash), m.kinds.of(s.Type)
	x := m.slots.list[at]
	x.In.add(s)
	x.LastSeen, x.seen = s.Nanos, s.Age
	n := uint64(s.Count())
	x.kinds[kind].Messages += n
	for _, r := range [...]*row{&x.row, &m.window.kinds[kind]} {
		c := m.window.follow(r).countRequests(m.window.at, n)
		c.BytesIn += n * uint64(s.Bytes)
		c.wireIn += n * uint64(s.Wire)
	}
	if s.Asks == 0 || s.IsSample() { // nothing answers it, or the answer is hardly among the samples
		return
	}
	now := microsOf(s.Age)
	r, evicted := m.pairs.put(hashOf(s), kind, now)
	if evicted.open > 0 {
		m.decide(&evicted, Undecided, uint64(evicted.open))
	}
	if r.open > 0 && r.since.until(now) > lateWait {
		m.decide(r, Unanswered, uint64(r.open))
		r.open = 0
	}
	switch {
	case r.open == 0:
		r.since, r.flags, r.slot = now, r.flags&gotToken, at
	case r.open == 1<<16-1: // a client that asks so often at once is counted as far as it goes
		m.decide(r, Undecided, 1)
		return
	default:
		r.flags |= several
	}
	if s.Flags&track.HasKey != 0 {
		r.flags |= isProven
		if m.pairs.gotToken(hashOf(s)) {
			r.flags |= isEcho
		}
	}
	r.open++
}

// addReply counts a reply, a challenge, a part of a reply or the answer to a login, and what it
// answers.
func (m *Meter) addReply(s *track.Sighting) {
	at := m.slots.find(&s.Src, s.SrcPort, s.ServerHash)
	x := m.slots.list[at]
	x.Out.add(s)
	hash, now := hashOf(s), microsOf(s.Age)
	asks, isWhole, n := s.Asks, true, s.Count()
	last := m.pairs.last(hash, now) // of the request that it answers, as far as that is known
	kind := m.kinds.of(s.Type)
	if last != nil {
		kind = last.kind
	}
	if s.What == track.IsPart { // the first part alone does not show of what
		asks, isWhole = dissect.LongAnswers, s.Flags&track.First != 0
	}
	if isWhole {
		if r := m.pairs.waiting(hash, asks, &m.kinds, now); r != nil {
			kind = r.kind
			m.answer(r, s, at)
		} else if !s.IsSample() {
			x.Unasked++
		}
		x.kinds[m.kinds.of(s.Type)].Messages += uint64(n)
	}
	x.LastAnswer, x.seen = s.Nanos, s.Age
	if last != nil && last.flags&isProven == 0 {
		x.Unproven += uint64(s.Wire)
	}
	for _, r := range [...]*row{&x.row, &m.window.kinds[kind]} {
		c := m.window.follow(r).cell(m.window.at)
		if isWhole {
			c.Replies += n
		}
		c.BytesOut += uint64(n) * uint64(s.Bytes)
		c.wireOut += uint64(n) * uint64(s.Wire)
	}
}

// answer counts that a request was answered by s, at the server at a place. A server that answers
// for the first time gets its own counters; that first answer is among those of the others.
func (m *Meter) answer(r *request, s *track.Sighting, at uint16) {
	if at == 0 && s.Flags&track.Weak == 0 {
		end := s.From()
		if m.opt.MayList == nil || m.opt.MayList(end.AddrPort()) {
			at = m.slots.discover(end, s.Age)
		}
	}
	m.answered = at
	took := r.since.until(microsOf(s.Age))
	isKnown := r.flags&several == 0 // how long it took
	switch {
	case s.What == track.IsRejected:
		m.decideOne(r, Refused)
		return
	case s.What == track.IsChallenge && !m.kinds.list[r.kind].asks.Has(dissect.AskChallenge):
		r.flags |= gotToken
		m.decideOne(r, Challenged)
		return
	case isKnown && took > answerWait:
		m.decideOne(r, Late)
	default:
		m.decideOne(r, Answered)
	}
	if isKnown {
		x := m.slots.list[r.slot]
		x.Times.add(Example{s.Frame, s.Nanos, took})
		bucket := stats.BucketOf(took)
		asked := m.window.pointOf(r.since)
		for _, r := range [...]*row{&x.row, &m.window.kinds[r.kind]} {
			c := m.window.follow(r).cell(asked)
			r.times.Add(asked, bucket)
			c.slowest = max(c.slowest, uint32(took/1000))
		}
	}
}

// decide counts what became of n requests of an entry.
func (m *Meter) decide(r *request, o Outcome, n uint64) {
	x := m.slots.list[r.slot]
	k := &x.kinds[r.kind]
	k.Outcomes[o] += n
	if r.flags&isEcho != 0 && o != Undecided {
		k.Proven += n
		if o == Answered || o == Late {
			k.Served += n
		}
	}
	at := m.window.pointOf(r.since)
	m.window.follow(&x.row).cell(at).decide(o, uint32(n), r.flags&isEcho != 0)
	m.window.follow(&m.window.kinds[r.kind]).cell(at).decide(o, uint32(n), r.flags&isEcho != 0)
}

// decideOne counts what became of one request of an entry, which waits no more.
func (m *Meter) decideOne(r *request, o Outcome) {
	m.decide(r, o, 1)
	r.open--
}

// AddProfile notes what a server reports of itself, if the reply answers a request: others may be
// forged.
func (m *Meter) AddProfile(_ *track.Sighting, p *track.Profile) {
	if m.answered == 0 {
		return
	}
	x := m.slots.list[m.answered]
	x.profile.Merge(p)
	x.hasProfile = true
}

// Tick passes time.
func (m *Meter) Tick(age, nanos int64) {
	if m.clock.next > 0 {
		m.pass(age, nanos)
	}
}

// Lost counts packets that are missing from the capture.
func (m *Meter) Lost(packets uint64) { m.lost++ }

// End ends the capture. Requests that still wait have no outcome, as they may be answered yet.
func (m *Meter) End(age, nanos int64) { m.Tick(age, nanos) }

// pass ends the seconds before age.
func (m *Meter) pass(age, nanos int64) {
	if m.clock.next == 0 {
		m.window.start = age
	}
	m.clock.nanos, m.window.last = nanos, age
	ended := m.clock.advance(age)
	if ended == 0 {
		return
	}
	m.window.move(age)
	m.sweep()
	m.pairs.sweep(microsOf(age), ended*int64(time.Second) > lateWait, m.expire)
	for ; ended > 0; ended-- {
		m.clock.seconds++
		for _, x := range m.slots.list {
			x.rates.close(m.clock.seconds, x.totals())
		}
	}
}

// totals returns the counters that rates are made of.
func (x *slot) totals() totals {
	return totals{x.In.Packets, x.Out.Packets, x.In.Bytes, x.Out.Bytes}
}

// pairs is the table of requests that wait for their answers, and of those that had one a
// moment ago. A pair of ends has its entries, one for each kind of request, in one row, which is a
// line of the processor's cache: a flood of forged addresses touches another one with each
// packet. The oldest of a full row is evicted.
type pairs struct {
	rows [][pairWays]request
	mask uint64
	used int // entries, as of the last sweep
}

// request is what one end asks another: 16 bytes.
type request struct {
	flow  uint32 // hash of both ends, besides what chooses the row; 0: the entry is empty
	since micros // of the first one that waits, or of the last one that did
	open  uint16 // how many wait
	slot  uint16 // of the server
	kind  uint8
	flags requestFlags
}

// micros is a time in microseconds that begins anew after 71 minutes: entries are removed before.
type micros uint32

// microsOf returns the micros of an age.
func microsOf(age int64) micros { return micros(uint64(age) / 1000) }

// until returns the nanoseconds to a later time.
func (t micros) until(now micros) int64 { return int64(now-t) * 1000 }

type requestFlags uint8

const (
	// several waited at once: which one a reply answers cannot be determined, nor how long that
	// took.
	several requestFlags = 1 << iota
	// isProven: the request brought back a token, so its answer goes to who asked.
	isProven
	// gotToken: the server gave these ends a token a moment ago; isEcho: a request brought one after that.
	gotToken
	isEcho
)

func newPairs(size int) pairs {
	rows := 1
	for rows*pairWays < size {
		rows *= 2
	}
	return pairs{rows: make([][pairWays]request, rows), mask: uint64(rows - 1)}
}

// find returns the row of two ends, by their hash, and what their entries in it have as flow.
func (p *pairs) find(hash uint64) (row *[pairWays]request, flow uint32) {
	return &p.rows[hash&p.mask], uint32(hash>>32) | 1
}

// foresee asks the processor for the row of two ends.
func (p *pairs) foresee(hash uint64) {
	row := &p.rows[hash&p.mask]
	mem.Prefetch(row, row)
}

// put returns the entry of a kind of request between two ends. If there is none, it is a new one,
// and what had its place before is in evicted.
func (p *pairs) put(hash uint64, kind uint8, now micros) (r *request, evicted request) {
	row, flow := p.find(hash)
	worst := &row[0]
	for i := range row {
		x := &row[i]
		if x.flow == flow && x.kind == kind {
			return x, request{}
		}
		if x.isWorseThan(worst, now) {
			worst = x
		}
	}
	evicted = *worst
	*worst = request{flow: flow, kind: kind}
	return worst, evicted
}

// isWorseThan reports whether x is to be evicted before y: empty entries, then those that wait
// for nothing, then the oldest.
func (x *request) isWorseThan(y *request, now micros) bool {
	switch {
	case y.flow == 0:
		return false
	case x.flow == 0:
		return true
	case (x.open == 0) != (y.open == 0):
		return x.open == 0
	}
	return now-x.since > now-y.since
}

// waiting returns the oldest entry between two ends of a request that waits for any of what asks
// names, nil if there is none.
func (p *pairs) waiting(hash uint64, asks dissect.Asked, k *kinds, now micros) (oldest *request) {
	row, flow := p.find(hash)
	for i := range row {
		x := &row[i]
		if x.flow == flow && x.open > 0 && k.list[x.kind].asks.Has(asks) && (oldest == nil || now-x.since > now-oldest.since) {
			oldest = x
		}
	}
	return oldest
}

// last returns the entry of what was asked last between two ends, nil if there is none.
func (p *pairs) last(hash uint64, now micros) (last *request) {
	row, flow := p.find(hash)
	for i := range row {
		if x := &row[i]; x.flow == flow && (last == nil || now-x.since < now-last.since) {
			last = x
		}
	}
	return last
}

// gotToken reports whether the server gave a token to the other end a moment ago.
func (p *pairs) gotToken(hash uint64) bool {
	row, flow := p.find(hash)
	for i := range row {
		if row[i].flow == flow && row[i].flags&gotToken != 0 {
			return true
		}
	}
	return false
}

// sweep removes what is older than lateWait, or all if everything is, and calls expire for each
// entry that waited in vain.
func (p *pairs) sweep(now micros, all bool, expire func(*request)) {
	p.used = 0
	for i := range p.rows {
		row := &p.rows[i]
		for j := range row {
			x := &row[j]
			switch {
			case x.flow == 0:
			case !all && x.since.until(now) <= lateWait:
				p.used++
			default:
				if x.open > 0 {
					expire(x)
				}
				*x = request{}
			}
		}
	}
}
