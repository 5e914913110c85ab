package flood

import (
	"bytes"
	"cmp"
	"slices"

	"qsniff/flood/sketch"
	"qsniff/track"
)

// features are what a verdict rests on: one second's view of a target. Rates are
// per second, shares are of the queries in the window unless said otherwise, and
// what the capture cannot give is below zero.
type features struct {
	now, r3, r10, r60 float64 // queries: in the last second, on average of 3, 10 and 60
	base              float64
	window            float64 // seconds that the sketches look back
	queries           float64 // in the window
	sources           float64
	sites             float64
	each              float64 // queries of a source
	top1, top8, top16 float64
	biggest           float64 // queries/s of the busiest source
	biggestCount      float64
	biggestPorts      int
	biggestProven     bool
	biggestNAT        bool
	lead              float64 // queries/s of the busiest source that proved nothing
	leadProven        float64 // and of the busiest one that did, unless it is a network behind one address
	hot               float64 // share of sources that are too fast for clients, proven or not
	hotRate           float64 // what they send, queries/s
	heavy             float64 // share of sources with 10/s and more
	heavyCount        int
	repeat            float64 // share of unproven sources with 0.33/s and more
	repeatCount       int
	push              float64 // queries/s of one of these, since it came
	repeatTTL         float64 // share of the commonest time to live among these
	portsEach         float64 // different ports of these for each of their queries
	topProven         float64 // share of proven sources in what the 16 busiest sent
	prefix            float64 // share of the busiest /24 or /64
	prefixHosts       int
	prefixProven      float64 // share of what proven sources in it sent
	prefixRate        float64
	completion        float64 // -1: cannot be told
	challenged        int
	owed              float64 // sources/s that were challenged and did not complete
	added             float64 // completion of the sources beyond the usual; -1: not more than usual
	answered, gain    float64 // -1: one direction only
	gainTop           float64 // what busy sources that proved nothing got for what they sent
	stubborn          float64 // share of sources that ask on and on without the challenge they were given
	stubbornCount     int
	refused           bool    // the server answers, but less than half
	looksComplete     float64 // share of the queries that were followed by what looks like an echo
	alien             float64 // share of impossible sources; -1: not judged
	ttl1, ttlX        float64
	ttl               int
	low               float64
	port1             float64
	port              int
	print1            float64
	unreach           float64 // share of replies that came back as ICMP errors
	pace              float64 // variance for mean of 10 ms
	proven            float64 // share of proven sources' queries
	level             int     // one source in 2^level was followed
	oneWay            bool
}

// busy is a source with what the window shows of it.
type busy struct {
	addr      track.Host
	low, high uint32
	seen      seen
	rate      float64
}

// oneWay tells whether the capture seems to have what goes to the target only.
func (t *target) oneWay(now int32) bool {
	return t.heard == 0 || now-t.heard > binSeconds && t.heard < t.born
}

// judgeWindow is how long what was challenged is watched for completion, in
// seconds: longer where little happens.
const (
	completionDelay  = 1
	completionWindow = 10
	completionSlow   = 50
	slowRate         = 50
	// completionQuick seconds are enough where completionMany sources were challenged
	// in them.
	completionQuick = 3
	completionMany  = 150
)

// look computes the features of the second that ends.
func (d *Detector) look(t *target) *features {
	f := &t.feat
	*f = features{base: t.base, level: int(d.claims.level)}
	one, ten := t.sum(d.now, 1), t.sum(d.now, 10)
	f.now, f.r10 = float64(one.queries), float64(ten.queries)/10
	f.r3, f.r60 = float64(t.sum(d.now, 3).queries)/3, float64(t.sum(d.now, 60).queries)/60
	f.oneWay = t.oneWay(d.now)
	f.answered, f.gain = -1, -1
	if !f.oneWay {
		f.answered = share(float64(ten.replies), float64(ten.packets))
		f.gain = share(float64(ten.bytesOut), float64(ten.bytesIn))
		f.unreach = share(float64(ten.unreach), float64(ten.replies))
		three := t.sum(d.now, 3)
		f.refused = one.replies > 0 && t.sum(d.now-1, 1).replies > 0 && t.sum(d.now-2, 1).replies > 0 && 2*three.replies < three.packets
	}
	late := t.sum(d.now-completionDelay, 10)
	f.looksComplete = min(1, share(float64(late.credited+late.proven), float64(late.unproven+late.proven)))
	f.proven = share(float64(ten.proven), float64(ten.queries))
	t.completions(f, d.now)
	t.shapes(f, d.now)
	t.crowdShape(f, d)
	f.pace = t.pacing(d.now)
	return f
}

// habitAfter is how long a target must be known before it has a habit, in seconds.
const habitAfter = 60

