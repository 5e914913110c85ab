package flood

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"qsniff/internal/base/lru"
	m "qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// servers holds the servers that get requests. All are counted coarsely first; one with many
// requests is watched closely.
type servers struct {
	*book
	fullSince int32 // the last second in which there was no room for one more
	// noneIdleSince is the same for servers that isOwn names and that are not busy.
	noneIdleSince int32
	heavy         []*watched
	marks         [heavyTargets]uint64 // of heavy
	index         [markPlaces]uint8    // hash table with open addressing: 1 + the number in heavy; 0: free
	maxHeavy      int                  // how many of heavy there may be
	hasTrial      bool                 // one of heavy has
	light         *lru.Table[track.End, lightServer]
	hasLost       bool // one that was busy was evicted from light
	// isOwn reports whether a server is watched closely from its first request on; nil: none is.
	isOwn func(netip.AddrPort) bool
}

// lightServer counts the requests to a server that is not watched closely. Times are in
// seconds of the clock.
type lightServer struct {
	sec           int32
	count         uint32 // in that second
	firstAsked    int32  // second in which it was asked first
	inPane        uint32 // in these ten seconds
	echoes        uint32 // those of them that bring a challenge to a server that gives some: no queries
	paneStart     int32
	rateBefore    float64 // rate of the ten seconds before
	lastSent      int32   // when it answered; 0: never
	lastChallenge int32   // when it gave a challenge; 0: never
	strangeSec    int32
	strange       uint32 // datagrams of no session in that second
}

// A server, or a host that gets replies, is watched closely from these rates on. No monitor
// reaches them; 30 in ten seconds is the most that engines answer to one source by default
// (sv_max_queries_sec 3).
const (
	promoteSecond = 10 // packets in a second
	promoteTen    = 30 // in ten
)

// find returns the server at an end if it is watched closely, else nil. Who chooses addresses
// that collide makes it compare all of them.
func (x *servers) find(h *track.Host, port uint16) *watched {
	mark := markOf(h, port)
	for at := placeOf(mark); x.index[at] != 0; at = (at + 1) % markPlaces {
		i := x.index[at] - 1
		if x.marks[i] != mark {
			continue
		}
		if w := x.heavy[i]; w.End.Port == port && w.End.Host == *h {
			return w
		}
	}
	return nil
}

// setMark records where number i of heavy is now.
func (x *servers) setMark(i int) {
	e := &x.heavy[i].End
	x.marks[i] = markOf(&e.Host, e.Port)
	clear(x.index[:])
	for i := range x.heavy {
		at := placeOf(x.marks[i])
		for x.index[at] != 0 {
			at = (at + 1) % markPlaces
		}
		x.index[at] = uint8(i) + 1
	}
}

// markPlaces is four places for each server, so that one that is not among them is known after
// one or two.
const markPlaces = 4 * heavyTargets

func placeOf(mark uint64) int { return int(mark * 0x9e3779b97f4a7c15 >> 32 % markPlaces) }

// receiver returns the server to which a packet went, as find does.
func (x *servers) receiver(s *track.Sighting) *watched { return x.find(&s.Dst, s.DstPort) }

// sender returns the server that sent a packet, as find does.
func (x *servers) sender(s *track.Sighting) *watched { return x.find(&s.Src, s.SrcPort) }

// markOf returns what distinguishes an end from most others: in IPv4 from all, in IPv6 from
// those with another interface identifier.
func markOf(h *track.Host, port uint16) uint64 {
	return binary.BigEndian.Uint64(h[8:]) ^ uint64(port)<<48
}

// countPacket counts a packet to a server that is not watched closely, and returns how many
// came in these ten seconds. If that makes it worth watching closely and there is room, it
// returns the server, else nil. hasKey reports whether the packet brings a challenge.
func (x *servers) countPacket(e track.End, hash uint64, n uint32, hasKey bool) (w *watched, inPane uint32) {
	l := x.light.Get(e)
	if l == nil {
		var gone *lru.Evicted[track.End, lightServer]
		l, gone = x.light.Put(e)
		x.hasLost = x.hasLost || gone != nil && gone.Val.isMissed(x.Now)
		*l = lightServer{sec: x.Now, paneStart: x.Now, firstAsked: x.Now}
	}
	isBusy := l.countPackets(n, x.Now)
	if hasKey && l.lastChallenge != 0 {
		l.echoes += n
	}
	inPane = l.inPane
	if isBusy || l.count == n && x.isOwn != nil && x.isOwn(e.AddrPort()) {
		w = x.promote(e, hash, l, isBusy)
	}
	return w, inPane
}

