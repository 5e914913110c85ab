package flood

import (
	"net/netip"

	"qsniff/flood/sketch"
	"qsniff/internal/lru"
	"qsniff/track"
)

// scans finds sources that ask many servers of which most never answer.
type scans struct {
	table *lru.Table[track.Host, scanner]
	// first is the one silent server that a source asked: nearly all ask no second
	// one, and invented sources must not fill the table.
	first [firstPlaces]asker
	sites sketch.Recent // networks that were seen to answer
	ready bool
}

type asker struct{ source, target uint32 }

// firstPlaces is how many sources are remembered with the server they asked; a
// newer one takes the place of an older one.
const firstPlaces = 1 << 12

// scanner is a source that asked several servers. In IPv6 it is a /64.
type scanner struct {
	asked    [scanPanes]sketch.Wide // by time, newest first
	settled  sketch.Wide            // asked so long ago that an answer would have come
	answered sketch.Wide
	turn     int32
	begun    int32
	last     int32
	lastAt   int64
	nanos    int64
	frame    uint64
	touches  uint64
	peak     uint32
	sec      int32
	count    uint32
	site     uint64 // network of the last server
	port     uint16
	ttl      uint8
	proto    string
	in       *Incident
	scan     bool
}

const (
	// scanTurn seconds are a pane; what was asked is judged two to three panes later:
	// answers take less than a second, and clients wait for three.
	scanTurn  = 1
	scanPanes = 3
	// scanIdle is how long a source may pause before it is forgotten, in seconds, and
	// scanFor how long it is watched in all.
	scanIdle, scanFor = 600, 3600
	sitesBytes        = 4 << 10
)

func newScans(n int) scans {
	return scans{table: lru.New[track.Host, scanner](n), sites: *sketch.NewRecent(sitesBytes)}
}

// known tells whether any source is watched.
func (x *scans) known() bool { return x.table.Len() > 0 }

// sourceOf is what counts as one source: the address, in IPv6 the /64.
func sourceOf(h *track.Host) track.Host {
	if h.Is4() {
		return *h
	}
	return prefixOf(h)
}

// touch takes a request to a server that never answered, as far as is known, or of
// a source that is watched.
func (x *scans) touch(d *Detector, s *track.Sighting, source, target uint64) {
	src := sourceOf(&s.Src)
	sc := x.table.Peek(src)
	if sc == nil {
		h := d.key.hostHash(src)
		a := &x.first[h%firstPlaces]
		if a.source != uint32(h>>32) || a.target == uint32(target) {
			*a = asker{uint32(h >> 32), uint32(target)}
			return
		}
		if x.exempt(d, source, target) {
			return
		}
		var gone *lru.Evicted[track.Host, scanner]
		sc, gone = x.table.Put(src)
		if gone != nil && gone.Val.in != nil {
			x.conclude(d, &gone.Val)
		}
		*sc = scanner{begun: d.now, turn: d.now, nanos: d.nanos, frame: s.Frame}
	} else if x.exempt(d, source, target) {
		return
	} else {
		x.table.Get(src)
	}
	sc.advance(d.now)
	sc.asked[0].Add(target)
	sc.last, sc.lastAt, sc.port, sc.ttl = d.now, d.nanos, s.DstPort, s.TTL
	sc.touches++
	if sc.sec != d.now {
		sc.sec, sc.count = d.now, 0
	}
	sc.count++
	sc.peak = max(sc.peak, sc.count)
	sc.site = d.key.siteHash(&s.Dst)
	if sc.proto == "" && s.Proto != nil {
		sc.proto = s.Proto.Name
	}
}

// exempt tells whether a master server named the target, or servers to the source
// that the capture cut: whoever asks it refreshes a list.
func (x *scans) exempt(d *Detector, source, target uint64) bool {
	return d.named.Has(target) || d.named.Has(source)
}

// advance moves what was asked on in time.
func (s *scanner) advance(now int32) {
	for n := min(now-s.turn, scanPanes); n > 0; n-- {
		s.settled.Merge(&s.asked[scanPanes-1])
		copy(s.asked[1:], s.asked[:scanPanes-1])
		s.asked[0] = sketch.Wide{}
	}
	s.turn = now
}

