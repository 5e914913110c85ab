package testpcap

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

var compareAddrs = cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })

func isTCP(ip []byte) bool {
	if ip[0]>>4 == 4 {
		return ip[9] == byte(layers.IPProtocolTCP)
	}
	return ip[6] == byte(layers.IPProtocolTCP)
}

// tcpSegment decodes with gopacket after it has checked both checksums.
func tcpSegment(t *testing.T, ip []byte) Segment {
	t.Helper()
	var src, dst netip.Addr
	s := Segment{}
	body, id, _, _ := ipBody(t, ip)
	s.ID = id
	if ip[0]>>4 == 4 {
		if got := onesComplement(0, ip[:ipv4HeaderLen]); got != 0xffff {
			t.Errorf("sum over the IPv4 header with its checksum\n got %#x\nwant 0xffff", got)
		}
		src, dst = netip.AddrFrom4([4]byte(ip[12:])), netip.AddrFrom4([4]byte(ip[16:]))
		s.TTL = ip[8]
	} else {
		src, dst = netip.AddrFrom16([16]byte(ip[8:])), netip.AddrFrom16([16]byte(ip[24:]))
		s.TTL = ip[7]
	}
	pseudo := append(src.AsSlice(), dst.AsSlice()...)
	pseudo = binary.BigEndian.AppendUint32(pseudo, uint32(len(body)))
	pseudo = binary.BigEndian.AppendUint32(pseudo, uint32(layers.IPProtocolTCP))
	if got := onesComplement(onesComplement(0, pseudo), body); got != 0xffff {
		t.Errorf("sum over the segment with its checksum\n got %#x\nwant 0xffff", got)
	}
	var h layers.TCP
	if err := h.DecodeFromBytes(body, gopacket.NilDecodeFeedback); err != nil {
		t.Fatal(err)
	}
	s.Src, s.Dst = netip.AddrPortFrom(src, uint16(h.SrcPort)), netip.AddrPortFrom(dst, uint16(h.DstPort))
	s.Seq, s.Ack, s.Flags = h.Seq, h.Ack, Flags(body[13])
	for _, option := range h.Options {
		if option.OptionType == layers.TCPOptionKindMSS {
			s.MSS = binary.BigEndian.Uint16(option.OptionData)
		}
	}
	if len(h.Payload) > 0 {
		s.Payload = bytes.Clone(h.Payload)
	}
	if h.Window != window {
		t.Errorf("window\n got %d\nwant %d", h.Window, window)
	}
	return s
}

// TestSegmentIP decodes segments with another program's decoder.
func TestSegmentIP(t *testing.T) {
	tests := []struct {
		name string
		in   Segment
	}{
		{"SYN", Segment{Seq: 0xfffffff0, Flags: SYN, MSS: 1460}},
		{"data", Segment{Seq: 1, Ack: 2, Flags: ACK | PSH, Payload: []byte("abc")}},
		{"checksum 0", Segment{Flags: ACK}},
		{"FIN", Segment{Seq: 7, Ack: 8, Flags: FIN | ACK}},
		{"RST", Segment{Seq: 7, Ack: 8, Flags: RST | ACK}},
		{"longest", Segment{Flags: ACK, Payload: counting(maxSegment)}},
	}
	for _, test := range tests {
		for _, ends := range [][2]netip.AddrPort{{client4, server4}, {server6, client6}} {
			want := test.in
			want.Src, want.Dst, want.TTL = ends[0], ends[1], 57
			if want.Src.Addr().Is4() {
				want.ID = 0x1234 // an unfragmented IPv6 packet has none
			}
			ip, err := want.IP()
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			if diff := cmp.Diff(want, tcpSegment(t, ip), compareAddrs); diff != "" {
				t.Errorf("%s from %v (-want +got):\n%s", test.name, ends[0], diff)
			}
		}
	}
}

func TestSegmentErrors(t *testing.T) {
	tests := []struct {
		name string
		in   Segment
		want string
	}{
		{"two families", Segment{Src: client4, Dst: server6}, "addresses of two families"},
		{"too long", Segment{Src: client4, Dst: server4, Payload: make([]byte, maxSegment+1)},
			"segment of 65496 bytes above the limit of 65495"},
	}
	for _, test := range tests {
		_, err := test.in.IP()
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\n got %v\nwant %s", test.name, err, test.want)
		}
	}
}