// countPackets counts n packets in the second at hand, and reports whether there are enough
// to watch closely.
func (l *lightServer) countPackets(n uint32, now int32) (isBusy bool) {
	if l.sec != now {
		l.sec, l.count = now, 0
	}
	if now-l.paneStart >= m.PaneSeconds {
		l.rateBefore = 0
		if now-l.paneStart < 2*m.PaneSeconds {
			l.rateBefore = float64(l.inPane-l.echoes) / m.PaneSeconds
		}
		l.inPane, l.echoes, l.paneStart = 0, 0, now
	}
	l.count += n
	l.inPane += n
	return l.count >= promoteSecond || l.inPane >= promoteTen
}

// isAsked reports whether the receiver of a packet is a server that gets requests.
func (x *servers) isAsked(s *track.Sighting) bool {
	return x.receiver(s) != nil || x.light.Peek(s.To()) != nil
}

// isMissed reports whether what was counted costs something if it is evicted: the server was about to be
// watched closely. One that was asked once or twice, as by a scan, is not.
func (l *lightServer) isMissed(now int32) bool {
	return now-l.paneStart < m.PaneSeconds && l.inPane >= promoteSecond/2
}

// countStrange counts a datagram of no session to a server that is not watched closely and has answered
// queries. If that makes it worth watching closely and there is room, it returns the server, else nil.
func (x *servers) countStrange(s *track.Sighting) *watched {
	l := x.light.Peek(s.To())
	if l == nil || l.lastSent == 0 {
		return nil
	}
	if l.strangeSec != x.Now {
		l.strangeSec, l.strange = x.Now, 0
	}
	if l.strange += s.Count(); l.strange < promoteSecond {
		return nil
	}
	return x.promote(s.To(), s.ToHash(), l, true)
}

// recordReply notes when a server that is not watched closely sent a reply or a challenge.
// It reports whether the server is known because it was asked.
func (x *servers) recordReply(e track.End, isChallenge bool) bool {
	l := x.light.Peek(e)
	if l == nil {
		return false
	}
	l.lastSent = x.Now
	if isChallenge {
		l.lastChallenge = x.Now
	}
	return true
}

// promote begins to watch a server closely, with the baseline and the times that were counted
// coarsely. It returns nil if there is no room; that is tried once a second.
func (x *servers) promote(e track.End, hash uint64, l *lightServer, isBusy bool) *watched {
	full := &x.fullSince
	if !isBusy {
		full = &x.noneIdleSince
	}
	i := len(x.heavy)
	switch {
	case i < x.maxHeavy:
		x.heavy = append(x.heavy, newWatched(x.key))
	case *full == x.Now: // there was no room in this second
		return nil
	case isBusy:
		i = x.findLeastBusy(l.inPane)
	default:
		i = x.findIdle()
	}
	if i < 0 {
		*full = x.Now
		return nil
	}
	w := x.heavy[i]
	w.evict(x.book)
	w.reset(e, hash, x.Now)
	x.setMark(i)
	w.StartFrom(l.rateBefore)
	w.Born, w.LastSent, w.LastChallenge = l.firstAsked, l.lastSent, l.lastChallenge
	x.light.Delete(e)
	return w
}

// findLeastBusy returns the index of the server to evict for one with count packets in ten
// seconds: the least busy one without an open incident, if it has less than half of count;
// else -1.
func (x *servers) findLeastBusy(count uint32) int {
	least, number := count/2, -1
	for i, w := range x.heavy {
		if w.isBusy(x.book) {
			continue
		}
		if n := w.CountAsked(x.Now, m.PaneSeconds); n < least {
			least, number = n, i
		}
	}
	return number
}

// findIdle returns the index of a server of which no second is kept, without an open incident;
// else -1.
func (x *servers) findIdle() int {
	return slices.IndexFunc(x.heavy, func(w *watched) bool {
		return x.Now-w.LastAsked > m.BinSeconds && !w.isBusy(x.book)
	})
}

