package fleettest

import "time"

// Calm are events that look like campaigns and are none.
var Calm = []*Event{
	{Name: "a crowd after an update", Length: 90 * time.Second,
		Play: func(w *World, from, to time.Duration) []*Host {
			for _, s := range w.Servers() {
				w.Poisson(3, from, to, func() { w.visit(w.NewClient(), s, 1+w.Rand.IntN(3), w.Rand.Float64() > 0.03) })
			}
			return w.Hosts
		}},
	{Name: "a service polls all servers", Length: 90 * time.Second,
		Play: func(w *World, from, to time.Duration) []*Host {
			for i := range 12 {
				w.poll(w.Client(monitorsFrom+5000+i), w.Servers(), 3*time.Second, from+time.Duration(i)*100*time.Millisecond, to)
			}
			return w.Hosts
		}},
	{Name: "an old tool polls all servers", Length: 90 * time.Second,
		Play: func(w *World, from, to time.Duration) []*Host {
			for i, c := range w.machines(6) {
				port := w.port()
				w.inTurn(w.Servers(), 0.3, from+time.Duration(i)*50*time.Millisecond, to, func(s *Server) { w.ask(c, port, s, infoQuery, false) })
			}
			return w.Hosts
		}},
	{Name: "an old monitor asks all servers each second", Length: 90 * time.Second,
		Play: func(w *World, from, to time.Duration) []*Host {
			c, port := w.machines(1)[0], w.port()
			w.inTurn(w.Servers(), 1.2, from, to, func(s *Server) { w.ask(c, port, s, infoQuery, false) })
			return w.Hosts
		}},
	{Name: "a survey of all servers", Length: 40 * time.Second,
		Play: func(w *World, from, to time.Duration) []*Host {
			for _, c := range w.machines(2) {
				port := w.port()
				w.inTurn(w.Servers(), 0.2, from, to, func(s *Server) {
					for _, what := range [...]message{infoQuery, playerQuery, rulesQuery} {
						w.ask(c, port, s, what, true)
					}
				})
			}
			return w.Hosts
		}},
	{Name: "browsers refresh their lists", Length: time.Minute,
		Play: func(w *World, from, to time.Duration) []*Host {
			length := time.Duration(float64(len(w.Servers())) / refreshRate * 1e9)
			w.Poisson(2, from, max(to-length, from+10*time.Second), func() { w.refresh(w.NewClient()) })
			return w.Hosts
		}},
	{Name: "servers restart, and players look for them", Length: 90 * time.Second,
		Play: func(w *World, from, to time.Duration) []*Host {
			hosts := w.chooseHosts(max(len(w.Hosts)/4, 3))
			for _, s := range serversOf(hosts) {
				w.At(from, func() { s.IsAway = true })
				w.At(to-30*time.Second, func() { s.IsAway = false })
				for range 16 {
					c, first := w.Regular(), from+time.Duration(w.Rand.Float64()*5e9)
					w.Every(0.25, first, to-20*time.Second, func(int) { w.visit(c, s, 1, true) })
				}
			}
			return hosts
		}},
	{Name: "players come back to all servers", Length: 20 * time.Second,
		Play: func(w *World, from, to time.Duration) []*Host {
			for _, s := range w.Servers() {
				w.Poisson(1.5, from, to, func() { // to join takes two datagrams that are nothing known
					c, port := w.Regular(), w.port()
					w.junk(s, c.host, port)
					w.At(w.now+c.trip, func() { w.junk(s, c.host, port) })
				})
			}
			return w.Hosts
		}},
}

// machines returns n monitors that were never there before.
func (w *World) machines(n int) (all []Client) {
	for range n {
		w.people++
		all = append(all, w.Client(monitorsFrom+w.people))
	}
	return all
}
