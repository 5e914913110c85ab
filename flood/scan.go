package flood

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/flood/measure"
	"qsniff/flood/sketch"
	"qsniff/internal/lru"
	"qsniff/track"
)

// scans finds sources that ask many servers of which most never answer.
type scans struct {
	*book
	listed *sketch.Recent // servers that master servers named, and whom they named some to
	table  *lru.Table[track.Host, scanner]
	// first is the one silent server that a source asked: nearly all ask no second
	// one, and invented sources must not fill the table.
	first     [firstRequests]firstRequest
	answering sketch.Recent // networks that were seen to answer
	hasSites  bool          // one was
}

type firstRequest struct{ source, target uint32 }

// scanner is a source that asked several servers. In IPv6 it is a /64.
type scanner struct {
	asked      [scanPanes]sketch.Linear1024 // by time, newest first
	settled    sketch.Linear1024            // asked so long ago that an answer would have come
	answered   sketch.Linear1024
	paneNumber int32
	firstSec   int32
	lastSec    int32
	lastNanos  int64
	firstNanos int64
	frame      uint64
	requests   uint64
	peak       uint32
	sec        int32
	perSecond  uint32
	site       uint64 // network of the last server
	port       uint16
	ttl        uint8
	proto      *dissect.Proto
	in         *Incident
}

const (
	// scanPane seconds are a pane; what was asked is judged two to three panes later:
	// answers take less than a second, and clients wait for three.
	scanPane  = 1
	scanPanes = 3
	// scanIdle is how long a source may pause before it is forgotten, in seconds, and
	// scanFor how long it is watched in all.
	scanIdle, scanFor = 600, 3600
)

func newScans(b *book, n int) scans {
	return scans{book: b, table: lru.New[track.Host, scanner](n), answering: *sketch.NewRecent(sitesBytes),
		listed: sketch.NewRecent(listedBytes)}
}

// isWatching reports whether any source is watched.
func (x *scans) isWatching() bool { return x.table.Len() > 0 }

// sourceOf returns what counts as one source: the address, in IPv6 the /64.
func sourceOf(h *track.Host) track.Host {
	if h.Is4() {
		return *h
	}
	return measure.PrefixOf(h)
}

// countRequest counts a request to a server that never answered, as far as is known, or
// of a source that is watched.
func (x *scans) countRequest(s *track.Sighting) {
	src := sourceOf(&s.Src)
	sc := x.table.Peek(src)
	if sc == nil {
		h := x.key.Host(src)
		a := &x.first[h%firstRequests]
		if a.source != uint32(h>>32) || a.target == uint32(s.ServerHash) {
			*a = firstRequest{uint32(h >> 32), uint32(s.ServerHash)}
			return
		}
	}
	if x.listed.Has(s.ServerHash) || x.listed.Has(s.ClientHash) { // whoever asks it refreshes a list
		return
	}
	if sc == nil {
		sc = x.watch(src, s.Frame)
	} else {
		x.table.Get(src)
	}
	sc.countRequest(s, x.Clock)
	sc.site = x.key.Site(&s.Dst)
}

// watch begins to watch a source.
func (x *scans) watch(src track.Host, frame uint64) *scanner {
	sc, gone := x.table.Put(src)
	if gone != nil && gone.Val.in != nil {
		x.closeIncidentOf(&gone.Val)
	}
	*sc = scanner{firstSec: x.Now, paneNumber: x.Now, firstNanos: x.Nanos, frame: frame}
	return sc
}

func (s *scanner) countRequest(p *track.Sighting, at measure.Clock) {
	s.advance(at.Now)
	s.asked[0].Add(p.ServerHash)
	s.lastSec, s.lastNanos, s.port, s.ttl = at.Now, at.Nanos, p.DstPort, p.TTL
	s.requests++
	if s.sec != at.Now {
		s.sec, s.perSecond = at.Now, 0
	}
	s.perSecond++
	s.peak = max(s.peak, s.perSecond)
	if s.proto == nil {
		s.proto = p.Proto
	}
}

// recordListed takes a server that a master server named to a client. Where the capture
// cut the list, all that the client asks may be on it, if wasAsked reports that it asked for the list.
func (x *scans) recordListed(s *track.Sighting, wasAsked func(*track.Sighting) bool) {
	if s.Flags&track.Cut == 0 {
		x.listed.Add(s.ServerHash)
	} else if wasAsked(s) {
		x.listed.Add(s.ClientHash)
	}
}

// advance moves what was asked on in time.
func (s *scanner) advance(now int32) {
	for n := min(now-s.paneNumber, scanPanes); n > 0; n-- {
		s.settled.Merge(&s.asked[scanPanes-1])
		copy(s.asked[1:], s.asked[:scanPanes-1])
		s.asked[0] = sketch.Linear1024{}
	}
	s.paneNumber = now
}

