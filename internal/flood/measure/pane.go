package measure

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sort"

	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// Sort is a sort of packets whose sources a pane counts separately.
type Sort uint8

// The sorts.
const (
	Queries Sort = iota
	Guesses      // requests with a challenge that was never issued
	Junk         // what no protocol recognizes
	numSorts
)

// pane holds the sketches of ten seconds.
type pane struct {
	start      int32 // its first second
	queries    uint32
	busiest    uint32         // of the busiest source
	isUsed     [numSorts]bool // something of the sort was counted
	sources    [numSorts]sketch.Distinct
	top        [numSorts]*Top
	sites      sketch.Distinct // larger networks
	prefixes   *sketch.Top[track.Host, Neighbours]
	ttls       [256]uint32
	ports      sketch.Dominant
	prints     sketch.Dominant
	lowPorts   uint32 // queries from ports below 1,024
	impossible uint32 // queries from impossible addresses
	local      uint32 // queries from local ones
}

// Top holds the busiest hosts of a pane.
type Top = sketch.Top[track.Host, Activity]

// Neighbours is what a pane holds of a busy prefix.
type Neighbours struct {
	hosts  sketch.Linear256
	proven uint32 // queries of proven sources
}

// topSize is how many sources of each sort a pane holds: guesses and junk are rarer than
// queries.
var topSize = [numSorts]int{Queries: TopSources, Guesses: TopSources / 4, Junk: TopSources / 4}

func (p *pane) init() {
	for i := range p.top {
		p.top[i] = sketch.NewTop[track.Host, Activity](topSize[i])
	}
	p.prefixes = sketch.NewTop[track.Host, Neighbours](TopPrefixes)
}

// reset empties the pane, which begins at now. What nothing was counted in is empty: of servers that
// take each other's places, that is most.
func (p *pane) reset(now int32) {
	p.start = now
	for i := range p.top {
		if p.isUsed[i] {
			p.sources[i].Reset()
			p.top[i].Reset()
		}
	}
	isUsed := p.isUsed[Queries]
	clear(p.isUsed[:])
	if !isUsed {
		return
	}
	p.busiest = 0
	p.queries, p.lowPorts, p.impossible, p.local = 0, 0, 0, 0
	p.sites.Reset()
	p.prefixes.Reset()
	clear(p.ttls[:])
	p.ports.Reset()
	p.prints.Reset()
}

// Of the first sampleAll queries of a pane, port and print of each are counted, then those
// of one in sampleEach: shares need no more.
const (
	sampleAll  = 2048
	sampleEach = 8
)

// addQuery counts a query in the sketches. isChallenged is set where it counts as challenged.
func (p *pane) addQuery(key Key, s *track.Sighting, source uint64, now int32, isProven, isChallenged bool) {
	p.queries++
	p.addSource(Queries, source)
	p.sites.Add(key.HashSite(&s.Src))
	if v := p.top[Queries].Add(&s.Src, source); v != nil {
		p.busiest = max(p.busiest, v.addQuery(s, key.HashPort(s.SrcPort), now, isProven))
		if isChallenged {
			v.addEchoes(&Activity{challenged: 1})
		}
	}
	var net track.Host
	if x := p.prefixes.Add(&net, key.setPrefix(&net, &s.Src)); x != nil {
		x.hosts.Add(source)
		if isProven {
			x.proven++
		}
	}
	p.ttls[s.TTL]++
	if s.SrcPort < 1024 {
		p.lowPorts++
	}
	if p.queries < sampleAll || p.queries%sampleEach == 0 {
		if s.Proto == nil || !slices.Contains(s.Proto.ClientPorts, s.SrcPort) {
			p.ports.Add(uint32(s.SrcPort))
		}
		p.prints.Add(s.Print)
	}
	switch scopeOf(&s.Src) {
	case impossible:
		p.impossible++
	case local:
		p.local++
	}
}

// addSource counts a source of a sort. Whatever a sort has of a packet, it has its source.
func (p *pane) addSource(sort Sort, source uint64) {
	p.isUsed[sort] = true
	p.sources[sort].Add(source)
}

