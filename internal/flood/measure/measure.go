// Package measure counts the packets of one server that is watched closely, and turns
// each second of them into features: the numbers on which package flood decides whether
// the server is attacked. It decides nothing itself and has no incidents.
//
// Each sighting is counted in three places:
//
//	seconds   how many packets of each sort came, for the last BinSeconds (server.go)
//	panes     who sent them and what they look like: sketches of PaneSeconds each. The
//	          window that features cover is the current pane and the previous one, 10 to
//	          20 s (pane.go)
//	claims    which sources were given a challenge and brought it back: the one proof of
//	          an address that the protocols have (claims.go)
//
// When a second ends, Server.Measure computes the features (measure.go) and
// Server.Learn moves the baseline towards that second (server.go). feature.go names the
// features. Receiver does the same for a host that gets replies it did not request
// (receiver.go).
//
// State has fixed bounds: no number of addresses makes any of it grow.
package measure

import (
	"math"
	"slices"

	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// The seconds over which the share of challenged sources that brought the challenge back
// is counted: more of them where few queries come, so that a share rests on enough
// sources. Chosen.
const (
	echoDelay        = 1 // seconds from a challenge to its echo; younger seconds are not counted
	completionWindow = 10
	slowWindow       = 50 // below slowRate queries/s
	slowRate         = 50
	// quickWindow seconds are enough where quickChallenged sources were challenged
	// in them.
	quickWindow     = 3
	quickChallenged = 150
)

// Once a server is known for habitAge seconds, the sources that it usually challenges are
// subtracted if crowdFactor times as many as usual are challenged, and at least
// minChallenged: regular clients must not hide that the others complete nothing. Chosen:
// well above the variation of an ordinary minute.
const (
	habitAge      = 60
	crowdFactor   = 1.5
	minChallenged = 60
)

// unknown is the value of a feature that this capture cannot give.
var unknown = math.NaN()

// Measure computes the features of the second that ends, except those of junk and
// guesses.
func (t *Server) Measure(f *Features, now int32, limits Limits) {
	*f = Features{Base: t.Base}
	one, three, ten := t.Sum(now, 1), t.Sum(now, 3), t.Sum(now, 10)
	f[RateNow], f[Rate3], f[Rate10] = float64(one.Queries), float64(three.Queries)/3, float64(ten.Queries)/10
	f[Rate60] = float64(t.Sum(now, 60).Queries) / 60
	if t.IsTooFew(ten.Queries) {
		f[RateNow], f[Rate3], f[Rate10], f[Rate60] = 0, 0, 0, 0
	}
	f[Answered], f[Gain], f[Unreach] = unknown, unknown, unknown
	if t.IsOneWay(now) {
		f[OneWay] = 1
	} else {
		f[Answered] = Share(float64(ten.Replies), float64(ten.Packets))
		f[Gain] = Share(float64(ten.BytesOut), float64(ten.BytesIn))
		f[Unreach] = Share(float64(ten.Unreachable), float64(ten.Replies))
		if one.Replies > 0 && t.Sum(now-1, 1).Replies > 0 && t.Sum(now-2, 1).Replies > 0 && 2*three.Replies < three.Packets {
			f[Refusing] = 1
		}
	}
	echoed := t.Sum(now-echoDelay, 10)
	f[EchoLike] = Share(float64(echoed.Followed), float64(echoed.Plain))
	f[Proven], f[Keyed] = Share(float64(ten.Proven), float64(ten.Queries)), float64(ten.WithChallenge)/10
	t.measureWindow(f, now)
	t.measureCompletion(f, now)
	t.measureCrowd(f, now, limits)
	if t.IsSampled() { // proofs are two packets of one source, of which samples show hardly any
		f[Proven], f[EchoLike], f[Completion], f[Echoed] = unknown, 0, unknown, unknown
	}
	f[Pace] = unknown
	if b := t.At(now); b != nil {
		if d, ok := b.dispersion(); ok {
			f[Pace] = d
		}
	}
}

// measureCompletion sets the features of challenged sources: how many they are and which
// share of them brought the challenge back.
func (t *Server) measureCompletion(f *Features, now int32) {
	f[Completion], f[Echoed] = unknown, unknown
	n := int32(completionWindow)
	if f[Rate10] < slowRate {
		n = slowWindow
	}
	s := t.Sum(now-echoDelay, n)
	if quick := t.Sum(now-echoDelay, quickWindow); quick.Challenged >= quickChallenged {
		s, n = quick, quickWindow // so that earlier seconds do not dilute an attack
	}
	f[Challenged] = float64(s.Challenged)
	f[ChallengedShare] = Share(f[Challenged], f[Sources])
	if s.Challenged > 0 {
		f[EachRate] = f[Each] / max(f[Window], 1)
	}
	if t.LastChallenge == 0 || s.Challenged == 0 {
		return
	}
	f[Completion] = Share(float64(s.Echoed), float64(s.Challenged))
	f[Echoed] = f[Completion]
	h, k := &t.habit, float64(n)
	if now-t.Born < habitAge || s.Challenged < minChallenged || float64(s.Challenged) < crowdFactor*k*h.challenged {
		return
	}
	added := max(0, Share(float64(s.Echoed)-k*h.echoed, float64(s.Challenged)-k*h.challenged))
	f[Echoed] = min(f[Completion], added)
}

// measureWindow sets the features that come from the sketches of the window.
func (t *Server) measureWindow(f *Features, now int32) {
	a, b := &t.panes[0], &t.panes[1]
	f[Window] = float64(t.WindowSeconds(now))
	queries := float64(a.queries + b.queries)
	f[Sources] = sketch.CountOfTwo(&a.sources[Queries], &b.sources[Queries])
	f[Sites] = sketch.CountOfTwo(&a.sites, &b.sites)
	f[SiteShare] = Share(f[Sites], f[Sources])
	f[Each] = Share(queries, f[Sources])
	f[Low] = Share(float64(a.lowPorts+b.lowPorts), queries)
	f[Alien] = Share(float64(a.impossible+b.impossible), queries)
	// Where sources are invented, local addresses at a public server are, too.
	if scopeOf(&t.End.Host) == public && a.local+b.local > 0 && f[Alien] > 0 {
		f[Alien] = Share(float64(a.impossible+b.impossible+a.local+b.local), queries)
	}
	odd, most := uint32(0), uint32(0)
	for ttl := range a.ttls {
		n := a.ttls[ttl] + b.ttls[ttl]
		if n > most {
			most, f[TTL] = n, float64(ttl)
		}
		if !isUsualTTL(ttl) {
			odd += n
		}
	}
	f[TTL1], f[TTLX] = Share(float64(most), queries), Share(float64(odd), queries)
	port, n, of := mostCommon(&a.ports, &b.ports)
	f[Port], f[Port1], f[PortQueries] = float64(port), Share(float64(n), float64(of)), float64(of)
	own := uint32(t.End.Port)
	f[ServersPort] = Share(float64(a.ports.CountOf(own)+b.ports.CountOf(own)), float64(of))
	_, n, of = mostCommon(&a.prints, &b.prints)
	f[Print1], f[PrintQueries] = Share(float64(n), float64(of)), float64(of)
	f[WindowQueries] = queries
}

// WindowSeconds returns how many seconds the sketches cover.
func (t *Server) WindowSeconds(now int32) int32 {
	n := now - t.currentPane().start + 1
	if t.previousPane().queries > 0 {
		n += PaneSeconds
	}
	return n
}

// isUsualTTL reports whether packets of common systems arrive with that time to live:
// they leave with 64, 128 or 255. Chosen: a path has at most 34 hops.
func isUsualTTL(ttl int) bool {
	return ttl >= 30 && ttl <= 64 || ttl >= 94 && ttl <= 128 || ttl >= 221
}

// mostCommon returns the commonest value of two panes, a lower bound of how often it
// came, and how many values were counted.
func mostCommon(a, b *sketch.Dominant) (value, count, all uint32) {
	x, n, i := a.Leader()
	y, m, j := b.Leader()
	n, m = n+b.CountOf(x), m+a.CountOf(y)
	if m > n {
		return y, m, i + j
	}
	return x, n, i + j
}

// minStrange is the number of datagrams a second outside of any known session from which
// on they count as junk: the default of junk_rate. Chosen: a player who joins the game sends fewer before
// the server answers.
const minStrange = 20

// usualQueries is how many times the usual rate of queries are usual: the slow_factor
// from which on queries raise an alarm.
const usualQueries = 4

// HasJustSent reports whether the server sent something in the last seconds: datagrams of no session to one that
// is silent may be those of players who wait for it.
func (t *Server) HasJustSent(now int32) bool { return t.LastSent > 0 && now-t.LastSent < 10 }

// MeasureJunk sets the features of junk: datagrams that no protocol recognizes.
// Where queries are a flood of their own, it is compared with those that are usual.
func (t *Server) MeasureJunk(f *Features, now int32, isFlooded bool) {
	one, ten := t.Sum(now, 1), t.Sum(now, 10)
	countJunk := func(b *Second, seconds uint32) float64 {
		n := float64(b.Junk)
		if t.HasJustSent(now) && b.Strange >= minStrange*seconds {
			n += float64(b.Strange)
		}
		return n
	}
	n, n10 := countJunk(&one, 1), countJunk(&ten, 10)
	if t.IsTooFew(uint32(n10)) {
		n, n10 = 0, 0
	}
	f[JunkNow], f[JunkMean] = n, n10/10
	usual := math.Inf(1)
	if isFlooded { // by queries, which hide no junk
		usual = max(usualQueries*t.Usual(), 1)
	}
	f[JunkShareNow] = Share(n, n+min(float64(one.Packets), usual))
	f[JunkShareMean] = Share(n10, n10+min(float64(ten.Packets), 10*usual))
}

// Sources that bring a challenge which the capture did not show count as guessers from
// minOrphans a second and orphansFactor times the usual number on: fewer are clients that
// got the challenge on an earlier visit. Chosen.
const (
	minOrphans    = 20
	orphansFactor = 4
)

// takesUnissued reports whether a challenge that the capture did not show may well be valid:
// the capture lacks packets, or shows no challenge of this server, or the first one less than FreshFor ago, and
// the server does not refuse most of those that are brought.
func (t *Server) takesUnissued(now int32) bool {
	if t.LastChallenge == 0 || t.LacksPackets {
		return true
	}
	if now-t.FirstChallenge >= FreshFor {
		return false
	}
	three := t.Sum(now, 3)
	return three.Guesses < minOrphans || 2*three.Guesses < three.Guesses+three.Orphans
}

// CountGuesses returns how many requests with a challenge that was never issued came in some
// seconds until now, whose sum is s. Orphans are some of them if they are too many for clients.
func (t *Server) CountGuesses(s *Second, seconds float64, now int32) float64 {
	if t.IsSampled() { // that a challenge was issued is hardly among the samples
		return 0
	}
	n := float64(s.Guesses)
	if float64(s.Orphans) >= max(minOrphans, orphansFactor*t.habit.orphans)*seconds && !t.takesUnissued(now) {
		n += float64(s.Orphans)
	}
	return n
}

// MeasureGuesses sets the features of guesses: requests with a challenge that was never
// issued.
func (t *Server) MeasureGuesses(f *Features, now int32) {
	one, three, ten := t.Sum(now, 1), t.Sum(now, 3), t.Sum(now, 10)
	n3, n10 := t.CountGuesses(&three, 3, now), t.CountGuesses(&ten, 10, now)
	f[GuessesNow] = t.CountGuesses(&one, 1, now)
	f[Guesses3], f[Guesses10] = n3, n10/10
	f[GuessShare3], f[GuessShare10] = Share(n3, max(float64(three.WithChallenge), n3)), Share(n10, max(float64(ten.WithChallenge), n10))
}

// Limits are the queries/s from which on a source is too fast to be a client: Unproven
// for one that did not prove its address, Proven for one that did. What a Server counts may
// be a network of several Servers: a source is compared with what one of them gets from it on
// average, because a monitor of eighty servers sends eighty times as much as that of one.
type Limits struct {
	Unproven, Proven float64
	Servers          float64 // how many servers share what a source sends; 0: one
}

// servers returns Servers, at least one.
func (l *Limits) servers() float64 { return max(l.Servers, 1) }

// A source that was challenged and keeps asking without the challenge, faster than servers
// answer one source (sv_max_queries_sec is 3 by default) and for longer than clients retry,
// has no use for an answer.
const (
	StubbornRate = 3
	StubbornFor  = 5 // seconds
)

// A source keeps asking from repeatRate queries/s and minRepeats queries on: four queries
// in the shortest window, which is ten seconds. Chosen: a client asks twice or three times
// per visit.
const (
	repeatRate = 0.33
	minRepeats = 4
)

// A proven source is keen if it goes on asking for KeenFor seconds at KeenRateLeast queries/s: 30 in a
// minute. Clients of server browsers ask one to three times in a visit, and the refresh of a list that
// does not answer is repeated for four seconds or so; monitors of one server ask once in ten seconds or
// more. All from simulated clients, and from what tools have as their defaults (TCAdmin asks every 300 s). In
// pulses it needs keenAtOnce queries in the window: five visits at once.
const (
	KeenRateLeast = 0.5
	KeenFor       = 5
	keenAtOnce    = 16
)

// sharedFactor is how many times the limit of one client an address may ask that looks
// like that of many. Chosen.
const sharedFactor = 3

// crowd adds up the queries of the busiest sources of the window, by how the sources behave.
type crowd struct {
	limits             Limits
	network            track.Host // of the server
	weight             float64    // how many packets one stands for
	now                int32
	leading            [16]BusyHost
	numLeading         int
	listed, proven     float64     // queries of the sources; of the proven ones in leading
	hot, heavy         float64     // queries of sources above their own limit; above Limits.Unproven
	keen, keenRate     float64     // queries of proven sources that go on asking; their rates, added up
	starved            float64     // queries of sources that keep asking and were sent nothing
	stubborn           float64     // queries of sources that ignore the challenge they were given
	repeats            float64     // queries of sources without proof that keep asking
	ports, portQueries float64     // ports of these, and the queries that the ports are compared with
	bytesIn, bytesOut  float64     // bytes that these sent and were sent
	age                float64     // seconds since the first query of each of these, added up
	ttls               [256]uint16 // how many of these have each time to live
	again, same        float64     // sources that came again, and those whose time to live never changed
	ownTTLs            [256]uint16 // how many of the latter have each
}

// measureCrowd sets the features of the busiest sources.
func (t *Server) measureCrowd(f *Features, now int32, limits Limits) {
	queries := float64(t.panes[0].queries + t.panes[1].queries)
	c := crowd{limits: limits, network: PrefixOf(&t.End.Host), now: now, weight: float64(max(t.weight, 1))}
	eachBusy(t.currentPane().top[Queries], t.previousPane().top[Queries], func(x BusyHost) {
		c.listed += float64(x.Low)
		c.keepLeading(&x)
		if x.Low >= againLeast {
			c.again++
			if x.Activity.ttlChanges == 0 {
				c.same++
				c.ownTTLs[x.Activity.TTL]++
			}
		}
		c.addSource(f, &x)
	})
	c.measureLeading(f, queries)
	f[TopProven] = Share(c.proven, min(c.listed, f[Top16]*queries))
	f[Hot], f[Stubborn] = Share(c.hot, queries), Share(c.stubborn, queries)
	// A source that the server refuses everything cannot prove its address: it does not count.
	f[Keen], f[KeenRate] = Share(c.keen, queries-c.starved), Share(c.keenRate, f[KeenCount])
	if f[Each] >= minRepeats { // of more sources than are listed, those that are stand for all
		f[Keen] = max(f[Keen], Share(c.keen, c.listed-c.starved))
	}
	f[GainTop] = f[Gain]
	if c.bytesIn > 0 && f[OneWay] == 0 {
		f[GainTop] = c.bytesOut / c.bytesIn
	}
	f[Heavy], f[Repeat] = Share(c.heavy, queries), Share(c.repeats, queries)
	f[PortsEach], f[Push] = Share(c.ports, c.portQueries), Share(c.repeats, c.age)
	if most := float64(slices.Max(c.ownTTLs[:])); c.again >= minAgain && most <= 0.5*c.same {
		f[OwnTTL] = c.same / c.again
	}
	f[RepeatTTL] = Share(float64(slices.Max(c.ttls[:])), f[RepeatCount])
	t.measurePrefixes(f, queries, limits.servers())
	f[EachRate] /= limits.servers()
}

// A source comes again with againLeast queries, and minAgain such sources show how times to live go:
// machines keep theirs and differ from each other, one sender of invented addresses has one for all or
// another one each time. Chosen: three packets with the same of forty usual values by chance are 1 in 1,600.
const (
	againLeast = 3
	minAgain   = 30
)

// portsCounted is the number of ports up to which sketch.Linear256 counts.
const portsCounted = 256

// keepLeading keeps a source if it is one of the busiest so far.
func (c *crowd) keepLeading(x *BusyHost) {
	i := c.numLeading
	switch {
	case i < len(c.leading):
		c.numLeading++
	case x.isBusier(&c.leading[i-1]):
		i--
	default:
		return
	}
	for ; i > 0 && x.isBusier(&c.leading[i-1]); i-- {
		c.leading[i] = c.leading[i-1]
	}
	c.leading[i] = *x
}

// measureLeading sets the features of the leading sources.
func (c *crowd) measureLeading(f *Features, queries float64) {
	sum := 0.0
	for i := range c.leading[:c.numLeading] {
		x := &c.leading[i]
		sum += float64(x.Low)
		if x.isProven() {
			c.proven += float64(x.Low)
		}
		if i == 0 {
			c.measureBiggest(f, x, queries)
		}
		if i < 8 {
			f[Top8] = Share(sum, queries)
		}
	}
	f[Top16] = Share(sum, queries)
}

// measureBiggest sets the features of the busiest source.
func (c *crowd) measureBiggest(f *Features, x *BusyHost, queries float64) {
	n := float64(x.Low)
	f[Top1], f[Biggest], f[BiggestCount] = Share(n, queries), c.weigh(n, x.rate())/c.limits.servers(), n
	f[BiggestPorts] = float64(x.Activity.Ports.Count())
	f[BiggestPortsEach] = Share(f[BiggestPorts], min(n, portsCounted))
	f[BiggestProven] = oneIf(x.isProven())
	f[BiggestNAT] = oneIf(x.looksShared() && f[Biggest] < sharedFactor*c.limits.Unproven)
	if PrefixOf(&x.Addr) == c.network {
		f[BiggestRouters] = float64(routers(x.Activity.TTL))
	}
}

// routers returns how many routers a packet with that time to live crossed at least.
func routers(ttl uint8) uint8 {
	for _, first := range []uint8{64, 128} {
		if ttl <= first {
			return first - ttl
		}
	}
	return 255 - ttl
}

// oneIf returns 1 if yes, else 0.
func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// weigh returns the rate of a source of which n packets came at a rate of samples. One of which fewer
// than minRepeats came may have sent no others.
func (c *crowd) weigh(n, rate float64) float64 {
	if c.weight <= 1 || n < minRepeats {
		return rate
	}
	return rate * c.weight
}

// addSource adds a source, at its rate since its first query, at each server.
func (c *crowd) addSource(f *Features, x *BusyHost) {
	n := float64(x.Low)
	rate := c.weigh(n, x.rateToNow(c.now)) / c.limits.servers()
	limit := c.limits.Unproven
	switch {
	case x.looksShared() && rate < sharedFactor*limit:
		return
	case !x.isProven():
		f[Lead] = max(f[Lead], rate)
	case x.isNAT():
		f[SharedRate] = max(f[SharedRate], rate)
		return
	default:
		c.addKeen(f, x, rate)
		limit = c.limits.Proven
		f[LeadProven] = max(f[LeadProven], rate)
	}
	if rate >= limit {
		c.hot += n
		f[HotRate] += rate
	}
	if rate >= c.limits.Unproven {
		c.heavy += n
		f[HeavyCount]++
	}
	if x.isProven() {
		return
	}
	if f[OneWay] == 0 && x.Activity.challenged > 0 && rate >= StubbornRate && x.Activity.last-x.Activity.First >= StubbornFor {
		c.stubborn += n
		f[StubbornCount]++
	}
	if rate >= repeatRate && n >= minRepeats*c.limits.servers() {
		c.addRepeater(x)
		if x.Activity.bytesOut == 0 {
			c.starved += n
		}
		f[RepeatCount]++
	}
}

// addKeen adds a proven source to those that go on asking, if it does.
func (c *crowd) addKeen(f *Features, x *BusyHost, rate float64) {
	if rate >= KeenRateLeast && x.Activity.last-x.Activity.First >= KeenFor || float64(x.Low) >= keenAtOnce*c.limits.servers() {
		c.keen += float64(x.Low)
		c.keenRate += rate
		f[KeenCount]++
	}
}

// addRepeater adds a source without proof that keeps asking.
func (c *crowd) addRepeater(x *BusyHost) {
	n := float64(x.Low)
	c.repeats += n
	c.age += float64(max(c.now-x.Activity.First+1, 3)) * c.limits.servers()
	c.bytesIn, c.bytesOut = c.bytesIn+float64(x.Activity.bytesIn), c.bytesOut+float64(x.Activity.bytesOut)
	c.ports += float64(x.Activity.Ports.Count())
	c.portQueries += min(n, portsCounted)
	c.ttls[x.Activity.TTL]++
}

// measurePrefixes sets the features of the busiest prefix; servers is how many share what it sends.
func (t *Server) measurePrefixes(f *Features, queries, servers float64) {
	previous := t.previousPane().prefixes
	var most uint32
	t.currentPane().prefixes.Each(func(it *sketch.Item[track.Host, Neighbours], n, _ uint32) {
		x := it.Value
		if v, low, _ := previous.Find(it.Key, t.key.HashPrefix(&it.Key)); v != nil {
			x.hosts.Merge(&v.hosts)
			x.proven += v.proven
			n += low
		}
		if n > most {
			most = n
			f[PrefixHosts], f[PrefixProven] = float64(x.hosts.Count()), Share(float64(x.proven), float64(n))
		}
	})
	f[Prefix] = Share(float64(most), queries)
	f[PrefixRate] = f[Prefix] * max(f[Rate3], f[Rate10]) / servers
}
