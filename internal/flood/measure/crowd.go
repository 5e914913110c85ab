package measure

import (
	"slices"

	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

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
// more. All from simulated clients, and from what tools have as their defaults (TCAdmin asks every 300 s).
const (
	KeenRateLeast = 0.5
	KeenFor       = 5
)

// sharedFactor is how many times the limit of one client an address may ask that looks
// like that of many. Chosen.
const sharedFactor = 3

// crowd adds up the queries of the busiest sources of the window, by how the sources behave.
type crowd struct {
	limits             Limits
	weight             float64 // how many packets one stands for
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
	c := crowd{limits: limits, now: now, weight: float64(max(t.weight, 1))}
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
	if x.Activity.challenged > 0 && rate >= StubbornRate && x.Activity.last-x.Activity.First >= StubbornFor {
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
	if rate >= KeenRateLeast && x.Activity.last-x.Activity.First >= KeenFor {
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
