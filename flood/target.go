package flood

import (
	"slices"

	"qsniff/flood/sketch"
	"qsniff/track"
)

// target is a server that is watched closely.
type target struct {
	key   key
	end   track.End
	hash  uint64
	proto string
	born  int32 // when it came to be watched

	bins  [binSeconds]bin
	panes [2]pane // the one at hand is panes[turn&1]
	turn  int32

	base       float64 // queries/s when nothing is wrong
	drift      float64 // what the rate was above that, added up
	habit      habit
	last       int32 // it was asked or answered
	heard      int32 // it sent anything; 0: never
	challenged int32 // it gave a challenge; 0: never
	first      int32 // challenge that it gave
	cut        int32 // a challenge was brought back that the capture cut; 0: never
	fast       uint8 // seconds in a row above the burst rate
	posture    posture
	busy       [families]course
	feat       features
	tries      int // lines of advice that are tried
}

// binSeconds is how far back seconds are kept.
const binSeconds = 64

// paneSeconds is how long a pane is.
const paneSeconds = 10

// bin is what happened in a second. Counts of sources are estimates from the
// sample.
type bin struct {
	sec   int32
	nanos int64  // Unix time of its begin
	frame uint64 // of its first packet

	queries    uint32 // requests that are no echo of a challenge, no junk and no guess
	packets    uint32 // requests of all kinds
	bytesIn    uint64
	replies    uint32
	bytesOut   uint64
	junk       uint32 // nothing known
	junkBytes  uint64
	strange    uint32 // no query, and not of a session
	bad        uint32 // with a challenge that was never issued
	keyed      uint32 // with any challenge
	unreach    uint32 // ICMP errors about replies
	proven     uint32 // queries of sources that proved their address
	unproven   uint32 // in the sample, scaled: queries of those that did not
	credited   uint32 // those of them whose sources did within seconds
	challenged uint32 // sources that were challenged
	echoed     uint32 // those of them that brought it back
	orphans    uint32 // that came first with a challenge that nobody gave them
	fine       [100]uint8
}

// pane is what sketches made of ten seconds.
type pane struct {
	start    int32
	queries  uint32
	most     uint32 // of one source
	sources  sketch.Distinct
	sites    sketch.Distinct // larger networks
	top      *sketch.Top[track.Host, seen]
	prefixes *sketch.Top[track.Host, hosts]
	ttl      [256]uint32
	ports    sketch.Few
	prints   sketch.Few
	low      uint32 // from ports below 1,024
	alien    uint32 // from impossible addresses
	inside   uint32 // from local ones
	bad      sketch.Distinct
	badTop   *sketch.Top[track.Host, seen]
	junkTop  *sketch.Top[track.Host, seen]
	junkSrc  sketch.Distinct
}

// seen is what is kept of a busy source.
type seen struct {
	ports  sketch.Linear
	first  int32
	last   int32
	ttl    uint8
	proven bool
	count  uint32 // since it came in
	mixed  uint32 // queries with another time to live than the one before
	given  bool   // it was challenged
	in     uint32 // bytes of its queries
	out    uint32 // and of what it was sent
}

// hosts is what is kept of a busy prefix.
type hosts struct {
	hosts  sketch.Linear
	proven uint32 // queries of proven sources
}

// habit is what a target's sources do when nothing is wrong, counts in a second.
type habit struct{ challenged, echoed, orphans float64 }

func newTarget(k key) *target {
	t := &target{key: k}
	for i := range t.panes {
		p := &t.panes[i]
		p.top = sketch.NewTop[track.Host, seen](topSources)
		p.prefixes = sketch.NewTop[track.Host, hosts](topPrefixes)
		p.badTop = sketch.NewTop[track.Host, seen](topSources / 4)
		p.junkTop = sketch.NewTop[track.Host, seen](topSources / 4)
	}
	return t
}

// reset makes a new target of t, keeping its memory.
func (t *target) reset(e track.End, hash uint64, now int32) {
	panes := t.panes
	for i := range panes {
		panes[i].reset(0)
	}
	*t = target{key: t.key, end: e, hash: hash, born: now, last: now, panes: panes}
	for i := range t.busy {
		t.busy[i].family = i
	}
	t.turn = now / paneSeconds
	t.pane().start = now
}

