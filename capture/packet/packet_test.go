package packet

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Headers as hex, to be put one before the other.
const (
	macs     = "020000000001 020000000002 "
	ethIPv4  = macs + "0800 "
	ethIPv6  = macs + "86DD "
	ethVLAN  = macs + "8100 0007 0800 "
	sllIPv4  = "0000 0001 0006 020000000001 0000 0800 "
	sll2IPv4 = "0800 0000 00000003 0001 00 06 020000000001 0000 "
	v4Ends   = "0A000001 C6336407 "                                                 // 10.0.0.1, 198.51.100.7
	v6Ends   = "20010DB8000000000000000000000001 20010DB8000000000000000000000002 " // 2001:db8::1, ::2
)

// ip4 is an IPv4 header without options: id 0x1234, TTL 64.
func ip4(total, proto int) string {
	return fmt.Sprintf("45 00 %04X 1234 0000 40 %02X 0000 ", total, proto) + v4Ends
}

// ip6 is an IPv6 header with hop limit 60.
func ip6(length, next int) string {
	return fmt.Sprintf("60000000 %04X %02X 3C ", length, next) + v6Ends
}

// udp4 is a UDP header from 27005 to 27015; IPv6 has the same.
func udp4(length int) string { return fmt.Sprintf("697D 6987 %04X 0000 ", length) }

// tcp4 is a TCP header between the ports of udp4, without options; segment is
// what p is after it.
const tcp4 = "697D 6987 00000001 00000002 50 18 0400 0000 0000 "

func segment(p Packet) Packet {
	p.Proto, p.Stop = 6, TCP
	p.TCP = TCPHeader{Seq: 1, Ack: 2, Window: 1024, Flags: FlagACK | FlagPSH, Len: 20}
	return p
}

// portsOf gives p the ports of udp4 and tcp4.
// withOptions is a segment whose header has four bytes of them.
func withOptions(p Packet) Packet {
	p.TCP.Len = 24
	return p
}

func portsOf(p Packet) Packet {
	p.Src, p.Dst = netip.AddrPortFrom(p.Src.Addr(), 27005), netip.AddrPortFrom(p.Dst.Addr(), 27015)
	return p
}

// unhex reads hex digits, ignoring spaces.
func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return b
}

func addr(s string, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(s), port)
}

// v4 is what a datagram with payload and an ip4 header decodes to; v6 the same
// for ip6, stopped4 and stopped6 what is left if the walk ends after IP.
func v4(payload string, wire int) Packet {
	return Packet{
		Src: addr("10.0.0.1", 27005), Dst: addr("198.51.100.7", 27015),
		Payload: unhex(payload), Wire: wire, Proto: 17, TTL: 64, IPID: 0x1234,
	}
}

func v6(payload string, wire int) Packet {
	return Packet{
		Src: addr("2001:db8::1", 27005), Dst: addr("2001:db8::2", 27015),
		Payload: unhex(payload), Wire: wire, Proto: 17, TTL: 60,
	}
}

func stopped(p Packet, proto uint8, s Stop) Packet {
	p.Src = netip.AddrPortFrom(p.Src.Addr(), 0)
	p.Dst = netip.AddrPortFrom(p.Dst.Addr(), 0)
	p.Proto, p.Stop = proto, s
	if p.Wire == 0 {
		p.Payload = nil
	}
	return p
}

func fragment(p Packet, proto uint8, off, id uint32, more bool) Packet {
	p = stopped(p, proto, OK)
	p.Frag = Frag{Set: true, More: more, Off: off, ID: id}
	return p
}

// deep is p within so many tunnels.
func deep(p Packet, ways uint8) Packet {
	p.Depth = ways
	return p
}

type decodeTest struct {
	name string
	link uint16
	in   string
	cut  int // bytes that the snap length took off the end of in
	want Packet
}

