package track

import (
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// Joint is raised where A players have all been there for B nanoseconds.
var Joint = finding.Code{ID: "LIE-05", Severity: finding.Note, Fault: finding.Server,
	Seen:   "a list of 8 players or more who all came within 2 seconds, 10 minutes ago or longer, on a server that counts them as no bots",
	Means:  "people do not come like that: they are bots that the server does not count as such, or its times begin with the map or a restart",
	Owner:  "have the plugin that makes bots count them as bots; a restart or a new map is no fault",
	Client: "compare with another time of day; do not count them as people for certain",
	Format: "all {a} players came at the same moment, before {b.elapsed}"}

// OneID is raised where servers at B addresses have one id; Addr is another one of them.
var OneID = finding.Code{ID: "LIE-06", Severity: finding.Note, Fault: finding.Server,
	Seen:   "servers at several addresses with one SteamID, or another id that each server has for itself",
	Means:  "one server is reached at many addresses, as over a provider's network, or a list of servers has it several times",
	Owner:  "nothing where one server is reached at many addresses; give servers that are several an account each",
	Client: "count all addresses with one id as one server",
	Format: "one id at {b} addresses or more, also at {addr}"}

// OneList is raised where servers at B addresses list the same A players; Addr is another one of them.
var OneList = finding.Code{ID: "LIE-08", Severity: finding.Note, Fault: finding.Server,
	Seen:   "servers at several addresses list the same players within a minute, 4 or more, and count them as no bots",
	Means:  "nobody plays at several places: one server is reached at many addresses, or the list is copied",
	Owner:  "publish one address of the server; an address that is not yours copies its list",
	Client: "count servers with one list of players once in statistics",
	Format: "the same {a} players at {b} addresses or more, also at {addr}"}

// twins finds what people and servers do not share by chance: the moment at which all players came, one id or
// one list at several addresses.
type twins struct {
	*Hosts
	servers *states[crowdServer]
	ids     *lru.Table[sameKey, places]
	lists   *lru.Table[sameKey, places]
}

func newTwins(h *Hosts) check {
	c := &twins{
		Hosts:   h,
		servers: newServerStates[crowdServer](h),
		ids:     newTable[sameKey, places](h, maxSame),
		lists:   newTable[sameKey, places](h, maxSame),
	}
	return check{finds: []*finding.Code{&Joint, &OneID, &OneList}, wants: []want{{answer, c.addAnswer}}}
}

// crowdServer is a server that counts its players.
type crowdServer struct {
	humans  int32  // of its last information, if hasBots
	hasBots bool   // it counts bots
	age     int64  // of it
	joint   streak // of lists whose players all came at once
}

// addAnswer adds an answer that says something of its server.
func (c *twins) addAnswer(f *view) {
	said := f.contents()
	if said == nil {
		return
	}
	s := c.servers.at(f.server.slot)
	if said.Players >= 0 {
		s.humans, s.hasBots, s.age = said.Players-said.Bots, said.Bots >= 0, f.Age
		c.checkID(f)
	}
	if said.List.Counted >= 0 && s.hasBots && f.Age-s.age <= int64(infoFor) {
		c.checkJoint(f, s)
		c.checkList(f, s)
	} else if said.List.Counted >= 0 {
		s.joint.add(f.Fact, false, jointLists, 0)
	}
}

// checkJoint raises that all players of a list came at the same moment, long ago, and are no bots
// as far as the server says.
func (c *twins) checkJoint(f *view, s *crowdServer) {
	l := &f.Said.List
	isJoint := l.Timed >= jointPlayers && s.humans >= jointPlayers && l.Timed == l.Listed &&
		l.Longest-l.Shortest <= int64(jointWithin) && l.Shortest >= int64(jointAge)
	if s.joint.add(f.Fact, isJoint, jointLists, 0) {
		c.Report(f.Fact, s.joint.first, finding.Expert{Code: &Joint, A: uint64(l.Timed), B: uint64(l.Shortest)}, false)
	}
}

// sameKey is what several servers say: an id, or the hash of a list.
type sameKey uint64

// Hash mixes the key.
func (k sameKey) Hash(seed uint64) uint64 { return lru.Mix(seed, uint64(k)) }

// places are the addresses whose servers said the same.
type places struct {
	at         [samePlaces]place // the latest first
	n          uint8
	isReported bool
}

// place is where it was said last.
type place struct {
	end   End
	age   int64
	frame uint64
}

// add adds the server of f and reports whether as many addresses as places has room for said the
// same within the time span, which was not reported yet. Several ports of one address count once.
func (p *places) add(f *Fact, span int64) bool {
	now := place{EndOf(f.Server), f.Age, f.Frame}
	i := 0
	for i < int(p.n) && p.at[i].end.Host != now.end.Host {
		i++
	}
	p.n = max(p.n, uint8(min(i+1, samePlaces)))
	copy(p.at[1:min(i+1, samePlaces)], p.at[:])
	p.at[0] = now
	if p.isReported || p.n < samePlaces || f.Age-p.at[samePlaces-1].age > span {
		return false
	}
	p.isReported = true
	return true
}

// report raises that the servers at p say the same as that of f.
func (c *twins) report(f *view, p *places, code *finding.Code, a uint64) {
	c.Report(f.Fact, p.at[samePlaces-1].frame, finding.Expert{Code: code, A: a, B: samePlaces, Addr: p.at[1].end.AddrPort()}, false)
}

// checkID raises that servers at several addresses have one id.
func (c *twins) checkID(f *view) {
	if f.Said.ID == 0 {
		return
	}
	p := enter(c.Hosts, c.ids, sameKey(f.Said.ID))
	if p.add(f.Fact, int64(idFor)) {
		c.report(f, p, &OneID, 0)
	}
}

// checkList raises that servers at several addresses list the same players at the same time, who
// are no bots as far as these say.
func (c *twins) checkList(f *view, s *crowdServer) {
	l := &f.Said.List
	if s.humans < listedPlayers || l.Named < listedPlayers {
		return
	}
	p := enter(c.Hosts, c.lists, sameKey(l.Names))
	if p.add(f.Fact, int64(listFor)) {
		c.report(f, p, &OneList, uint64(l.Named))
	}
}

const (
	// limit: maxSame is how many ids of servers, and as many lists of players, are kept with the addresses
	// that said them: one of each for a server.
	maxSame = 2048
	// limit: infoFor is how old a server's information may be that says which players are bots.
	infoFor = 2 * time.Minute
	// limit: jointPlayers or more came within jointWithin of each other, jointAge ago or longer, in
	// jointLists lists: after a restart players come within half a minute. Chosen.
	jointPlayers = 8
	jointWithin  = 2 * time.Second
	jointAge     = 10 * time.Minute
	jointLists   = 2
	// limit: samePlaces addresses have one id within idFor, or list the same listedPlayers or more within
	// listFor: fewer are one server with an address for each network, and its translation. Chosen.
	samePlaces    = 4
	idFor         = 10 * time.Minute
	listedPlayers = 4
	listFor       = time.Minute
)