func (p *pane) reset(now int32) {
	p.most = 0
	p.start, p.queries, p.low, p.alien, p.inside = now, 0, 0, 0, 0
	p.sources.Reset()
	p.sites.Reset()
	p.bad.Reset()
	p.junkSrc.Reset()
	p.top.Reset()
	p.prefixes.Reset()
	p.badTop.Reset()
	p.junkTop.Reset()
	clear(p.ttl[:])
	p.ports.Reset()
	p.prints.Reset()
}

func (t *target) pane() *pane { return &t.panes[t.turn&1] }

// bin returns the bin of a second, empty if it is new.
func (t *target) bin(sec int32, nanos int64) *bin {
	b := &t.bins[sec%binSeconds]
	if b.sec != sec {
		*b = bin{sec: sec, nanos: nanos}
	}
	return b
}

// at returns the bin of a second that is over, or nil if nothing happened in it.
func (t *target) at(sec int32) *bin {
	if sec < 0 {
		return nil
	}
	if b := &t.bins[sec%binSeconds]; b.sec == sec {
		return b
	}
	return nil
}

// sum adds up what the n seconds to sec were.
func (t *target) sum(sec, n int32) bin {
	var s bin
	for i := sec - n + 1; i <= sec; i++ {
		b := t.at(i)
		if b == nil {
			continue
		}
		s.queries += b.queries
		s.packets += b.packets
		s.bytesIn += b.bytesIn
		s.replies += b.replies
		s.bytesOut += b.bytesOut
		s.junk += b.junk
		s.junkBytes += b.junkBytes
		s.strange += b.strange
		s.bad += b.bad
		s.keyed += b.keyed
		s.unreach += b.unreach
		s.proven += b.proven
		s.unproven += b.unproven
		s.credited += b.credited
		s.challenged += b.challenged
		s.echoed += b.echoed
		s.orphans += b.orphans
	}
	return s
}

// roll begins a new pane where it is time.
func (t *target) roll(now int32) {
	turn := now / paneSeconds
	if turn == t.turn {
		return
	}
	if turn > t.turn+1 { // nothing happened in between
		t.panes[(turn+1)&1].reset(now - paneSeconds)
	}
	t.turn = turn
	t.pane().reset(now)
}

// add takes a query of the source, and returns how many it had since it came in.
func (v *seen) add(s *track.Sighting, port uint64, now int32, proven bool) uint32 {
	if v.first == 0 {
		v.first = now
	}
	if v.ttl != s.TTL && v.count > 0 {
		v.mixed++
	}
	v.last, v.ttl, v.proven = now, s.TTL, proven
	v.in += s.Bytes
	v.count++
	v.ports.Add(port)
	return v.count
}

// Of a pane, all queries up to sampleAll are asked for their port and print, and one
// in sampleEach behind that: a share needs no more.
const (
	sampleAll  = 2048
	sampleEach = 8
)

// query counts a query in the sketches.
func (t *target) query(s *track.Sighting, source uint64, now int32, proven bool) {
	p := t.pane()
	p.queries++
	p.sources.Add(source)
	p.sites.Add(t.key.siteHash(&s.Src))
	if v := p.top.Add(s.Src, source); v != nil {
		p.most = max(p.most, v.add(s, t.key.portHash(s.SrcPort), now, proven))
	}
	net := prefixOf(&s.Src)
	if x := p.prefixes.Add(net, t.key.prefixHash(&net)); x != nil {
		x.hosts.Add(source)
		if proven {
			x.proven++
		}
	}
	p.ttl[s.TTL]++
	if s.SrcPort < 1024 {
		p.low++
	}
	if p.queries < sampleAll || p.queries%sampleEach == 0 {
		if s.Proto == nil || !slices.Contains(s.Proto.ClientPorts, s.SrcPort) {
			p.ports.Add(uint32(s.SrcPort))
		}
		p.prints.Add(s.Print)
	}
	switch scopeOf(&s.Src) {
	case impossible:
		p.alien++
	case local:
		p.inside++
	}
}