func runDecode(t *testing.T, tests []decodeTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			frame := unhex(tt.in)
			got := Packet{Wire: 99, TTL: 99, Frag: Frag{Set: true}, TCP: TCPHeader{Seq: 99}, Depth: 3} // a reused one
			got.Decode(tt.link, frame[:len(frame)-tt.cut], len(frame))
			compare(t, got, tt.want)
		})
	}
}

func compare(t *testing.T, got, want Packet) {
	t.Helper()
	if !cmp.Equal(got, want, packetOptions...) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

var packetOptions = cmp.Options{
	cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }),
	cmp.Comparer(func(a, b []byte) bool { return string(a) == string(b) }),
}

func TestLinkTypes(t *testing.T) {
	const (
		in4 = "FFFFFFFF"
		in6 = "FFFFFFFE"
	)
	d4 := ip4(32, 17) + udp4(12) + in4
	d6 := ip6(12, 17) + udp4(12) + in6
	want4, want6 := v4(in4, 4), v6(in6, 4)
	nothing := func(s Stop) Packet { return Packet{Stop: s} }
	runDecode(t, []decodeTest{
		{"ethernet, IPv4", LinkEthernet, ethIPv4 + d4, 0, want4},
		{"ethernet, IPv6", LinkEthernet, ethIPv6 + d6, 0, want6},
		{"ethernet, padding", LinkEthernet, ethIPv4 + d4 + "0000 0000 0000", 0, want4},
		{"ethernet, IPv6, padding", LinkEthernet, ethIPv6 + d6 + "0000", 0, want6},
		{"ethernet, 802.1Q", LinkEthernet, ethVLAN + d4, 0, deep(want4, 1)},
		{"ethernet, 802.1ad", LinkEthernet, macs + "88A8 0001 8100 0002 86DD" + d6, 0, deep(want6, 2)},
		{"ethernet, old stacked tag", LinkEthernet, macs + "9100 0001 8100 0002 0800" + d4, 0, deep(want4, 2)},
		{"ethernet, as many tags as allowed", LinkEthernet,
			macs + strings.Repeat("8100 0001", maxWays) + "0800" + d4, 0, deep(want4, maxWays)},
		{"ethernet, one tag too many", LinkEthernet,
			macs + strings.Repeat("8100 0001", maxWays+1) + "0800" + d4, 0, deep(nothing(TooDeep), maxWays)},
		{"ethernet, tag cut", LinkEthernet, macs + "8100 0001 08", 0, nothing(ShortLink)},
		{"ethernet, ARP", LinkEthernet, macs + "0806 0001 0800 0604", 0, Packet{Stop: NotIP, Unread: UnreadARP}},
		{"ethernet, cut", LinkEthernet, macs + "08", 0, nothing(ShortLink)},
		{"ethernet, empty", LinkEthernet, "", 0, nothing(ShortLink)},

		{"null, little-endian", LinkNull, "02000000" + d4, 0, want4},
		{"null, big-endian", LinkNull, "00000002" + d4, 0, want4},
		{"null, IPv6 of Linux", LinkNull, "0A000000" + d6, 0, want6},
		{"null, IPv6 of NetBSD", LinkNull, "18000000" + d6, 0, want6},
		{"null, IPv6 of FreeBSD", LinkNull, "0000001C" + d6, 0, want6},
		{"null, IPv6 of macOS", LinkNull, "1E000000" + d6, 0, want6},
		{"null, other family", LinkNull, "07000000" + d4, 0, nothing(NotIP)},
		{"null, cut", LinkNull, "020000", 0, nothing(ShortLink)},
		{"loop, IPv4", LinkLoop, "00000002" + d4, 0, want4},
		{"loop, IPv6", LinkLoop, "00000018" + d6, 0, want6},

		{"SLL", LinkLinuxSLL, sllIPv4 + d4, 0, want4},
		{"SLL, tag", LinkLinuxSLL, "0000 0001 0006 020000000001 0000 8100 0007 86DD" + d6, 0, deep(want6, 1)},
		{"SLL, cut", LinkLinuxSLL, "0000 0001 0006 020000000001 0000 08", 0, nothing(ShortLink)},
		{"SLL, ARP", LinkLinuxSLL, "0000 0001 0006 020000000001 0000 0806 0001", 0, Packet{Stop: NotIP, Unread: UnreadARP}},
		{"SLL2", LinkLinuxSLL2, sll2IPv4 + d4, 0, want4},
		{"SLL2, cut", LinkLinuxSLL2, "0800 0000 00000003 0001 00 06 020000000001 00", 0, nothing(ShortLink)},

		{"raw, IPv4", LinkRaw, d4, 0, want4},
		{"raw, IPv6", LinkRaw, d6, 0, want6},
		{"raw as 12", LinkRawDLT, d4, 0, want4},
		{"raw as 14", LinkRawOpenBSD, d6, 0, want6},
		{"raw, version 5", LinkRaw, "55" + d4[2:], 0, nothing(BadIP)},
		{"raw, empty", LinkRaw, "", 0, nothing(BadIP)},
		{"raw, all cut", LinkRaw, d4, 32, nothing(ShortIP)},
		{"IPv4", LinkIPv4, d4, 0, want4},
		{"IPv4 that is IPv6", LinkIPv4, d6, 0, nothing(BadIP)},
		{"IPv6", LinkIPv6, d6, 0, want6},
		{"IPv6 that is IPv4", LinkIPv6, d4 + "0000000000000000", 0, nothing(BadIP)},

		{"276 is not 20", 20, sll2IPv4 + d4, 0, nothing(UnknownLink)},
		{"802.11", 105, d4, 0, nothing(UnknownLink)},
	})
}

