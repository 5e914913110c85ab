package packet

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// icmp4 is an ICMP message in an IPv4 packet from the server's router, icmp6
// the same in IPv6; rest is the second word of the header.
func icmp4(typ, code int, rest, quote string) string {
	return outer4(1, fmt.Sprintf("%02X%02X 0000 ", typ, code)+rest+quote)
}

func icmp6(typ, code int, rest, quote string) string {
	return outer6(58, fmt.Sprintf("%02X%02X 0000 ", typ, code)+rest+quote)
}

// about4 is a Quote of in4, about6 one of in6.
func about4(typ, code uint8, r Reason) Quote {
	return Quote{Set: true, Type: typ, Code: code, Reason: r, Src: want4.Src, Dst: want4.Dst, Proto: 17, TTL: 64, IPID: 0x1234,
		Payload: want4.Payload, Wire: 5}
}

func about6(typ, code uint8, r Reason) Quote {
	return Quote{Set: true, Type: typ, Code: code, Reason: r, Src: want6.Src, Dst: want6.Dst, Proto: 17, TTL: 60,
		Payload: want6.Payload, Wire: 5}
}

type quoteTest struct {
	name string
	in   string
	want Quote
}

func runQuotes(t *testing.T, tests []quoteTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			frame := unhex(tt.in)
			var p Packet
			p.Decode(LinkRaw, frame, len(frame))
			if diff := cmp.Diff(tt.want, p.Quote(), packetOptions); diff != "" {
				t.Errorf("quote (-want +got):\n%s", diff)
			}
			pair := p
			if tt.want.Set {
				pair = Packet{Src: tt.want.Dst, Dst: tt.want.Src}
			}
			if got, want := p.Partition(), pair.Partition(); got != want {
				t.Errorf("got  partition %d\nwant %d", got, want)
			}
			for n := range frame {
				p.Decode(LinkRaw, frame[:n], len(frame))
				checkCutQuote(t, p.Quote(), tt.want)
				if t.Failed() {
					t.Fatalf("%d bytes captured of %x", n, frame)
				}
			}
		})
	}
}

// checkCutQuote asks that a cut error says less, and nothing else.
func checkCutQuote(t *testing.T, got, full Quote) {
	t.Helper()
	if !got.Set {
		if !cmp.Equal(got, Quote{}, packetOptions) {
			t.Errorf("got  %+v\nwant nothing, as Set is false", got)
		}
		return
	}
	if got.Src.Port() == 0 {
		full.Src, full.Dst = netip.AddrPortFrom(full.Src.Addr(), 0), netip.AddrPortFrom(full.Dst.Addr(), 0)
	}
	if got.Wire == 0 {
		full.Wire = 0
	}
	if got.Proto != full.Proto { // cut in an extension header
		full.Proto = got.Proto
	}
	if !strings.HasPrefix(string(full.Payload), string(got.Payload)) {
		t.Errorf("got  %x\nwant a prefix of %x", got.Payload, full.Payload)
	}
	full.Payload = got.Payload
	if diff := cmp.Diff(full, got, packetOptions); diff != "" {
		t.Errorf("quote (-want +got):\n%s", diff)
	}
}

