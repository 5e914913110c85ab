package fleettest

import (
	"math"
	"net/netip"
	"time"

	"qsniff/internal/track"
)

// Server is a game server, which answers queries.
type Server struct {
	w    *World
	Host *Host
	Addr netip.AddrPort
	// IsOpen: it answers information to who brings no challenge, as old servers do.
	IsOpen bool
	// IsAway: it answers nothing.
	IsAway bool
	addr   track.Host
	visits float64 // a second, on a usual day
}

// delay is how long a server takes for an answer.
const delay = 500 * time.Microsecond

func newServer(w *World, h *Host, port uint16) *Server {
	return &Server{w: w, Host: h, Addr: netip.AddrPortFrom(h.Addr, port), addr: h.Addr.As16(), IsOpen: w.Rand.IntN(openShare) == 0,
		visits: min(max(middleVisits*math.Exp(visitSpread*w.Rand.NormFloat64()), leastVisits), mostVisits)}
}

// request is one that reaches a server.
type request struct {
	from track.Host
	port uint16
	ttl  uint8
	what message
	key  uint32 // the challenge that it brings, or 0
}

// key returns the challenge of a client.
func (s *Server) key(h track.Host) uint32 {
	return uint32(h.Hash(uint64(s.Addr.Port())))&0x7fffffff | 1
}

// receive is what a server does with a request. then is called when a challenge is on its way.
func (s *Server) receive(q request, then func()) {
	w := s.w
	x := track.Sighting{What: track.IsRequest, Src: q.from, SrcPort: q.port, Dst: s.addr, DstPort: s.Addr.Port(),
		TTL: q.ttl, Asks: q.what.t.Asks, Proto: a2s, Type: q.what.t, Print: uint32(q.what.t.Asks), Bytes: q.what.bytes}
	if q.key != 0 {
		x.Key, x.Flags = q.key, track.HasKey
		if q.what == infoQuery { // the others have room for one always
			x.Bytes += 4
		}
	}
	w.see(s.Host, &x)
	if s.IsAway {
		return
	}
	isProven := q.key != 0 && q.key == s.key(q.from)
	w.At(w.now+delay, func() {
		if isProven || s.IsOpen && q.what == infoQuery {
			s.send(q, answers[q.what.t], 0)
			return
		}
		s.send(q, challenge, s.key(q.from))
		if then != nil {
			then()
		}
	})
}

// send is what a server sends to who sent a request.
func (s *Server) send(q request, m message, key uint32) {
	x := track.Sighting{What: track.IsReply, Src: s.addr, SrcPort: s.Addr.Port(), Dst: q.from, DstPort: q.port, TTL: 64,
		Asks: m.t.Asks, Proto: a2s, Type: m.t, Bytes: m.bytes, Print: uint32(m.bytes)}
	if key != 0 {
		x.What, x.Key, x.Flags = track.IsChallenge, key, track.HasKey
	}
	s.w.see(s.Host, &x)
}

// ask asks one thing. A client that completes brings the challenge back that it is given.
func (w *World) ask(c Client, port uint16, s *Server, what message, completes bool) {
	q := request{from: c.host, port: port, ttl: c.ttl, what: what}
	s.receive(q, func() {
		if !completes {
			return
		}
		w.At(w.now+c.trip, func() {
			q.key = s.key(c.host)
			s.receive(q, nil)
		})
	})
}

// visit is what a client does who looks at a server: one question, or three.
func (w *World) visit(c Client, s *Server, n int, completes bool) {
	port := w.port()
	for i, what := range []message{infoQuery, playerQuery, rulesQuery}[:n] {
		w.At(w.now+time.Duration(i)*200*time.Millisecond, func() { w.ask(c, port, s, what, completes) })
	}
}
