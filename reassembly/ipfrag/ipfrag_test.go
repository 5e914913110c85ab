package ipfrag

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture/packet"
	"qsniff/reassembly"
)

// step is one fragment of the datagram that a rule test is about, or the end
// of the capture.
type step struct {
	off, length int
	more        bool
	cut         int  // bytes that the snap length took
	other       bool // other bytes than the datagram has there
	proto       uint8
	at          int64 // seconds
	flush       bool
}

func TestRules(t *testing.T) {
	const m = true // more fragments
	tests := []struct {
		name    string
		version uint8 // 4 if 0
		in      []step
		want    []string
		counts  Counters
	}{
		{"in order", 4, []step{{off: 0, length: 1480, more: m}, {off: 1480, length: 1480, more: m}, {off: 2960, length: 40}},
			[]string{"joined: 3000 of 3000, protocol 17, frames 1 2 3"}, Counters{Joined: 1}},
		{"last first", 4, []step{{off: 2960, length: 40}, {off: 1480, length: 1480, more: m}, {off: 0, length: 1480, more: m}},
			[]string{"joined: 3000 of 3000, protocol 17, frames 3 2 1"}, Counters{Joined: 1}},
		{"IPv6", 6, []step{{off: 0, length: 1232, more: m}, {off: 1232, length: 7}},
			[]string{"joined: 1239 of 1239, protocol 17, frames 1 2"}, Counters{Joined: 1}},
		{"IPv6, the first names the protocol", 6,
			[]step{{off: 1232, length: 7, proto: 60}, {off: 0, length: 1232, more: m}},
			[]string{"joined: 1239 of 1239, protocol 17, frames 2 1"}, Counters{Joined: 1}},
		{"IPv4, protocols do not mix", 4, []step{{off: 0, length: 8, more: m, proto: 6}, {off: 8, length: 8}, {flush: true}},
			[]string{"capture ended: 8 of 65535, protocol 6, frames 1"}, Counters{Ended: 2}},
		{"first and last at once", 6, []step{{off: 8, length: 8, more: m}, {off: 0, length: 100}},
			[]string{"joined: 100 of 100, protocol 17, frames 2"}, Counters{Joined: 1}},
		{"the largest", 4, []step{{off: 0, length: 65528, more: m}, {off: 65528, length: 7}},
			[]string{"joined: 65535 of 65535, protocol 17, frames 1 2"}, Counters{Joined: 1}},

		{"duplicate", 4, []step{{off: 0, length: 16, more: m}, {off: 0, length: 16, more: m}, {off: 16, length: 3}},
			[]string{"joined: 19 of 19, protocol 17, frames 1 3"}, Counters{Joined: 1, Duplicates: 1}},
		{"duplicate, shorter snap length", 4,
			[]step{{off: 0, length: 16, more: m}, {off: 0, length: 16, more: m, cut: 10}, {off: 16, length: 3}},
			[]string{"joined: 19 of 19, protocol 17, frames 1 3"}, Counters{Joined: 1, Duplicates: 1}},
		{"duplicate of the last", 4, []step{{off: 16, length: 3}, {off: 16, length: 3}, {off: 0, length: 16, more: m}},
			[]string{"joined: 19 of 19, protocol 17, frames 3 1"}, Counters{Joined: 1, Duplicates: 1}},
		{"same place, other bytes", 4,
			[]step{{off: 0, length: 16, more: m}, {off: 0, length: 16, more: m, other: true}, {off: 16, length: 3}},
			[]string{"joined: 19 of 19, protocol 17, frames 1 3"}, Counters{Joined: 1, Duplicates: 1}},
		{"within two that came in order", 4,
			[]step{{off: 0, length: 16, more: m}, {off: 16, length: 16, more: m}, {off: 8, length: 16, more: m, other: true}, {off: 32, length: 3}},
			[]string{"joined: 35 of 35, protocol 17, frames 1 2 4"}, Counters{Joined: 1, Duplicates: 1}},
		{"within two that came the other way round", 4,
			[]step{{off: 16, length: 16, more: m}, {off: 0, length: 16, more: m}, {off: 8, length: 16, more: m, other: true}},
			[]string{"overlapping fragments: 32 of 65535, protocol 17, frames 2 1"}, Counters{Overlaps: 1}},
		{"overlap with the one before", 4,
			[]step{{off: 0, length: 16, more: m}, {off: 8, length: 16, more: m}, {off: 24, length: 3}},
			[]string{"overlapping fragments: 16 of 65535, protocol 17, frames 1"}, Counters{Overlaps: 1}},
		{"overlap with the one after", 4, []step{{off: 16, length: 16, more: m}, {off: 8, length: 16, more: m}},
			nil, Counters{Overlaps: 1}},
		{"same start, shorter", 4, []step{{off: 16, length: 16, more: m}, {off: 16, length: 8, more: m}},
			nil, Counters{Duplicates: 1}},
		{"same start, longer", 4, []step{{off: 16, length: 8, more: m}, {off: 16, length: 16, more: m}},
			nil, Counters{Overlaps: 1}},
		{"overlap, around all", 4, []step{{off: 16, length: 16, more: m}, {off: 0, length: 64, more: m}},
			nil, Counters{Overlaps: 1}},
		{"after an overlap the id is free", 4,
			[]step{{off: 0, length: 16, more: m}, {off: 8, length: 16, more: m}, {off: 0, length: 8, more: m}, {off: 8, length: 1}},
			[]string{"overlapping fragments: 16 of 65535, protocol 17, frames 1", "joined: 9 of 9, protocol 17, frames 3 4"},
			Counters{Overlaps: 1, Joined: 1}},

		{"not a multiple of 8, IPv4", 4, []step{{off: 0, length: 15, more: m}, {off: 8, length: 3}},
			[]string{"joined: 11 of 11, protocol 17, frames 1 2"}, Counters{Joined: 1}},
		{"not a multiple of 8, IPv6", 6, []step{{off: 0, length: 15, more: m}}, nil, Counters{Bad: 1}},
		{"empty", 4, []step{{off: 8, length: 0}}, nil, Counters{Bad: 1}},
		{"empty, among others", 4, []step{{off: 0, length: 8, more: m}, {off: 8, length: 0}},
			[]string{"overlapping fragments: 8 of 65535, protocol 17, frames 1"}, Counters{Bad: 1, Overlaps: 1}},
		{"one byte too long", 4, []step{{off: 65528, length: 8}}, nil, Counters{TooLong: 1}},
		{"second end, shorter", 4, []step{{off: 8, length: 8}, {off: 8, length: 4}, {off: 0, length: 8, more: m}},
			nil, Counters{Overlaps: 1, Bad: 1}},
		{"second end, longer", 4, []step{{off: 8, length: 8}, {off: 16, length: 4}, {off: 0, length: 8, more: m}},
			nil, Counters{Overlaps: 1, Bad: 1}},
		{"beyond the end", 4, []step{{off: 8, length: 8}, {off: 16, length: 8, more: m}, {off: 0, length: 8, more: m}},
			nil, Counters{Overlaps: 1, Bad: 1}},
		{"more, but up to the end", 4, []step{{off: 8, length: 8}, {off: 8, length: 8, more: m}, {off: 0, length: 8, more: m}},
			[]string{"joined: 16 of 16, protocol 17, frames 3 1"}, Counters{Joined: 1, Duplicates: 1}},
		{"end where more was promised", 4, []step{{off: 8, length: 8, more: m}, {off: 8, length: 8}}, nil, Counters{Duplicates: 1}},
		{"end before what is there", 4, []step{{off: 16, length: 8, more: m}, {off: 8, length: 8}}, nil, Counters{Overlaps: 1, Bad: 1}},

		{"cut by the snap length", 4,
			[]step{{off: 0, length: 1480, more: m, cut: 1400}, {off: 1480, length: 100, cut: 60}},
			[]string{"joined: 80 of 1580, protocol 17, frames 1 2"}, Counters{Joined: 1}},
		{"last one cut", 4, []step{{off: 0, length: 1480, more: m}, {off: 1480, length: 100, cut: 60}},
			[]string{"joined: 1520 of 1580, protocol 17, frames 1 2"}, Counters{Joined: 1}},
		{"nothing captured", 4, []step{{off: 0, length: 8, more: m, cut: 8}, {off: 8, length: 8, cut: 8}},
			[]string{"joined: 0 of 16, protocol 17, frames 1 2"}, Counters{Joined: 1}},

		{"middle lost, capture ends", 4, []step{{off: 0, length: 16, more: m}, {off: 32, length: 8}, {flush: true}},
			[]string{"capture ended: 16 of 40, protocol 17, frames 1 2"}, Counters{Ended: 1}},
		{"first lost, capture ends", 4, []step{{off: 16, length: 16, more: m}, {off: 32, length: 8}, {flush: true}},
			nil, Counters{Ended: 1}},
		{"first not captured, capture ends", 4, []step{{off: 0, length: 16, more: m, cut: 16}, {flush: true}},
			nil, Counters{Ended: 1}},
		{"just in time", 4, []step{{off: 0, length: 16, more: m}, {off: 16, length: 8, at: 29}},
			[]string{"joined: 24 of 24, protocol 17, frames 1 2"}, Counters{Joined: 1}},
		{"too late", 4, []step{{off: 0, length: 16, more: m}, {off: 16, length: 8, at: 30}},
			[]string{"expired: 16 of 65535, protocol 17, frames 1"}, Counters{Expired: 1}},
		{"waiting is not prolonged", 4,
			[]step{{off: 0, length: 16, more: m}, {off: 16, length: 8, more: m, at: 20}, {off: 24, length: 8, at: 40}},
			[]string{"expired: 24 of 65535, protocol 17, frames 1 2"}, Counters{Expired: 1}},
		{"time runs backwards", 4, []step{{off: 0, length: 16, more: m, at: 100}, {off: 16, length: 8}},
			[]string{"joined: 24 of 24, protocol 17, frames 1 2"}, Counters{Joined: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, counts := play(t, tt.version, tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("datagrams, want to got:\n%s", diff)
			}
			if counts != tt.counts {
				t.Errorf("got  %+v\nwant %+v", counts, tt.counts)
			}
		})
	}
}

