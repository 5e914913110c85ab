package pipeline

import "qsniff/dissect"

// sessions is the supply of sessions, which protocols keep for connections. Those that
// are given back are used again. Where there is none, as many as are in use are made.
type sessions struct {
	budget dissect.Budget
	free   []dissect.Session // all of one protocol: only one has sessions
	used   int
}

// areUsedUp reports whether a connection has to be evicted before the next take.
func (p *sessions) areUsedUp() bool { return p.used == maxSessions }

// take returns a session for one more connection of d.
func (p *sessions) take(d dissect.StreamDissector) dissect.Session {
	if len(p.free) == 0 {
		p.free = d.AppendSessions(p.free, min(max(sessionsAtFirst, p.used), maxSessions-p.used), &p.budget)
	}
	n := len(p.free) - 1
	x := p.free[n]
	p.free = p.free[:n]
	p.used++
	return x
}

// giveBack frees the session of a connection that is over.
func (p *sessions) giveBack(x dissect.Session) {
	x.Reset()
	p.free = append(p.free, x)
	p.used--
}
