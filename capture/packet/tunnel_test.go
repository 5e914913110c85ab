package packet

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/base/checksum"
	"qsniff/internal/test/race"
)

// Outer headers as hex, all from 192.0.2.1 to 192.0.2.2 or from 2001:db8:f::1 to ::2.
const (
	outer4Ends = "C0000201 C0000202 "
	outer6Ends = "20010DB8000F00000000000000000001 20010DB8000F00000000000000000002 "
)

// outer4 is an IPv4 header before body, outer6 an IPv6 header and overUDP
// a datagram to the given port from port 50000.
func outer4(proto int, body string) string {
	return fmt.Sprintf("45 00 %04X 0001 0000 3F %02X 0000 ", 20+len(unhex(body)), proto) + outer4Ends + body
}

func outer6(next int, body string) string {
	return fmt.Sprintf("60000000 %04X %02X 3F ", len(unhex(body)), next) + outer6Ends + body
}

func overUDP(port int, body string) string {
	return fmt.Sprintf("C350 %04X %04X 0000 ", port, 8+len(unhex(body))) + body
}

// way, way4 and way6 are ways in without and with the ends of outer4 and outer6.
func way(k WayKind, id uint32) Way { return Way{Kind: k, ID: id} }

func way4(k WayKind, id uint32, src, dst uint16) Way {
	return Way{k, id, addr("192.0.2.1", src), addr("192.0.2.2", dst)}
}

func way6(k WayKind, id uint32) Way {
	return Way{k, id, addr("2001:db8:f::1", 0), addr("2001:db8:f::2", 0)}
}

// The same datagram in every tunnel: in4 and in6 are whole IP packets, frame4
// and frame6 Ethernet frames.
var (
	in4    = ip4(33, 17) + udp4(13) + "FFFFFFFF 55 "
	in6    = ip6(13, 17) + udp4(13) + "FFFFFFFF 55 "
	frame4 = ethIPv4 + in4
	frame6 = ethIPv6 + in6
	want4  = v4("FFFFFFFF55", 5)
	want6  = v6("FFFFFFFF55", 5)
)

type tunnelTest struct {
	name string
	link uint16
	in   string
	want Packet // Depth is len(ways)
	ways []Way
}

// decodeWays decodes with room for the ways in and gives back both.
func decodeWays(link uint16, b []byte, wire int) (Packet, []Way) {
	p := Packet{Outer: new(Ways)}
	p.Decode(link, b, wire)
	ways := append([]Way(nil), p.Ways()...)
	p.Outer = nil
	return p, ways
}

func runTunnels(t *testing.T, tests []tunnelTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			frame := unhex(tt.in)
			got, ways := decodeWays(tt.link, frame, len(frame))
			compare(t, got, deep(tt.want, uint8(len(tt.ways))))
			if diff := cmp.Diff(tt.ways, ways, packetOptions); diff != "" {
				t.Errorf("ways (-want +got):\n%s", diff)
			}
			for n := range frame {
				cut, cutWays := decodeWays(tt.link, frame[:n], len(frame))
				compareCut(t, cut, got, cutWays, ways)
				if t.Failed() {
					t.Fatalf("%d bytes captured of %x", n, frame)
				}
			}
		})
	}
}

// pppoe and mplsStack are the headers of the same names; the last label is the
// bottom of the stack.
func pppoe(session int, proto, body string) string {
	return fmt.Sprintf("11 00 %04X %04X %s ", session, len(unhex(proto+body)), proto) + body
}

func mplsStack(labels ...int) string {
	var s strings.Builder
	for i, l := range labels {
		bottom := 0
		if i == len(labels)-1 {
			bottom = 1
		}
		fmt.Fprintf(&s, "%08X ", l<<12|bottom<<8|64)
	}
	return s.String()
}

