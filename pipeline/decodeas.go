package pipeline

import (
	"net/netip"

	"qsniff/dissect"
)

// DecodeAs says that what comes from or goes to a port of UDP, or of TCP, is a
// protocol's; where Proto is nil, which UDP allows, that it is one of ours.
type DecodeAs struct {
	TCP   bool
	Port  uint16
	Proto *dissect.Proto
}

// isFor reports whether the rule is for a datagram between two ends.
func (d *DecodeAs) isFor(src, dst netip.AddrPort) bool {
	return !d.TCP && (d.Port == src.Port() || d.Port == dst.Port())
}

// look is what the bytes of a datagram alone say of it: the first thing that those
// who watch for floods and those who read messages want to know, found out once.
type look struct {
	verdict  dissect.Verdict
	isForced bool // somebody gave the protocol, with decode as
}

// lookAt asks for the protocol that somebody gave with decode as, or else all.
func lookAt(reg *dissect.Registry, decodeAs []DecodeAs, c *dissect.Context, b []byte) look {
	for i := range decodeAs {
		if as := &decodeAs[i]; as.isFor(c.Src, c.Dst) {
			if v, ok := reg.Force(c, b, as.Proto); ok {
				return look{v, true}
			}
		}
	}
	return look{verdict: reg.Pick(c, b)}
}
