package flood

import (
	"net/netip"

	"qsniff/flood/sketch"
	"qsniff/internal/lru"
	"qsniff/track"
)

// victims finds hosts that get replies which they did not ask for.
type victims struct {
	light *lru.Table[track.Host, uncalled]
	heavy []*victim
	last  *victim
}

// uncalled counts replies to a host that is not watched closely.
type uncalled struct {
	sec, since int32
	count, ten uint32
}

// victim is a host that is watched closely.
type victim struct {
	host  track.Host
	last  int32
	asked bool
	bins  [binSeconds]replied
	panes [2]senders
	turn  int32

	in      *Incident
	trial   *trial
	streak  int
	since   int32
	ended   int32
	endedAt int64
	active  bool
	rest    int32
	total   float64
	told    float64
	seconds float64
	all     sketch.Distinct
}

// replied is what a host got in a second.
type replied struct {
	sec    int32
	nanos  int64
	frame  uint64
	wild   uint32 // replies nobody asked for
	bytes  uint64 // of these
	wanted uint32
}

// senders is who sent what nobody asked for in ten seconds.
type senders struct {
	count   uint32
	servers sketch.Distinct
	top     *sketch.Top[track.Host, seen]
	// seen by the same server, to tell an exchange from a stream of replies: a
	// challenge and then data is one.
	talked uint32
	known  uint32 // servers that were looked at so
}

func newVictims() victims {
	return victims{light: lru.New[track.Host, uncalled](lightVictims)}
}

// reply takes a reply to a host.
func (v *victims) reply(d *Detector, s *track.Sighting, wanted bool, client uint64) {
	x := v.find(s.Dst)
	if x == nil {
		if wanted {
			return
		}
		if x = v.count(d, s); x == nil {
			return
		}
	}
	x.last = d.now
	if x.trial != nil {
		x.trial.packet(s, wanted)
	}
	b := x.bin(d.now, d.nanos)
	if wanted {
		b.wanted++
		x.asked = true
		return
	}
	if b.frame == 0 {
		b.frame = s.Frame
	}
	b.wild++
	b.bytes += uint64(s.Bytes)
	p := &x.panes[x.turn&1]
	p.count++
	h := d.key.hostHash(s.Src)
	p.servers.Add(h)
	t := p.top.Add(s.Src, h)
	if t == nil {
		return
	}
	if t.first == 0 {
		t.first = d.now
		p.known++
		if s.What == track.IsChallenge {
			t.count = 1 // it was challenged first
		}
	}
	if t.count == 1 && s.What != track.IsChallenge {
		p.talked++
		t.count = 2
	}
	t.last, t.ttl = d.now, s.TTL
	t.ports.Add(d.key.portHash(s.DstPort))
}

func (v *victims) find(h track.Host) *victim {
	if v.last != nil && v.last.host == h {
		return v.last
	}
	for _, x := range v.heavy {
		if x.host == h {
			v.last = x
			return x
		}
	}
	return nil
}

// count counts an unasked reply, and begins to watch the host where there are many.
func (v *victims) count(d *Detector, s *track.Sighting) *victim {
	l := v.light.Get(s.Dst)
	if l == nil {
		l, _ = v.light.Put(s.Dst)
		*l = uncalled{sec: d.now, since: d.now}
	}
	if l.sec != d.now {
		l.sec, l.count = d.now, 0
	}
	if d.now-l.since >= paneSeconds {
		l.since, l.ten = d.now, 0
	}
	l.count++
	l.ten++
	if l.count < promoteSecond && l.ten < promoteTen {
		return nil
	}
	var x *victim
	if len(v.heavy) < heavyVictims {
		x = &victim{}
		for i := range x.panes {
			x.panes[i].top = sketch.NewTop[track.Host, seen](topSources)
		}
		v.heavy = append(v.heavy, x)
	} else {
		for _, y := range v.heavy {
			if y.in == nil && d.now-y.last >= paneSeconds && (x == nil || y.last < x.last) {
				x = y
			}
		}
		if x == nil {
			return nil
		}
	}
	panes := x.panes
	for i := range panes {
		panes[i].reset()
	}
	*x = victim{host: s.Dst, last: d.now, panes: panes, turn: d.now / paneSeconds}
	v.light.Delete(s.Dst)
	v.last = x
	return x
}

func (p *senders) reset() {
	p.count, p.talked, p.known = 0, 0, 0
	p.servers.Reset()
	p.top.Reset()
}

func (x *victim) bin(sec int32, nanos int64) *replied {
	b := &x.bins[sec%binSeconds]
	if b.sec != sec {
		*b = replied{sec: sec, nanos: nanos}
	}
	return b
}

func (x *victim) sum(sec, n int32) replied {
	var s replied
	for i := max(sec-n+1, 1); i <= sec; i++ {
		if b := &x.bins[i%binSeconds]; b.sec == i {
			s.wild += b.wild
			s.bytes += b.bytes
			s.wanted += b.wanted
		}
	}
	return s
}

// tick judges the second that ends.
func (v *victims) tick(d *Detector) {
	for _, x := range v.heavy {
		x.judge(d)
		if turn := (d.now + 1) / paneSeconds; turn != x.turn {
			if turn > x.turn+1 {
				x.panes[(turn+1)&1].reset()
			}
			x.turn = turn
			x.panes[turn&1].reset()
		}
	}
}