// misfit is p with a UDP length that does not fit.
func misfit(p Packet) Packet {
	p.Misfit = true
	return p
}

func TestIPv4(t *testing.T) {
	const in = "FFFFFFFF 55"
	full := ip4(33, 17) + udp4(13) + in
	want := v4(in, 5)
	frag := func(field string) string { return strings.Replace(full, "1234 0000", "1234 "+field, 1) }
	whole := unhex(udp4(13) + in)
	piece := func(off uint32, more bool) Packet {
		return fragment(v4(hex.EncodeToString(whole), 13), 17, off, 0x1234, more)
	}
	runDecode(t, []decodeTest{
		{"don't fragment", LinkRaw, frag("4000"), 0, want},
		{"reserved flag", LinkRaw, frag("8000"), 0, want},
		{"options", LinkRaw, "46 00 0025 1234 0000 40 11 0000" + v4Ends + "94040000" + udp4(13) + in, 0, want},
		{"total length 0", LinkRaw, ip4(0, 17) + udp4(13) + in, 0, want},
		{"total length 0, UDP length too", LinkRaw, ip4(0, 17) + udp4(0) + in, 0, want},
		{"total length beyond the frame", LinkRaw, ip4(1500, 17) + udp4(13) + in, 0, want},
		{"both lengths beyond the frame: the capture cut it", LinkRaw, ip4(1500, 17) + udp4(1480) + in, 0, v4(in, 1472)},
		{"total length below the header", LinkRaw, ip4(19, 17) + udp4(13) + in, 0, Packet{Stop: BadIP}},
		{"header length below 20", LinkRaw, "44" + full[2:], 0, Packet{Stop: BadIP}},
		{"header length beyond the total length", LinkRaw, "4F" + full[2:], 0, Packet{Stop: BadIP}},
		{"19 bytes sent", LinkRaw, full[:len("45 00 0021 1234 0000 40 11 0000 0A000001 C63364")], 0, Packet{Stop: BadIP}},
		{"19 bytes captured", LinkRaw, full, 14, Packet{Stop: ShortIP}},
		{"options cut", LinkRaw, "46 00 0025 1234 0000 40 11 0000" + v4Ends + "94040000" + udp4(13) + in, 16,
			stopped(v4("", 0), 17, ShortIP)},
		{"no payload sent", LinkRaw, ip4(20, 17), 0, stopped(v4("", 0), 17, BadUDP)},
		{"no payload captured", LinkRaw, full, 13, stopped(v4("", 0), 17, ShortUDP)},
		{"ICMP, cut", LinkRaw, ip4(24, 1) + "0800 0000", 2, stopped(v4("0800", 4), 1, ICMP)},
		{"SCTP", LinkRaw, ip4(24, 132) + "6987 6987", 0, stopped(v4("6987 6987", 4), 132, OtherProto)},
		{"IPv6 extension header in IPv4", LinkRaw, ip4(28, 60) + "1100 0000 0000 0000", 0,
			stopped(v4("1100 0000 0000 0000", 8), 60, OtherProto)},
		{"first fragment", LinkRaw, frag("2000"), 0, piece(0, true)},
		{"middle fragment", LinkRaw, frag("20B9"), 0, piece(1480, true)},
		{"last fragment", LinkRaw, frag("00B9"), 0, piece(1480, false)},
		{"highest offset", LinkRaw, frag("1FFF"), 0, piece(65528, false)},
		{"fragment, padding", LinkEthernet, ethIPv4 + frag("00B9") + "000000", 0, piece(1480, false)},
		{"fragment of another protocol", LinkRaw, "45 00 0018 1234 2000 40 06 0000" + v4Ends + "0050 8000", 0,
			fragment(v4("0050 8000", 4), 6, 0, 0x1234, true)},
	})
}

