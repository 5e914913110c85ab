package fleettest

import (
	"time"

	"qsniff/internal/flood"
	"qsniff/internal/track"
)

// What a campaign of forged or of real machines may be told as.
var (
	asForged  = []flood.Kind{flood.FloodSpoofed}
	asMany    = []flood.Kind{flood.FloodSpoofed, flood.FloodDistributed, flood.FloodSuspect}
	asFew     = []flood.Kind{flood.FloodFew, flood.FloodDistributed}
	asMirror  = []flood.Kind{flood.Reflection}
	asReplies = []flood.Kind{flood.ReplyFloodVictim}
	asJunk    = []flood.Kind{flood.JunkFlood}
)

// Carpets are spread over so many servers that each of them gets little more than usual.
var Carpets = []*Event{
	{Name: "carpet, forged, all hosts", Length: 80 * time.Second, Kinds: asForged, IsSilent: true,
		Play: func(w *World, from, to time.Duration) []*Host { return w.carpet(w.Hosts, 4, 117, from, to) }},
	{Name: "carpet, forged, random TTL", Length: 80 * time.Second, Kinds: asForged, IsSilent: true,
		Play: func(w *World, from, to time.Duration) []*Host { return w.carpet(w.Hosts, 4, 0, from, to) }},
	{Name: "carpet, forged, a quarter of the hosts", Length: 80 * time.Second, Kinds: asForged, IsSilent: true,
		Play: func(w *World, from, to time.Duration) []*Host {
			return w.carpet(w.chooseHosts(max(len(w.Hosts)/4, 5)), 5, 117, from, to)
		}},
	{Name: "carpet, forged, thin", Length: 3 * time.Minute, Kinds: asForged, IsSilent: true,
		Play: func(w *World, from, to time.Duration) []*Host { return w.carpet(w.Hosts, 1.5, 117, from, to) }},
	{Name: "carpet, forged, in pulses", Length: 2 * time.Minute, Kinds: asForged, IsSilent: true,
		Play: func(w *World, from, to time.Duration) []*Host {
			for t := from; t < to; t += 50 * time.Second {
				w.carpet(w.Hosts, 6, 117, t, min(t+30*time.Second, to))
			}
			return w.Hosts
		}},
	{Name: "carpet, bots", Length: 80 * time.Second, Kinds: asMany, IsSilent: true,
		Play: func(w *World, from, to time.Duration) []*Host {
			w.inTurn(w.Servers(), 4, from, to, func(s *Server) { w.ask(w.bot(3000), w.port(), s, infoQuery, false) })
			return w.Hosts
		}},
	{Name: "carpet, few bots", Length: 80 * time.Second, Kinds: append(asFew, asMany...), IsSilent: true,
		Play: func(w *World, from, to time.Duration) []*Host {
			w.inTurn(w.Servers(), 4, from, to, func(s *Server) { w.ask(w.bot(60), w.port(), s, infoQuery, false) })
			return w.Hosts
		}},
	{Name: "carpet, junk", Length: 80 * time.Second, Kinds: asJunk, IsSilent: true,
		Play: func(w *World, from, to time.Duration) []*Host {
			w.inTurn(w.Servers(), 8, from, to, func(s *Server) { w.junk(s, w.anywhere(), w.port()) })
			return w.Hosts
		}},
	{Name: "all open servers against one victim", Length: 80 * time.Second, Kinds: asMirror, IsSilent: true,
		Play: func(w *World, from, to time.Duration) []*Host { return w.mirror(2.4, from, to) }},
}

// Floods are what each host sees alone, and a fleet as one campaign.
var Floods = []*Event{
	{Name: "an attacker walks from host to host", Length: 3 * time.Minute, Kinds: asForged,
		Play: func(w *World, from, to time.Duration) []*Host {
			hosts := w.chooseHosts(9)
			for i, h := range hosts {
				at := from + time.Duration(i)*20*time.Second
				w.forged(h.Servers[0], 1500, 117, at, min(at+20*time.Second, to))
			}
			return hosts
		}},
	{Name: "the same bots at several hosts", Length: time.Minute, Kinds: asMany,
		Play: func(w *World, from, to time.Duration) []*Host {
			hosts := w.chooseHosts(12)
			for _, h := range hosts {
				w.Every(400, from, to, func(int) { w.ask(w.bot(250), w.port(), h.Servers[0], infoQuery, false) })
			}
			return hosts
		}},
	{Name: "one set of reflectors", Length: time.Minute, Kinds: asReplies,
		Play: func(w *World, from, to time.Duration) []*Host {
			hosts := w.chooseHosts(10)
			for _, h := range hosts {
				w.Every(300, from, to, func(int) { w.unasked(h, w.Client(botsFrom+500_000+w.Rand.IntN(400))) })
			}
			return hosts
		}},
}

// carpet asks servers of hosts in turn in the name of invented addresses, each of them rate times a
// second. ttl 0: each packet has another one.
func (w *World) carpet(hosts []*Host, rate float64, ttl uint8, from, to time.Duration) []*Host {
	w.inTurn(serversOf(hosts), rate, from, to, func(s *Server) { w.forge(s, ttl) })
	return hosts
}

// forged asks one server in the name of invented addresses.
func (w *World) forged(s *Server, rate float64, ttl uint8, from, to time.Duration) {
	w.Every(rate, from, to, func(int) { w.forge(s, ttl) })
}

func (w *World) forge(s *Server, ttl uint8) {
	if ttl == 0 {
		ttl = uint8(w.Rand.IntN(256))
	}
	s.receive(request{from: w.anywhere(), port: uint16(w.Rand.IntN(65536)), ttl: ttl, what: infoQuery}, nil)
}

// bot returns one of n machines that somebody else controls.
func (w *World) bot(n int) Client { return w.Client(botsFrom + w.Rand.IntN(n)) }

// junk is a datagram to a server that begins like a query and is nothing known.
func (w *World) junk(s *Server, from track.Host, port uint16) {
	w.see(s.Host, &track.Sighting{What: track.IsJunk, Src: from, SrcPort: port, Dst: s.addr, DstPort: s.Addr.Port(), TTL: 117,
		Bytes: uint32(8 + w.Rand.IntN(56)), Print: w.Rand.Uint32()})
}

// mirror asks all servers that give information without a challenge in the name of one victim.
func (w *World) mirror(rate float64, from, to time.Duration) (hosts []*Host) {
	victim, isIn := w.NewClient(), map[*Host]bool{}
	var open []*Server
	for _, s := range w.Servers() {
		if s.IsOpen {
			open, isIn[s.Host] = append(open, s), true
		}
	}
	w.inTurn(open, rate, from, to, func(s *Server) {
		s.receive(request{from: victim.host, port: w.port(), ttl: 54, what: infoQuery}, nil)
	})
	for _, h := range w.Hosts {
		if isIn[h] {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// unasked is a reply of a server elsewhere to a host here that did not ask.
func (w *World) unasked(h *Host, c Client) {
	w.see(h, &track.Sighting{What: track.IsReply, Src: c.host, SrcPort: 27015, Dst: h.Addr.As16(), DstPort: 27015, TTL: c.ttl,
		Asks: info.t.Asks, Proto: a2s, Type: info.t, Bytes: info.bytes, Print: uint32(info.bytes)})
}