// play runs the steps, frames counted from 1, and describes what came out.
func play(t *testing.T, version uint8, steps []step) (out []string, counts Counters) {
	tab := newTable(DefaultBytes)
	describe := func(d *Datagram) {
		s := fmt.Sprintf("%v: %d of %d, protocol %d, frames", d.Outcome, len(d.Data), d.Wire, d.Proto)
		for _, p := range d.Pieces {
			s += fmt.Sprint(" ", p.Frame)
		}
		out = append(out, s)
		if string(d.Data) != string(pattern(1, len(d.Data))) {
			t.Errorf("got  %x\nwant %x", d.Data, pattern(1, len(d.Data)))
		}
		if d.Complete != (d.Outcome == Joined) {
			t.Errorf("got  complete = %v with %v\nwant them to agree", d.Complete, d.Outcome)
		}
	}
	tab.DeliverIncomplete = describe
	data, other := pattern(1, 1<<17), pattern(2, 1<<17)
	for i, s := range steps {
		if s.flush {
			tab.Flush()
			continue
		}
		bytes := data
		if s.other {
			bytes = other
		}
		p := newPacket(version, max(s.proto, 17), 1, bytes, s.off, s.length, s.more)
		if s.proto != 0 {
			p.Proto = s.proto
		}
		p.Payload = p.Payload[:s.length-s.cut]
		if d := tab.Add(p, uint64(i+1), s.at*second); d != nil {
			describe(d)
		}
		checkTable(t, tab)
	}
	counts = tab.Counters()
	counts.Fragments = 0 // every test would say how many steps it has
	return out, counts
}