func TestIPv6(t *testing.T) {
	const (
		in   = "FFFFFFFF 55"
		six  = "0104 00000000" // a padding option
		tail = "697D 6987 000D 0000" + in
	)
	want := v6(in, 5)
	ext := func(next int) string { return fmt.Sprintf("%02X 00 "+six, next) }
	mapped := strings.Replace(ip6(13, 17), "20010DB8000000000000000000000001", "00000000000000000000FFFF0A000001", 1)
	wantMapped := want
	wantMapped.Src = addr("::ffff:10.0.0.1", 27005)
	runDecode(t, []decodeTest{
		{"mapped address stays IPv6", LinkRaw, mapped + tail, 0, wantMapped},
		{"hop-by-hop", LinkRaw, ip6(21, 0) + ext(17) + tail, 0, want},
		{"routing", LinkRaw, ip6(21, 43) + ext(17) + tail, 0, want},
		{"destination options of 16 bytes", LinkRaw, ip6(29, 60) + "11 01 010C 00000000 0000000000000000" + tail, 0, want},
		{"authentication, counted in words", LinkRaw, ip6(29, 51) + "11 02 0000 00000001 00000001 DEADBEEF" + tail, 0, want},
		{"hop-by-hop, destination, routing", LinkRaw, ip6(37, 0) + ext(60) + ext(43) + ext(17) + tail, 0, want},
		{"as many as allowed", LinkRaw, ip6(77, 60) + strings.Repeat(ext(60), 7) + ext(17) + tail, 0, want},
		{"one too many", LinkRaw, ip6(85, 60) + strings.Repeat(ext(60), 8) + ext(17) + tail, 0,
			stopped(v6("", 0), 60, TooDeep)},
		{"payload length 0", LinkRaw, ip6(0, 17) + tail, 0, want},
		{"payload length beyond the frame", LinkRaw, ip6(1400, 17) + tail, 0, want},
		{"extension beyond the packet", LinkRaw, ip6(21, 0) + "11 FF" + six + tail, 0, stopped(v6("", 0), 0, BadIP)},
		{"extension of 7 bytes", LinkRaw, ip6(7, 0) + "11 00 0104 000000", 0, stopped(v6("", 0), 0, BadIP)},
		{"extension cut", LinkRaw, ip6(21, 0) + ext(17) + tail, 14, stopped(v6("", 0), 0, ShortIP)},
		{"long extension cut", LinkRaw, ip6(29, 60) + "11 01 010C 00000000 0000000000000000" + tail, 20,
			stopped(v6("", 0), 60, ShortIP)},
		{"39 bytes sent", LinkIPv6, ip6(0, 17)[:len(ip6(0, 17))-3], 0, Packet{Stop: BadIP}},
		{"39 bytes captured", LinkIPv6, ip6(13, 17) + tail, 14, Packet{Stop: ShortIP}},
		{"no next header", LinkRaw, ip6(0, 59), 0, stopped(v6("", 0), 59, OtherProto)},
		{"encrypted", LinkRaw, ip6(4, 50) + "00000001", 0, stopped(v6("00000001", 4), 50, OtherProto)},
		{"ICMPv6", LinkRaw, ip6(4, 58) + "80000000", 0, stopped(v6("80000000", 4), 58, ICMP)},
		{"TCP after an extension", LinkRaw, ip6(28, 0) + ext(6) + tcp4, 0, segment(v6("", 0))},
		{"first fragment", LinkRaw, ip6(21, 44) + "11 00 0001 CAFEF00D" + tail, 0,
			fragment(v6(tail, 13), 17, 0, 0xcafef00d, true)},
		{"last fragment, reserved bits set", LinkRaw, ip6(21, 44) + "11 FF 04D6 CAFEF00D" + tail, 0,
			fragment(v6(tail, 13), 17, 1232, 0xcafef00d, false)},
		{"first and last at once", LinkRaw, ip6(21, 44) + "11 00 0000 00000001" + tail, 0,
			fragment(v6(tail, 13), 17, 0, 1, false)},
		{"fragment after an extension", LinkRaw, ip6(29, 0) + ext(44) + "3C 00 0001 00000001" + tail, 0,
			fragment(v6(tail, 13), 60, 0, 1, true)},
		{"fragment header cut", LinkRaw, ip6(21, 44) + "11 00 0001 CAFEF00D" + tail, 14,
			stopped(v6("", 0), 44, ShortIP)},
	})
}