func TestTags(t *testing.T) {
	vlan := func(n int) string { return fmt.Sprintf("8100 %04X ", n) }
	runTunnels(t, []tunnelTest{
		{"802.1Q, priority bits", LinkEthernet, macs + "8100 E007 0800" + in4, want4, []Way{way(WayVLAN, 7)}},
		{"802.1ad", LinkEthernet, macs + "88A8 00C8 8100 0064 0800" + in4, want4, []Way{way(WayVLAN, 200), way(WayVLAN, 100)}},
		{"SLL2, tag", LinkLinuxSLL2, "8100 0000 00000003 0001 00 06 020000000001 0000 0007 0800" + in4, want4, []Way{way(WayVLAN, 7)}},

		{"PPPoE", LinkEthernet, macs + "8864" + pppoe(9, "0021", in4), want4, []Way{way(WayPPPoE, 9)}},
		{"PPPoE, IPv6, padded", LinkEthernet, macs + "8864" + pppoe(9, "0057", in6) + "00000000", want6, []Way{way(WayPPPoE, 9)}},
		{"PPPoE, compressed protocol", LinkEthernet, macs + "8864" + pppoe(9, "21", in4), want4, []Way{way(WayPPPoE, 9)}},
		{"PPPoE after a tag", LinkEthernet, macs + vlan(7) + "8864" + pppoe(9, "0021", in4), want4,
			[]Way{way(WayVLAN, 7), way(WayPPPoE, 9)}},
		{"PPPoE, SLL", LinkLinuxSLL, "0000 0001 0006 020000000001 0000 8864" + pppoe(9, "0021", in4), want4, []Way{way(WayPPPoE, 9)}},
		{"PPPoE, link control", LinkEthernet, macs + "8864" + pppoe(9, "C021", "01010004"), Packet{Stop: NotIP, Unread: UnreadPPP}, []Way{way(WayPPPoE, 9)}},
		{"PPPoE, MPLS", LinkEthernet, macs + "8864" + pppoe(9, "0281", mplsStack(5)+in4), want4,
			[]Way{way(WayPPPoE, 9), way(WayMPLS, 5)}},
		{"PPPoE, empty", LinkEthernet, macs + "8864" + "1100 0009 0000", Packet{Stop: BadLink}, []Way{way(WayPPPoE, 9)}},
		{"PPPoE, version 2", LinkEthernet, macs + "8864 21" + pppoe(9, "0021", in4)[2:], Packet{Stop: BadLink}, nil},
		{"PPPoE, discovery code", LinkEthernet, macs + "8864 11 09 0000 0000", Packet{Stop: BadLink}, nil},
		{"PPPoE discovery", LinkEthernet, macs + "8863 11 09 0000 0000", Packet{Stop: NotIP, Unread: UnreadDiscovery}, nil},

		{"MPLS", LinkEthernet, macs + "8847" + mplsStack(16) + in4, want4, []Way{way(WayMPLS, 16)}},
		{"MPLS, IPv6", LinkEthernet, macs + "8847" + mplsStack(16) + in6, want6, []Way{way(WayMPLS, 16)}},
		{"MPLS, padding", LinkEthernet, macs + "8847" + mplsStack(16) + in4 + "0000", want4, []Way{way(WayMPLS, 16)}},
		{"MPLS, stack", LinkEthernet, macs + "8848" + mplsStack(16, 1048575, 3) + in4, want4, []Way{way(WayMPLS, 3)}},
		{"MPLS, as many labels as allowed", LinkEthernet, macs + "8847" + mplsStack(make([]int, maxLabels)...) + in4, want4,
			[]Way{way(WayMPLS, 0)}},
		{"MPLS, one label too many", LinkEthernet, macs + "8847" + mplsStack(make([]int, maxLabels+1)...) + in4,
			Packet{Stop: TooDeep}, nil},
		{"MPLS, pseudowire", LinkEthernet, macs + "8847" + mplsStack(16) + frame4, want4, []Way{way(WayMPLS, 16)}},
		{"MPLS, pseudowire with control word", LinkEthernet, macs + "8847" + mplsStack(16) + "00000000" + frame6, want6, []Way{way(WayMPLS, 16)}},
		{"MPLS, pseudowire with a tag", LinkEthernet, macs + "8847" + mplsStack(16) + "00000001" + macs + vlan(7) + "0800" + in4, want4,
			[]Way{way(WayMPLS, 16), way(WayVLAN, 7)}},
		{"MPLS, pseudowire to an address that begins with 4", LinkEthernet,
			macs + "8847" + mplsStack(16) + "4500FFFF0002 020000000001 0800" + in4, want4, []Way{way(WayMPLS, 16)}},
		{"MPLS, pseudowire to an address that begins with 6", LinkEthernet,
			macs + "8847" + mplsStack(16) + "60000000FF02 020000000001 86DD" + in6, want6, []Way{way(WayMPLS, 16)}},
		{"MPLS, broken IP", LinkEthernet, macs + "8847" + mplsStack(16) + "44" + in4[2:], Packet{Stop: BadIP}, []Way{way(WayMPLS, 16)}},
		{"MPLS, neither", LinkEthernet, macs + "8847" + mplsStack(16) + "10000021 00000000", Packet{Stop: NotIP}, []Way{way(WayMPLS, 16)}},
		{"MPLS, EtherType without its version", LinkEthernet, macs + "8847" + mplsStack(16) + macs + "0800 55", Packet{Stop: NotIP},
			[]Way{way(WayMPLS, 16)}},
	})
}

