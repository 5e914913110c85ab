package measure

import (
	"qsniff/flood/sketch"
	"qsniff/track"
)

// Host is one that is watched closely because it gets replies which it did not ask for.
type Host struct {
	Addr  track.Host
	Last  int32 // it got a reply
	Asked bool  // it was seen to ask for one

	key     Key
	seconds [BinSeconds]Unasked
	panes   [2]senders
	turn    int32
}

// Unasked is what a host got in a second.
type Unasked struct {
	Sec    int32
	Nanos  int64
	Frame  uint64
	Wild   uint32 // replies nobody asked for
	Bytes  uint64 // of these
	Wanted uint32
}

// senders is who sent what nobody asked for in ten seconds.
type senders struct {
	count   uint32
	servers sketch.Distinct
	top     *Top
	// Of servers in top, those that were looked at, and those that sent a challenge and
	// then data: that is an exchange, and no stream of replies.
	known     uint32
	exchanges uint32
}

// Init makes the sketches of a host. It is done once.
func (x *Host) Init(k Key) {
	x.key = k
	for i := range x.panes {
		x.panes[i].top = sketch.NewTop[track.Host, Seen](TopSources)
	}
}

// Reset makes another host of x, keeping its memory.
func (x *Host) Reset(h track.Host, now int32) {
	panes := x.panes
	for i := range panes {
		panes[i].reset()
	}
	*x = Host{Addr: h, Last: now, key: x.key, panes: panes, turn: now / PaneSeconds}
}

func (p *senders) reset() {
	p.count, p.exchanges, p.known = 0, 0, 0
	p.servers.Reset()
	p.top.Reset()
}

// Count counts a reply to the host. wanted is set where the host asked for it.
func (x *Host) Count(s *track.Sighting, c Clock, wanted bool) {
	x.Last = c.Now
	b := &x.seconds[c.Now%BinSeconds]
	if b.Sec != c.Now {
		*b = Unasked{Sec: c.Now, Nanos: c.Nanos}
	}
	if wanted {
		b.Wanted++
		x.Asked = true
		return
	}
	if b.Frame == 0 {
		b.Frame = s.Frame
	}
	b.Wild++
	b.Bytes += uint64(s.Bytes)
	p := &x.panes[x.turn&1]
	p.count++
	h := x.key.Host(s.Src)
	p.servers.Add(h)
	v := p.top.Add(s.Src, h)
	if v == nil {
		return
	}
	if v.First == 0 {
		p.known++
		if s.What == track.IsChallenge {
			v.Count = 1 // it was challenged first
		}
	}
	if v.Count == 1 && s.What != track.IsChallenge {
		p.exchanges++
		v.Count = 2
	}
	v.Note(s.TTL, x.key.Port(s.DstPort), c.Now)
}

// At returns the counts of a second, or nil if nothing came in it.
func (x *Host) At(sec int32) *Unasked {
	if b := &x.seconds[sec%BinSeconds]; b.Sec == sec {
		return b
	}
	return nil
}

// Sum adds up the n seconds to sec.
func (x *Host) Sum(sec, n int32) Unasked {
	var s Unasked
	for i := max(sec-n+1, 1); i <= sec; i++ {
		if b := x.At(i); b != nil {
			s.Wild += b.Wild
			s.Bytes += b.Bytes
			s.Wanted += b.Wanted
		}
	}
	return s
}

// Roll begins a new pane where it is time.
func (x *Host) Roll(now int32) {
	turn := now / PaneSeconds
	if turn == x.turn {
		return
	}
	if turn > x.turn+1 {
		x.panes[(turn+1)&1].reset()
	}
	x.turn = turn
	x.panes[turn&1].reset()
}

// Senders returns how many replies that nobody asked for came in the window, from about
// how many servers, and the share of servers in an exchange.
func (x *Host) Senders() (replies, servers, exchanges float64) {
	a, b := &x.panes[0], &x.panes[1]
	all := a.servers
	all.Merge(&b.servers)
	return float64(a.count + b.count), all.Count(), Share(float64(a.exchanges+b.exchanges), float64(a.known+b.known))
}

// MergeServers adds the servers of the pane at hand to all.
func (x *Host) MergeServers(all *sketch.Distinct) { all.Merge(&x.panes[x.turn&1].servers) }

// Busiest lists the servers of the window, busiest first. It returns list, with other
// elements.
func (x *Host) Busiest(list []Busy) []Busy {
	return Merge(list, x.panes[x.turn&1].top, x.panes[(x.turn+1)&1].top)
}
