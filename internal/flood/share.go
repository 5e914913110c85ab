package flood

import (
	"math"
	"net/netip"
	"time"

	"qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// Share has the detector measure what can be put together with what detectors on other hosts
// measure. It is called before the first sighting.
//
// All of them have the key of the networks, and sightings with the same seed: a source has the
// same hash everywhere. Seconds and panes begin with those of Unix time, so that the sketches of one
// pane are of the same ten seconds everywhere. A server for which isOwn reports true is watched
// closely from the first request on, or from the first one in a second in which it does, if there is
// room, or a server that is watched closely was not asked for BinSeconds: the sketches then hold all
// that it was asked, and its baseline is that of a calm day. None makes room that is asked.
//
// If the clock of the packets is set, by more than clockSet, the pane at hand is shorter or longer.
func (d *Detector) Share(k measure.Key, isOwn func(netip.AddrPort) bool) {
	d.book.key, d.servers.isOwn, d.isShared = k, isOwn, true
}

// clockSet is by how much the time stamps and the age of packets drift apart before seconds are
// aligned anew. Chosen: packets of several sources may be out of order by less.
const clockSet = time.Second

// alignSeconds makes the second of age end with one of Unix time, and gives it a number that ends
// with the same digit, which is no lower than the one it had: panes turn when the digit is 0.
func (d *Detector) alignSeconds(age, nanos int64) {
	second := int64(time.Second)
	ahead := nanos - age
	if d.isAligned && max(ahead-d.ahead, d.ahead-ahead) <= int64(clockSet) {
		return
	}
	sec := int64(1)
	if d.isAligned {
		sec = (age-d.firstAge)/second + 1
	}
	d.isAligned, d.ahead = true, ahead
	unix := floorDiv(nanos, second)
	const digits = measure.PaneSeconds
	sec += ((unix-sec)%digits + digits) % digits
	d.firstAge = age - (nanos - unix*second) - (sec-1)*second
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Pane returns at which age of packets the pane at hand is over, and which Unix time that is, in
// nanoseconds; ages that no packet has before the first sighting, and after lastSecond. It is for a
// detector that has been told to Share.
func (d *Detector) Pane() (endAge, end int64) {
	switch {
	case !d.hasBegun:
		return math.MinInt64, 0
	case d.book.Now >= lastSecond:
		return math.MaxInt64, 0
	}
	n := int64(d.book.Now/measure.PaneSeconds+1) * measure.PaneSeconds // the first second of the next one
	endAge = d.firstAge + (n-1)*int64(time.Second)
	return endAge, endAge + d.ahead
}

// Watched returns the measurements of a server that is watched closely, else nil. They are valid
// until the next call of a method that takes a packet or passes time.
func (d *Detector) Watched(a netip.AddrPort) *measure.Server {
	e := track.EndOf(a)
	if w := d.servers.find(&e.Host, e.Port); w != nil {
		return &w.Server
	}
	return nil
}

// Measure sets f to the features of a server that Watched returned, those of junk and guesses
// included, as the rules would get them if the second at hand were over. It changes nothing.
func (d *Detector) Measure(f *measure.Features, t *measure.Server) {
	b := &d.book
	t.Measure(f, b.Now, measure.Limits{Unproven: b.lim.FewUnproven, Proven: b.lim.FewProven})
	t.MeasureJunk(f, b.Now)
	t.MeasureGuesses(f, b.Now)
}

// MergeShape adds the forms of the queries of the last measure.ShapeSeconds to such a server.
func (d *Detector) MergeShape(all *measure.Shape, t *measure.Server) {
	for sec := d.book.Now - measure.ShapeSeconds + 1; sec <= d.book.Now; sec++ {
		t.MergeShape(all, measure.Queries, sec)
	}
}