// judgeSecond judges the second that ends at each server that is watched closely.
func (x *servers) judgeSecond(rules *rulebook) {
	x.hasTrial = false
	for _, w := range x.heavy {
		if x.Now-w.LastAsked <= m.BinSeconds || w.hasIncident() { // otherwise nothing changes
			w.judgeSecond(x.book, rules)
		}
		x.hasTrial = x.hasTrial || w.hasTrial()
	}
}

// rollPanes begins new panes in the second that begins.
func (x *servers) rollPanes() {
	for _, w := range x.heavy {
		w.TurnPane(x.Now)
	}
}

// finish announces the incidents that are open when the capture ends.
func (x *servers) finish() {
	for _, w := range x.heavy {
		w.finish(x.book)
	}
}

// watched is a server that is watched closely: its measurements, and the course of each
// family of its traffic.
type watched struct {
	m.Server
	watch
	members *members // of a network: its servers
}

// watch is what is known of the server that is watched now.
type watch struct {
	features    m.Features
	burstStreak uint8   // seconds in a row above the burst rate
	drift       float64 // queries above a slowly raised baseline, added up
	courses     [serverFamilies]course
	amplifier   amplifier
	trials      [serverFamilies]Trial // the first numTrials: those of courses
	numTrials   int

	network  *network // of a server: that it is in, if that is watched closely; as of netEpoch
	netEpoch int32
}

func newWatched(k m.Key) *watched {
	w := &watched{}
	w.Init(k)
	return w
}

// reset makes w the watch of another server, and keeps its memory.
func (w *watched) reset(e track.End, hash uint64, now int32) {
	w.Reset(e, hash, now)
	w.watch = watch{netEpoch: -1}
	for i := range w.courses {
		w.courses[i].family = family(i)
	}
}

// hasIncident reports whether an incident is open at the server.
func (w *watched) hasIncident() bool {
	for i := range w.courses {
		if w.courses[i].in != nil {
			return true
		}
	}
	return false
}

// hasOther reports whether another course than c has an open incident.
func (w *watched) hasOther(c *course) bool {
	for i := range w.courses {
		if o := &w.courses[i]; o != c && o.in != nil {
			return true
		}
	}
	return false
}

// judgeSecond judges the second that ends: it applies a verdict to each family of traffic,
// and lets the baseline follow the rate where nothing but a crowd is going on.
func (w *watched) judgeSecond(b *book, rules *rulebook) {
	f := &w.features
	s := serverSecond{b, &w.Server, f, w}
	hasAlarm, isCalm := w.judgeQueries(&s, rules)
	oneWay := w.IsOneWay(b.Now)
	w.LacksPackets = b.lacksPackets()
	w.MeasureJunk(f, b.Now, hasAlarm && !isCalm || w.courses[ofQueries].in != nil)
	junk := rules.judgeJunk(f)
	w.limitVerdict(&junk, f, b.Now)
	junk.weight = b.weigh(junk.score, oneWay)
	w.courses[ofJunk].applyVerdict(&s, junk, junk.rate)
	w.MeasureGuesses(f, b.Now)
	guesses := rules.judgeGuesses(f)
	w.limitVerdict(&guesses, f, b.Now)
	guesses.weight = b.weigh(guesses.score, oneWay)
	w.courses[ofGuesses].applyVerdict(&s, guesses, guesses.rate)
	if w.courses[ofQueries].in == nil && w.courses[ofGuesses].in == nil && (!hasAlarm || isCalm) {
		w.Learn(b.Now)
	}
	w.numTrials = 0
	for i := range w.courses {
		t := w.courses[i].trial
		if l := w.courses[i].leader; t == nil && l != nil && l.in != nil && l.in.ID == w.courses[i].leaderID {
			t = l.trial // what comes here is part of that
		}
		if t != nil {
			w.trials[w.numTrials] = t
			w.numTrials++
		}
	}
}