func TestSerialLinks(t *testing.T) {
	runTunnels(t, []tunnelTest{
		{"PPP", LinkPPP, "0021" + in4, want4, nil},
		{"PPP, address and control", LinkPPP, "FF03 0057" + in6, want6, nil},
		{"PPP, compressed protocol", LinkPPP, "FF03 21" + in4, want4, nil},
		{"PPP, address and control alone", LinkPPP, "FF03", Packet{Stop: BadLink}, nil},
		{"PPP, empty", LinkPPP, "", Packet{Stop: BadLink}, nil},
		{"PPP, MPLS", LinkPPP, "0281" + mplsStack(5) + in4, want4, []Way{way(WayMPLS, 5)}},
		{"PPP, IPCP", LinkPPP, "8021 01010004", Packet{Stop: NotIP, Unread: UnreadPPP}, nil},
		{"PPP in HDLC", LinkPPPHDLC, "FF03 0021" + in4, want4, nil},
		{"PPP in HDLC, Cisco", LinkPPPHDLC, "0F00 0800" + in4, want4, nil},
		{"PPPoE without Ethernet", LinkPPPoE, pppoe(9, "0021", in4), want4, []Way{way(WayPPPoE, 9)}},
		{"Cisco HDLC", LinkCiscoHDLC, "0F00 86DD" + in6, want6, nil},
		{"Cisco HDLC, multicast, MPLS", LinkCiscoHDLC, "8F00 8847" + mplsStack(5) + in4, want4, []Way{way(WayMPLS, 5)}},
		{"Cisco HDLC, keep-alive", LinkCiscoHDLC, "8F00 8035 00000002", Packet{Stop: NotIP}, nil},
		{"Cisco HDLC, other address", LinkCiscoHDLC, "1F00 0800" + in4, Packet{Stop: BadLink}, nil},
		{"Frame Relay, IPv4", LinkFrameRelay, "1841 03 CC" + in4, want4, nil},
		{"Frame Relay, IPv6", LinkFrameRelay, "1841 03 8E" + in6, want6, nil},
		{"Frame Relay, padding byte, SNAP", LinkFrameRelay, "1841 03 00 80 000000 0800" + in4, want4, nil},
		{"Frame Relay, SNAP, other organisation", LinkFrameRelay, "1841 03 00 80 0080C2 0007" + in4, Packet{Stop: NotIP}, nil},
		{"Frame Relay, long address", LinkFrameRelay, "18404041 03 CC" + in4, want4, nil},
		{"Frame Relay, Cisco", LinkFrameRelay, "1841 0800" + in4, want4, nil},
		{"Frame Relay, endless address", LinkFrameRelay, "18404040 40 03 CC" + in4, Packet{Stop: BadLink}, nil},
		{"Frame Relay, management", LinkFrameRelay, "0001 03 08 00 75", Packet{Stop: NotIP}, nil},
		{"MPLS link", LinkMPLS, mplsStack(16, 17) + in4, want4, []Way{way(WayMPLS, 17)}},
		{"NFLOG, little-endian", LinkNFLOG, "02 00 0005 0800 0100 0800 01 00 0900 0A00 68656C6C6F00 0000 2500 0900" + in4, want4, nil},
		{"NFLOG, big-endian, IPv6", LinkNFLOG, "0A 00 0005 0008 0001 86DD 01 00 0039 0009" + in6, want6, nil},
		{"NFLOG, bridge", LinkNFLOG, "07 00 0005 0800 0100 0800 01 00 2500 0900" + in4, Packet{Stop: NotIP}, nil},
		{"NFLOG, length 3", LinkNFLOG, "02 00 0005 0300 0100 0800 01 00", Packet{Stop: BadLink}, nil},
		{"NFLOG, length beyond the frame", LinkNFLOG, "02 00 0005 FF00 0100 0800 01 00", Packet{Stop: BadLink}, nil},
		{"NFLOG, no packet", LinkNFLOG, "02 00 0005 0800 0100 0800 01 00", Packet{Stop: ShortLink}, nil},
		{"NFLOG, endless attributes", LinkNFLOG, "02 00 0005" + strings.Repeat("0400 0100", maxAttributes+1), Packet{Stop: TooDeep}, nil},
	})
}

