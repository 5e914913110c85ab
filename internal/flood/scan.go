package flood

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/base/lru"
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// scans finds sources that ask many servers: scans, where most of these never answer, and
// surveys.
type scans struct {
	*book
	listed *sketch.Recent // servers that a master server listed; where a list was cut, the clients that got it
	table  *lru.Table[track.Host, scanner]
	// first holds the one silent server that a source asked, at the source's hash. Most
	// sources ask no second one, and forged ones must not fill the table.
	first      [firstRequestPlaces]firstRequest
	answering  sketch.Recent // networks from which answers came
	hasAnswers bool          // answering is not empty
	hasLost    bool          // a source that asked lately, and more than a few servers, was evicted
	// isCarpet reports whether a server is in a network that many sources flood, of which one has asked
	// since a second.
	isCarpet func(h *track.Host, port uint16, since int32) bool
}

type firstRequest struct{ source, target uint32 }

// scanner is a source that asked at least two servers. In IPv6 it is a /64.
type scanner struct {
	asked      [scanPanes]sketch.Linear1024 // by time, newest first
	settled    sketch.Linear1024            // servers asked so long ago that an answer would have come
	answered   sketch.Linear1024
	paneSec    int32
	firstSec   int32
	lastSec    int32
	lastNanos  int64
	firstNanos int64
	frame      uint64
	requests   uint64
	peak       uint32
	sec        int32
	perSecond  uint32
	host       track.Host // the last server
	port       uint16
	proto      *dissect.Proto
	in         *Incident
}

const (
	// scanPane is the length of a pane in seconds. A server counts as asked two to three
	// panes after the request: answers take less than a second, and clients wait for
	// three.
	scanPane  = 1
	scanPanes = 3
	// scanIdle is after how many seconds without a request a source is dropped, and
	// scanFor for how many seconds it is watched at most. Chosen: slow scans pause for
	// minutes, and in an hour anybody asks many servers.
	scanIdle, scanFor = 600, 3600
	// scanLost is for how many seconds after its last request a source is missed that asked scanFew times
	// and was evicted. Chosen: sources that go on are back by then, and begin anew.
	scanLost, scanFew = 60, 10
)

func newScans(b *book, n int) scans {
	return scans{book: b, table: lru.New[track.Host, scanner](n), answering: *sketch.NewRecent(sitesBytes),
		listed: sketch.NewRecent(listedBytes)}
}

// isWatching reports whether at least one source is watched.
func (x *scans) isWatching() bool { return x.table.Len() > 0 }

// sourceOf returns the source that an address belongs to: itself, in IPv6 its /64.
func sourceOf(h *track.Host) track.Host {
	if h.Is4() {
		return *h
	}
	return measure.PrefixOf(h)
}

// countRequest counts a request to a server that did not answer so far, or of a source that
// is watched. From a source's second such server on, the source is watched. Servers on a
// master server's list do not count.
func (x *scans) countRequest(s *track.Sighting) {
	src := sourceOf(&s.Src)
	var sc *scanner
	if x.isWatching() {
		sc = x.table.Peek(src)
	}
	if sc == nil {
		h := x.key.HashHost(&src)
		a := &x.first[h%firstRequestPlaces]
		if a.source != uint32(h>>32) || a.target == uint32(s.ServerHash) {
			*a = firstRequest{uint32(h >> 32), uint32(s.ServerHash)}
			return
		}
	}
	if x.listed.Has(s.ServerHash) || x.listed.Has(s.ClientHash) { // the client refreshes a list
		return
	}
	if sc == nil {
		sc = x.watch(src, s.Frame)
	} else {
		x.table.Get(src)
	}
	sc.countRequest(s, x.Clock)
	sc.host = s.Dst
}

// watch begins to watch a source; where the table is full, the one that was used longest ago
// is evicted, and its incident closed.
func (x *scans) watch(src track.Host, frame uint64) *scanner {
	sc, gone := x.table.Put(src)
	if gone != nil {
		x.hasLost = x.hasLost || x.Now-gone.Val.lastSec < scanLost && gone.Val.requests >= scanFew
		if gone.Val.in != nil {
			x.closeIncidentOf(&gone.Val)
		}
	}
	*sc = scanner{firstSec: x.Now, paneSec: x.Now, firstNanos: x.Nanos, frame: frame}
	return sc
}

