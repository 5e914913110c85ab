package track

import (
	"encoding/binary"
	"math"
	"math/bits"
	"net/netip"
	"testing"
	"unsafe"

	"qsniff/dissect"
	"qsniff/internal/test/race"
)

// A flood fills the tables and no more, and allocates nothing.
func TestHostsFlood(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	h := NewHosts(0.01)
	h.Raise = func(*Raised) {}
	n, f := 0, new(Fact)
	flood := func() {
		n++
		*f = Fact{Frame: uint64(n), Nanos: int64(n), Age: int64(n), Client: from(n), Server: server, Proto: &testProto, Refused: true, Part: Part{Step: Ask, ID: uint64(n)}}
		for _, k := range []string{"T", "A", "T", "U", "M", "P", "G", "g"} {
			if f.Type = hostKinds[k]; f.Type == nil {
				f.Type = testKinds[k[0]]
			}
			f.Reply, f.Key, f.Step = f.Type.Reply, 7, Ask
			if f.Reply {
				f.Step = Answer
			}
			h.AddFact(f)
			if !f.Reply {
				f.Step = Silence
				h.AddFact(f)
			}
		}
	}
	for range 10_000 {
		flood()
	}
	if allocs := testing.AllocsPerRun(1000, flood); allocs != 0 {
		t.Errorf("got  %v allocations\nwant 0", allocs)
	}
	if h.Evicted() == 0 {
		t.Error("nothing made room")
	}
}

// The tables stay as small as the comment of Hosts says.
func TestHostsMemory(t *testing.T) {
	const most = 84 << 20 / 10
	h := NewHosts(1)
	got := uintptr(maxNotes) * unsafe.Sizeof(note{})
	for _, x := range h.tables {
		got += uintptr(x.entries.Cap()) * x.entryBytes
	}
	if t.Logf("%d bytes", got); got > most {
		t.Errorf("got  %d bytes\nwant %d at most", got, most)
	}
}

// What a client asked is noted, and entered among the sockets when a reply needs it: a flood
// before costs the table nothing, and pushes out of the notes only what is older than it.
func TestNotes(t *testing.T) {
	h := NewHosts(1)
	sockets := tableOf[socketKey, askedServers](t, h)
	raised := 0
	h.Raise = func(*Raised) { raised++ }
	age, frame := int64(1e18), uint64(0)
	tell := func(client netip.AddrPort, server netip.AddrPort, kind byte, s Step) {
		frame++
		age += ms / 100
		h.AddFact(&Fact{Frame: frame, Nanos: age, Age: age, Client: client, Server: server, Proto: &testProto,
			Type: testKinds[kind], Reply: testKinds[kind].Reply, Part: Part{Step: s, ID: frame}})
	}
	asks := func(n int) { tell(from(n), server, 'T', Ask) }
	other := netip.MustParseAddrPort("198.18.0.9:27015")
	asks(1)
	for i := range maxNotes {
		asks(1000 + i)
	}
	if n := sockets.Len(); n != 0 || h.Evicted() != 1 {
		t.Errorf("%d questions\ngot  %d sockets, %d evicted\nwant 0 and 1", maxNotes+1, n, h.Evicted())
	}
	tell(from(1), other, 'I', Stray)
	if raised != 0 {
		t.Error("raised about a question whose note was overwritten")
	}
	if n := sockets.Len(); n != maxSockets {
		t.Errorf("got  %d sockets\nwant %d", n, maxSockets)
	}
	asks(2)
	age += 2*int64(elsewhereFor) + 1
	before := h.Evicted()
	asks(3)
	tell(from(3), other, 'I', Stray)
	if raised != 1 || sockets.Peek(socketKey{EndOf(from(2)), dissect.AskInfo}) != nil {
		t.Errorf("got  %d findings, or an old note was entered\nwant 1 and none", raised)
	}
	for i := range maxNotes {
		asks(i)
		age += int64(elsewhereFor) / 100
	}
	if h.Evicted() != before+1 { // the socket that asks(3) replaced
		t.Errorf("slow questions\ngot  %d evicted\nwant %d", h.Evicted(), before+1)
	}
}

// Networks hand out addresses in a row. Their hashes must look as random as those
// of random addresses in every bit, for sketches take some of them at either end.
func TestHostHash(t *testing.T) {
	const n = 1 << 16
	tests := []struct {
		name string
		host func(i uint32) Host
	}{
		{"in a row", func(i uint32) Host { return v4(20<<24 + i) }},
		{"one in each /24", func(i uint32) Host { return v4(20<<24 + i<<8 + 1) }},
		{"a /64 in a row", func(i uint32) Host {
			return Host{0: 0x20, 12: byte(i >> 24), 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}
		}},
		{"one in each /64", func(i uint32) Host { return Host{0: 0x20, 5: byte(i >> 16), 6: byte(i >> 8), 7: byte(i), 15: 1} }},
	}
	for _, tt := range tests {
		// n random hashes in as many cells leave a share of 1/e of them empty.
		for _, shift := range []int{0, 16, 32, 48} {
			var hit [n / 64]uint64
			for i := range uint32(n) {
				cell := tt.host(i).Hash(0x7173_6e69_6666_0008) >> shift & (n - 1)
				hit[cell/64] |= 1 << (cell % 64)
			}
			empty := n
			for _, w := range hit {
				empty -= bits.OnesCount64(w)
			}
			if got := float64(empty) / n; math.Abs(got-1/math.E) > 0.02 {
				t.Errorf("%s, bits from %d\ngot  a share of %.3f cells empty\nwant %.3f", tt.name, shift, got, 1/math.E)
			}
		}
	}
}

func v4(n uint32) Host {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b).As16()
}
