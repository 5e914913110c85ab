package measure

import (
	"bytes"
	"cmp"
	"math"
	"sort"

	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// Activity is what a pane holds of one busy host.
type Activity struct {
	Ports      sketch.Linear256
	First      int32
	last       int32
	TTL        uint8
	Proven     bool   // when it sent its last query
	provenPort uint16 // from which it brought a challenge back last; 0: none
	Count      uint32 // queries since the host entered the pane
	ttlChanges uint32 // queries with another time to live than the one before
	challenged uint16 // challenges that the server sent it, 65,535 at most
	echoes     uint16 // how many of these it brought back
	bytesIn    uint32 // of its queries
	bytesOut   uint32 // of what the server sent to it
}

// recordPacket records the time, the time to live and the hashed port of a packet.
func (v *Activity) recordPacket(ttl uint8, port uint64, now int32) {
	if v.First == 0 {
		v.First = now
	}
	v.last, v.TTL = now, ttl
	v.Ports.Add(port)
}

// addQuery counts a query of the host and returns the number of its queries since it
// entered the pane.
func (v *Activity) addQuery(s *track.Sighting, port uint64, now int32, proven bool) uint32 {
	if v.TTL != s.TTL && v.Count > 0 {
		v.ttlChanges++
	}
	v.recordPacket(s.TTL, port, now)
	v.Proven = proven
	v.bytesIn += s.Bytes
	v.Count++
	return v.Count
}

// BusyHost is one of the busiest hosts in the window. The true number of its queries lies
// between Low and High.
type BusyHost struct {
	Addr      track.Host
	Low, High uint32
	Activity  Activity
}

// HasEchoed reports whether the host brought back the challenge to a query.
func (v *Activity) HasEchoed() bool { return v.echoes > 0 }

// addEchoes adds the challenges and echoes of o, halved where they are too many to count.
func (v *Activity) addEchoes(o *Activity) {
	challenged, echoes := uint32(v.challenged)+uint32(o.challenged), uint32(v.echoes)+uint32(o.echoes)
	for max(challenged, echoes) > math.MaxUint16 {
		challenged, echoes = challenged/2, (echoes+1)/2
	}
	v.challenged, v.echoes = uint16(challenged), uint16(echoes)
}

// IsForged reports whether most of what comes in the name of a host is not of it: it brings few of its
// challenges back. A monitor that proves its address may be one that somebody forges. Chosen: of twenty
// challenges a host on a bad line brings back more than four.
func (v *Activity) IsForged() bool {
	return v.challenged >= 20 && 5*uint32(v.echoes) < uint32(v.challenged)
}

// OwnPort returns the port from which the host brought a challenge back, if most of what comes in its name
// is forged and comes from other ports; else 0.
func (v *Activity) OwnPort() uint16 {
	if !v.IsForged() || v.Ports.Count() < 4 {
		return 0
	}
	return v.provenPort
}

// eachBusy calls f with each of the busiest hosts of two panes, in no order.
func eachBusy(current, previous *Top, f func(x BusyHost)) {
	sketch.EachOfTwo(current, previous, func(a, b *sketch.Item[track.Host, Activity], low, high uint32) {
		if a == nil {
			a, b = b, nil
		}
		x := BusyHost{Addr: a.Key, Low: low, High: high, Activity: a.Value}
		if b != nil {
			x.addPrevious(&b.Value)
		}
		f(x)
	})
}

// listBusiest lists the hosts of one pane, busiest first. It overwrites list and returns it.
func listBusiest(list []BusyHost, pane *Top) []BusyHost {
	list = list[:0]
	pane.Each(func(it *sketch.Item[track.Host, Activity], low, high uint32) {
		list = append(list, BusyHost{Addr: it.Key, Low: low, High: high, Activity: it.Value})
	})
	sort.Sort((*byCount)(&list))
	return list
}

// mergeBusiest lists the hosts of two panes likewise.
func mergeBusiest(list []BusyHost, current, previous *Top) []BusyHost {
	list = list[:0]
	eachBusy(current, previous, func(x BusyHost) { list = append(list, x) })
	sort.Sort((*byCount)(&list))
	return list
}

// byCount sorts hosts, busiest first. Unlike slices.SortFunc, sort.Sort copies none of them
// to compare it.
type byCount []BusyHost

func (l *byCount) Len() int           { return len(*l) }
func (l *byCount) Less(i, j int) bool { return (*l)[i].isBusier(&(*l)[j]) }
func (l *byCount) Swap(i, j int)      { (*l)[i], (*l)[j] = (*l)[j], (*l)[i] }

// isBusier reports whether x precedes y among the busiest.
func (x *BusyHost) isBusier(y *BusyHost) bool {
	return x.Low > y.Low || x.Low == y.Low && bytes.Compare(x.Addr[:], y.Addr[:]) < 0
}

// addPrevious adds what the previous pane holds of the same host: all that is compared with
// Low, which is of both, covers both panes then.
func (x *BusyHost) addPrevious(v *Activity) {
	x.Activity.ttlChanges += v.ttlChanges
	x.Activity.Proven = x.Activity.Proven || v.Proven
	x.Activity.First = min(x.Activity.First, v.First)
	x.Activity.Ports.Merge(&v.Ports)
	x.Activity.provenPort = cmp.Or(x.Activity.provenPort, v.provenPort)
	x.Activity.bytesIn, x.Activity.bytesOut = x.Activity.bytesIn+v.bytesIn, x.Activity.bytesOut+v.bytesOut
	x.Activity.addEchoes(v)
}

// isProven reports whether the host proved its address, and what comes in its name is its own.
func (x *BusyHost) isProven() bool { return x.Activity.Proven && !x.Activity.IsForged() }

// rate returns the queries/s between the first query and the last.
func (x *BusyHost) rate() float64 {
	return float64(x.Low) / float64(max(x.Activity.last-x.Activity.First+1, 1))
}

// rateToNow returns the queries/s from the first query until now, over at least three
// seconds: a single burst is not a rate.
func (x *BusyHost) rateToNow(now int32) float64 {
	return float64(x.Low) / float64(max(now-x.Activity.First+1, 3))
}

// A source with at least natPorts ports and at most natPerPort queries from each looks like
// many clients that share one address: each of these asks two or three things from a port,
// again and again. Chosen: a window holds at most three or so rounds of such questions.
const (
	natPorts   = 16
	natPerPort = 10
)

// isNAT reports whether many clients seem to share the address: it has many ports, and
// few queries come from each.
func (x *BusyHost) isNAT() bool {
	n := x.Activity.Ports.Count()
	return n >= natPorts && float64(x.Low) <= natPerPort*float64(n)
}

// looksShared reports whether many clients seem to share the address although none of
// them proved it: besides many ports, they ask more than one thing from each or arrive
// with different times to live. A sender with a new port for each query does neither.
func (x *BusyHost) looksShared() bool {
	n := float64(x.Activity.Ports.Count())
	return x.isNAT() && (float64(x.Low) >= 1.3*n || 10*x.Activity.ttlChanges >= x.Low)
}