func (s *scanner) countRequest(p *track.Sighting, at measure.Clock) {
	s.advance(at.Now)
	s.asked[0].Add(p.ServerHash)
	s.lastSec, s.lastNanos, s.port = at.Now, at.Nanos, p.DstPort
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

// advance moves the panes of asked servers on to the second now; those that leave the last
// pane are decided.
func (s *scanner) advance(now int32) {
	for n := min(now-s.paneSec, scanPanes); n > 0; n-- {
		s.settled.Merge(&s.asked[scanPanes-1])
		copy(s.asked[1:], s.asked[:scanPanes-1])
		s.asked[0] = sketch.Linear1024{}
	}
	s.paneSec = now
}

// countReply notes that a server answered, for its client and its network.
func (x *scans) countReply(s *track.Sighting) {
	x.answering.Add(x.key.HashSite(&s.Src))
	x.hasAnswers = true
	if x.table.Len() == 0 {
		return
	}
	if sc := x.table.Peek(sourceOf(&s.Dst)); sc != nil {
		sc.answered.Add(s.ServerHash)
	}
}

// closeSecond judges the sources that are watched, and drops one that is idle or was watched
// for long enough.
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

// judgeScanner opens, changes or closes the incident of a source.
func (x *scans) judgeScanner(src track.Host, s *scanner) {
	if s.in != nil {
		if x.isQuiet(s.lastSec) {
			x.closeIncidentOf(s)
			*s = scanner{firstSec: x.Now, paneSec: x.Now, lastSec: s.lastSec}
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
	case s.in != nil: // a survey becomes a scan
		x.changeKind(s.in, kind, x.secondEnd())
		s.describe(x.book, all, dead)
		x.advisor.Advise(s.in)
		x.announce(s.in, Changes)
	default:
		x.openIncidentOf(src, s, kind, all, dead)
	}
}

// kindOf returns the kind of a source that asked all servers, dead of which did not answer.
func (x *scans) kindOf(s *scanner, all, dead int) Kind {
	lim := &x.lim
	switch {
	case dead >= lim.ScanDead && float64(dead) >= lim.ScanShare*float64(all):
		if x.hasAnswers && x.answering.Has(x.key.HashSite(&s.host)) { // otherwise the capture may lack that network's answers
			return Scan
		}
	case all >= lim.SurveyTargets:
		return Survey
	}
	return NoKind
}

func (x *scans) openIncidentOf(src track.Host, s *scanner, kind Kind, all, dead int) {
	if x.isCarpet != nil && x.isCarpet(&s.host, s.port, s.firstSec) {
		return
	}
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

// surveyScore is the score of a survey; a scan has that and its share of silent servers of
// deadScore.
const (
	surveyScore = 3
	deadScore   = 4
)

func (s *scanner) describe(b *book, all, dead int) {
	in := s.in
	in.Requests, in.Peak = s.requests, float64(s.peak)
	in.setMean(s.lastNanos)
	in.Sources = 1
	score := surveyScore + deadScore*measure.Share(float64(dead), float64(all))
	if in.Kind == Survey {
		score = surveyScore
	}
	in.Weight = b.weigh(score, false)
	most := int(min(s.requests, 1<<30)) // estimates can be too high
	all, dead = min(all, most), min(dead, most)
	var e sentences
	whole := e.within(span{in.Start, s.lastNanos})
	whole.add("%s asked, %d of them without an answer", plural("server", float64(all)), dead)
	whole.add("%s requests/s on average, last to port %d", count(in.Mean), s.port)
	in.Answered = measure.Share(float64(all-dead), float64(all))
	in.Evidence = e
}

// closeIncidentOf ends the incident of a source at its last request.
func (x *scans) closeIncidentOf(s *scanner) {
	s.describe(x.book, s.settled.Count(), s.settled.CountWithout(&s.answered))
	s.in.End = s.lastNanos
	x.closeIncident(s.in, ofScans)
	s.in = nil
}

// finish announces the incidents that are open when the capture ends.
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

const (
	// limit: listedBytes is the same for servers that a master server listed in the last ten to twenty
	// minutes.
	listedBytes = 64 << 10
	// limit: firstRequestPlaces is how many sources are kept with the one silent server that they asked; a
	// newer source replaces an older one.
	firstRequestPlaces = 1 << 12
	// limit: sitesBytes is the size of each of the two filters of networks from which answers came.
	sitesBytes = 4 << 10
)