func TestDatagram(t *testing.T) {
	tab := newTable(DefaultBytes)
	data := pattern(1, 24)
	tab.Add(newPacket(4, 17, 7, data, 8, 16, false), 11, 5)
	first := newPacket(4, 17, 7, data, 0, 8, true)
	first.TTL = 3
	got := *tab.Add(first, 12, 9)
	want := Datagram{
		Src: ends[4][0], Dst: ends[4][1], ID: 7, Proto: 17, TTL: 3, Outcome: Joined, Complete: true,
		Data: data, Wire: 24, First: 5, Last: 9,
		Pieces: []reassembly.Piece{{Frame: 12, Off: 0, Len: 8}, {Frame: 11, Off: 8, Len: 16}},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("want to got:\n%s", diff)
	}
}

// TestDecode goes from frames to a UDP payload.
func TestDecode(t *testing.T) {
	for _, version := range []uint8{4, 6} {
		t.Run(fmt.Sprint("IPv", version), func(t *testing.T) {
			payload := pattern(1, 3000)
			udp := append([]byte{0x69, 0x7d, 0x69, 0x87, 0x0b, 0xc0, 0, 0}, payload...)
			tab := newTable(DefaultBytes)
			var p packet.Packet
			var d *Datagram
			for off := 0; off < len(udp); off += 1232 {
				frame := ipFrame(version, udp[off:min(off+1232, len(udp))], off, off+1232 < len(udp))
				if p.Decode(packet.LinkRaw, frame, len(frame)); !p.Frag.Set {
					t.Fatalf("got  %+v\nwant a fragment", p)
				}
				d = tab.Add(&p, 1, 0)
			}
			if d == nil {
				t.Fatal("got  nothing after the last fragment\nwant a datagram")
			}
			d.Decode(&p)
			if p.Stop != packet.OK || string(p.Payload) != string(payload) || p.Wire != len(payload) {
				t.Errorf("got  %v, %d bytes of %d\nwant all %d", p.Stop, len(p.Payload), p.Wire, len(payload))
			}
			if got, want := p.Src.Port(), uint16(27005); got != want || p.Frag.Set || p.TTL != 64 || p.IPID != uint16(d.ID)*uint16(6-version)/2 {
				t.Errorf("got  %+v\nwant port %d, no fragment, TTL 64, the IPv4 id", p, want)
			}
		})
	}
}