// suffers tells whether the second that ends is one of a reply flood.
func (x *victim) suffers(d *Detector) bool {
	lim := &d.lim
	one, ten := x.sum(d.now, 1), x.sum(d.now, 10)
	if one.wild == 0 || float64(ten.wild) < lim.VictimRate*10 && float64(one.wild) < lim.VictimBurst {
		return false
	}
	if share(float64(one.wild), float64(one.wild+one.wanted)) < lim.VictimShare {
		return false
	}
	if x.asked {
		return true
	}
	// Its own requests were not captured. Who refreshes a list gets a few replies of
	// each server, and data behind challenges; a victim gets one thing again and again.
	a, b := &x.panes[0], &x.panes[1]
	servers := a.servers
	servers.Merge(&b.servers)
	n := servers.Count()
	if 4*(a.talked+b.talked) > a.known+b.known {
		return false
	}
	return n < fewReflectors && float64(one.wild) >= lim.VictimRate || float64(a.count+b.count) >= repliesEach*n
}

const (
	// fewReflectors is fewer than anybody refreshes.
	fewReflectors = 10
	// repliesEach is more of a server than a client gets in the window without a
	// challenge in front.
	repliesEach = 4
)

func (x *victim) judge(d *Detector) {
	if x.in == nil {
		if !x.suffers(d) {
			x.streak = 0
			return
		}
		if x.streak == 0 {
			x.since = d.now
		}
		x.streak++
		need := d.lim.SlowTicks
		if float64(x.sum(d.now, 1).wild) >= d.lim.VictimBurst {
			need = d.lim.FastTicks
		}
		if x.streak < need {
			return
		}
		x.begin(d)
		return
	}
	x.live(d)
}

func (x *victim) begin(d *Detector) {
	first := replied{sec: d.now, nanos: d.secondNanos()}
	now := x.sum(d.now, 1).wild
	for sec := d.now; sec > 0 && sec > d.now-binSeconds; sec-- {
		b := &x.bins[sec%binSeconds]
		if b.sec != sec || b.wild < now/4 && sec < x.since {
			break
		}
		first = *b
	}
	in := d.book.register(Target{End: netip.AddrPortFrom(x.host.Addr(), 0)}, ReplyFloodVictim, ofReplies, first.nanos)
	if in == nil {
		return
	}
	x.in, x.active, x.ended, x.endedAt, x.rest = in, true, d.now, d.secondNanos(), 0
	x.total, x.seconds, x.told = 0, 0, 0
	x.all.Reset()
	in.Frame, in.Pulses = first.frame, 1
	for sec := first.sec; sec <= d.now; sec++ {
		x.add(sec)
	}
	x.describe(d)
	x.told = in.Peak
	x.trial = d.try(in)
	d.Found(in, Begins)
}

// add adds a second to the sums.
func (x *victim) add(sec int32) {
	b := &x.bins[sec%binSeconds]
	if b.sec != sec {
		return
	}
	in := x.in
	in.Replies += uint64(b.wild)
	in.BytesIn += b.bytes
	in.Peak = max(in.Peak, float64(b.wild))
	x.total += float64(b.wild)
	x.seconds++
}

// live goes on with an open incident for one second.
func (x *victim) live(d *Detector) {
	in := x.in
	mean := share(x.total, x.seconds)
	if rate := float64(x.sum(d.now, 3).wild) / 3; rate >= max(d.lim.VictimRate/4, mean/4) {
		if !x.active && d.now-x.rest >= pulseGap {
			in.Pulses++
		}
		x.active, x.ended, x.endedAt = true, d.now, d.secondNanos()
		x.add(d.now)
		if in.Peak >= 2*x.told {
			x.told = in.Peak
			x.describe(d)
			d.Found(in, Changes)
		} else {
			x.merge()
		}
		return
	}
	if x.active {
		x.active, x.rest = false, d.now
	}
	if float64(d.now-x.ended) >= d.lim.Quiet.Seconds() {
		x.close(d)
	}
}

func (x *victim) close(d *Detector) {
	x.in.End = x.endedAt
	x.settle(d)
	d.book.finish(x.in, ofReplies)
	x.in, x.streak = nil, 0
}

// settle writes the advice.
func (x *victim) settle(d *Detector) {
	x.figures()
	d.conclude(x.in, x.trial, !x.asked)
	x.trial = nil
}

// merge adds the servers of the window to those of the incident.
func (x *victim) merge() { x.all.Merge(&x.panes[x.turn&1].servers) }

func (x *victim) describe(d *Detector) {
	in := x.in
	x.merge()
	x.figures()
	score := 5.0
	in.Confidence = d.confidence(score, false, 0)
	if !x.asked {
		in.Confidence = min(in.Confidence, sureVictim)
	}
	d.book.list = merged(d.book.list, x.panes[x.turn&1].top, x.panes[(x.turn+1)&1].top)
	in.Top = topOf(in.Top[:0], d.book.list, false)
	d.victimEvidence(x)
}

// figures fills in those of the whole incident so far.
func (x *victim) figures() {
	x.in.Mean = share(x.total, x.seconds)
	x.in.Sources, x.in.SourcesError = x.all.Count(), sketch.DistinctError
}

// end tells of the incidents that the capture leaves open.
func (v *victims) end(d *Detector) {
	for _, x := range v.heavy {
		switch {
		case x.in == nil:
		case !x.active:
			x.close(d)
		default:
			x.settle(d)
			d.Found(x.in, Ends)
			x.in = nil
		}
	}
}
