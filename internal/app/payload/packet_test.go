package payload

import (
	"bytes"
	"testing"

	"qsniff/capture/packet"
	"qsniff/internal/test/hextest"
)

const (
	ipv4    = "45 00 0025 0002 0000 40 11 aa2c c6120024 0a400024" // total length 37, checksum right
	udp     = "6987 9c41 0011 2448"
	reply   = "ffffffff 41 4ba1d522"
	badsum  = "45 00 0025 0002 0000 40 11 0000 c6120024 0a400024"
	ethTo   = "020000000001 020000000002"
	ipv6    = "60 000000 0011 11 40 20010db8000000000000000000000001 20010db8000000000000000000000002"
	padding = "000000000000000000"
)

func TestAsPacket(t *testing.T) {
	tests := []struct {
		name, in string
		link     uint16
	}{
		{"IPv4", ipv4 + udp + reply, packet.LinkRaw},
		{"IPv4 without checksum, lengths fit", badsum + udp + reply, packet.LinkRaw},
		{"IPv4, padded", ipv4 + udp + reply + padding, packet.LinkRaw},
		{"IPv4, padded, without checksum", badsum + udp + reply + padding, packet.LinkRaw},
		{"IPv6", ipv6 + udp + reply, packet.LinkRaw},
		{"Ethernet", ethTo + "0800" + ipv4 + udp + reply, packet.LinkEthernet},
		{"Ethernet and IPv6", ethTo + "86dd" + ipv6 + udp + reply, packet.LinkEthernet},
		{"VLAN", ethTo + "8100 0005 0800" + ipv4 + udp + reply, packet.LinkEthernet},
		{"loopback", "02000000" + ipv4 + udp + reply, packet.LinkNull},
		{"Linux any", "0000 0001 0006 020000000001 0000 0800" + ipv4 + udp + reply, packet.LinkLinuxSLL},
		{"Linux any, second version", "0800 0000 00000002 0001 00 06 0200000000010000" + ipv4 + udp + reply, packet.LinkLinuxSLL2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, ok := AsPacket(hextest.Bytes(t, tt.in))
			if want := hextest.Bytes(t, reply); !ok || p.Link != tt.link || p.Stop != packet.OK || !bytes.Equal(p.Payload, want) || p.Wire == 0 {
				t.Errorf("got %v, link type %d, %v, % x\nwant link type %d, % x", ok, p.Link, p.Stop, p.Payload, tt.link, want)
			}
		})
	}
	t.Run("cut", func(t *testing.T) {
		p, ok := AsPacket(hextest.Bytes(t, ipv4+udp+"ffffffff"))
		if tagged, _ := AsPacket(hextest.Bytes(t, ethTo+"8100 0005 0800"+ipv4+udp+"ffffffff")); tagged.Wire != 18+37 {
			t.Errorf("after a tag: got %d bytes on the wire, want 55", tagged.Wire)
		}
		if !ok || p.Wire != 37 || p.Packet.Wire != 9 || len(p.Payload) != 4 {
			t.Errorf("got %v, %d bytes on the wire, payload %d of %d\nwant 37, payload 4 of 9", ok, p.Wire, len(p.Payload), p.Packet.Wire)
		}
	})
}

// TestNoPacket: payloads whose first bytes could begin a packet.
func TestNoPacket(t *testing.T) {
	for _, in := range []string{
		reply, "", "45", "02000000" + ipv6 + udp + reply, // the family of the loopback is IPv4
		`"EYE1" 0474657374 04 31 32 33 0a "a long enough name"`,
		"45 00 0025 0002 0000 40 11 0000 c6120024 0a400024 6987 9c41 0012 2448" + reply,
		`"` + "a text of forty bytes and more, which is no IPv6 packet" + `"`,
	} {
		if p, ok := AsPacket(hextest.Bytes(t, in)); ok {
			t.Errorf("%s: got a packet of link type %d", in, p.Link)
		}
	}
}