func TestQuote(t *testing.T) {
	const zero = "00000000 "
	noPorts := func(q Quote, proto uint8) Quote {
		q.Src, q.Dst = netip.AddrPortFrom(q.Src.Addr(), 0), netip.AddrPortFrom(q.Dst.Addr(), 0)
		q.Proto, q.Payload, q.Wire = proto, nil, 0
		return q
	}
	with := func(q Quote, payload string, wire int) Quote {
		q.Payload, q.Wire = unhex(payload), wire
		return q
	}
	mtu := func(q Quote, n uint32) Quote {
		q.MTU = n
		return q
	}
	port := about4(3, 3, PortUnreachable)
	frag := func(field string) string { return strings.Replace(in4, "1234 0000", "1234 "+field, 1) }
	long := ip4(228, 17) + udp4(208) + strings.Repeat("00", 100)
	runQuotes(t, []quoteTest{
		{"port unreachable", icmp4(3, 3, zero, in4), port},
		{"8 bytes quoted", icmp4(3, 3, zero, in4[:len(in4)-len("FFFFFFFF 55 ")]), with(port, "", 5)},
		{"4 bytes quoted", icmp4(3, 3, zero, ip4(33, 17)+"697D 6987"), noPorts(port, 17)},
		{"IP header quoted", icmp4(3, 3, zero, ip4(33, 17)), noPorts(port, 17)},
		{"IP header cut", icmp4(3, 3, zero, ip4(33, 17)[:len(ip4(33, 17))-3]), Quote{}},
		{"IP header impossible", icmp4(3, 3, zero, "44"+in4[2:]), Quote{}},
		{"more was sent than is quoted", icmp4(3, 3, zero, long), with(port, strings.Repeat("00", 100), 200)},
		{"padding after the quote", icmp4(3, 3, zero, in4+"000000"), port},
		{"extensions after the quote", icmp4(3, 3, "00200000", ip4(228, 17)+udp4(208)+strings.Repeat("00", 100)+
			"2000 0000 0008 0101 00010140"), with(port, strings.Repeat("00", 100), 200)},
		{"fragmentation needed", icmp4(3, 4, "000005DC", in4), mtu(about4(3, 4, TooBig), 1500)},
		{"unknown code", icmp4(3, 16, zero, in4), about4(3, 16, OtherError)},
		{"source quench", icmp4(4, 0, zero, in4), about4(4, 0, SourceQuench)},
		{"redirect", icmp4(5, 1, "0A0000FE", in4), about4(5, 1, Redirect)},
		{"time exceeded", icmp4(11, 0, zero, in4), about4(11, 0, TimeExceeded)},
		{"reassembly time exceeded", icmp4(11, 1, zero, frag("2000")), about4(11, 1, NotReassembled)},
		{"later fragment", icmp4(11, 0, zero, frag("20B9")), noPorts(about4(11, 0, TimeExceeded), 17)},
		{"time exceeded, unknown code", icmp4(11, 7, zero, in4), about4(11, 7, OtherError)},
		{"parameter problem", icmp4(12, 0, "14000000", in4), about4(12, 0, BadHeader)},
		{"TCP", icmp4(3, 3, zero, ip4(40, 6)+"697D 6987 00000001"), Quote{Set: true, Type: 3, Code: 3, Reason: PortUnreachable,
			Src: want4.Src, Dst: want4.Dst, Proto: 6, TTL: 64, IPID: 0x1234}},
		{"tunnel", icmp4(3, 0, zero, ip4(60, 47)+"0000 0800"), noPorts(about4(3, 0, NetUnreachable), 47)},
		{"ICMP about ICMP", icmp4(3, 1, zero, ip4(28, 1)+"0800 0000 0000 0000"), noPorts(about4(3, 1, HostUnreachable), 1)},
		{"about IPv6", icmp4(3, 3, zero, in6), Quote{}},
		{"echo", icmp4(8, 0, zero, in4), Quote{}},
		{"header cut", outer4(1, "0303 0000 0000"), Quote{}},
		{"in a tunnel", outer4(47, "0000 0800"+icmp4(3, 3, zero, in4)), port},

		{"ICMPv6, port unreachable", icmp6(1, 4, zero, in6), about6(1, 4, PortUnreachable)},
		{"ICMPv6, prohibited, extensions", icmp6(1, 1, "08000000", in6+strings.Repeat("00", 64-len(unhex(in6)))+"2000 0000"),
			about6(1, 1, Prohibited)},
		{"ICMPv6, unknown code", icmp6(1, 8, zero, in6), about6(1, 8, OtherError)},
		{"ICMPv6, too big", icmp6(2, 0, "00000500", in6), mtu(about6(2, 0, TooBig), 1280)},
		{"ICMPv6, time exceeded", icmp6(3, 0, zero, in6), about6(3, 0, TimeExceeded)},
		{"ICMPv6, parameter problem", icmp6(4, 0, "00000006", in6), about6(4, 0, BadHeader)},
		{"ICMPv6, next header", icmp6(4, 1, "00000006", in6), about6(4, 1, ProtoUnreachable)},
		{"ICMPv6, options in the quote", icmp6(1, 4, zero, ip6(21, 60)+"11 00 0104 00000000"+in6[len(ip6(13, 17)):]),
			about6(1, 4, PortUnreachable)},
		{"ICMPv6, first fragment", icmp6(3, 1, zero, ip6(21, 44)+"11 00 0001 00000001"+in6[len(ip6(13, 17)):]),
			about6(3, 1, NotReassembled)},
		{"ICMPv6, neighbour", icmp6(135, 0, zero, v6Ends), Quote{}},
	})
}

func TestUnreachableCodes(t *testing.T) {
	tests := []struct {
		name   string
		v6     bool
		code   int
		reason Reason
	}{
		{"network", false, 0, NetUnreachable},
		{"host", false, 1, HostUnreachable},
		{"protocol", false, 2, ProtoUnreachable},
		{"source route", false, 5, SourceRouteFailed},
		{"network unknown", false, 6, NetUnreachable},
		{"host unknown", false, 7, HostUnreachable},
		{"network prohibited", false, 9, Prohibited},
		{"host prohibited", false, 10, Prohibited},
		{"host for this service", false, 12, HostUnreachable},
		{"filtered", false, 13, Prohibited},
		{"precedence", false, 15, Prohibited},
		{"no route", true, 0, NetUnreachable},
		{"address", true, 3, HostUnreachable},
		{"source address policy", true, 5, Prohibited},
		{"source routing header", true, 7, SourceRouteFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := icmp4(3, tt.code, "00000000", in4)
			if tt.v6 {
				in = icmp6(1, tt.code, "00000000", in6)
			}
			var p Packet
			p.Decode(LinkRaw, unhex(in), 0)
			if got := p.Quote().Reason; got != tt.reason {
				t.Errorf("got  %v\nwant %v", got, tt.reason)
			}
		})
	}
}

func TestReasonNames(t *testing.T) {
	seen := map[string]Reason{}
	for r := range NumReasons {
		name := r.String()
		if first, ok := seen[name]; ok || name == "" {
			t.Errorf("got  name %q for reason %d, first seen for %d\nwant a name of its own", name, r, first)
		}
		seen[name] = r
	}
}