func TestTunnelsOverIP(t *testing.T) {
	erspan2 := "1064 0C2A 00000001 " // VLAN 100, session 42
	erspan3 := "2064 0C2A 12345678 0000 0000 "
	outside := Packet{Src: addr("192.0.2.1", 0), Dst: addr("192.0.2.2", 0), TTL: 63, IPID: 1}
	kept := func(body string) Packet {
		p := stopped(outside, 47, OtherProto)
		p.Payload, p.Wire = unhex(body), len(unhex(body))
		return p
	}
	runTunnels(t, []tunnelTest{
		{"IP in IP", LinkRaw, outer4(4, in4), want4, []Way{way4(WayIPinIP, 0, 0, 0)}},
		{"6in4", LinkRaw, outer4(41, in6), want6, []Way{way4(WayIPinIP, 0, 0, 0)}},
		{"4in6", LinkRaw, outer6(4, in4), want4, []Way{way6(WayIPinIP, 0)}},
		{"IPv6 in IPv6", LinkRaw, outer6(41, in6), want6, []Way{way6(WayIPinIP, 0)}},
		{"IPv6 in IPv6, tunnel limit option", LinkRaw, outer6(60, "29 00 04 01 04 01 01 00"+in6), want6, []Way{way6(WayIPinIP, 0)}},
		{"IP in IP, other version", LinkRaw, outer4(4, in6), Packet{Stop: BadIP}, []Way{way4(WayIPinIP, 0, 0, 0)}},
		{"IP in IP, empty", LinkRaw, outer4(4, ""), Packet{Stop: BadIP}, []Way{way4(WayIPinIP, 0, 0, 0)}},
		{"IP in IP, fragment inside", LinkRaw, outer4(4, strings.Replace(in4, "1234 0000", "1234 2000", 1)),
			fragment(v4(udp4(13)+"FFFFFFFF55", 13), 17, 0, 0x1234, true), []Way{way4(WayIPinIP, 0, 0, 0)}},
		{"IP in IP, as deep as allowed", LinkRaw, nest(maxWays, in4), want4, repeat(way4(WayIPinIP, 0, 0, 0), maxWays)},
		{"IP in IP, too deep", LinkRaw, nest(maxWays+1, in4), stopped(outside, 4, TooDeep), repeat(way4(WayIPinIP, 0, 0, 0), maxWays)},

		{"GRE", LinkRaw, outer4(47, "0000 0800"+in4), want4, []Way{way4(WayGRE, 0, 0, 0)}},
		{"GRE over IPv6, IPv6 inside", LinkRaw, outer6(47, "0000 86DD"+in6), want6, []Way{way6(WayGRE, 0)}},
		{"GRE, checksum", LinkRaw, outer4(47, "8000 0800 12340000"+in4), want4, []Way{way4(WayGRE, 0, 0, 0)}},
		{"GRE, key", LinkRaw, outer4(47, "2000 0800 0000002A"+in4), want4, []Way{way4(WayGRE, 42, 0, 0)}},
		{"GRE, sequence", LinkRaw, outer4(47, "1000 0800 00000007"+in4), want4, []Way{way4(WayGRE, 0, 0, 0)}},
		{"GRE, checksum, key and sequence", LinkRaw, outer4(47, "B000 0800 12340000 0000002A 00000007"+in4), want4,
			[]Way{way4(WayGRE, 42, 0, 0)}},
		{"GRE, MPLS", LinkRaw, outer4(47, "0000 8847"+mplsStack(16)+in4), want4, []Way{way4(WayGRE, 0, 0, 0), way(WayMPLS, 16)}},
		{"NVGRE", LinkRaw, outer4(47, "2000 6558 00002A07"+frame4), want4, []Way{way4(WayGRE, 0x2a07, 0, 0)}},
		{"GRE, Ethernet with a tag", LinkRaw, outer4(47, "0000 6558"+macs+"8100 0007 0800"+in4), want4,
			[]Way{way4(WayGRE, 0, 0, 0), way(WayVLAN, 7)}},
		{"GRE, optional part beyond the packet", LinkRaw, outer4(47, "2000 0800 0000"), stopped(outside, 47, BadTunnel), nil},
		{"GRE, three bytes", LinkRaw, outer4(47, "000008"), stopped(outside, 47, BadTunnel), nil},
		{"GRE, routing", LinkRaw, outer4(47, "4000 0800 00000000"+in4), kept("4000 0800 00000000" + in4), nil},
		{"GRE, PPTP that only acknowledges", LinkRaw, outer4(47, "2081 880B 0000002A 00000007"), kept("2081 880B 0000002A 00000007"), nil},
		{"GRE, PPTP, length beyond the packet", LinkRaw, outer4(47, "3001 880B 0004002A 00000007"), stopped(outside, 47, BadTunnel), nil},
		{"GRE version 2", LinkRaw, outer4(47, "3002 0800 0004002A 00000007"), kept("3002 0800 0004002A 00000007"), nil},
		{"GRE, keep-alive", LinkRaw, outer4(47, "0000 0000"), kept("0000 0000"), nil},

		{"ERSPAN type I", LinkRaw, outer4(47, "0000 88BE"+frame4), want4, []Way{way4(WayERSPAN, 0, 0, 0)}},
		{"ERSPAN type II", LinkRaw, outer4(47, "1000 88BE 00000001"+erspan2+frame4), want4, []Way{way4(WayERSPAN, 42, 0, 0)}},
		{"ERSPAN type II, other version", LinkRaw, outer4(47, "1000 88BE 00000001 20"+erspan2[2:]+frame4), stopped(outside, 47, BadTunnel), nil},
		{"ERSPAN type II, empty", LinkRaw, outer4(47, "1000 88BE 00000001 1064"), stopped(outside, 47, BadTunnel), nil},
		{"ERSPAN type III", LinkRaw, outer4(47, "1000 22EB 00000001"+erspan3+frame6), want6, []Way{way4(WayERSPAN, 42, 0, 0)}},
		{"ERSPAN type III, optional part", LinkRaw, outer4(47, "1000 22EB 00000001"+
			"2064 0C2A 12345678 0000 0001 FFFFFFFFFFFFFFFF"+frame4), want4, []Way{way4(WayERSPAN, 42, 0, 0)}},
		{"ERSPAN type III, optional part beyond the packet", LinkRaw, outer4(47, "1000 22EB 00000001 2064 0C2A 12345678 0000 0001 FF"),
			Packet{Stop: BadTunnel}, []Way{way4(WayERSPAN, 42, 0, 0)}},
		{"ERSPAN type III, IP", LinkRaw, outer4(47, "1000 22EB 00000001 2064 0C2A 12345678 0000 0800"+in4), want4,
			[]Way{way4(WayERSPAN, 42, 0, 0)}},
		{"ERSPAN type III, other frame type", LinkRaw, outer4(47, "1000 22EB 00000001 2064 0C2A 12345678 0000 0C00"+in4),
			Packet{Stop: NotIP}, []Way{way4(WayERSPAN, 42, 0, 0)}},
	})
}

// nest puts n IPv4 headers before an IPv4 packet.
func nest(n int, in string) string {
	for range n {
		in = outer4(4, in)
	}
	return in
}

func repeat(w Way, n int) []Way {
	ways := make([]Way, n)
	for i := range ways {
		ways[i] = w
	}
	return ways
}