// countReply takes a reply that was asked for.
func (x *scans) countReply(s *track.Sighting) {
	x.answering.Add(x.key.Site(&s.Src))
	x.hasSites = true
	if x.table.Len() == 0 {
		return
	}
	if sc := x.table.Peek(sourceOf(&s.Dst)); sc != nil {
		sc.answered.Add(s.ServerHash)
	}
}

// closeSecond looks at all sources that are watched.
func (x *scans) closeSecond() {
	var gone track.Host
	drop := false
	for src, s := range x.table.All() {
		idle := x.Now - s.lastSec
		if idle >= 2*scanPanes && s.in == nil {
			if idle > scanIdle || x.Now-s.firstSec > scanFor {
				gone, drop = src, true
			}
			continue
		}
		s.advance(x.Now)
		x.judgeScanner(src, s)
	}
	if drop {
		x.table.Delete(gone)
	}
}

// judgeScanner looks at one of them.
func (x *scans) judgeScanner(src track.Host, s *scanner) {
	if s.in != nil {
		if x.isQuiet(s.lastSec) {
			x.closeIncidentOf(s)
			*s = scanner{firstSec: x.Now, paneNumber: x.Now, lastSec: s.lastSec}
		}
		if s.in == nil || s.in.Kind == Scan {
			return
		}
	}
	all := s.settled.Count()
	if all < x.lim.ScanTargets {
		return
	}
	dead := s.settled.CountWithout(&s.answered)
	switch kind := x.kindOf(s, all, dead); {
	case kind == NoKind || s.in != nil && kind == Survey:
	case s.in != nil: // what was a survey finds nothing any more
		x.changeKind(s.in, kind, x.secondEnd())
		s.describe(x.book, all, dead)
		x.advisor.Advise(s.in)
		x.announce(s.in, Changes)
	default:
		x.openIncidentOf(src, s, kind, all, dead)
	}
}

// kindOf returns what a source is that asked so many servers.
func (x *scans) kindOf(s *scanner, all, dead int) Kind {
	lim := &x.lim
	switch {
	case dead >= lim.ScanDead && float64(dead) >= lim.ScanShare*float64(all):
		if x.hasSites && x.answering.Has(s.site) { // else answers of that network may not be captured
			return Scan
		}
	case all >= lim.SurveyTargets:
		return Survey
	}
	return NoKind
}

func (x *scans) openIncidentOf(src track.Host, s *scanner, kind Kind, all, dead int) {
	target := Target{End: netip.AddrPortFrom(src.Addr(), 0)}
	if !src.Is4() {
		target = Target{Prefix: measure.Network(src)}
	}
	in := x.openIncident(target, kind, ofScans, s.firstNanos)
	if in == nil {
		return
	}
	s.in = in
	in.Frame, in.Proto = s.frame, s.proto
	s.describe(x.book, all, dead)
	x.advisor.Advise(in)
	x.announce(in, Begins)
}

// Points of a survey, and of a scan that asks for nothing but silence: a share of silent
// servers gives that share of the difference.
const (
	surveyScore = 3
	deadScore   = 4
)

func (s *scanner) describe(b *book, all, dead int) {
	in := s.in
	in.Requests, in.Peak = s.requests, float64(s.peak)
	in.Mean = float64(s.requests) / float64(s.lastSec-s.firstSec+1)
	in.Sources = 1
	score := surveyScore + deadScore*measure.Share(float64(dead), float64(all))
	if in.Kind == Survey {
		score = surveyScore
	}
	in.Confidence = b.confidence(score, false)
	most := int(min(s.requests, 1<<30)) // estimates can be too high
	all, dead = min(all, most), min(dead, most)
	e := sentences(in.Evidence[:0])
	e.add("%s asked, %d of them without an answer", plural("server", float64(all)), dead)
	e.add("%.1f requests/s, last to port %d", in.Mean, s.port)
	in.Answered = measure.Share(float64(all-dead), float64(all))
	in.Evidence = e
}

// closeIncidentOf ends the incident of a source.
func (x *scans) closeIncidentOf(s *scanner) {
	s.describe(x.book, s.settled.Count(), s.settled.CountWithout(&s.answered))
	s.in.End = s.lastNanos
	x.closeIncident(s.in, ofScans)
	s.in = nil
}

// finish announces the incidents that the capture leaves open.
func (x *scans) finish() {
	for _, s := range x.table.All() {
		if s.in == nil {
			continue
		}
		if x.Now-s.lastSec > scanPanes {
			x.closeIncidentOf(s)
			continue
		}
		s.describe(x.book, s.settled.Count(), s.settled.CountWithout(&s.answered))
		x.announce(s.in, Ends)
		s.in = nil
	}
}