// addOther counts a packet that is no query.
func (p *pane) addOther(sort Sort, key Key, s *track.Sighting, source uint64, now int32) {
	p.addSource(sort, source)
	if v := p.top[sort].Add(&s.Src, source); v != nil {
		v.recordPacket(s.TTL, key.HashPort(s.SrcPort), now)
	}
}

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

// mergeBusiest lists the hosts of two panes, the busiest first.
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

// Senders counts the sources of some packets, and the busiest of them one by one.
type Senders struct {
	Packets  uint64
	distinct sketch.Distinct
	top      *Top
}

// NewSenders returns room for the n busiest.
func NewSenders(n int) *Senders { return &Senders{top: sketch.NewTop[track.Host, Activity](n)} }

// Add counts a packet of the source with that hash. place is another hash of the source, by which AddReply
// finds it, or the same.
func (x *Senders) Add(k Key, s *track.Sighting, source, place uint64, now int32) {
	x.Packets++
	x.distinct.Add(source)
	if v := x.top.Add(&s.Src, place); v != nil {
		v.recordPacket(s.TTL, k.HashPort(s.SrcPort), now)
		v.bytesIn += s.Bytes
	}
}

// AddReply counts a datagram to a host if it is among the busiest.
func (x *Senders) AddReply(s *track.Sighting, place uint64) {
	if v, _, _ := x.top.Find(s.Dst, place); v != nil {
		v.bytesOut += s.Bytes
	}
}

// Fast describes the hosts that send some packets faster than clients do.
type Fast struct {
	Share float64 // of the packets
	Gain  float64 // bytes that they were sent for each that came in their names; 0: none, or unknown
	Out   uint64  // all of these bytes
	IsOdd bool    // the busiest has a new port for most of its packets
}

// Faster describes those of the busiest that sent least packets a second or more each where all hosts together
// send rate. An address whose ports come again seems to be shared by a client at each of them, and is faster
// only if these send half of least.
func (x *Senders) Faster(rate, least float64) (f Fast) {
	n, most, in := uint32(0), uint32(0), 0.0
	x.top.Each(func(it *sketch.Item[track.Host, Activity], low, _ uint32) {
		h := &it.Value
		each, ports := Share(float64(low), float64(x.Packets))*rate, float64(h.Ports.Count())
		isShared := ports >= natPorts && ports < portsCounted && float64(low) >= 1.3*ports
		if each < least || isShared && each < ports*least/2 {
			return
		}
		if low > most {
			most, f.IsOdd = low, ports >= natPorts && ports >= mostPorts*min(float64(low), portsCounted)
		}
		n, in, f.Out = n+low, in+float64(h.bytesIn), f.Out+uint64(h.bytesOut)
	})
	f.Share, f.Gain = Share(float64(n), float64(x.Packets)), Share(float64(f.Out), in)
	return f
}

// mostPorts is which part of its packets a host with a new port for most of them has ports for: as in the rule
// on reflection (BiggestPortsEach).
const mostPorts = 0.6

// Reset forgets all of them.
func (x *Senders) Reset() {
	x.Packets = 0
	x.distinct.Reset()
	x.top.Reset()
}

// Count returns about how many there are.
func (x *Senders) Count() float64 { return x.distinct.Count() }

// Sketch returns what they are counted with.
func (x *Senders) Sketch() *sketch.Distinct { return &x.distinct }

// Busiest lists the busiest, busiest first. It returns list, with other elements.
func (x *Senders) Busiest(list []BusyHost) []BusyHost { return listBusiest(list, x.top) }

// Stretch adds up panes, so that what the sketches show of ten seconds can be stated of the
// whole of an incident. Only panes that lie in the incident are added.
type Stretch struct {
	From, To int32 // seconds: the first one, and the first one after the last
	Seconds  int32 // of the panes; fewer than To - From where some between were not added
	Queries  uint64
	Hosts    []StretchHost // at most stretchHosts, busiest first

	low, alien, local uint64
	ttls              [256]uint64
	ports, prints     sketch.Dominant
	// missed is the most that a host which is not listed can have sent.
	missed uint64
}

// stretchHosts is how many hosts a Stretch lists. Chosen: eight times what an incident
// names, so that a host that was not among the busiest at first is counted from early on.
const stretchHosts = 64

