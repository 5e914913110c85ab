package flood

import (
	"qsniff/flood/sketch"
	"qsniff/track"
)

// Seen counts what there was to judge: a report that nothing was found has to
// name in what. It is a track.Watcher.
type Seen struct {
	Queries uint64
	Replies uint64 // challenges among them
	Junk    uint64 // begins like a query and is nothing known
	Logins  uint64 // of remote console over TCP
	Gaps    uint64 // stretches that are missing from the capture

	last    track.End              // server of the packet before
	exact   map[track.End]struct{} // the first of them
	servers sketch.Distinct
}

// Sight takes a packet.
func (x *Seen) Sight(s *track.Sighting) {
	switch s.What {
	case track.IsRequest:
		if s.Asks == 0 {
			return
		}
		x.Queries++
		x.server(s.To(), s.ServerHash)
	case track.IsReply, track.IsChallenge:
		x.Replies++
		x.server(s.From(), s.ServerHash)
	case track.IsPart:
		if s.Flags&track.First != 0 {
			x.Replies++
			x.server(s.From(), s.ServerHash)
		}
	case track.IsJunk:
		if s.Foreign == 0 {
			x.Junk++
		}
	case track.IsLogin:
		x.Logins++
		x.server(s.To(), s.ServerHash)
	}
}

// server counts a server, once.
func (x *Seen) server(e track.End, hash uint64) {
	if e == x.last {
		return
	}
	x.last = e
	x.servers.Add(hash)
	if x.exact == nil {
		x.exact = make(map[track.End]struct{}, seenExact+1)
	}
	if len(x.exact) <= seenExact {
		x.exact[e] = struct{}{}
	}
}

// Servers is how many servers there were, and whether that is an estimate.
func (x *Seen) Servers() (n uint64, rough bool) {
	if n := len(x.exact); n <= seenExact {
		return uint64(n), false
	}
	return uint64(x.servers.Count() + 0.5), true
}

// OneWay is "requests" or "replies" where only those were captured, else empty.
func (x *Seen) OneWay() string {
	switch {
	case x.Queries > 0 && x.Replies == 0:
		return "requests"
	case x.Queries == 0 && x.Replies > 0:
		return "replies"
	}
	return ""
}

// Tick takes note that time has passed.
func (x *Seen) Tick(int64, int64) {}

// Lost takes note that packets are missing from the capture.
func (x *Seen) Lost(uint64) { x.Gaps++ }

// End takes note that no packet follows.
func (x *Seen) End(int64, int64) {}