func TestTunnelsOverUDP(t *testing.T) {
	const (
		vxlan  = "08000000 00002A00 "
		geneve = "0000 6558 00002A00 "
	)
	plain := func(port uint16, body string) Packet {
		return Packet{
			Src: addr("192.0.2.1", 50000), Dst: addr("192.0.2.2", port), Payload: unhex(body), Wire: len(unhex(body)),
			Proto: 17, TTL: 63, IPID: 1,
		}
	}
	over := func(port int, body string) string { return outer4(17, overUDP(port, body)) }
	v := way4(WayVXLAN, 42, 50000, 4789)
	runTunnels(t, []tunnelTest{
		{"VXLAN", LinkRaw, over(4789, vxlan+frame4), want4, []Way{v}},
		{"VXLAN, Linux's old port", LinkRaw, over(8472, vxlan+frame6), want6, []Way{way4(WayVXLAN, 42, 50000, 8472)}},
		{"VXLAN, group policy", LinkRaw, over(4789, "88400123 00002A00"+frame4), want4, []Way{v}},
		{"VXLAN, tag", LinkRaw, over(4789, vxlan+macs+"8100 0007 0800"+in4), want4, []Way{v, way(WayVLAN, 7)}},
		{"VXLAN, fragment inside", LinkRaw, over(4789, vxlan+ethIPv4+strings.Replace(in4, "1234 0000", "1234 00B9", 1)),
			fragment(v4(udp4(13)+"FFFFFFFF55", 13), 17, 1480, 0x1234, false), []Way{v}},
		{"VXLAN, TCP", LinkRaw, over(4789, vxlan+ethIPv4+ip4(40, 6)+tcp4), segment(v4("", 0)), []Way{v}},
		{"VXLAN in VXLAN", LinkRaw, over(4789, vxlan+ethIPv4+over(4789, vxlan+frame4)), want4, []Way{v, v}},
		{"VXLAN in ERSPAN, tags everywhere", LinkEthernet, macs + "88A8 0001 8100 0002 0800" + outer4(47, "1000 88BE 00000001 1064 0C2A 00000001"+
			macs+"88A8 0003 8100 0004 0800"+over(4789, vxlan+macs+"88A8 0005 8100 0006 0800"+in4)), want4,
			[]Way{way(WayVLAN, 1), way(WayVLAN, 2), way4(WayERSPAN, 42, 0, 0), way(WayVLAN, 3), way(WayVLAN, 4), v, way(WayVLAN, 5), way(WayVLAN, 6)}},
		{"VXLAN, too deep inside", LinkRaw, over(4789, vxlan+ethIPv4+nest(maxWays, in4)),
			Packet{Src: addr("192.0.2.1", 0), Dst: addr("192.0.2.2", 0), Proto: 4, TTL: 63, IPID: 1, Stop: TooDeep},
			append([]Way{v}, repeat(way4(WayIPinIP, 0, 0, 0), maxWays-1)...)},

		{"port of VXLAN, a query", LinkRaw, over(4789, "FFFFFFFF 54 00"), plain(4789, "FFFFFFFF 54 00"), nil},
		{"port of VXLAN, reserved bits", LinkRaw, over(4789, "08000001 00002A00"+frame4), plain(4789, "08000001 00002A00"+frame4), nil},
		{"port of VXLAN, reserved byte", LinkRaw, over(4789, "08000000 00002A01"+frame4), plain(4789, "08000000 00002A01"+frame4), nil},
		{"port of VXLAN, no network", LinkRaw, over(4789, "00000000 00002A00"+frame4), plain(4789, "00000000 00002A00"+frame4), nil},
		{"port of VXLAN, no frame", LinkRaw, over(4789, vxlan+"0102"), plain(4789, vxlan+"0102"), nil},
		{"port of VXLAN, ARP", LinkRaw, over(4789, vxlan+macs+"0806 0001"), plain(4789, vxlan+macs+"0806 0001"), nil},
		{"port of VXLAN, broken IP", LinkRaw, over(4789, vxlan+ethIPv4+"55"+in4[2:]), plain(4789, vxlan+ethIPv4+"55"+in4[2:]), nil},
		{"from the port of VXLAN", LinkRaw, outer4(17, "12B5 6987 003E 0000"+vxlan+frame4[:len(frame4)-3]),
			Packet{Src: addr("192.0.2.1", 4789), Dst: addr("192.0.2.2", 27015), Payload: unhex(vxlan + frame4[:len(frame4)-3]), Wire: 54,
				Proto: 17, TTL: 63, IPID: 1}, nil},

		{"Geneve", LinkRaw, over(6081, geneve+frame4), want4, []Way{way4(WayGeneve, 42, 50000, 6081)}},
		{"Geneve, IPv6", LinkRaw, over(6081, "0000 86DD 00002A00"+in6), want6, []Way{way4(WayGeneve, 42, 50000, 6081)}},
		{"Geneve, critical option", LinkRaw, over(6081, "0240 0800 00002A00 01028001 DEADBEEF"+in4), want4, []Way{way4(WayGeneve, 42, 50000, 6081)}},
		{"port of Geneve, options beyond the datagram", LinkRaw, over(6081, "3F00 0800 00002A00"+in4), plain(6081, "3F00 0800 00002A00"+in4), nil},
		{"port of Geneve, control", LinkRaw, over(6081, "0080 0800 00002A00"+in4), plain(6081, "0080 0800 00002A00"+in4), nil},
		{"port of Geneve, version 1", LinkRaw, over(6081, "4000 0800 00002A00"+in4), plain(6081, "4000 0800 00002A00"+in4), nil},
		{"port of Geneve, ARP", LinkRaw, over(6081, "0000 0806 00002A00"+in4), plain(6081, "0000 0806 00002A00"+in4), nil},

		{"GTP-U", LinkRaw, over(2152, "30FF 0021 0000002A"+in4), want4, []Way{way4(WayGTPU, 42, 50000, 2152)}},
		{"GTP-U, sequence", LinkRaw, over(2152, "32FF 0025 0000002A 0001 00 00"+in4), want4, []Way{way4(WayGTPU, 42, 50000, 2152)}},
		{"GTP-U, sequence, no extension", LinkRaw, over(2152, "32FF 0025 0000002A 0001 00 85"+in4), want4, []Way{way4(WayGTPU, 42, 50000, 2152)}},
		{"GTP-U, extension", LinkRaw, over(2152, "34FF 0029 0000002A 0000 00 85 01 0009 00"+in4), want4, []Way{way4(WayGTPU, 42, 50000, 2152)}},
		{"port of GTP-U, extension of length 0", LinkRaw, over(2152, "34FF 0029 0000002A 0000 00 85 00 0009 00"+in4),
			plain(2152, "34FF 0029 0000002A 0000 00 85 00 0009 00"+in4), nil},
		{"port of GTP-U, echo", LinkRaw, over(2152, "3201 0004 00000000 0001 00 00"), plain(2152, "3201 0004 00000000 0001 00 00"), nil},
		{"port of GTP-U, other length", LinkRaw, over(2152, "30FF 0022 0000002A"+in4), plain(2152, "30FF 0022 0000002A"+in4), nil},
		{"port of GTP-U, neither version", LinkRaw, over(2152, "30FF 0004 0000002A 55000000"), plain(2152, "30FF 0004 0000002A 55000000"), nil},
	})
}

