package pipeline

import (
	"bytes"
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/track"
	"qsniff/reassembly/wire"
)

// lastLook is the last short payload that its bytes show to be a message, and the verdict on
// it. Most packets of a flood are the same, so the next one need not be looked at again.
type lastLook struct {
	n, wire int
	isIPv4  bool // it came over IPv4: lists of servers have another form over IPv6
	b       [lastPayloadBytes]byte
	look    look
}

// lastPayloadBytes is the longest payload that is kept. Chosen: requests with a challenge
// are shorter.
const lastPayloadBytes = 64

// matches reports whether b, as long as wire, from src, is the payload that is kept.
func (a *lastLook) matches(b []byte, wire int, src netip.AddrPort) bool {
	return len(b) == a.n && wire == a.wire && a.n > 0 && isIPv4(src) == a.isIPv4 && bytes.Equal(b, a.b[:a.n])
}

// store keeps b, and reports whether it is short enough and l sure.
func (a *lastLook) store(c *dissect.Context, b []byte, l *look) bool {
	if len(b) > len(a.b) || l.verdict.Conf <= dissect.Maybe || c.FromSplit != wire.None {
		return false
	}
	a.n, a.wire, a.isIPv4, a.look = copy(a.b[:], b), c.Wire, isIPv4(c.Src), *l
	return true
}

func isIPv4(a netip.AddrPort) bool { return a.Addr().Is4() || a.Addr().Is4In6() }

// lastSighting is what else is known of the payload of a lastLook.
type lastSighting struct {
	lastLook
	sum   uint64 // its printOf
	known track.Sighting
}

// store keeps the payload b, of which s and l were found out, as lastLook does.
func (a *lastSighting) store(c *dissect.Context, b []byte, s *track.Sighting, l *look, sum uint64) {
	if !a.lastLook.store(c, b, l) {
		return
	}
	a.sum = sum
	k := &a.known
	k.What, k.Flags, k.Asks, k.Proto, k.Type, k.Key = s.What, s.Flags&^track.Joined, s.Asks, s.Proto, s.Type, s.Key
}

// fillIn fills in what is known of the payload that is kept.
func (a *lastSighting) fillIn(s *track.Sighting) {
	k := &a.known
	s.What, s.Asks, s.Proto, s.Type, s.Key = k.What, k.Asks, k.Proto, k.Type, k.Key
	s.Flags |= k.Flags
}
