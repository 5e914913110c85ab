package live

import (
	"bytes"
	"encoding/binary"
	"testing"

	"qsniff/internal/test/hextest"
)

// put is a packet for a block.
type put struct {
	data      []byte
	wire      uint32
	status    uint32
	tci, tpid uint16
	kind      uint8
}

// block builds a block of the ring as the kernel does, with the packets at multiples
// of 16 bytes.
func block(size int, packets ...put) []byte {
	b := make([]byte, size)
	order := binary.NativeEndian
	order.PutUint32(b[blockStatusAt:], statusUser)
	order.PutUint32(b[blockCountAt:], uint32(len(packets)))
	order.PutUint32(b[blockFirstAt:], blockHeader)
	at := blockHeader
	for i, p := range packets {
		const mac = 82
		step := (mac + len(p.data) + 15) &^ 15
		f := b[at:]
		if i < len(packets)-1 {
			order.PutUint32(f[frameNextAt:], uint32(step))
		}
		order.PutUint32(f[frameSecAt:], 1_700_000_000)
		order.PutUint32(f[frameNanoAt:], uint32(i))
		order.PutUint32(f[frameCapAt:], uint32(len(p.data)))
		order.PutUint32(f[frameWireAt:], p.wire)
		order.PutUint32(f[frameStatusAt:], p.status)
		order.PutUint16(f[frameMACAt:], mac)
		order.PutUint32(f[frameTCIAt:], uint32(p.tci))
		order.PutUint16(f[frameTPIDAt:], p.tpid)
		binary.BigEndian.PutUint16(f[frameProtoAt:], etherIPv4)
		order.PutUint32(f[frameIfaceAt:], 7)
		order.PutUint16(f[frameARPAt:], arpEthernet)
		f[framePktAt] = p.kind
		copy(f[frameAddrAt:], []byte{6, 2, 0, 0, 0, 0, 1})
		copy(f[mac:], p.data)
		at += step
	}
	return b
}

func TestWalker(t *testing.T) {
	macs := "020000000002 020000000001"
	frameOf := func(s string) []byte { return hextest.Bytes(t, s) }
	for _, tc := range []struct {
		name string
		in   put
		link uint16
		want string
		wire uint32
	}{
		{"as it came", put{data: frameOf(macs + "0800 4500"), wire: 60}, linkEthernet, macs + "0800 4500", 60},
		{"a tag put back", put{data: frameOf(macs + "0800 4500"), status: statusVLAN, tci: 42}, linkEthernet, macs + "8100 002a 0800 4500", 20},
		{"a tag of another type", put{data: frameOf(macs + "0800 4500"), status: statusVLAN | statusVLANType, tci: 42, tpid: etherQinQ}, linkEthernet, macs + "88a8 002a 0800 4500", 20},
		{"without link header", put{data: frameOf("4500"), wire: 40}, linkRaw, "4500", 40},
		{"cooked", put{data: frameOf("4500"), wire: 40, kind: packetOutgoing}, linkSLL2,
			"0800 0000 00000007 0001 04 06 0200000000010000 4500", 60},
		{"cooked with a tag", put{data: frameOf("4500"), wire: 40, status: statusVLAN, tci: 42}, linkSLL2,
			"8100 0000 00000007 0001 00 06 0200000000010000 002a 0800 4500", 64},
		{"too short for a tag", put{data: frameOf("0200"), status: statusVLAN, tci: 42}, linkEthernet, "0200", 6},
	} {
		var w blockWalker
		var f frame
		w.begin(block(4096, tc.in))
		if !w.next(&f, false) {
			t.Fatalf("%s: no packet", tc.name)
		}
		got := f.append(nil, tc.link)
		wire := f.wire + uint32(f.size(tc.link)-len(f.data))
		if want := frameOf(tc.want); !bytes.Equal(got, want) || wire != tc.wire {
			t.Errorf("%s\ngot  % x, %d bytes on the wire\nwant % x, %d", tc.name, got, wire, want, tc.wire)
		}
		if f.nanos != 1_700_000_000_000_000_000 {
			t.Errorf("%s: time %d", tc.name, f.nanos)
		}
		if w.next(&f, false) {
			t.Errorf("%s: a second packet", tc.name)
		}
	}
}

func TestWalkerSeveral(t *testing.T) {
	var in []put
	for i := range 50 {
		in = append(in, put{data: bytes.Repeat([]byte{byte(i)}, i)})
	}
	var w blockWalker
	var f frame
	w.begin(block(1<<16, in...))
	for i := range in {
		if !w.next(&f, false) || !bytes.Equal(f.data, in[i].data) || f.nanos%1e9 != int64(i) {
			t.Fatalf("packet %d\ngot  % x\nwant % x", i, f.data, in[i].data)
		}
	}
	if w.next(&f, false) {
		t.Error("a packet too many")
	}
}

// FuzzWalker: whatever a block holds, packets lie inside it, their number is bounded,
// and what is delivered has the size that was asked for.
func FuzzWalker(f *testing.F) {
	f.Add(block(512, put{data: []byte("abc")}, put{data: []byte("defg"), status: statusVLAN}))
	f.Add(block(256, put{data: bytes.Repeat([]byte{1}, 100), wire: 200}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var w blockWalker
		var p frame
		w.begin(b)
		count := 0
		for w.next(&p, false) {
			if count++; count > len(b) {
				t.Fatal("more packets than bytes")
			}
			if int(p.wire) < len(p.data) || len(p.data) > len(b) {
				t.Fatalf("%d of %d bytes in a block of %d", len(p.data), p.wire, len(b))
			}
			for _, link := range []uint16{linkEthernet, linkRaw, linkSLL2} {
				if got, most := len(p.append(nil, link)), p.size(link); got > most || got < len(p.data) {
					t.Fatalf("link %d: %d bytes, said to be %d at most", link, got, most)
				}
			}
		}
		if w.next(&p, false) {
			t.Fatal("a packet after the last one")
		}
	})
}
