package pipeline

import (
	"net/netip"

	"qsniff/dissect"
)

// DecodeAs is a rule of -d: what comes from or goes to a port of UDP, or of TCP, belongs
// to a protocol. If Proto is nil, which is for UDP only, it belongs to the known protocol
// that fits best.
type DecodeAs struct {
	TCP   bool
	Port  uint16
	Proto *dissect.Proto
}

// isFor reports whether the rule is for a datagram between two ends.
func (d *DecodeAs) isFor(src, dst netip.AddrPort) bool {
	return !d.TCP && (d.Port == src.Port() || d.Port == dst.Port())
}

// look is the verdict on the bytes of a datagram alone. Sightings and messages both begin
// with it, so it is found out once for both.
type look struct {
	verdict  dissect.Verdict
	isForced bool // a rule of -d gave the protocol
	// isUsual is set for a request of a usual form; key and form are those of its
	// dissect.Message then, and proto its dissect.FlowFacts.Proto.
	isUsual bool
	key     uint64
	proto   uint8
	form    dissect.Form
}

// lookAt makes l the verdict on b of the protocol that a rule of -d gives or, if there is
// none, of all protocols.
func (l *look) lookAt(reg *dissect.Registry, decodeAs []DecodeAs, c *dissect.Context, b []byte) {
	*l = look{}
	for i := range decodeAs {
		if as := &decodeAs[i]; as.isFor(c.Src, c.Dst) {
			if v, ok := reg.PickAs(c, b, as.Proto); ok {
				l.verdict, l.isForced = v, true
				return
			}
		}
	}
	l.verdict = reg.Pick(c, b)
	l.rate(reg, c, b)
}