func TestUDP(t *testing.T) {
	const in = "FFFFFFFF 55"
	head := ip4(33, 17)
	runDecode(t, []decodeTest{
		{"payload cut", LinkRaw, head + udp4(13) + in, 3, v4("FFFF", 5)},
		{"payload all cut", LinkRaw, head + udp4(13) + in, 5, v4("", 5)},
		{"header cut", LinkRaw, head + udp4(13) + in, 6, stopped(v4("", 0), 17, ShortUDP)},
		{"empty", LinkRaw, ip4(28, 17) + udp4(8), 0, v4("", 0)},
		{"length above IP's", LinkRaw, head + udp4(4000) + in, 0, misfit(v4(in, 5))},
		{"length below IP's", LinkRaw, head + udp4(11) + in, 0, v4("FFFFFF", 3)},
		{"length below IP's, cut", LinkRaw, head + udp4(11) + in, 3, v4("FFFF", 3)},
		{"length 0", LinkRaw, head + udp4(0) + in, 0, misfit(v4(in, 5))},
		{"length 7", LinkRaw, head + udp4(7) + in, 0, stopped(v4("", 0), 17, BadUDP)},
		{"length 0, IPv6", LinkRaw, ip6(0, 17) + udp4(0) + in, 0, v6(in, 5)},
		{"7 bytes sent", LinkRaw, ip4(27, 17) + "697D 6987 0007 00", 0, stopped(v4("", 0), 17, BadUDP)},
	})
}

