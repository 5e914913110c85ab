package flood

import (
	"slices"

	"qsniff/flood/sketch"
	"qsniff/track"
)

// A source that was challenged and asks on without the challenge, faster than servers
// answer anybody and for longer than clients try, has no use for an answer.
const (
	stubbornRate = 3
	stubbornFor  = 5 // seconds
)

// A source that keeps asking: 0.33/s are four in the shortest window.
const repeatRate = 0.33

// tallies adds up what the sources of the window send, by what they are like.
type tallies struct {
	sum, proven float64
	hot, heavy  float64
	stubborn    float64
	repeats     float64 // of sources without proof that keep asking
	ports, each float64 // their ports, and the queries that these are held against
	in, out     float64 // bytes they sent, and got
	since       float64 // seconds since each of them came, added up
	ttls        [256]uint16
}

// crowdShape fills in who asks how much.
func (t *target) crowdShape(f *features, d *Detector) {
	list := d.busiest(t, d.book.list, func(p *pane) *sketch.Top[track.Host, seen] { return p.top })
	d.book.list = list
	var y tallies
	for i := range list {
		x := &list[i]
		y.sum += float64(x.low)
		f.leading(x, i, y.sum, d.lim.FewUnproven)
		if i < 16 && x.seen.proven {
			y.proven += float64(x.low)
		}
		y.add(f, x, t.rateOf(x, d.now), d)
	}
	if len(list) < 8 {
		f.top8 = share(y.sum, f.queries)
	}
	if len(list) < 16 {
		f.top16 = share(y.sum, f.queries)
	}
	f.topProven = share(y.proven, min(y.sum, f.top16*f.queries))
	f.hot, f.stubborn = share(y.hot, f.queries), share(y.stubborn, f.queries)
	f.gainTop = f.gain
	if y.in > 0 && f.gain >= 0 {
		f.gainTop = y.out / y.in
	}
	f.heavy, f.repeat = share(y.heavy, f.queries), share(y.repeats, f.queries)
	f.portsEach, f.push = share(y.ports, y.each), share(y.repeats, y.since)
	f.repeatTTL = share(float64(slices.Max(y.ttls[:])), float64(f.repeatCount))
	t.neighbours(f)
}

// leading fills in what the source in place i of the busiest shows; sum is what it
// and those in front of it sent.
func (f *features) leading(x *busy, i int, sum, fast float64) {
	switch i {
	case 0:
		f.top1, f.biggest, f.biggestCount = share(sum, f.queries), x.rate, sum
		f.biggestPorts, f.biggestProven = x.seen.ports.Count(), x.seen.proven
		f.biggestNAT = x.lodging() && x.rate < 3*fast
	case 7:
		f.top8 = share(sum, f.queries)
	case 15:
		f.top16 = share(sum, f.queries)
	}
}

// add adds a source that asks at a steady rate.
func (y *tallies) add(f *features, x *busy, steady float64, d *Detector) {
	n := float64(x.low)
	limit := d.lim.FewUnproven
	switch {
	case x.lodging() && steady < 3*limit:
		return
	case !x.seen.proven:
		f.lead = max(f.lead, steady)
	case x.nat():
		return
	default:
		limit = d.lim.FewProven
		f.leadProven = max(f.leadProven, steady)
	}
	if steady >= limit {
		y.hot += n
		f.hotRate += steady
	}
	if steady >= d.lim.FewUnproven {
		y.heavy += n
		f.heavyCount++
	}
	if x.seen.proven {
		return
	}
	if x.seen.given && steady >= stubbornRate && x.seen.last-x.seen.first >= stubbornFor {
		y.stubborn += n
		f.stubbornCount++
	}
	if steady >= repeatRate && x.low >= 4 {
		y.repeats += n
		f.repeatCount++
		y.since += float64(max(d.now-x.seen.first+1, 3))
		y.in, y.out = y.in+float64(x.seen.in), y.out+float64(x.seen.out)
		y.ports += float64(x.seen.ports.Count())
		y.each += min(n, 256)
		y.ttls[x.seen.ttl]++
	}
}

// rateOf is how fast a source asks, over at least three seconds: what comes in one
// burst is no rate.
func (t *target) rateOf(x *busy, now int32) float64 {
	return float64(x.low) / float64(max(now-x.seen.first+1, 3))
}

// nat tells whether many clients stand behind the address: many ports, each with
// few queries.
func (x *busy) nat() bool {
	n := x.seen.ports.Count()
	return n >= 16 && float64(x.low) <= 10*float64(n)
}

// lodging tells whether the address looks like that of many clients although nothing
// proves it: they have ports of their own, ask several things from each or come over
// paths of their own. A sender with a new port for each query does neither.
func (x *busy) lodging() bool {
	n := float64(x.seen.ports.Count())
	return n >= 16 && float64(x.low) <= 10*n && (float64(x.low) >= 1.3*n || 10*x.seen.mixed >= x.low)
}

// neighbours fills in the busiest prefix.
func (t *target) neighbours(f *features) {
	now, before := t.pane().prefixes, t.panes[(t.turn+1)&1].prefixes
	var most uint32
	now.Each(func(it *sketch.Item[track.Host, hosts], n, _ uint32) {
		x := it.Value
		if v, low, _ := before.Find(it.Key, t.key.prefixHash(&it.Key)); v != nil {
			x.hosts.Merge(&v.hosts)
			x.proven += v.proven
			n += low
		}
		if n > most {
			most, f.prefixHosts, f.prefixProven = n, x.hosts.Count(), share(float64(x.proven), float64(n))
		}
	})
	f.prefix = share(float64(most), f.queries)
	f.prefixRate = f.prefix * max(f.r3, f.r10)
}
