package measure

import (
	"slices"

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

// addQuery counts a query in the sketches.
func (p *pane) addQuery(key Key, s *track.Sighting, source uint64, now int32, isProven bool) {
	p.queries++
	p.addSource(Queries, source)
	p.sites.Add(key.HashSite(&s.Src))
	if v := p.top[Queries].Add(&s.Src, source); v != nil {
		p.busiest = max(p.busiest, v.addQuery(s, key.HashPort(s.SrcPort), now, isProven))
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
