package track

import "qsniff/dissect/finding"

// mixed finds clients that bring the older of two challenges back after the newer one: they got both in one
// exchange, as a server replies to a repeated request, too, and some with another challenge each time. A client
// that keeps the last one only brings that back.
type mixed struct {
	*Hosts
	gifts *states[gifts] // by client
}

func newMixed(h *Hosts) check {
	c := &mixed{Hosts: h, gifts: newClientStates[gifts](h)}
	return check{wants: []want{{challenge, c.addChallenge}, {clientQuery | repeatedQuery, c.checkOrder}}}
}

// gifts is which challenges a client was given in one exchange, where a repeated request got a
// second one before the first came back. Exchanges are known by the low bits of their numbers.
type gifts struct {
	last         uint32 // exchange of the last gift
	both         uint32 // exchange in which the client was given its last two; 0: there is none
	isNewerFirst bool   // of these the newer one came back, and the older did not yet
}

// addChallenge adds a challenge that a client was given.
func (c *mixed) addChallenge(f *view) {
	if f.client == nil {
		return
	}
	g := c.gifts.at(f.client.slot)
	if f.isNew {
		g.both, g.isNewerFirst = 0, false
		if f.Step == Extra && g.last == uint32(f.ID) {
			g.both = g.last
		}
	}
	g.last = uint32(f.ID)
}

// checkOrder raises that a client brings back the older of two challenges that it was given in
// one exchange after the newer one. One that waits for one reply at a time brings them back as
// they come.
func (c *mixed) checkOrder(f *view) {
	p := f.proven()
	if p == nil || !p.hasChallenge(f.Fact, int64(freshFor)) {
		return
	}
	switch g := c.gifts.at(p.slot); {
	case g.both == 0 || g.both != uint32(f.ID):
	case uint32(f.Key) == p.challenge:
		g.isNewerFirst = true
	case g.isNewerFirst:
		c.Report(f.Fact, f.ID, finding.Expert{Code: pairCodes(f.Proto).Mixed, A: uint64(p.previous), B: uint64(p.challenge)}, false)
		fallthrough
	default:
		g.both = 0
	}
}