// answered takes a reply that was asked for.
func (x *scans) answered(k key, s *track.Sighting, server uint64) {
	x.sites.Add(k.siteHash(&s.Src))
	x.ready = true
	if x.table.Len() == 0 {
		return
	}
	if sc := x.table.Peek(sourceOf(&s.Dst)); sc != nil {
		sc.answered.Add(server)
	}
}

// judge looks at all sources that are watched.
func (x *scans) judge(d *Detector) {
	var gone track.Host
	drop := false
	for src, s := range x.table.All() {
		idle := d.now - s.last
		if idle >= 2*scanPanes && s.in == nil {
			if idle > scanIdle || d.now-s.begun > scanFor {
				gone, drop = src, true
			}
			continue
		}
		s.advance(d.now)
		x.judge1(d, src, s)
	}
	if drop {
		x.table.Delete(gone)
	}
}

// judge1 looks at one of them.
func (x *scans) judge1(d *Detector, src track.Host, s *scanner) {
	if s.in != nil {
		if float64(d.now-s.last) >= d.lim.Quiet.Seconds() {
			x.conclude(d, s)
			*s = scanner{begun: d.now, turn: d.now, last: s.last}
		}
		if s.in == nil || s.scan {
			return
		}
	}
	lim := &d.lim
	all := s.settled.Count()
	if all < lim.ScanTargets {
		return
	}
	dead := s.settled.Without(&s.answered)
	kind := NoKind
	switch {
	case dead >= lim.ScanDead && float64(dead) >= lim.ScanShare*float64(all):
		if x.ready && x.sites.Has(s.site) { // else answers of that network may not be captured
			kind = Scan
		}
	case all >= lim.SurveyTargets:
		kind = Survey
	}
	if kind == NoKind || s.in != nil && kind == Survey {
		return
	}
	if s.in != nil { // what was a survey finds nothing any more
		s.in.History = append(s.in.History, Change{s.in.Kind, d.secondNanos()})
		s.in.Kind, s.in.Level = kind, kind.Level()
		s.scan = true
		x.describe(d, s, all, dead)
		s.in.Advice = advise(s.in, nil)
		d.Found(s.in, Changes)
		return
	}
	target := Target{End: netip.AddrPortFrom(src.Addr(), 0)}
	if !src.Is4() {
		target = Target{Prefix: network(src)}
	}
	in := d.book.register(target, kind, ofScans, s.nanos)
	if in == nil {
		return
	}
	s.in, s.scan = in, kind == Scan
	in.Frame, in.Protocol, in.Pulses = s.frame, s.proto, 1
	x.describe(d, s, all, dead)
	in.Advice = advise(in, nil)
	d.Found(in, Begins)
}

func (x *scans) describe(d *Detector, s *scanner, all, dead int) {
	in := s.in
	in.Requests, in.Peak = s.touches, float64(s.peak)
	in.Mean = float64(s.touches) / float64(s.last-s.begun+1)
	in.Sources = 1
	in.Confidence = d.confidence(3+4*share(float64(dead), float64(all)), false, 0)
	if in.Kind == Survey {
		in.Confidence = d.confidence(3, false, 0)
	}
	most := int(min(s.touches, 1<<30)) // estimates can be too high
	d.scanEvidence(s, min(all, most), min(dead, most))
}

// conclude ends the incident of a source.
func (x *scans) conclude(d *Detector, s *scanner) {
	all := s.settled.Count()
	x.describe(d, s, all, s.settled.Without(&s.answered))
	s.in.End = s.lastAt
	d.book.finish(s.in, ofScans)
	s.in = nil
}

// end tells of the incidents that the capture leaves open.
func (x *scans) end(d *Detector) {
	for _, s := range x.table.All() {
		if s.in == nil {
			continue
		}
		if d.now-s.last > scanPanes {
			x.conclude(d, s)
			continue
		}
		x.describe(d, s, s.settled.Count(), s.settled.Without(&s.answered))
		d.Found(s.in, Ends)
		s.in = nil
	}
}
