package measure

import (
	"bytes"
	"cmp"
	"slices"

	"qsniff/flood/sketch"
	"qsniff/track"
)

// Seen is what is kept of a busy host.
type Seen struct {
	Ports  sketch.Linear256
	First  int32
	last   int32
	TTL    uint8
	Proven bool
	Count  uint32 // since it came in
	mixed  uint32 // queries with another time to live than the one before
	given  bool   // it was challenged
	in     uint32 // bytes of its queries
	out    uint32 // and of what it was sent
}

// Note keeps when a packet came and how.
func (v *Seen) Note(ttl uint8, port uint64, now int32) {
	if v.First == 0 {
		v.First = now
	}
	v.last, v.TTL = now, ttl
	v.Ports.Add(port)
}

// addQuery counts a query of the source and returns how many it had since it came in.
func (v *Seen) addQuery(s *track.Sighting, port uint64, now int32, proven bool) uint32 {
	if v.TTL != s.TTL && v.Count > 0 {
		v.mixed++
	}
	v.Note(s.TTL, port, now)
	v.Proven = proven
	v.in += s.Bytes
	v.Count++
	return v.Count
}

// Busy is one of the busiest hosts with what the window shows of it. The true count lies
// between Low and High.
type Busy struct {
	Addr      track.Host
	Low, High uint32
	Seen      Seen
	rate      float64
}

// Merge lists what two panes counted, busiest first. It returns list, with other
// elements.
func Merge(list []Busy, cur, before *Top) []Busy {
	list = list[:0]
	cur.Each(func(it *sketch.Item[track.Host, Seen], low, high uint32) {
		list = append(list, Busy{Addr: it.Key, Low: low, High: high, Seen: it.Value})
	})
	slices.SortFunc(list, func(a, b Busy) int { return bytes.Compare(a.Addr[:], b.Addr[:]) })
	n := len(list)
	before.Each(func(it *sketch.Item[track.Host, Seen], low, high uint32) {
		i, ok := slices.BinarySearchFunc(list[:n], it.Key, func(a Busy, k track.Host) int { return bytes.Compare(a.Addr[:], k[:]) })
		if !ok {
			list = append(list, Busy{Addr: it.Key, Low: low, High: high, Seen: it.Value})
			return
		}
		list[i].add(&it.Value, low, high)
	})
	for i := range list {
		x := &list[i]
		x.rate = float64(x.Low) / float64(max(x.Seen.last-x.Seen.First+1, 1))
	}
	slices.SortFunc(list, func(a, b Busy) int { return cmp.Or(cmp.Compare(b.Low, a.Low), bytes.Compare(a.Addr[:], b.Addr[:])) })
	return list
}

// add adds what an earlier pane counted.
func (x *Busy) add(v *Seen, low, high uint32) {
	x.Low, x.High = x.Low+low, x.High+high
	x.Seen.First = min(x.Seen.First, v.First)
	x.Seen.Ports.Merge(&v.Ports)
	x.Seen.in, x.Seen.out = x.Seen.in+v.in, x.Seen.out+v.out
	x.Seen.given = x.Seen.given || v.given
}

// rateOver returns how fast a source asks, over at least three seconds: what comes in one
// burst is no rate.
func (x *Busy) rateOver(now int32) float64 {
	return float64(x.Low) / float64(max(now-x.Seen.First+1, 3))
}

// A source with natPorts and at most natEach queries from each looks like many clients
// behind one address: these ask two or three things from a port, again and again.
const (
	natPorts = 16
	natEach  = 10
)

// isNAT reports whether many clients stand behind the address: many ports, each with
// few queries.
func (x *Busy) isNAT() bool {
	n := x.Seen.Ports.Count()
	return n >= natPorts && float64(x.Low) <= natEach*float64(n)
}

// looksShared reports whether the address looks like that of many clients although
// nothing proves it: they have ports of their own, ask several things from each or come
// over paths of their own. A sender with a new port for each query does neither.
func (x *Busy) looksShared() bool {
	n := float64(x.Seen.Ports.Count())
	return x.isNAT() && (float64(x.Low) >= 1.3*n || 10*x.Seen.mixed >= x.Low)
}
