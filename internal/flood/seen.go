package flood

import (
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// Seen counts the packets that a detector judged, so that a report without incidents can
// state in what none was found. It is a track.Watcher.
type Seen struct {
	Queries uint64
	Replies uint64 // challenges among them
	Junk    uint64 // begins like a query and is nothing known
	Logins  uint64 // of remote console over TCP
	Gaps    uint64 // how often packets were missing from the capture

	last    [lastPlaces]track.End  // servers of the last packets, by their hash
	exact   map[track.End]struct{} // servers, up to one more than seenExact
	servers sketch.Distinct
}

// Sight counts a packet.
func (x *Seen) Sight(s *track.Sighting) {
	switch s.What {
	case track.IsRequest:
		if s.Asks == 0 {
			return
		}
		x.Queries += uint64(s.Count())
		x.countServer(&s.Dst, s.DstPort, s.ServerHash)
	case track.IsReply, track.IsChallenge:
		x.Replies += uint64(s.Count())
		x.countServer(&s.Src, s.SrcPort, s.ServerHash)
	case track.IsPart:
		if s.Flags&track.First != 0 {
			x.Replies += uint64(s.Count())
			x.countServer(&s.Src, s.SrcPort, s.ServerHash)
		}
	case track.IsJunk:
		if s.Foreign == 0 {
			x.Junk += uint64(s.Count())
		}
	case track.IsLogin:
		x.Logins += uint64(s.Count())
		x.countServer(&s.Dst, s.DstPort, s.ServerHash)
	}
}

// lastPlaces is how many servers are known to be counted without a search. Chosen: those of a
// network.
const lastPlaces = 256

// countServer counts a server, once.
func (x *Seen) countServer(h *track.Host, port uint16, hash uint64) {
	last := &x.last[hash%lastPlaces]
	if last.Port == port && last.Host == *h {
		return
	}
	e := track.End{Host: *h, Port: port}
	*last = e
	x.servers.Add(hash)
	if x.exact == nil {
		x.exact = make(map[track.End]struct{}, seenExact+1)
	}
	if len(x.exact) <= seenExact {
		x.exact[e] = struct{}{}
	}
}

// Servers returns how many servers there were, and reports whether that is an estimate.
func (x *Seen) Servers() (n uint64, isEstimate bool) {
	if n := len(x.exact); n <= seenExact {
		return uint64(n), false
	}
	return uint64(x.servers.Count() + 0.5), true
}

// OneWay returns "requests" or "replies" where only those were captured, else "".
func (x *Seen) OneWay() string {
	switch {
	case x.Queries > 0 && x.Replies == 0:
		return "requests"
	case x.Queries == 0 && x.Replies > 0:
		return "replies"
	}
	return ""
}

// Tick does nothing: Seen depends on no time.
func (x *Seen) Tick(int64, int64) {}

// Lost counts a gap in the capture.
func (x *Seen) Lost(uint64) { x.Gaps++ }

// End does nothing.
func (x *Seen) End(int64, int64) {}
