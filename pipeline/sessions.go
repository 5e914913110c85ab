package pipeline

import "qsniff/dissect"

// sessions is the supply of sessions, which protocols keep for connections. Those that
// are given back are used again.
type sessions struct {
	budget dissect.Budget
	free   []dissect.Session // all of one protocol: only one has sessions
	used   int
}

// areUsedUp reports whether a connection has to be evicted before the next take.
func (p *sessions) areUsedUp() bool { return p.used == maxSessions }

// take returns a session for one more connection of d.
func (p *sessions) take(d dissect.StreamDissector) dissect.Session {
	p.used++
	if n := len(p.free); n > 0 {
		x := p.free[n-1]
		p.free = p.free[:n-1]
		return x
	}
	return d.NewSession(&p.budget)
}

// giveBack frees the session of a connection that is over.
func (p *sessions) giveBack(x dissect.Session) {
	x.Reset()
	p.free = append(p.free, x)
	p.used--
}
