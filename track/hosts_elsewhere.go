package track

import (
	"qsniff/dissect"
	"qsniff/finding"
	"qsniff/internal/lru"
)

// socketKey is a client's socket and a kind of question.
type socketKey struct {
	client End
	asks   dissect.Asked // one bit
}

// Hash mixes the key.
func (k socketKey) Hash(seed uint64) uint64 { return lru.Mix(k.client.Hash(seed), uint64(k.asks)) }

// sockets is what a client's socket asked, and whom.
type sockets struct {
	open [maxAsked]asked
	n    uint8
	// crowded is the age of the last question for which there was no room: who
	// answers it cannot be told from who answers another.
	crowded int64
}

// asked is a question that the asked server has not replied to.
type asked struct {
	server End
	frame  uint64
	age    int64
}

// elsewhereKey names what is told once.
type elsewhereKey struct {
	pair  pairKey
	other End
}

// Hash mixes the key.
func (k elsewhereKey) Hash(seed uint64) uint64 {
	return lru.Mix(lru.MixBytes(k.pair.Hash(seed), k.other.Host[:]), uint64(k.other.Port))
}

// ask remembers whom a client's socket asked.
func (h *Hosts) ask(f *Fact) {
	if f.Type.Asks == 0 {
		return
	}
	s, evicted := h.sockets.Put(socketKey{EndOf(f.Client), f.Type.Asks & -f.Type.Asks})
	if evicted != nil {
		h.evicted++
	}
	if s.n == 0 && s.crowded == 0 {
		s.crowded = never
	}
	server := EndOf(f.Server)
	s.forget(server, f.Age-int64(elsewhereFor))
	if int(s.n) == len(s.open) {
		s.crowded = f.Age
		return
	}
	s.open[s.n] = asked{server, f.Frame, f.Age}
	s.n++
}

// forget removes what server was asked, and what was asked before age.
func (s *sockets) forget(server End, age int64) {
	n := uint8(0)
	for _, a := range s.open[:s.n] {
		if a.server != server && a.age >= age {
			s.open[n] = a
			n++
		}
	}
	s.n = n
}

// settle takes the word of a server that was asked.
func (h *Hosts) settle(f *Fact) {
	client, server := EndOf(f.Client), EndOf(f.Server)
	for asks := f.Type.Asks; asks != 0; asks &= asks - 1 {
		if s := h.sockets.Peek(socketKey{client, asks.First()}); s != nil {
			s.forget(server, f.Age-int64(elsewhereFor))
		}
	}
}

// elsewhere takes a reply from somebody that the client did not ask.
func (h *Hosts) elsewhere(f *Fact) {
	a, ok := h.meant(f)
	if !ok {
		return
	}
	k := elsewhereKey{pairKey{a.server, f.Client.Addr().As16()}, EndOf(f.Server)}
	if h.told.Get(k) != nil {
		return
	}
	h.told.Put(k)
	at := *f
	at.Server = a.server.AddrPort()
	// What the client asked before the capture began is not known either.
	since := f.Age - int64(elsewhereFor)
	h.raise(&at, a.frame, finding.Expert{Code: &Elsewhere, Addr: f.Server, A: uint64(f.Age - a.age)},
		h.unsure(since) || h.began > since)
}

// meant returns the question that a reply from elsewhere answers: the only one that
// is open, or the only one to a server with the same address or port.
func (h *Hosts) meant(f *Fact) (best asked, ok bool) {
	client, other := EndOf(f.Client), EndOf(f.Server)
	since := f.Age - int64(elsewhereFor)
	open, near, nearest := 0, 0, asked{}
	for asks := f.Type.Asks; asks != 0; asks &= asks - 1 {
		s := h.sockets.Peek(socketKey{client, asks.First()})
		if s == nil {
			continue
		}
		if s.crowded >= since {
			return asked{}, false
		}
		for _, a := range s.open[:s.n] {
			switch {
			case a.server == other:
				return asked{}, false
			case a.age < since || a.frame >= f.Frame || open > 0 && a.server == best.server:
				continue
			}
			best, open = a, open+1
			if a.server.Host == other.Host || a.server.Port == other.Port {
				nearest, near = a, near+1
			}
		}
	}
	if near == 1 {
		return nearest, true
	}
	return best, open == 1
}