// ipsum writes the right checksum into an IPv4 header without options.
func ipsum(packet string) string {
	b := unhex(packet)
	b[10], b[11] = 0, 0
	binary.BigEndian.PutUint16(b[10:], ^checksum.Fold(checksum.Add(0, b[:20])))
	return fmt.Sprintf("%X ", b)
}

// moreTunnels has the tunnels of mirrors and of hosters.
func moreTunnels() []tunnelTest {
	plain := func(port uint16, body string) Packet {
		return Packet{
			Src: addr("192.0.2.1", 50000), Dst: addr("192.0.2.2", port), Payload: unhex(body), Wire: len(unhex(body)),
			Proto: 17, TTL: 63, IPID: 1,
		}
	}
	over := func(port int, body string) string { return outer4(17, overUDP(port, body)) }
	gre1 := func(kind, flags string, n int, rest, body string) string {
		return outer4(47, fmt.Sprintf("%s %04X 002A %s", flags+kind, n, rest)+body)
	}
	lite := want4
	lite.Proto = 136
	sum4 := ipsum(in4)
	llc := func(n int, body string) string { return macs + fmt.Sprintf("%04X ", n) + body }
	pktap := func(link string, body string) string {
		return "6C000000 01000000 " + link + strings.Repeat("00", 96) + body
	}
	return []tunnelTest{
		{"TZSP", LinkRaw, over(37008, "0100 0001 01"+frame4), want4, []Way{way4(WayTZSP, 0, 50000, 37008)}},
		{"TZSP, tags", LinkRaw, over(37008, "0100 0001 00 0A01C4 2902002F 0D0400000001 01"+frame6), want6, []Way{way4(WayTZSP, 0, 50000, 37008)}},
		{"TZSP, PPP", LinkRaw, over(37008, "0101 0004 01 0021"+in4), want4, []Way{way4(WayTZSP, 0, 50000, 37008)}},
		{"TZSP, IP", LinkRaw, over(37008, "0100 0007 01"+in4), want4, []Way{way4(WayTZSP, 0, 50000, 37008)}},
		{"port of TZSP, 802.11", LinkRaw, over(37008, "0100 0012 01"+frame4), plain(37008, "0100 0012 01"+frame4), nil},
		{"port of TZSP, keep-alive", LinkRaw, over(37008, "0104 0000 01"), plain(37008, "0104 0000 01"), nil},
		{"port of TZSP, tag beyond the datagram", LinkRaw, over(37008, "0100 0001 0DFF 00"), plain(37008, "0100 0001 0DFF 00"), nil},
		{"port of TZSP, endless padding", LinkRaw, over(37008, "0100 0001"+strings.Repeat("00", 40)+"01"+frame4),
			plain(37008, "0100 0001"+strings.Repeat("00", 40)+"01"+frame4), nil},

		{"PPTP", LinkRaw, gre1("880B", "3001", 37, "00000007", "FF03 0021"+in4), want4, []Way{way4(WayPPTP, 42, 0, 0)}},
		{"PPTP, acknowledges", LinkRaw, gre1("880B", "3081", 34, "00000007 00000003", "21"+in4), want4, []Way{way4(WayPPTP, 42, 0, 0)}},
		{"PPTP, encrypted", LinkRaw, gre1("880B", "3001", 6, "00000007", "00FD 1000 0000"), Packet{Stop: NotIP, Unread: UnreadMPPE},
			[]Way{way4(WayPPTP, 42, 0, 0)}},
		{"EoIP", LinkRaw, outer4(47, fmt.Sprintf("2001 6400 %04X 2A00", 47)+frame4), want4, []Way{way4(WayEoIP, 42, 0, 0)}},
		{"EoIP, IPv6", LinkRaw, outer4(47, fmt.Sprintf("2001 6400 %04X 2A00", len(unhex(frame6)))+frame6), want6, []Way{way4(WayEoIP, 42, 0, 0)}},

		{"L2TP", LinkRaw, over(1701, "0002 0007 002A FF03 0021"+in4), want4, []Way{way4(WayL2TP, 42, 50000, 1701)}},
		{"L2TP, length, sequence, offset", LinkRaw, over(1701, fmt.Sprintf("4A02 %04X 0007 002A 0001 0000 0002 0000 FF03 0057", 16+4+len(unhex(in6)))+in6),
			want6, []Way{way4(WayL2TP, 42, 50000, 1701)}},
		{"port of L2TP, control", LinkRaw, over(1701, "C802 000C 0007 0000 0001 0001"), plain(1701, "C802 000C 0007 0000 0001 0001"), nil},
		{"port of L2TP, negotiation", LinkRaw, over(1701, "0002 0007 002A FF03 C021 0101"), plain(1701, "0002 0007 002A FF03 C021 0101"), nil},
		{"L2TPv3 over UDP", LinkRaw, over(1701, "00030000 0000002A 00000000"+frame4), want4, []Way{way4(WayL2TP, 42, 50000, 1701)}},
		{"L2TPv3 over IP, cookie of 4", LinkRaw, outer4(115, "0000002A 01020304 00000000"+frame4), want4, []Way{way4(WayL2TP, 42, 0, 0)}},

		{"AH over IPv4", LinkRaw, strings.Replace(outer4(51, "1104 0000 00000001 00000001 000000000000000000000000"+udp4(13)+"FFFFFFFF 55"), "C0000201 C0000202", "0A000001 0A000002", 1),
			ahWant(), nil},
		{"GUE", LinkRaw, over(6080, "0004 0000"+in4), want4, []Way{way4(WayGUE, 0, 50000, 6080)}},
		{"GUE, private data, GRE", LinkRaw, over(6080, "012F 0000 DEADBEEF 0000 0800"+in4), want4, []Way{way4(WayGRE, 0, 50000, 6080)}},
		{"GUE variant 1", LinkRaw, over(6080, sum4), want4, []Way{way4(WayGUE, 0, 50000, 6080)}},
		{"FOU", LinkRaw, over(5555, sum4), want4, []Way{way4(WayGUE, 0, 50000, 5555)}},
		{"FOU, IPv6", LinkRaw, over(5555, in6), want6, []Way{way4(WayGUE, 0, 50000, 5555)}},
		{"FOU, GRE", LinkRaw, over(5555, "0000 0800"+sum4), want4, []Way{way4(WayGRE, 0, 50000, 5555)}},
		{"port of FOU, wrong checksum", LinkRaw, over(5555, in4), plain(5555, in4), nil},
		{"port of GUE, control", LinkRaw, over(6080, "2004 0000"+in4), plain(6080, "2004 0000"+in4), nil},

		{"VXLAN-GPE", LinkRaw, over(4790, "0C000003 00002A00"+frame4), want4, []Way{way4(WayVXLAN, 42, 50000, 4790)}},
		{"VXLAN-GPE, IPv6", LinkRaw, over(4790, "0C000002 00002A00"+in6), want6, []Way{way4(WayVXLAN, 42, 50000, 4790)}},
		{"VXLAN-GPE, no protocol", LinkRaw, over(4790, "08000000 00002A00"+frame4), want4, []Way{way4(WayVXLAN, 42, 50000, 4790)}},
		{"port of VXLAN-GPE, NSH", LinkRaw, over(4790, "0C000004 00002A00"+frame4), plain(4790, "0C000004 00002A00"+frame4), nil},

		{"UDP-Lite", LinkRaw, ip4(33, 136) + "6987 6987 0008 0000 FFFFFFFF 55", liteWant(lite), nil},
		{"UDP-Lite, coverage below its header", LinkRaw, ip4(33, 136) + "6987 6987 0007 0000 FFFFFFFF 55", stopped(v4("", 0), 136, BadUDP), nil},

		{"SNAP", LinkEthernet, llc(8+33, "AAAA03 000000 0800"+in4+"0000"), want4, nil},
		{"SNAP after a tag", LinkEthernet, macs + "8100 0007 0029 AAAA03 000000 0800" + in4, want4, []Way{way(WayVLAN, 7)}},
		{"LLC, IP", LinkEthernet, llc(3+33, "060603"+in4), want4, nil},
		{"LLC, spanning tree", LinkEthernet, llc(3, "424203"), Packet{Stop: NotIP, Unread: UnreadLLC}, nil},
		{"SNAP, Cisco", LinkEthernet, llc(8, "AAAA03 00000C 2000"), Packet{Stop: NotIP, Unread: UnreadLLC}, nil},
		{"SNAP in SNAP", LinkEthernet, llc(16, "AAAA03 000000 0008 AAAA03 000000 0800"), Packet{Stop: NotIP, Unread: UnreadLLC}, nil},
		{"SLL, LLC", LinkLinuxSLL, "0000 0001 0006 020000000001 0000 0004 AAAA03 000000 86DD" + in6, want6, nil},
		{"SLL, IP says the protocol, the rest of a tag", LinkLinuxSLL, "0000 0001 0006 020000000001 0000 0800 4007 0800" + in4, want4, []Way{way(WayVLAN, 7)}},
		{"SLL2, IP says the protocol, a tag", LinkLinuxSLL2, "86DD 0000 00000003 0001 00 06 020000000001 0000 8100 0007 86DD" + in6, want6, []Way{way(WayVLAN, 7)}},

		{"MACsec", LinkEthernet, macs + "88E5 0100 00000001 0800" + in4 + strings.Repeat("AA", 16), want4, []Way{way(WayMACsec, 1)}},
		{"MACsec, sender, tag inside", LinkEthernet, macs + "88E5 2000 00000001 0200000000010001 8100 0007 86DD" + in6 + strings.Repeat("AA", 16), want6,
			[]Way{way(WayMACsec, 0), way(WayVLAN, 7)}},
		{"MACsec, encrypted", LinkEthernet, macs + "88E5 0C00 00000001" + strings.Repeat("AA", 40), Packet{Stop: NotIP, Unread: UnreadMACsec}, nil},
		{"DSA", LinkDSA, macs + "C0080001 0800" + in4, want4, []Way{way(WaySwitch, 0xc0080001)}},
		{"EDSA", LinkEDSA, macs + "DADA 0000 C0080001 86DD" + in6, want6, []Way{way(WaySwitch, 0xc0080001)}},
		{"EDSA, EtherType", LinkEthernet, macs + "DADA 0000 C0080001 0800" + in4, want4, []Way{way(WaySwitch, 0xc0080001)}},
		{"Broadcom tag", LinkBroadcom, macs + "20000001 0800" + in4, want4, []Way{way(WaySwitch, 0x20000001)}},
		{"Broadcom tag before the frame", LinkBroadcomPre, "20000001" + frame4, want4, nil},
		{"PKTAP", LinkPKTAP, pktap("01000000", frame4), want4, nil},
		{"PKTAP, raw IP", LinkPKTAP, pktap("0C000000", in6), want6, nil},
		{"PKTAP in PKTAP", LinkPKTAP, pktap("02010000", ""), Packet{Stop: UnknownLink}, nil},
		{"PKTAP, no packet", LinkPKTAP, "0C000000 02000000 01000000", Packet{Stop: NotIP, Unread: UnreadPKTAP}, nil},
		{"PKTAP, length beyond the frame", LinkPKTAP, "FF000000 01000000 01000000", Packet{Stop: BadLink}, nil},
	}
}

