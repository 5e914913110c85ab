package measure

import (
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// Receiver is a host that is watched closely because it gets replies that it did not
// request: the possible victim of a reflection.
type Receiver struct {
	Addr      track.Host
	LastReply int32 // second of the last reply to it
	HasAsked  bool  // it was seen to request a reply

	key     Key
	seconds [BinSeconds]ReceiverSecond
	panes   [2]senderPane
	turn    int32
}

// ReceiverSecond is what a host got in one second.
type ReceiverSecond struct {
	Sec         int32
	Nanos       int64  // Unix time of its begin
	Frame       uint64 // of the first reply that was not requested
	Unrequested uint32 // replies that the host did not request
	Bytes       uint64 // of these
	Requested   uint32 // replies that it did
}

// senderPane counts who sent replies that were not requested, in ten seconds.
type senderPane struct {
	count   uint32 // replies
	servers sketch.Distinct
	top     *Top
	// known counts the servers in top; exchanges counts those of them that sent a challenge and
	// then data: such a server had an exchange with the host, and does not reflect.
	known     uint32
	exchanges uint32
}

// Init allocates the sketches of a host. Call it once.
func (x *Receiver) Init(k Key) {
	x.key = k
	for i := range x.panes {
		x.panes[i].top = sketch.NewTop[track.Host, Activity](TopSources)
	}
}

// Reset makes x the receiver for another host. It reuses the memory.
func (x *Receiver) Reset(h track.Host, now int32) {
	panes := x.panes
	for i := range panes {
		panes[i].reset()
	}
	*x = Receiver{Addr: h, LastReply: now, key: x.key, panes: panes, turn: now / PaneSeconds}
}

func (p *senderPane) reset() {
	p.count, p.exchanges, p.known = 0, 0, 0
	p.servers.Reset()
	p.top.Reset()
}

// Count counts a reply to the host. isRequested is true where the host asked for it.
func (x *Receiver) Count(s *track.Sighting, c Clock, isRequested bool) {
	x.LastReply = c.Now
	b := &x.seconds[c.Now%BinSeconds]
	if b.Sec != c.Now {
		*b = ReceiverSecond{Sec: c.Now, Nanos: c.Nanos}
	}
	if isRequested {
		b.Requested++
		x.HasAsked = true
		return
	}
	if b.Frame == 0 {
		b.Frame = s.Frame
	}
	b.Unrequested++
	b.Bytes += uint64(s.Bytes)
	p := &x.panes[x.turn&1]
	p.count++
	h := x.key.HashHost(&s.Src)
	p.servers.Add(h)
	v := p.top.Add(&s.Src, h)
	if v == nil {
		return
	}
	if v.First == 0 {
		p.known++
		if s.What == track.IsChallenge {
			v.Count = 1 // its first reply is a challenge
		}
	}
	if v.Count == 1 && s.What != track.IsChallenge {
		p.exchanges++
		v.Count = 2
	}
	v.recordPacket(s.TTL, x.key.HashPort(s.DstPort), c.Now)
}

// At returns the counts of a second, or nil if nothing came in it.
func (x *Receiver) At(sec int32) *ReceiverSecond {
	if b := &x.seconds[sec%BinSeconds]; b.Sec == sec {
		return b
	}
	return nil
}

// Sum adds up the n seconds that end with sec.
func (x *Receiver) Sum(sec, n int32) ReceiverSecond {
	var s ReceiverSecond
	for i := max(sec-n+1, 1); i <= sec; i++ {
		if b := x.At(i); b != nil {
			s.Unrequested += b.Unrequested
			s.Bytes += b.Bytes
			s.Requested += b.Requested
		}
	}
	return s
}

// TurnPane begins a new pane if the current one has ended.
func (x *Receiver) TurnPane(now int32) {
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

// Senders returns the number of replies in the window that were not requested, the
// estimated number of servers that sent them, and the share of servers in an exchange.
func (x *Receiver) Senders() (replies, servers, exchanges float64) {
	a, b := &x.panes[0], &x.panes[1]
	all := a.servers
	all.Merge(&b.servers)
	return float64(a.count + b.count), all.Count(), Share(float64(a.exchanges+b.exchanges), float64(a.known+b.known))
}

// MergeServers adds the servers of the current pane to all.
func (x *Receiver) MergeServers(all *sketch.Distinct) { all.Merge(&x.panes[x.turn&1].servers) }

// Busiest lists the servers of the window, busiest first. It overwrites list and returns
// it.
func (x *Receiver) Busiest(list []BusyHost) []BusyHost {
	return mergeBusiest(list, x.panes[x.turn&1].top, x.panes[(x.turn+1)&1].top)
}