func TestTCP(t *testing.T) {
	const in = "FFFFFFFF 55"
	head := ip4(45, 6)
	cut := withOptions(segment(v4("", 1)))
	runDecode(t, []decodeTest{
		{"data", LinkRaw, head + tcp4 + in, 0, segment(v4(in, 5))},
		{"data cut", LinkRaw, head + tcp4 + in, 3, segment(v4("FFFF", 5))},
		{"header cut", LinkRaw, head + tcp4 + in, 6, portsOf(stopped(v4("", 0), 6, ShortTCP))},
		{"ports cut", LinkRaw, head + tcp4 + in, 22, stopped(v4("", 0), 6, ShortTCP)},
		{"no data", LinkRaw, ip4(40, 6) + tcp4, 0, segment(v4("", 0))},
		{"options", LinkRaw, head + strings.Replace(tcp4, "50 18", "60 18", 1) + "01010101 41", 0, withOptions(segment(v4("41", 1)))},
		{"options cut", LinkRaw, head + strings.Replace(tcp4, "50 18", "60 18", 1) + "01010101 41", 3, cut},
		{"options beyond the packet", LinkRaw, head + strings.Replace(tcp4, "50 18", "70 18", 1) + in, 0,
			portsOf(stopped(v4("", 0), 6, BadTCP))},
		{"header length below 20", LinkRaw, head + strings.Replace(tcp4, "50 18", "40 18", 1) + in, 0,
			portsOf(stopped(v4("", 0), 6, BadTCP))},
		{"19 bytes sent", LinkRaw, ip4(39, 6) + tcp4[:len(tcp4)-3], 0, portsOf(stopped(v4("", 0), 6, BadTCP))},
		{"padding", LinkEthernet, ethIPv4 + ip4(40, 6) + tcp4 + "000000000000", 0, segment(v4("", 0))},
	})
}

func TestWireBelowCaptured(t *testing.T) {
	const in = "FFFFFFFF 55"
	for _, wire := range []int{-1, 0, 30} {
		var got Packet
		got.Decode(LinkRaw, unhex(ip4(33, 17)+udp4(13)+in), wire)
		compare(t, got, v4(in, 5))
	}
}

func TestDecodeJoined(t *testing.T) {
	const in = "FFFFFFFF 55"
	tests := []struct {
		name string
		from Packet
		in   string
		wire int
		want Packet
	}{
		{"IPv4", fragment(v4("", 0), 17, 1480, 1, false), udp4(13) + in, 13, v4(in, 5)},
		{"start of a longer one", fragment(v4("", 0), 17, 1480, 1, false), udp4(4008) + in, 65535, v4(in, 4000)},
		{"IPv6", fragment(v6("", 0), 17, 0, 1, true), udp4(13) + in, 13, v6(in, 5)},
		{"IPv6, options after the fragment header", fragment(v6("", 0), 60, 0, 1, true),
			"11 00 0104 00000000" + udp4(13) + in, 21, v6(in, 5)},
		{"TCP", fragment(v4("", 0), 6, 8, 1, false), tcp4 + in, 25, segment(v4(in, 5))},
		{"fragment in a fragment", fragment(v6("", 0), 44, 0, 1, true), "11 00 0001 00000001" + udp4(13) + in, 21,
			stopped(v6("", 0), 17, TooDeep)},
		{"too short", fragment(v4("", 0), 17, 0, 1, true), "697D", 2, stopped(v4("", 0), 17, BadUDP)},
		{"wire below captured", fragment(v4("", 0), 17, 0, 1, true), udp4(13) + in, 0, v4(in, 5)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.from
			got.DecodeJoined(unhex(tt.in), tt.wire)
			compare(t, got, tt.want)
		})
	}
}

func TestStopNames(t *testing.T) {
	seen := map[string]Stop{}
	for s := range NumStops {
		name := s.String()
		if name == "" {
			t.Errorf("got no name for reason %d\nwant one", s)
		}
		if first, ok := seen[name]; ok {
			t.Errorf("got name %q for reasons %d and %d\nwant different names", name, first, s)
		}
		seen[name] = s
	}
}

func TestWayNames(t *testing.T) {
	seen := map[string]WayKind{}
	for k := range NumWayKinds {
		name := k.String()
		if first, ok := seen[name]; ok || name == "" {
			t.Errorf("got  name %q for kind %d, first seen for %d\nwant a name of its own", name, k, first)
		}
		seen[name] = k
	}
}

