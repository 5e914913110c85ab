package flood

import (
	"bytes"
	"net/netip"
	"slices"

	m "qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// One service that polls many servers, or one crowd that visits all servers of a host, is one
// note. Where the servers share a network and a port, the note is the network's (networks.go).
// Elsewhere a server whose note is about to open is compared with the open notes: if the same
// sources ask it, it joins that note, and adds what it gets from then on.

// sharedNote is an open note that others may join.
type sharedNote struct {
	course  *course // of the server where it was opened
	id      uint64  // of the incident; once the course has another one or none, the note is over
	sources []track.Host
}

// hasEnded reports whether the note is over.
func (n *sharedNote) hasEnded() bool { return n.course.in == nil || n.course.in.ID != n.id }

// sameSources is the share of what a server gets from its busiest sources that has to come
// from those of a note. Chosen: most of it.
const sameSources = 0.5

// share returns which part of the queries of the busiest sources come from those of the note.
func (n *sharedNote) share(list []m.BusyHost) float64 {
	same, all := 0.0, 0.0
	for i := range list[:min(len(list), noteSources)] {
		all += float64(list[i].Low)
		if _, ok := slices.BinarySearchFunc(n.sources, list[i].Addr, compareHosts); ok {
			same += float64(list[i].Low)
		}
	}
	return m.Share(same, all)
}

func compareHosts(a, b track.Host) int { return bytes.Compare(a[:], b[:]) }

// keepNote keeps the note that a server's course opened, so that others may join it.
func (s *serverSecond) keepNote(c *course) {
	if c.family != ofLoad || s.watched.members != nil {
		return
	}
	s.notes = slices.DeleteFunc(s.notes, func(n sharedNote) bool { return n.hasEnded() })
	if len(s.notes) == sharedNotes {
		s.notes = slices.Delete(s.notes, 0, 1)
	}
	n := sharedNote{course: c, id: c.in.ID}
	for i := range s.busiest[:min(len(s.busiest), noteSources)] {
		n.sources = append(n.sources, s.busiest[i].Addr)
	}
	slices.SortFunc(n.sources, compareHosts)
	s.notes = append(s.notes, n)
}

// joinNote joins the note that is about to open to one with the same sources, and reports
// whether there is one.
func (s *serverSecond) joinNote(c *course, v verdict) bool {
	if c.family != ofLoad || s.watched.members != nil || len(s.notes) == 0 {
		return false
	}
	s.busiest = s.server.Busiest(s.busiest, m.Queries)
	i := slices.IndexFunc(s.notes, func(n sharedNote) bool { return !n.hasEnded() && n.share(s.busiest) >= sameSources })
	if i < 0 {
		return false
	}
	n := &s.notes[i]
	c.leader, c.leaderID = n.course, n.id
	n.course.addServer(s.server.End.AddrPort(), s.server.Usual())
	for sec := c.findStart(s, v).Sec; sec < s.Now; sec++ {
		n.course.addJoined(s.server.At(sec), sec, 0)
	}
	return c.followNote(s)
}

// addServer adds a server to those that a note is about.
func (c *course) addServer(server netip.AddrPort, usual float64) {
	if c.in.addServer(server) {
		c.in.Baseline += usual
		c.joinedBase += usual
	}
}

// addServer adds a server to those that a note is about besides its target. It reports whether
// that is news; of servers beyond those that are listed it does not know.
func (in *Incident) addServer(server netip.AddrPort) (isNew bool) {
	if in.Servers == 0 {
		in.Servers, in.Targets = 1, append(in.Targets[:0], in.Target.End)
	}
	if slices.Contains(in.Targets, server) { // it comes back
		return false
	}
	in.Servers++
	if len(in.Targets) < listedServers {
		in.Targets = append(in.Targets, server)
	}
	return true
}

// followNote adds the second that ends to the note that the server joined, if it is of it. It
// reports whether that note is still open.
func (c *course) followNote(s *serverSecond) bool {
	l := c.leader
	if l == nil || l.in == nil || l.in.ID != c.leaderID {
		c.leader = nil
		return false
	}
	b := s.server.At(s.Now)
	least := 2*s.server.Base + minLiveQueries
	if c.family != ofLoad { // of an attack, what continues it
		least = max(least, liveShare*l.meanRate()/float64(1+len(l.in.MorePorts)))
	}
	if b == nil || float64(b.Queries) < least {
		return true
	}
	l.addJoined(b, s.Now, s.secondEnd())
	s.server.MergeSources(&l.sources, m.Queries)
	return true
}

// addJoined adds a second of a server that joined; nil is one without packets. end is the time
// stamp at its end, 0 of one in the past.
func (c *course) addJoined(b *m.Second, sec int32, end int64) {
	if b == nil {
		return
	}
	c.in.Requests += uint64(b.Queries)
	c.in.Replies += uint64(b.Replies)
	c.in.BytesIn += b.BytesIn
	c.in.BytesOut += b.BytesOut
	if end > 0 {
		c.in.Peak = max(c.in.Peak, c.addToRate(sec, float64(b.Queries)))
		c.lastSec, c.lastEnd, c.isActive, c.pauseStart = sec, end, true, 0
	}
}

// addToRate adds packets to those of a second of all servers of the incident, and returns
// their number.
func (c *course) addToRate(sec int32, packets float64) float64 {
	if c.rateSec != sec {
		c.rateSec, c.rate = sec, 0
	}
	c.rate += packets
	return c.rate
}

const (
	// limit: sharedNotes is how many open notes further servers may join, the last ones, and noteSources
	// how many of the busiest sources are compared. Chosen: services that poll have fewer probes, and a
	// handful of them poll at the same time.
	sharedNotes = 16
	noteSources = 64
)
