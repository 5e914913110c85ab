package pipeline

import "qsniff/dissect"

// sessions is the memory of protocols for connections, which is used again.
type sessions struct {
	budget dissect.Budget
	free   []dissect.Session // of the protocol that has any
	used   int
}

// areUsedUp reports whether a connection has to make room before the next take.
func (p *sessions) areUsedUp() bool { return p.used == maxSessions }

// take returns memory for one more connection of d.
func (p *sessions) take(d dissect.StreamDissector) dissect.Session {
	p.used++
	if n := len(p.free); n > 0 {
		x := p.free[n-1]
		p.free = p.free[:n-1]
		return x
	}
	return d.NewSession(&p.budget)
}

// giveBack takes the memory of a connection that is over.
func (p *sessions) giveBack(x dissect.Session) {
	x.Reset()
	p.free = append(p.free, x)
	p.used--
}
