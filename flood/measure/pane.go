package measure

import (
	"slices"

	"qsniff/flood/sketch"
	"qsniff/track"
)

// Sort is a sort of packets whose sources are told apart.
type Sort uint8

// The sorts.
const (
	Queries Sort = iota
	Guesses      // requests with a challenge that was never issued
	Junk         // what is nothing known
	sorts
)

// pane is what sketches made of ten seconds.
type pane struct {
	start    int32
	queries  uint32
	most     uint32 // of one source
	sources  [sorts]sketch.Distinct
	top      [sorts]*Top
	sites    sketch.Distinct // larger networks
	prefixes *sketch.Top[track.Host, Neighbours]
	ttl      [256]uint32
	ports    sketch.Dominant
	prints   sketch.Dominant
	low      uint32 // from ports below 1,024
	alien    uint32 // from impossible addresses
	inside   uint32 // from local ones
}

// Top holds the busiest hosts.
type Top = sketch.Top[track.Host, Seen]

// Neighbours is what is kept of a busy prefix.
type Neighbours struct {
	hosts  sketch.Linear256
	proven uint32 // queries of proven sources
}

// topSize is how many sources of each sort a pane holds: a guess or junk is rarer than a
// query.
var topSize = [sorts]int{Queries: TopSources, Guesses: TopSources / 4, Junk: TopSources / 4}

func (p *pane) init() {
	for i := range p.top {
		p.top[i] = sketch.NewTop[track.Host, Seen](topSize[i])
	}
	p.prefixes = sketch.NewTop[track.Host, Neighbours](TopPrefixes)
}

func (p *pane) reset(now int32) {
	p.most = 0
	p.start, p.queries, p.low, p.alien, p.inside = now, 0, 0, 0, 0
	for i := range p.top {
		p.sources[i].Reset()
		p.top[i].Reset()
	}
	p.sites.Reset()
	p.prefixes.Reset()
	clear(p.ttl[:])
	p.ports.Reset()
	p.prints.Reset()
}

// Of a pane, all queries up to sampleAll are asked for their port and print, and one
// in sampleEach after that: a share needs no more.
const (
	sampleAll  = 2048
	sampleEach = 8
)

// addQuery counts a query in the sketches.
func (p *pane) addQuery(key Key, s *track.Sighting, source uint64, now int32, proven bool) {
	p.queries++
	p.sources[Queries].Add(source)
	p.sites.Add(key.Site(&s.Src))
	if v := p.top[Queries].Add(s.Src, source); v != nil {
		p.most = max(p.most, v.addQuery(s, key.Port(s.SrcPort), now, proven))
	}
	net := PrefixOf(&s.Src)
	if x := p.prefixes.Add(net, key.Prefix(&net)); x != nil {
		x.hosts.Add(source)
		if proven {
			x.proven++
		}
	}
	p.ttl[s.TTL]++
	if s.SrcPort < 1024 {
		p.low++
	}
	if p.queries < sampleAll || p.queries%sampleEach == 0 {
		if s.Proto == nil || !slices.Contains(s.Proto.ClientPorts, s.SrcPort) {
			p.ports.Add(uint32(s.SrcPort))
		}
		p.prints.Add(s.Print)
	}
	switch scopeOf(&s.Src) {
	case impossible:
		p.alien++
	case local:
		p.inside++
	}
}

// add counts a packet of another sort.
func (p *pane) add(sort Sort, key Key, s *track.Sighting, source uint64, now int32) {
	p.sources[sort].Add(source)
	if v := p.top[sort].Add(s.Src, source); v != nil {
		v.Note(s.TTL, key.Port(s.SrcPort), now)
	}
}