// ahWant is the datagram after an authentication header, between the ends of outer4.
func ahWant() Packet {
	p := want4
	p.Src, p.Dst = addr("10.0.0.1", p.Src.Port()), addr("10.0.0.2", p.Dst.Port())
	p.TTL, p.IPID = 63, 1
	return p
}

func liteWant(p Packet) Packet {
	p.Src = addr(p.Src.Addr().String(), 27015)
	p.Dst = addr(p.Dst.Addr().String(), 27015)
	return p
}

func TestMoreTunnels(t *testing.T) { runTunnels(t, moreTunnels()) }

// TestMoreTunnelsDoNotAllocate holds every tunnel to what benchFrames are held to.
func TestMoreTunnelsDoNotAllocate(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, tt := range moreTunnels() {
		frame, p := unhex(tt.in), Packet{Outer: new(Ways)}
		if n := testing.AllocsPerRun(10, func() { p.Decode(tt.link, frame, len(frame)) }); n != 0 {
			t.Errorf("%s: got %v allocations\nwant 0", tt.name, n)
		}
	}
}

// TestMirrorTruncation asks that the inner length is believed where ERSPAN marks
// the frame as cut.
func TestMirrorTruncation(t *testing.T) {
	mirror := func(flags, typ string) string {
		return "1000 88BE 00000001 1064 " + flags + typ + ethIPv4 + ip4(133, 17) + udp4(113) + "FFFFFFFF 55"
	}
	wantCut := v4("FFFFFFFF55", 105)
	runDecode(t, []decodeTest{
		{"cut", LinkRaw, outer4(47, mirror("042A", "00000001")), 0, deep(wantCut, 1)},
		{"cut, and nobody says so", LinkRaw, outer4(47, mirror("002A", "00000001")), 0, deep(wantCut, 1)},
	})
}

