package netlayer

import (
	"math/rand/v2"
	"testing"
)

var allLinks = []uint16{
	LinkNull, LinkEthernet, LinkRawDLT, LinkRawOpenBSD, LinkRaw, LinkLoop,
	LinkLinuxSLL, LinkIPv4, LinkIPv6, LinkLinuxSLL2, 105,
}

func FuzzDecode(f *testing.F) {
	for _, b := range benchFrames {
		f.Add(b.link, b.frame, len(b.frame))
	}
	g := generator{rand.New(rand.NewPCG(3, 4))}
	for range 50 {
		link, _, frame := g.frame()
		f.Add(link, frame[:g.IntN(len(frame)+1)], len(frame))
	}
	f.Fuzz(func(t *testing.T, link uint16, b []byte, wire int) {
		if wire > 1<<32 {
			wire %= 1 << 32
		}
		for _, link := range append(allLinks, link) {
			got := Packet{Wire: -1, Proto: 17, Frag: Frag{Set: true}, Stop: TooDeep}
			got.Decode(link, b, wire)
			checkInvariants(t, &got, b, wire)

			var again Packet
			again.Decode(link, b, wire)
			compare(t, again, got)

			if got.Frag.Set {
				joined := got
				joined.DecodeJoined(got.Payload, got.Wire)
				checkInvariants(t, &joined, got.Payload, got.Wire)
				if joined.Frag.Set {
					t.Errorf("got  a fragment inside a fragment: %+v\nwant %v", joined, TooDeep)
				}
			}
		}
	})
}

func checkInvariants(t *testing.T, p *Packet, b []byte, wire int) {
	t.Helper()
	if p.Stop >= NumStops || p.Stop.String() == "" {
		t.Errorf("got  reason %d\nwant one of the list", p.Stop)
	}
	if !within(p.Payload, b) {
		t.Errorf("got  payload %x\nwant a part of the frame %x", p.Payload, b)
	}
	if len(p.Payload) > p.Wire || p.Wire > max(wire, len(b)) {
		t.Errorf("got  %d bytes captured of %d\nwant no more than %d", len(p.Payload), p.Wire, max(wire, len(b)))
	}
	if p.Frag.Set && (p.Stop != OK || p.Src.Port() != 0 || p.Dst.Port() != 0 || p.Frag.Off%8 != 0 || p.Frag.Off > 65528) {
		t.Errorf("got  %+v\nwant a fragment on a border of 8 bytes, without ports", p)
	}
	switch p.Stop {
	case OK, TCP, ICMP, OtherProto:
		if !p.Src.IsValid() || p.Src.Addr().Is4() != p.Dst.Addr().Is4() {
			t.Errorf("got  %v to %v\nwant two addresses of one version", p.Src, p.Dst)
		}
	default:
		if p.Payload != nil || p.Wire != 0 {
			t.Errorf("got  payload %x, wire %d with %v\nwant none", p.Payload, p.Wire, p.Stop)
		}
	}
	back := Packet{Src: p.Dst, Dst: p.Src}
	if got, want := back.Partition(), p.Partition(); got != want || got >= Partitions {
		t.Errorf("got  partition %d in the other direction\nwant %d, below %d", got, want, Partitions)
	}
}

// within tells whether p is a part of b's memory. Slices of one array share its
// end, so cap gives p's place in it.
func within(p, b []byte) bool {
	if len(p) == 0 {
		return true
	}
	off := cap(b) - cap(p)
	return off >= 0 && off+len(p) <= len(b) && &b[off] == &p[0]
}
