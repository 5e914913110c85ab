package flood

import (
	"net/netip"
	"time"

	"qsniff/dissect"
	"qsniff/internal/track"
)

// The servers of a world, and what clients ask them.

// server answers queries.
type server struct {
	w     *world
	host  track.Host
	port  uint16
	proto *dissect.Proto
	// asks tells that it gives nothing but challenges to who does not bring one.
	asks    bool
	isOpen  func(dissect.Asked) bool // it answers that without one; nil: nothing
	delay   time.Duration            // until it answers
	isSame  bool                     // everybody gets the same challenge
	accepts bool                     // any challenge is as good as the one that it gave
	limit   int                      // answers to a source in window; 0: no limit
	window  time.Duration
	away    func(now time.Duration) bool // it says nothing; nil: it always does
	heard   map[track.Host]*quota
	epoch   uint64 // how often it restarted: each time challenges change
}

type quota struct {
	since time.Duration
	n     int
}

func (w *world) server(addr string, port uint16) *server {
	return &server{w: w, host: w.parse(addr), port: port, proto: a2s, asks: true, delay: 500 * time.Microsecond, heard: map[track.Host]*quota{}}
}

// target is how incidents name it.
func (s *server) target() string {
	return Target{End: netip.AddrPortFrom(s.host.Addr(), s.port)}.String()
}

// open takes the challenge away.
func (s *server) open() *server { s.asks = false; return s }

// limited has it answer a source that often only.
func (s *server) limited(n int, window time.Duration) *server {
	s.limit, s.window = n, window
	return s
}

// key is the challenge of a client.
func (s *server) key(h track.Host) uint32 {
	if s.isSame {
		return 4711
	}
	return uint32(h.Hash(uint64(s.port)+s.epoch<<16))&0x7fffffff | 1
}

// request is one that reaches a server.
type request struct {
	from  track.Host
	port  uint16
	ttl   uint8
	asks  dissect.Asked
	key   uint32
	print uint32
}

// take is what a server does with a request; then is called with whether it gave
// a challenge, when that is on its way.
func (s *server) take(q request, then func(challenged bool)) {
	w := s.w
	x := track.Sighting{What: track.IsRequest, Src: q.from, SrcPort: q.port, Dst: s.host, DstPort: s.port,
		TTL: q.ttl, Asks: q.asks, Proto: s.proto, Print: q.print, Bytes: 9}
	switch {
	case s.proto == ase:
		x.Bytes = 1
	case q.asks == dissect.AskInfo:
		x.Bytes = 25
	}
	if x.Print == 0 {
		x.Print = uint32(q.asks)
	}
	if q.key != 0 {
		x.Key, x.Flags = q.key, track.HasKey
		if q.asks == dissect.AskInfo {
			x.Bytes += 4
		}
	}
	w.see(x)
	if s.away != nil && s.away(w.now) || !s.allows(q.from) {
		return
	}
	challenge := s.asks && q.key != s.key(q.from) && !(s.isOpen != nil && s.isOpen(q.asks))
	challenge = challenge && !(s.accepts && q.key != 0)
	w.at(w.now+s.delay, func() {
		s.reply(q, challenge)
		if then != nil {
			then(challenge)
		}
	})
}

func (s *server) allows(h track.Host) bool {
	if s.limit == 0 {
		return true
	}
	a := s.heard[h]
	if a == nil || s.w.now-a.since > s.window {
		a = &quota{since: s.w.now}
		s.heard[h] = a
	}
	a.n++
	return a.n <= s.limit
}

func (s *server) reply(q request, challenge bool) {
	if s.w.blind {
		return
	}
	x := track.Sighting{What: track.IsReply, Src: s.host, SrcPort: s.port, Dst: q.from, DstPort: q.port,
		TTL: 64, Asks: q.asks, Proto: s.proto, Bytes: 170}
	switch {
	case challenge:
		x.What, x.Asks, x.Bytes = track.IsChallenge, dissect.AskChallenge, 9
		x.Key, x.Flags = s.key(q.from), track.HasKey
	case s.proto == ase:
		x.Bytes = 1200
	case q.asks == dissect.AskPlayers:
		x.Bytes = 520
	case q.asks == dissect.AskRules: // in two parts
		x.What, x.Proto, x.Bytes = track.IsPart, nil, 600
		s.w.see(x)
		x.Flags, x.Bytes = track.First, 1248
	}
	s.w.see(x)
}

// query asks one thing as a client does, which brings the challenge back if it
// completes.
func (w *world) query(c client, port uint16, s *server, asks dissect.Asked, completes bool) {
	q := request{from: c.host, port: port, ttl: c.ttl, asks: asks}
	s.take(q, func(challenged bool) {
		if !challenged || !completes {
			return
		}
		w.at(w.now+c.trip, func() {
			q.key = s.key(c.host)
			s.take(q, nil)
		})
	})
}

var three = []dissect.Asked{dissect.AskInfo, dissect.AskPlayers, dissect.AskRules}

// visit asks one thing or three, gap apart.
func (w *world) visit(c client, s *server, n int, gap time.Duration, completes bool) {
	port := w.port()
	for i := range n {
		w.at(w.now+time.Duration(i)*gap, func() {
			asks := three[i]
			if s.proto == ase {
				asks = dissect.AskStatus
			}
			w.query(c, port, s, asks, completes)
		})
	}
}

// daily is what servers get on a usual day: visits and a few monitors.
func (w *world) daily(s *server, rate float64, until time.Duration) {
	w.poisson(rate, 0, until, func() {
		n := 1
		if w.r.Float64() < 0.3 && s.proto != ase {
			n = 3
		}
		w.visit(w.someone(), s, n, 200*time.Millisecond, true)
	})
	for i := range 4 {
		c, period := w.client(100_000+i), 10+50*w.r.Float64()
		w.every(1/period, time.Duration(w.r.Float64()*10e9), until, func(int) { w.visit(c, s, 1, 0, true) })
	}
}

// unreachable is the word of a host that it did not want a reply.
func (w *world) unreachable(s *server, h track.Host, port uint16) {
	w.see(track.Sighting{What: track.IsUnreachable, Src: s.host, SrcPort: s.port, Dst: h, DstPort: port, TTL: 50})
}

// login is a password at a console, and what it says to it.
func (w *world) login(s *server, c client, port uint16, secret uint32, right bool) {
	x := track.Sighting{What: track.IsLogin, Src: c.host, SrcPort: port, Dst: s.host, DstPort: s.port,
		Proto: rcon, Asks: dissect.AskLogin, Secret: secret, Flags: track.Connection, Bytes: 22}
	w.see(x)
	w.at(w.now+time.Millisecond, func() {
		x.What, x.Src, x.SrcPort, x.Dst, x.DstPort = track.IsRejected, s.host, s.port, c.host, port
		if right {
			x.What = track.IsWelcome
		}
		w.see(x)
	})
}
