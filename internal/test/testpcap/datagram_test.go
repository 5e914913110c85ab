package testpcap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

var (
	client4 = netip.MustParseAddrPort("10.64.0.1:40001")
	server4 = netip.MustParseAddrPort("198.18.0.1:27015")
	client6 = netip.MustParseAddrPort("[2001:db8::1]:40001")
	server6 = netip.MustParseAddrPort("[2001:db8::2]:27015")
)

// counting is n bytes of which no two neighbouring runs are alike.
func counting(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

func TestDatagramIP(t *testing.T) {
	tests := []struct {
		name    string
		length  int
		mtu     int
		packets int // over IPv4
	}{
		{"empty", 0, 1500, 1},
		{"small", 25, 1500, 1},
		{"no limit", 60_000, 0, 1},
		{"just fits", 1472, 1500, 1},
		{"one byte over", 1473, 1500, 2},
		{"mtu no multiple of 8", 3000, 577, 6},
		{"smallest mtu", 100, minMTU, 4},
		{"largest IPv4 payload", maxUDPv4, 1500, 45},
	}
	for _, test := range tests {
		for _, ends := range [][2]netip.AddrPort{{client4, server4}, {server6, client6}} {
			t.Run(fmt.Sprint(test.name, " ", ends[0].Addr()), func(t *testing.T) {
				d := Datagram{Src: ends[0], Dst: ends[1], TTL: 57, ID: 0x1234, Payload: counting(test.length)}
				packets, err := d.IP(test.mtu)
				if err != nil {
					t.Fatal(err)
				}
				if d.Src.Addr().Is4() && len(packets) != test.packets {
					t.Errorf("packets\n got %d\nwant %d", len(packets), test.packets)
				}
				checkPackets(t, d, test.mtu, packets)
			})
		}
	}
}

// checkPackets joins packets and compares them with d.
func checkPackets(t *testing.T, d Datagram, mtu int, packets [][]byte) {
	t.Helper()
	var join joiner
	for i, ip := range packets {
		if mtu > 0 && len(ip) > mtu {
			t.Errorf("packet %d of %d bytes exceeds the mtu of %d", i, len(ip), mtu)
		}
		if d.Src.Addr().Is4() && onesComplement(0, ip[:ipv4HeaderLen]) != 0xffff {
			t.Errorf("packet %d: IPv4 header checksum is wrong", i)
		}
		payload, ok := join.add(t, ip)
		if ok != (i == len(packets)-1) {
			t.Fatalf("packet %d of %d completes the datagram: %v", i, len(packets), ok)
		}
		if ok && !bytes.Equal(payload, d.Payload) {
			t.Errorf("payload\n got % x\nwant % x", payload, d.Payload)
		}
	}
	segment, err := d.serializeUDP()
	if err != nil {
		t.Fatal(err)
	}
	if got := binary.BigEndian.Uint16(segment); got != d.Src.Port() {
		t.Errorf("source port\n got %d\nwant %d", got, d.Src.Port())
	}
	pseudo := append(d.Src.Addr().AsSlice(), d.Dst.Addr().AsSlice()...)
	pseudo = binary.BigEndian.AppendUint32(pseudo, uint32(len(segment)))
	pseudo = binary.BigEndian.AppendUint32(pseudo, 17)
	if got := onesComplement(onesComplement(0, pseudo), segment); got != 0xffff {
		t.Errorf("sum over the datagram with its checksum\n got %#x\nwant 0xffff", got)
	}
}

// onesComplement adds b to s as RFC 1071 says, word by word.
func onesComplement(s uint32, b []byte) uint32 {
	for i, c := range b {
		if i%2 == 0 {
			s += uint32(c) << 8
		} else {
			s += uint32(c)
		}
		s = s>>16 + s&0xffff
	}
	return s
}

// TestZeroChecksum sends the checksum of a datagram with two zero bytes in
// their place, which makes the sum come out as 0.
func TestZeroChecksum(t *testing.T) {
	for _, d := range []Datagram{{Src: client4, Dst: server4}, {Src: client6, Dst: server6}} {
		d.Payload = []byte{0, 0}
		segment, err := d.serializeUDP()
		if err != nil {
			t.Fatal(err)
		}
		d.Payload = segment[6:udpHeaderLen]
		segment, err = d.serializeUDP()
		if err != nil {
			t.Fatal(err)
		}
		if got := binary.BigEndian.Uint16(segment[6:]); got != 0xffff {
			t.Errorf("%v: checksum\n got %#x\nwant 0xffff", d.Src, got)
		}
	}
}

func TestDatagramErrors(t *testing.T) {
	tests := []struct {
		name string
		in   Datagram
		mtu  int
		want string
	}{
		{"two families", Datagram{Src: client4, Dst: server6}, 0, "addresses of two families"},
		{"IPv4 too long", Datagram{Src: client4, Dst: server4, Payload: make([]byte, 65_508)}, 0, "payload of 65508 bytes above the limit of 65507"},
		{"IPv6 too long", Datagram{Src: client6, Dst: server6, Payload: make([]byte, 65_528)}, 0, "payload of 65528 bytes above the limit of 65527"},
		{"mtu", Datagram{Src: client4, Dst: server4}, 55, "mtu 55 below the minimum of 56"},
	}
	for _, test := range tests {
		_, err := test.in.IP(test.mtu)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\n got %v\nwant %s", test.name, err, test.want)
		}
	}
}

func TestLinkFrame(t *testing.T) {
	ip4 := unhex(t, "45 00 00 14 00*5 11 00*10")
	ip6 := unhex(t, "60 00*39")
	tests := []struct {
		name     string
		link     Link
		ip       []byte
		toServer bool
		want     string // the link header
	}{
		{"ethernet request", Link{Type: LinkEthernet}, ip4, true, "020000000002 020000000001 0800"},
		{"ethernet reply", Link{Type: LinkEthernet}, ip4, false, "020000000001 020000000002 0800"},
		{"ethernet IPv6", Link{Type: LinkEthernet}, ip6, true, "020000000002 020000000001 86dd"},
		{"vlan", Link{Type: LinkEthernet, VLANs: []uint16{100}}, ip4, true, "020000000002 020000000001 8100 0064 0800"},
		{"two tags", Link{Type: LinkEthernet, VLANs: []uint16{200, 4095}}, ip6, true, "020000000002 020000000001 88a8 00c8 8100 0fff 86dd"},
		{"sll request", Link{Type: LinkSLL}, ip4, true, "0000 0001 0006 020000000001 0000 0800"},
		{"sll reply", Link{Type: LinkSLL}, ip6, false, "0004 0001 0006 020000000002 0000 86dd"},
		{"sll2 request", Link{Type: LinkSLL2}, ip4, true, "0800 0000 00000002 0001 00 06 020000000001 0000"},
		{"sll2 reply", Link{Type: LinkSLL2}, ip6, false, "86dd 0000 00000002 0001 04 06 020000000002 0000"},
		{"null", Link{Type: LinkNull}, ip4, true, "02000000"},
		{"null IPv6", Link{Type: LinkNull}, ip6, true, "1e000000"},
		{"raw", Link{Type: LinkRaw}, ip4, true, ""},
	}
	for _, test := range tests {
		want := append(unhex(t, test.want), test.ip...)
		if test.link.Type == LinkEthernet && len(want) < 60 {
			want = append(want, make([]byte, 60-len(want))...)
		}
		if got := test.link.Frame(test.ip, test.toServer); !bytes.Equal(got, want) {
			t.Errorf("%s\n got % x\nwant % x", test.name, got, want)
		}
	}
}

// unhex reads the notation of the sources.
func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := appendHex(nil, s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