func TestLinkName(t *testing.T) {
	tests := []struct {
		in   uint16
		want string
	}{
		{LinkEthernet, "Ethernet (1)"},
		{105, "IEEE 802.11 (105)"},
		{LinkLinuxSLL2, "Linux cooked v2 (276)"},
		{147, "private link type 147"},
		{162, "private link type 162"},
		{999, "link type 999"},
	}
	for _, tt := range tests {
		if got := LinkName(tt.in); got != tt.want {
			t.Errorf("link %d\ngot  %s\nwant %s", tt.in, got, tt.want)
		}
	}
	for _, link := range allLinks {
		if name := LinkName(link); strings.HasPrefix(name, "link type") {
			t.Errorf("got  %s\nwant a name: it is decoded", name)
		}
	}
}

func between(a, b netip.Addr, portA, portB uint16) *Packet {
	return &Packet{Src: netip.AddrPortFrom(a, portA), Dst: netip.AddrPortFrom(b, portB)}
}

func v4Addr(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// TestPartitionIsFixed pins values: another hash would change which packets
// share a table, and with that the evictions and the output of every file.
func TestPartitionIsFixed(t *testing.T) {
	tests := []struct {
		name string
		a, b string
		want uint8
	}{
		{"IPv4", "10.0.0.1", "198.51.100.7", 5},
		{"IPv4, neighbour", "10.0.0.2", "198.51.100.7", 11},
		{"same address", "10.0.0.1", "10.0.0.1", 5},
		{"IPv6", "2001:db8::1", "2001:db8::2", 14},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := netip.MustParseAddr(tt.a), netip.MustParseAddr(tt.b)
			if got := between(a, b, 1, 2).Partition(); got != tt.want {
				t.Errorf("got  %d\nwant %d", got, tt.want)
			}
			if got := between(b, a, 3, 4).Partition(); got != tt.want {
				t.Errorf("reversed, other ports:\ngot  %d\nwant %d", got, tt.want)
			}
		})
	}
}

// TestPartitionSpread asks that no partition gets far more than its share.
// Each bound is above five standard deviations of a fair throw.
func TestPartitionSpread(t *testing.T) {
	server := netip.MustParseAddr("198.51.100.7")
	server6 := netip.MustParseAddr("2001:db8::7")
	v6Source := func(n uint32) netip.Addr {
		b := server6.As16()
		b[15], b[14], b[13] = byte(n), byte(n>>8), 0x80
		return netip.AddrFrom16(b)
	}
	v6Prefix := func(n uint32) netip.Addr {
		b := server6.As16()
		b[7], b[6] = byte(n), byte(n>>8)
		return netip.AddrFrom16(b)
	}
	tests := []struct {
		name string
		pair func(n uint32) (a, b netip.Addr)
	}{
		{"10.x.y.z, last bytes", func(n uint32) (netip.Addr, netip.Addr) { return v4Addr(10<<24 | n), server }},
		{"10.x.y.z, first bytes", func(n uint32) (netip.Addr, netip.Addr) { return v4Addr(10<<24 | n<<8), server }},
		{"one client, many servers", func(n uint32) (netip.Addr, netip.Addr) { return server, v4Addr(192<<24 | n) }},
		{"neighbours talk", func(n uint32) (netip.Addr, netip.Addr) { return v4Addr(10<<24 | n), v4Addr(10<<24 | n + 1) }},
		{"IPv6, one network", func(n uint32) (netip.Addr, netip.Addr) { return v6Source(n), server6 }},
		{"IPv6, many networks", func(n uint32) (netip.Addr, netip.Addr) { return v6Prefix(n), server6 }},
	}
	const pairs = 1 << 16
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var counts [Partitions]int
			for n := range uint32(pairs) {
				a, b := tt.pair(n)
				counts[between(a, b, 0, 0).Partition()]++
			}
			const fair, slack = pairs / Partitions, 330
			for i, c := range counts {
				if c < fair-slack || c > fair+slack {
					t.Errorf("got  %d pairs in partition %d\nwant %d, give or take %d", c, i, fair, slack)
				}
			}
		})
	}
}