// TestDecodeKeepsWays joins fragments after a VLAN tag.
func TestDecodeKeepsWays(t *testing.T) {
	udp := append([]byte{0x69, 0x7d, 0x69, 0x87, 0, 24, 0, 0}, pattern(1, 16)...)
	tag := []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, 7, 8, 0}
	tab := newTable(DefaultBytes)
	p := packet.Packet{Outer: new(packet.Ways)}
	var d *Datagram
	for off := 0; off < len(udp); off += 8 {
		frame := append(tag[:len(tag):len(tag)], ipFrame(4, udp[off:off+8], off, off+8 < len(udp))...)
		p.Decode(packet.LinkEthernet, frame, len(frame))
		d = tab.Add(&p, 1, 0)
	}
	if d == nil {
		t.Fatal("got  nothing after the last fragment\nwant a datagram")
	}
	d.Decode(&p)
	want := []packet.Way{{Kind: packet.WayVLAN, ID: 7}}
	if got := p.Ways(); p.Stop != packet.OK || !slices.Equal(got, want) {
		t.Errorf("got  %v, ways %v\nwant %v, ways %v", p.Stop, got, packet.OK, want)
	}
}

// ipFrame is a fragment with id 9 between the test addresses.
func ipFrame(version uint8, b []byte, off int, more bool) []byte {
	src, dst := ends[version][0].Addr().AsSlice(), ends[version][1].Addr().AsSlice()
	flag := byte(0)
	if more {
		flag = 1
	}
	var h []byte
	if version == 4 {
		n := 20 + len(b)
		h = []byte{0x45, 0, byte(n >> 8), byte(n), 0, 9, flag<<5 | byte(off>>11), byte(off >> 3), 64, 17, 0, 0}
		return append(append(append(h, src...), dst...), b...)
	}
	n := 8 + len(b)
	h = []byte{0x60, 0, 0, 0, byte(n >> 8), byte(n), 44, 64}
	h = append(append(h, src...), dst...)
	h = append(h, 17, 0, byte(off>>8), byte(off)|flag, 0, 0, 0, 9)
	return append(h, b...)
}

func TestIncompleteDecodesAsFarAsItGoes(t *testing.T) {
	udp := append([]byte{0x69, 0x7d, 0x69, 0x87, 0x0b, 0xc0, 0, 0}, pattern(1, 3000)...)
	tab := newTable(DefaultBytes)
	var p packet.Packet
	tab.DeliverIncomplete = func(d *Datagram) { d.Decode(&p) }
	tab.Add(newPacket(4, 17, 1, udp, 0, 1480, true), 1, 0)
	tab.Flush()
	if p.Stop != packet.OK || len(p.Payload) != 1472 || p.Wire != 3000 {
		t.Errorf("got  %v, %d bytes of %d\nwant %v, 1472 of 3000", p.Stop, len(p.Payload), p.Wire, packet.OK)
	}
}

// TestOverlapOfEqualBytes has a fragment that ends where another one does and
// repeats its bytes, but starts before it: no duplicate.
func TestOverlapOfEqualBytes(t *testing.T) {
	tab := newTable(DefaultBytes)
	data := make([]byte, 32)
	tab.Add(newPacket(4, 17, 1, data, 16, 16, true), 1, 0)
	tab.Add(newPacket(4, 17, 1, data, 8, 24, true), 2, 0)
	want := Counters{Fragments: 2, Overlaps: 1}
	if got := tab.Counters(); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