// judgeQueries applies the verdict on queries to the courses of attacks and of load. It
// computes features only for an alarm, a streak or an open incident. It reports whether
// there was an alarm, and whether the verdict was a note or none.
func (w *watched) judgeQueries(s *serverSecond, rules *rulebook) (hasAlarm, isCalm bool) {
	hasAlarm, isLoud := w.checkAlarm(s.book)
	attacks, load := &w.courses[ofQueries], &w.courses[ofLoad]
	three := float64(w.Sum(s.Now, 3).Queries) / 3
	v := verdict{rate: float64(w.Sum(s.Now, 1).Queries)}
	if hasAlarm || attacks.in != nil || load.in != nil || attacks.streak.warnings > 0 || load.streak.notes > 0 {
		f := s.features
		w.Measure(f, s.Now, w.limits(s.book))
		w.countSourcesOnce(f)
		if hasAlarm || attacks.in != nil {
			v = rules.judgeQueries(f)
			w.judgeSpray(&v, f)
			v.weight = s.weigh(v.score, f[m.OneWay] > 0)
			w.limitVerdict(&v, f, s.Now)
		}
		if f[m.RateNow] <= tailShare*w.judgedRate(f) && attacks.in == nil {
			v.kind = NoKind
		}
	}
	attack, note := v, v
	isCalm = v.kind.Level() == Info
	if isCalm || !hasAlarm && attacks.in == nil {
		attack.kind = NoKind
	}
	if !isCalm || !isLoud || three < s.lim.SlowRate {
		note.kind = NoKind
	}
	note.judged = note.kind
	attacks.applyVerdict(s, attack, three)
	load.applyVerdict(s, note, three)
	return hasAlarm, isCalm
}

// tailShare is the share of the rate that a verdict rests on below which a second is the tail
// of something that is over, as is one without queries after ten without.
const tailShare = 0.3

// judgedRate returns the highest mean rate of those times that a verdict rests on: ten
// seconds, the window of the sketches, and a minute, in which challenges come back.
func (w *watched) judgedRate(f *m.Features) float64 {
	_, inWindow := w.BusiestCount()
	return max(f[m.Rate10], f[m.Rate60], float64(inWindow)/f[m.Window])
}

// checkAlarm reports whether the second that ends asks for a verdict on the queries. It is
// cheap, and crowds raise an alarm as well as attacks. isLoud reports whether the alarm is
// about the present rate, and not about queries added up, or one source.
func (w *watched) checkAlarm(b *book) (hasAlarm, isLoud bool) {
	lim := &b.lim
	sum := w.Sum(b.Now, 10)
	one, ten := float64(w.Sum(b.Now, 1).Queries), float64(sum.Queries)/10
	if w.IsTooFew(sum.Queries) {
		one, ten = 0, 0
	}
	if one >= max(lim.BurstRate, lim.BurstFactor*w.Base) {
		w.burstStreak = min(w.burstStreak, 250) + 1
	} else {
		w.burstStreak = 0
	}
	if w.courses[ofQueries].in != nil { // there is no need for an alarm
		w.drift = 0
	} else if b.Now%10 == 0 {
		usual := w.Usual() // from the first seconds on, so that what always came is no rise
		w.drift = min(max(0, w.drift+10*(ten-usual-max(2, usual/2))), 2*lim.DriftSum)
	}
	most, all := w.BusiestCount()
	isLoud = w.burstStreak >= 2 || one >= max(lim.SurgeRate, lim.SurgeFactor*w.Base) || ten >= max(lim.SlowRate, lim.SlowFactor*w.Base)
	return isLoud || w.drift > lim.DriftSum || most >= lim.LonePackets && 2*most >= all && ten >= lim.ReflectRate, isLoud
}

// hasTrial reports whether one of the courses has a trial.
func (w *watch) hasTrial() bool { return w.numTrials > 0 }

// applyTrials applies the rules that are tried for the server's incidents to a packet to or
// from it.
func (w *watched) applyTrials(s *track.Sighting, proven bool) {
	if s.IsSample() { // limits act on what is between samples
		return
	}
	for _, t := range w.trials[:w.numTrials] {
		t.Apply(s, proven)
	}
}

// finish announces the incidents that are open when the capture ends.
func (w *watched) finish(b *book) {
	s := serverSecond{b, &w.Server, &w.features, w}
	for i := range w.courses {
		w.courses[i].finish(&s)
	}
}

const (
	// limit: lightTargets is how many servers are counted coarsely. An attacker who sends to random
	// addresses evicts the oldest.
	lightTargets = 8192
	// limit: heavyTargets is how many servers are watched closely, 240 KiB each. A busier server evicts
	// the least busy one without an open incident. Smaller sizes have fewer, but at least leastTargets.
	heavyTargets = 64
	leastTargets = 8
)
