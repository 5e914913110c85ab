package track

import "qsniff/dissect/finding"

// gifts is which challenges a client was given in one exchange, where a repeated request got a
// second one before the first came back. Exchanges are known by the low bits of their numbers.
type gifts struct {
	last         uint32 // exchange of the last gift
	both         uint32 // exchange in which the client was given its last two; 0: there is none
	isNewerFirst bool   // of these the newer one came back, and the older did not yet
}

// addOther adds a challenge that is not that of the last gift.
func (g *gifts) addOther(f *Fact) {
	g.both, g.isNewerFirst = 0, false
	if f.Step == Extra && g.last == uint32(f.ID) {
		g.both = g.last
	}
}

// checkOrder raises that a client brings back the older of two challenges that it was given in
// one exchange after the newer one. One that waits for one reply at a time brings them back as
// they come.
func (h *Hosts) checkOrder(f *Fact, p *challengedClient) {
	switch g := &p.given; {
	case g.both == 0 || g.both != uint32(f.ID):
	case uint32(f.Key) == p.challenge:
		g.isNewerFirst = true
	case g.isNewerFirst:
		h.raise(f, f.ID, finding.Expert{Code: pairCodes(f.Proto).Mixed, A: uint64(p.previous), B: uint64(p.challenge)}, false)
		fallthrough
	default:
		g.both = 0
	}
}
