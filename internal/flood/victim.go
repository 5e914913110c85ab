package flood

import (
	"net/netip"
	"time"

	"qsniff/internal/base/digits"
	"qsniff/internal/base/lru"
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// victims finds hosts that get replies which they did not ask for: the targets of
// reflections, seen from their side.
type victims struct {
	*book
	light     *lru.Table[track.Host, lightVictim]
	heavy     []*victim
	lastFound *victim // by find, which looks here first
	hasNoRoom bool    // there was none for one more of heavy
}

// lightVictim counts the replies to a host that is not watched closely.
type lightVictim struct {
	sec, paneStart int32
	count, inPane  uint32
}

// victim is a host that is watched closely, and the incident there.
type victim struct {
	measure.Receiver
	in            *Incident
	trial         Trial
	floodStreak   int   // seconds in a row that are those of a flood
	streakStart   int32 // the first of these
	lastSec       int32 // last second that qualified
	countedTo     int32 // last second that was counted
	lastEnd       int64 // and the time stamp of its end
	isActive      bool  // the last second qualified
	pauseStart    int32 // first second of a pause
	packets       float64
	seconds       float64
	requested     uint64  // replies that it asked for, in the same seconds
	announcedPeak float64 // the peak when it was last announced
	servers       sketch.Distinct
}

func newVictims(b *book) victims {
	return victims{book: b, light: lru.New[track.Host, lightVictim](lightVictims)}
}

// countReply counts a reply to a host. isWanted reports whether the host asked for it.
func (v *victims) countReply(s *track.Sighting, isWanted bool) {
	x := v.find(s.Dst)
	if x == nil {
		if isWanted {
			return
		}
		if x = v.countLight(s.Dst); x == nil {
			return
		}
	}
	if x.trial != nil {
		x.trial.Apply(s, isWanted)
	}
	x.Count(s, v.Clock, isWanted)
}

func (v *victims) find(h track.Host) *victim {
	if v.lastFound != nil && v.lastFound.Addr == h {
		return v.lastFound
	}
	for _, x := range v.heavy {
		if x.Addr == h {
			v.lastFound = x
			return x
		}
	}
	return nil
}

// countLight counts a reply that was not asked for. If that makes the host worth watching
// closely and there is room, it returns the host, else nil.
func (v *victims) countLight(h track.Host) *victim {
	l := v.light.Get(h)
	if l == nil {
		l, _ = v.light.Put(h)
		*l = lightVictim{sec: v.Now, paneStart: v.Now}
	}
	if l.sec != v.Now {
		l.sec, l.count = v.Now, 0
	}
	if v.Now-l.paneStart >= measure.PaneSeconds {
		l.paneStart, l.inPane = v.Now, 0
	}
	l.count++
	l.inPane++
	if l.count < promoteSecond && l.inPane < promoteTen {
		return nil
	}
	x := v.makeRoom()
	if x == nil {
		v.hasNoRoom = true
		return nil
	}
	x.Reset(h, v.Now)
	*x = victim{Receiver: x.Receiver}
	v.light.Delete(h)
	v.lastFound = x
	return x
}

// makeRoom returns a place for one more victim: a new one, else that of the one without an
// incident that got no reply for longest, at least a pane. It returns nil if there is none.
func (v *victims) makeRoom() *victim {
	if len(v.heavy) < heavyVictims {
		x := &victim{}
		x.Init(v.key)
		v.heavy = append(v.heavy, x)
		return x
	}
	var x *victim
	for _, y := range v.heavy {
		if y.in == nil && v.Now-y.LastReply >= measure.PaneSeconds && (x == nil || y.LastReply < x.LastReply) {
			x = y
		}
	}
	return x
}

// closeSecond judges the second that ends at each host that is watched closely.
func (v *victims) closeSecond() {
	for _, x := range v.heavy {
		if x.in != nil {
			x.updateIncident(v.book)
		} else if x.isLongEnough(v.book) {
			x.openIncident(v.book)
		}
		x.TurnPane(v.Now + 1)
	}
}

// isFlooded reports whether the second that ends is one of a reply flood.
func (x *victim) isFlooded(b *book) bool {
	lim := &b.lim
	one, ten := x.Sum(b.Now, 1), x.Sum(b.Now, 10)
	if one.Unrequested == 0 || float64(ten.Unrequested) < lim.VictimRate*10 && float64(one.Unrequested) < lim.VictimBurst {
		return false
	}
	if measure.Share(float64(one.Unrequested), float64(one.Unrequested+one.Requested)) < lim.VictimShare {
		return false
	}
	if x.HasAsked {
		return true
	}
	// Its own requests were not captured. A client that refreshes a list gets about
	// three replies from each server, data after challenges; a victim gets many of the
	// same from each.
	replies, servers, exchanges := x.Senders()
	if exchanges > exchangesMost {
		return false
	}
	return servers < fewReflectors && float64(one.Unrequested) >= lim.VictimRate || replies >= repliesEach*servers
}

const (
	// fewReflectors is fewer servers than a list that is refreshed has.
	fewReflectors = 10
	// repliesEach is more replies from one server than a client gets in the window: one
	// for each of its three questions.
	repliesEach = 4
	// exchangesMost is the largest share of servers that sent a challenge first. Nearly
	// all servers of a client do.
	exchangesMost = 0.25
)

// isLongEnough reports whether the flood has lasted for long enough to open an incident.
func (x *victim) isLongEnough(b *book) bool {
	if !x.isFlooded(b) {
		x.floodStreak = 0
		return false
	}
	if x.floodStreak == 0 {
		x.streakStart = b.Now
	}
	x.floodStreak++
	need := b.lim.SlowTicks
	if float64(x.Sum(b.Now, 1).Unrequested) >= b.lim.VictimBurst {
		need = b.lim.FastTicks
	}
	return x.floodStreak >= need
}

func (x *victim) openIncident(b *book) {
	first := measure.ReceiverSecond{Sec: b.Now, Nanos: b.secondEnd()}
	now := x.Sum(b.Now, 1).Unrequested
	for sec := b.Now; sec > 0 && sec > b.Now-measure.BinSeconds; sec-- {
		y := x.At(sec)
		if y == nil || y.Unrequested < now/4 && sec < x.streakStart {
			break
		}
		first = *y
	}
	in := b.openIncident(Target{End: netip.AddrPortFrom(x.Addr.Addr(), 0)}, ReplyFloodVictim, ofReplies, first.Nanos)
	if in == nil {
		return
	}
	x.in, x.isActive, x.lastSec, x.countedTo, x.lastEnd, x.pauseStart = in, true, b.Now, b.Now, b.secondEnd(), 0
	x.packets, x.seconds, x.announcedPeak, x.requested = 0, 0, 0, 0
	x.servers.Reset()
	in.Frame, in.SourceSketch = first.Frame, &x.servers
	for sec := first.Sec; sec <= b.Now; sec++ {
		x.addSecond(x.At(sec))
	}
	x.describe(b)
	x.announcedPeak = in.Peak
	x.trial = b.advisor.Try(in)
	b.announce(in, Begins)
}

// addSecond adds a second to the sums; nil is one without replies.
func (x *victim) addSecond(b *measure.ReceiverSecond) {
	if b == nil {
		return
	}
	in := x.in
	in.Replies += uint64(b.Unrequested)
	in.BytesIn += b.Bytes
	in.Peak = max(in.Peak, float64(b.Unrequested))
	x.requested += uint64(b.Requested)
	x.packets += float64(b.Unrequested)
	x.seconds++
}

// updateIncident adds the second that ends to the open incident if it qualifies, and closes
// the incident when none has for the quiet time.
func (x *victim) updateIncident(b *book) {
	in := x.in
	mean := measure.Share(x.packets, x.seconds)
	if rate := float64(x.Sum(b.Now, 3).Unrequested) / 3; rate < liveShare*max(b.lim.VictimRate, mean) {
		if x.isActive {
			x.isActive, x.pauseStart = false, b.Now
		}
		if b.isQuiet(x.lastSec) {
			x.closeIncident(b)
		}
		return
	}
	if !x.isActive && b.Now-x.pauseStart >= pulseGap {
		in.Pulses++
		x.countedTo = b.Now - 2 // the second before may have its begin
	}
	x.isActive, x.lastSec = true, b.Now
	if one := x.At(b.Now); one != nil && float64(one.Unrequested) >= x.minSecond(b, mean) {
		x.countUpTo(b)
	}
	if in.Peak < 2*x.announcedPeak {
		x.MergeServers(&x.servers)
		return
	}
	x.announcedPeak = in.Peak
	x.describe(b)
	b.announce(in, Changes)
}

// minSecond returns how many replies a second has at least to be counted: the share of the mean
// that continues the incident, or, after one that was counted, what it takes to begin to watch a
// host. The mean is of three seconds, so that the calm ones after a flood continue it as well.
func (x *victim) minSecond(b *book, mean float64) float64 {
	if x.countedTo == b.Now-1 {
		return promoteSecond
	}
	return liveShare * max(b.lim.VictimRate, mean)
}

// countUpTo adds the seconds after the last one that was counted up to the one that ends, which is
// the end of the incident so far.
func (x *victim) countUpTo(b *book) {
	for sec := max(x.countedTo+1, b.Now-measure.BinSeconds+1); sec <= b.Now; sec++ {
		x.addSecond(x.At(sec))
	}
	x.countedTo, x.lastEnd = b.Now, b.secondEnd()
}

func (x *victim) describe(b *book) {
	in := x.in
	x.MergeServers(&x.servers)
	x.updateTotals(b.secondEnd())
	in.Weight = b.weigh(victimScore, false)
	if !x.HasAsked {
		in.Weight.Value = min(in.Weight.Value, weightVictim)
	}
	b.busiest = x.Busiest(b.busiest)
	in.Top = appendTop(in.Top[:0], b.busiest, false)
	replies, _, _ := x.Senders()
	in.TopFrom, in.TopTo, in.TopOf = b.secondEnd()-x.windowNanos(b), b.secondEnd(), uint64(replies)
	if !x.HasAsked {
		in.Missing = append(in.Missing[:0], "unsol")
	}
	x.writeEvidence(b.secondEnd())
}

// writeEvidence writes the evidence of the incident, which goes on or ends at end.
func (x *victim) writeEvidence(end int64) {
	in := x.in
	s := sentences(in.Evidence[:0])
	whole := s.within(span{in.Start, end})
	seconds := max(float64(end-in.Start)/1e9, 1)
	whole.add("%s/s, %s/s, from %s to %s", digits.Counted(uint64(in.Mean+0.5), "reply", "replies"), bytesOf(uint64(float64(in.BytesIn)/seconds)),
		plural("server", in.Sources), x.Addr.Addr())
	if x.HasAsked {
		whole.add("%s of %s answer no request of this host", percent(measure.Share(float64(in.Replies), float64(in.Replies+x.requested))), digits.Counted(in.Replies+x.requested, "reply", "replies"))
	} else {
		whole.add("none of them answers a request that was captured")
	}
	s.within(span{in.TopFrom, in.TopTo}).addBusiest(in, digits.Counted(in.TopOf, "reply", "replies"))
	in.Evidence = s
}

// windowNanos returns how long the window of the sketches is.
func (x *victim) windowNanos(b *book) int64 {
	return int64(b.Now%measure.PaneSeconds+1+measure.PaneSeconds) * int64(time.Second)
}

// victimScore is the score of a verdict whose conditions all hold.
const victimScore = 5

// updateTotals fills in the mean rate and the number of servers of the incident so far.
func (x *victim) updateTotals(end int64) {
	x.in.setMean(end)
	x.in.Sources, x.in.SourcesError = x.servers.Count(), sketch.DistinctError
}

func (x *victim) closeIncident(b *book) {
	b.setEnd(x.in, x.lastEnd, ofReplies)
	x.concludeTrial(b, x.in.End)
	b.closeIncident(x.in, ofReplies)
	x.in, x.floodStreak = nil, 0
}

// concludeTrial fills in the final figures and writes the final advice.
func (x *victim) concludeTrial(b *book, end int64) {
	x.updateTotals(end)
	x.writeEvidence(end)
	b.concludeTrial(x.in, x.trial, !x.HasAsked)
	x.trial = nil
}

// finish announces the incidents that are open when the capture ends.
func (v *victims) finish() {
	for _, x := range v.heavy {
		switch {
		case x.in == nil:
		case !x.isActive:
			x.closeIncident(v.book)
		default:
			x.countUpTo(v.book)
			x.concludeTrial(v.book, v.captureEnd())
			v.announce(x.in, Ends)
			x.in = nil
		}
	}
}

const (
	// limit: lightVictims is how many hosts that get replies without a request are counted coarsely,
	// heavyVictims how many are watched closely, 108 KiB each.
	lightVictims = 1024
	heavyVictims = 16
)