// completions fills in who brought challenges back.
func (t *target) completions(f *features, now int32) {
	f.completion, f.added = -1, -1
	n := int32(completionWindow)
	if f.r10 < slowRate {
		n = completionSlow
	}
	s := t.sum(now-completionDelay, n)
	if quick := t.sum(now-completionDelay, completionQuick); quick.challenged >= completionMany {
		s, n = quick, completionQuick // what was before does not dilute it
	}
	f.challenged = int(s.challenged)
	if t.challenged == 0 || s.challenged == 0 {
		return
	}
	f.completion = share(float64(s.echoed), float64(s.challenged))
	f.owed = float64(s.challenged-min(s.echoed, s.challenged)) / float64(n)
	if h, k := &t.habit, float64(n); now-t.born >= habitAfter && float64(s.challenged) >= 1.5*k*h.challenged {
		f.added = max(0, share(float64(s.echoed)-k*h.echoed, float64(s.challenged)-k*h.challenged))
	}
}

// shapes fills in what histograms of the window show.
func (t *target) shapes(f *features, now int32) {
	a, b := &t.panes[0], &t.panes[1]
	f.window = float64(now - t.pane().start + 1)
	if other := &t.panes[(t.turn+1)&1]; other.queries > 0 {
		f.window += paneSeconds
	}
	f.queries = float64(a.queries + b.queries)
	all := a.sources
	all.Merge(&b.sources)
	f.sources = all.Count()
	all = a.sites
	all.Merge(&b.sites)
	f.sites = all.Count()
	f.each = share(f.queries, f.sources)
	f.low = share(float64(a.low+b.low), f.queries)
	f.alien = share(float64(a.alien+b.alien), f.queries)
	if scopeOf(&t.end.Host) == public && a.inside+b.inside > 0 && f.alien > 0 { // no host here has such an address, then
		f.alien = share(float64(a.alien+b.alien+a.inside+b.inside), f.queries)
	}
	odd, most := uint32(0), uint32(0)
	for ttl := range a.ttl {
		n := a.ttl[ttl] + b.ttl[ttl]
		if n > most {
			most, f.ttl = n, ttl
		}
		if !usualTTL(ttl) {
			odd += n
		}
	}
	f.ttl1, f.ttlX = share(float64(most), f.queries), share(float64(odd), f.queries)
	port, n, of := leader(&a.ports, &b.ports)
	f.port, f.port1 = int(port), share(float64(n), float64(of))
	_, n, of = leader(&a.prints, &b.prints)
	f.print1 = share(float64(n), float64(of))
}

// usualTTL tells whether a packet of a usual system arrives with that time to live
// over a usual path: it began with 64, 128 or 255 and made up to 34 hops.
func usualTTL(ttl int) bool {
	return ttl >= 30 && ttl <= 64 || ttl >= 94 && ttl <= 128 || ttl >= 221
}

// leader is the commonest value of two panes, how often it came at least, and of
// how many.
func leader(a, b *sketch.Few) (value, count, all uint32) {
	x, n, i := a.Most()
	y, m, j := b.Most()
	n, m = n+b.Of(x), m+a.Of(y)
	if m > n {
		return y, m, i + j
	}
	return x, n, i + j
}

// busiest lists the sources of the window, busiest first.
func (d *Detector) busiest(t *target, list []busy, of func(*pane) *sketch.Top[track.Host, seen]) []busy {
	return merged(list, of(t.pane()), of(&t.panes[(t.turn+1)&1]))
}

// merged lists what two panes counted.
func merged(list []busy, cur, before *sketch.Top[track.Host, seen]) []busy {
	list = list[:0]
	cur.Each(func(it *sketch.Item[track.Host, seen], low, high uint32) {
		list = append(list, busy{addr: it.Key, low: low, high: high, seen: it.Value})
	})
	slices.SortFunc(list, func(a, b busy) int { return bytes.Compare(a.addr[:], b.addr[:]) })
	n := len(list)
	before.Each(func(it *sketch.Item[track.Host, seen], low, high uint32) {
		i, ok := slices.BinarySearchFunc(list[:n], it.Key, func(a busy, k track.Host) int { return bytes.Compare(a.addr[:], k[:]) })
		if !ok {
			list = append(list, busy{addr: it.Key, low: low, high: high, seen: it.Value})
			return
		}
		x := &list[i]
		x.low, x.high = x.low+low, x.high+high
		x.seen.first = min(x.seen.first, it.Value.first)
		x.seen.ports.Merge(&it.Value.ports)
		x.seen.in, x.seen.out = x.seen.in+it.Value.in, x.seen.out+it.Value.out
		x.seen.given = x.seen.given || it.Value.given
	})
	for i := range list {
		x := &list[i]
		x.rate = float64(x.low) / float64(max(x.seen.last-x.seen.first+1, 1))
	}
	sortBusy(list)
	return list
}

// sortBusy puts the busiest first.
func sortBusy(list []busy) {
	slices.SortFunc(list, func(a, b busy) int { return cmp.Or(cmp.Compare(b.low, a.low), bytes.Compare(a.addr[:], b.addr[:])) })
}

// pacing is the variance for the mean of the packets in 10 ms, over a second: about
// 1 where senders do not know of each other.
func (t *target) pacing(sec int32) float64 {
	b := t.at(sec)
	if b == nil {
		return -1
	}
	sum, squares := 0.0, 0.0
	for _, n := range b.fine {
		if n == 255 { // it counts no further
			return -1
		}
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	mean := sum / 100
	if mean == 0 {
		return -1
	}
	return (squares/100 - mean*mean) / mean
}
