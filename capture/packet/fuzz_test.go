package packet

import (
	"math/rand/v2"
	"slices"
	"testing"
)

var allLinks = []uint16{
	LinkNull, LinkEthernet, LinkPPP, LinkRawDLT, LinkRawOpenBSD, LinkPPPHDLC, LinkPPPoE, LinkRaw,
	LinkCiscoHDLC, LinkFrameRelay, LinkLoop, LinkLinuxSLL, LinkMPLS, LinkIPv4, LinkIPv6, LinkNFLOG,
	LinkLinuxSLL2, LinkPKTAP, LinkBroadcom, LinkBroadcomPre, LinkDSA, LinkEDSA, 105,
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
	for _, in := range []string{
		outer4(47, "2000 6558 0000002A"+frame4),
		outer4(47, "1000 88BE 00000001 1064 042A 00000001"+frame4),
		outer4(47, "1000 22EB 00000001 2064 0C2A 12345678 0000 0001 FFFFFFFFFFFFFFFF"+frame6),
		outer4(17, overUDP(4789, "08000000 00002A00"+frame4)),
		outer4(17, overUDP(6081, "0240 0800 00002A00 01028001 DEADBEEF"+in4)),
		outer4(17, overUDP(2152, "34FF 0029 0000002A 0000 00 85 01 0009 00"+in4)),
		outer6(41, in6),
		nest(maxWays, in4),
		icmp4(3, 3, "00200000", in4),
		icmp6(1, 4, "00000000", in6),
	} {
		f.Add(LinkRaw, unhex(in), len(unhex(in)))
	}
	for _, tt := range moreTunnels() {
		f.Add(tt.link, unhex(tt.in), len(unhex(tt.in)))
	}
	f.Add(LinkEthernet, unhex(macs+"8100 0007 8864"+pppoe(9, "0021", in4)), 100)
	f.Add(LinkMPLS, unhex(mplsStack(16)+"00000000"+frame6), 100)
	f.Add(LinkFrameRelay, unhex("1841 03 00 80 000000 0800"+in4), 100)
	f.Add(LinkNFLOG, unhex("02 00 0005 0800 0100 0800 01 00 2500 0900"+in4), 100)
	f.Fuzz(func(t *testing.T, link uint16, b []byte, wire int) {
		if wire > 1<<32 {
			wire %= 1 << 32
		}
		for _, link := range append(allLinks, link) {
			got := Packet{Wire: -1, Proto: 17, Frag: Frag{Set: true}, Stop: TooDeep, Depth: 7, Outer: new(Ways)}
			got.Decode(link, b, wire)
			checkInvariants(t, &got, b, wire)

			again := Packet{}
			again.Decode(link, b, wire)
			ways := got.Outer
			got.Outer = nil
			compare(t, again, got)
			got.Outer = ways

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
	longest := max(wire, len(b), 65_535) // an IP length is believed beyond the frame
	if slices.ContainsFunc(p.Ways(), func(w Way) bool { return w.Kind == WayERSPAN || w.Kind == WayTZSP }) {
		longest = max(longest, maxUncutLen) // a mirror may say that it cut the frame
	}
	if len(p.Payload) > p.Wire || p.Wire > longest {
		t.Errorf("got  %d bytes captured of %d\nwant no more than %d", len(p.Payload), p.Wire, longest)
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
	checkWays(t, p)
	checkQuote(t, p)
}

// checkWays asks that tunnels over IP and nothing else have two ends of one
// version, and those over UDP ports.
func checkWays(t *testing.T, p *Packet) {
	t.Helper()
	if p.Depth > maxWays {
		t.Fatalf("got  %d ways\nwant at most %d", p.Depth, maxWays)
	}
	for _, w := range p.Ways() {
		overIP := w.Kind >= WayGRE && w.Kind != WayMACsec && w.Kind != WaySwitch
		overUDP := false
		switch w.Kind {
		case WayVXLAN, WayGeneve, WayGTPU, WayTZSP, WayGUE:
			overUDP = true
		case WayGRE, WayERSPAN, WayL2TP: // over IP, and over UDP
			overUDP = w.Dst.Port() != 0
		}
		switch {
		case w.Kind >= NumWayKinds, w.Src.IsValid() != overIP, w.Dst.IsValid() != overIP,
			overIP && w.Src.Addr().Is4() != w.Dst.Addr().Is4(), (w.Dst.Port() != 0) != overUDP:
			t.Errorf("got  %+v\nwant the ends that its kind has", w)
		}
	}
}

// checkQuote asks that a quote lies in the packet, and that the error goes with
// the quoted pair, in both directions.
func checkQuote(t *testing.T, p *Packet) {
	t.Helper()
	q := p.Quote()
	back := Packet{Src: p.Dst, Dst: p.Src}
	if q.Set {
		back = Packet{Src: q.Dst, Dst: q.Src}
	}
	if got, want := back.Partition(), p.Partition(); got != want || got >= Partitions {
		t.Errorf("got  partition %d in the other direction\nwant %d, below %d", got, want, Partitions)
	}
	switch {
	case q.Set && p.Stop != ICMP:
		t.Errorf("got  a quote with %v\nwant none", p.Stop)
	case !within(q.Payload, p.Payload) || len(q.Payload) > q.Wire || q.Wire > quotedWire:
		t.Errorf("got  %d bytes quoted of %d\nwant a part of the message", len(q.Payload), q.Wire)
	case q.Set && (!q.Src.IsValid() || q.Src.Addr().Is4() != q.Dst.Addr().Is4() || q.Reason.String() == ""):
		t.Errorf("got  %+v\nwant two addresses of one version and a reason", q)
	case !q.Set && (q.Src.IsValid() || q.Payload != nil || q.Wire != 0):
		t.Errorf("got  %+v\nwant nothing, as Set is false", q)
	}
}

// within reports whether p is a part of b's memory. Slices of one array share its
// end, so cap gives p's place in it.
func within(p, b []byte) bool {
	if len(p) == 0 {
		return true
	}
	off := cap(b) - cap(p)
	return off >= 0 && off+len(p) <= len(b) && &b[off] == &p[0]
}