// StretchHost is one of the busiest hosts. The true number of its packets lies between Low
// and High.
type StretchHost struct {
	Addr      track.Host
	Low, High uint64
	Activity  Activity
}

// AddPane adds the current pane of t, up to second now. It uses *memory for a list.
func (x *Stretch) AddPane(t *Server, sort Sort, now int32, memory *[]BusyHost) {
	p := t.currentPane()
	if x.Seconds == 0 {
		x.From = p.start
	}
	x.To = now + 1
	x.Seconds += now + 1 - p.start
	*memory = listBusiest(*memory, p.top[sort])
	x.addHosts(*memory, uint64(p.top[sort].MaxAbsent()))
	if sort != Queries {
		return
	}
	x.Queries += uint64(p.queries)
	x.low += uint64(p.lowPorts)
	x.alien += uint64(p.impossible)
	x.local += uint64(p.local)
	for i, n := range p.ttls {
		x.ttls[i] += uint64(n)
	}
	x.ports.Merge(&p.ports)
	x.prints.Merge(&p.prints)
}

// addHosts adds the hosts of a pane, busiest first. absent is the most that any other host
// sent in it.
func (x *Stretch) addHosts(pane []BusyHost, absent uint64) {
	seen, unlisted := 0, absent
	for i := range x.Hosts {
		x.Hosts[i].High += absent
	}
	for i := range pane {
		b := &pane[i]
		k := slices.IndexFunc(x.Hosts, func(h StretchHost) bool { return h.Addr == b.Addr })
		switch {
		case k >= 0:
			h := &x.Hosts[k]
			h.Low += uint64(b.Low)
			h.High += uint64(b.High) - min(absent, uint64(b.High))
			h.Activity.Ports.Merge(&b.Activity.Ports)
			h.Activity.TTL = b.Activity.TTL
			h.Activity.Proven = h.Activity.Proven || b.Activity.Proven
			h.Activity.addEchoes(&b.Activity)
		case seen < stretchHosts:
			x.Hosts = append(x.Hosts, StretchHost{b.Addr, uint64(b.Low), x.missed + uint64(b.High), b.Activity})
		default:
			unlisted = max(unlisted, uint64(b.High))
		}
		seen++
	}
	slices.SortFunc(x.Hosts, func(a, b StretchHost) int {
		return cmp.Or(cmp.Compare(b.Low, a.Low), bytes.Compare(a.Addr[:], b.Addr[:]))
	})
	x.missed += unlisted
	for i := stretchHosts; i < len(x.Hosts); i++ {
		x.missed = max(x.missed, x.Hosts[i].High)
	}
	x.Hosts = x.Hosts[:min(len(x.Hosts), stretchHosts)]
}

// Fill sets the features of the window that are shares of its queries, those of sources
// without a listing aside: it makes f describe the stretch.
func (x *Stretch) Fill(f *Features, server *track.Host) {
	queries := float64(x.Queries)
	alien := x.alien
	if scopeOf(server) == public && alien > 0 {
		alien += x.local
	}
	f[Alien], f[Low] = Share(float64(alien), queries), Share(float64(x.low), queries)
	odd, most := uint64(0), uint64(0)
	for ttl, n := range x.ttls {
		if n > most {
			most, f[TTL] = n, float64(ttl)
		}
		if !isUsualTTL(ttl) {
			odd += n
		}
	}
	f[TTL1], f[TTLX] = Share(float64(most), queries), Share(float64(odd), queries)
	port, n, of := x.ports.Leader()
	f[Port], f[Port1], f[PortQueries] = float64(port), Share(float64(n), float64(of)), float64(of)
	_, n, of = x.prints.Leader()
	f[Print1], f[PrintQueries] = Share(float64(n), float64(of)), float64(of)
	f[Top1], f[Window], f[WindowQueries] = 0, float64(x.Seconds), queries
	if len(x.Hosts) > 0 {
		f[Top1] = Share(float64(x.Hosts[0].Low), queries)
	}
}

const (
	// limit: TopSources and TopPrefixes are how many sources and networks of a server a pane counts one by
	// one. Chosen: a flood from fewer sources is listed whole.
	TopSources  = 512
	TopPrefixes = 256
)