// TestJoinedTunnel asks that a tunnel is followed whose outer packet was
// fragmented, that its way in is added, and that fragments inside are refused.
func TestJoinedTunnel(t *testing.T) {
	var ways Ways
	first := Packet{Outer: &ways}
	frame := unhex(ethVLAN[:len(ethVLAN)-5] + "0800" + strings.Replace(outer4(47, "0000 0800"+in4), "0001 0000", "0001 2000", 1))
	first.Decode(LinkEthernet, frame, len(frame))
	if !first.Frag.Set || first.Depth != 1 {
		t.Fatalf("got  %+v\nwant a fragment after a tag", first)
	}
	whole := unhex("2000 0800 0000002A" + in4)
	got := first
	got.DecodeJoined(whole, len(whole))
	want := []Way{way(WayVLAN, 7), way4(WayGRE, 42, 0, 0)}
	if diff := cmp.Diff(want, got.Ways(), packetOptions); diff != "" {
		t.Errorf("ways (-want +got):\n%s", diff)
	}
	got.Outer = nil
	compare(t, got, deep(want4, 2))

	got = first
	whole = unhex("0000 0800" + strings.Replace(in4, "1234 0000", "1234 2000", 1))
	got.DecodeJoined(whole, len(whole))
	got.Outer = nil
	compare(t, got, deep(stopped(v4("", 0), 17, TooDeep), 2))
}

// TestWithoutRoom asks that the result is the same when nobody wants the ways.
func TestWithoutRoom(t *testing.T) {
	frame := unhex(outer4(4, in4))
	var p Packet
	p.Decode(LinkRaw, frame, len(frame))
	compare(t, p, deep(want4, 1))
	if got := p.Ways(); got != nil {
		t.Errorf("got  %v\nwant none", got)
	}
}
