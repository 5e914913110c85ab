package measure

import (
	"slices"

	"qsniff/flood/sketch"
	"qsniff/track"
)

// Limits are the rates from which on a source is too fast for a client, queries/s: one
// that did not prove its address, and one that did.
type Limits struct{ Unproven, Proven float64 }

// A source that was challenged and asks on without the challenge, faster than servers
// answer anybody (sv_max_queries_sec is 3 by default) and for longer than clients try,
// has no use for an answer.
const (
	StubbornRate = 3
	StubbornFor  = 5 // seconds
)

// A source keeps asking from repeatRate queries/s and repeatLeast queries on: these are
// four in the shortest window.
const (
	repeatRate  = 0.33
	repeatLeast = 4
)

// sharedTimes is how many times the limit of a client an address may ask that looks like
// that of many.
const sharedTimes = 3

// crowd adds up what the sources of the window send, by what they are like.
type crowd struct {
	limits      Limits
	now         int32
	sum, proven float64
	hot, heavy  float64
	stubborn    float64
	repeats     float64 // of sources without proof that keep asking
	ports, each float64 // their ports, and the queries that these are held against
	in, out     float64 // bytes they sent, and got
	since       float64 // seconds since each of them came, added up
	ttls        [256]uint16
}

// lookAtCrowd fills in who asks how much.
func (t *Server) lookAtCrowd(f *Features, now int32, limits Limits, memory *[]Busy) {
	list := t.Busiest(*memory, Queries)
	*memory = list
	queries := float64(t.panes[0].queries + t.panes[1].queries)
	y := crowd{limits: limits, now: now}
	for i := range list {
		x := &list[i]
		y.sum += float64(x.Low)
		y.addLeading(f, x, i, queries)
		if i < 16 && x.Seen.Proven {
			y.proven += float64(x.Low)
		}
		y.add(f, x)
	}
	if len(list) < 8 {
		f[Top8] = Share(y.sum, queries)
	}
	if len(list) < 16 {
		f[Top16] = Share(y.sum, queries)
	}
	f[TopProven] = Share(y.proven, min(y.sum, f[Top16]*queries))
	f[Hot], f[Stubborn] = Share(y.hot, queries), Share(y.stubborn, queries)
	f[GainTop] = f[Gain]
	if y.in > 0 && f[OneWay] == 0 {
		f[GainTop] = y.out / y.in
	}
	f[Heavy], f[Repeat] = Share(y.heavy, queries), Share(y.repeats, queries)
	f[PortsEach], f[Push] = Share(y.ports, y.each), Share(y.repeats, y.since)
	f[RepeatTTL] = Share(float64(slices.Max(y.ttls[:])), f[RepeatCount])
	t.lookAtPrefixes(f, queries)
}

// portsCounted is how far sketch.Linear256 counts ports.
const portsCounted = 256

// addLeading fills in what the source in place i of the busiest shows.
func (y *crowd) addLeading(f *Features, x *Busy, i int, queries float64) {
	switch i {
	case 0:
		f[Top1], f[Biggest], f[BiggestCount] = Share(y.sum, queries), x.rate, y.sum
		f[BiggestPorts] = float64(x.Seen.Ports.Count())
		f[BiggestPortsEach] = Share(f[BiggestPorts], min(y.sum, portsCounted))
		f[BiggestProven] = flag(x.Seen.Proven)
		f[BiggestNAT] = flag(x.looksShared() && x.rate < sharedTimes*y.limits.Unproven)
	case 7:
		f[Top8] = Share(y.sum, queries)
	case 15:
		f[Top16] = Share(y.sum, queries)
	}
}

func flag(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// add adds a source, at the rate at which it has asked since it came.
func (y *crowd) add(f *Features, x *Busy) {
	n, rate := float64(x.Low), x.rateOver(y.now)
	limit := y.limits.Unproven
	switch {
	case x.looksShared() && rate < sharedTimes*limit:
		return
	case !x.Seen.Proven:
		f[Lead] = max(f[Lead], rate)
	case x.isNAT():
		return
	default:
		limit = y.limits.Proven
		f[LeadProven] = max(f[LeadProven], rate)
	}
	if rate >= limit {
		y.hot += n
		f[HotRate] += rate
	}
	if rate >= y.limits.Unproven {
		y.heavy += n
		f[HeavyCount]++
	}
	if x.Seen.Proven {
		return
	}
	if x.Seen.given && rate >= StubbornRate && x.Seen.last-x.Seen.First >= StubbornFor {
		y.stubborn += n
		f[StubbornCount]++
	}
	if rate >= repeatRate && x.Low >= repeatLeast {
		y.addRepeater(x)
		f[RepeatCount]++
	}
}

// addRepeater adds a source without proof that keeps asking.
func (y *crowd) addRepeater(x *Busy) {
	n := float64(x.Low)
	y.repeats += n
	y.since += float64(max(y.now-x.Seen.First+1, 3))
	y.in, y.out = y.in+float64(x.Seen.in), y.out+float64(x.Seen.out)
	y.ports += float64(x.Seen.Ports.Count())
	y.each += min(n, portsCounted)
	y.ttls[x.Seen.TTL]++
}

// lookAtPrefixes fills in the busiest prefix.
func (t *Server) lookAtPrefixes(f *Features, queries float64) {
	before := t.before().prefixes
	var most uint32
	t.pane().prefixes.Each(func(it *sketch.Item[track.Host, Neighbours], n, _ uint32) {
		x := it.Value
		if v, low, _ := before.Find(it.Key, t.key.Prefix(&it.Key)); v != nil {
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
	f[PrefixRate] = f[Prefix] * max(f[Rate3], f[Rate10])
}
