package ipfrag

import (
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture/packet"
	"qsniff/internal/test/race"
	"qsniff/reassembly"
)

func TestTooManyFragments(t *testing.T) {
	tab := newTable(DefaultBytes)
	var got []Outcome
	tab.DeliverIncomplete = func(d *Datagram) { got = append(got, d.Outcome) }
	data := pattern(1, 8*(maxFragments+2))
	for i := range maxFragments + 2 {
		tab.Add(newPacket(4, 17, 1, data, 8*i, 8, true), 1, 0)
		checkTable(t, tab)
	}
	if diff := cmp.Diff([]Outcome{TooMany}, got); diff != "" {
		t.Errorf("want to got:\n%s", diff)
	}
	want := Counters{Fragments: maxFragments + 2, TooMany: 1}
	if tab.Counters() != want {
		t.Errorf("got  %+v\nwant %+v", tab.Counters(), want)
	}
}

func TestEvictsTheOldest(t *testing.T) {
	tests := []struct {
		name   string
		length int // of each fragment
		fit    func(*Table) int
	}{
		{"sets run out", 8, func(tab *Table) int { return len(tab.sets) }},
		{"blocks run out", 5 * blockSize, func(tab *Table) int { return len(tab.next) / 5 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tab := newTable(0)
			var got []uint32
			tab.DeliverIncomplete = func(d *Datagram) {
				if d.Outcome == Evicted {
					got = append(got, d.ID)
				}
			}
			data := pattern(1, tt.length)
			for id := range tt.fit(tab) + 3 {
				tab.Add(newPacket(4, 17, uint32(id), data, 0, tt.length, true), 1, int64(id))
				checkTable(t, tab)
			}
			if diff := cmp.Diff([]uint32{0, 1, 2}, got); diff != "" {
				t.Errorf("want to got:\n%s", diff)
			}
			if got := tab.Counters().Evicted; got != 3 {
				t.Errorf("got  %d evicted\nwant 3", got)
			}
		})
	}
}

// TestTheLargestFits fills the smallest table with a set that wastes nearly
// half of every second block: it must push out all others and never itself.
func TestTheLargestFits(t *testing.T) {
	const length = blockSize + 8
	tab := newTable(0)
	data := pattern(1, maxLength)
	d := tab.Add(newPacket(4, 17, 1, data, 0, length, true), 1, 0)
	for id := range uint32(20) {
		tab.Add(newPacket(4, 17, 100+id, data, 0, 1480, true), 1, 0)
	}
	for off := length; off < maxLength; off += length {
		n := min(length, maxLength-off)
		d = tab.Add(newPacket(4, 17, 1, data, off, n, off+n < maxLength), 1, 0)
		checkTable(t, tab)
	}
	if d == nil || string(d.Data) != string(data) {
		t.Fatalf("got  %+v\nwant %d bytes joined", tab.Counters(), maxLength)
	}
	// 127 fragments take 253 of the 256 blocks: room for one of the others.
	if got := tab.Counters().Evicted; got != 19 {
		t.Errorf("got  %d evicted\nwant 19", got)
	}
}

func TestMemory(t *testing.T) {
	if got := unsafe.Sizeof(set{}); got != setBytes {
		t.Errorf("got  %d bytes in a set\nwant %d", got, setBytes)
	}
	if got := unsafe.Sizeof(fragment{}); got != fragmentBytes {
		t.Errorf("got  %d bytes in a fragment\nwant %d", got, fragmentBytes)
	}
	if got := unsafe.Sizeof(reassembly.Piece{}); got != pieceBytes {
		t.Errorf("got  %d bytes in a piece\nwant %d", got, pieceBytes)
	}
	for _, limit := range []int{minBytes, 1 << 18, 1e6, DefaultBytes, 10 << 20} {
		if got := memory(newTable(limit)); got > limit || got < limit*9/10 {
			t.Errorf("got  %d bytes\nwant at most %d and not much less", got, limit)
		}
	}
	for _, limit := range []int{-1, 0, minBytes - 1} {
		if got := memory(newTable(limit)); got > minBytes {
			t.Errorf("got  %d bytes for a limit of %d\nwant at most %d", got, limit, minBytes)
		}
	}
}

func TestAddDoesNotAllocate(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	tab := newTable(minBytes)
	tab.DeliverIncomplete = func(*Datagram) {}
	data := pattern(1, 3000)
	id := uint32(0)
	n := testing.AllocsPerRun(2000, func() {
		id++
		addAll(tab, id, data)
		lost := lostPacket
		lost.Frag.ID = id
		tab.Add(&lost, 1, int64(id)*second/100)
	})
	if n != 0 {
		t.Errorf("got  %v allocations per datagram\nwant 0", n)
	}
	if c := tab.Counters(); c.Evicted+c.Expired == 0 || c.Joined == 0 {
		t.Errorf("got  %+v\nwant sets joined, and others evicted or expired", c)
	}
}

// lostPacket is a fragment whose others never come.
var lostPacket = *newPacket(6, 17, 0, pattern(1, 1232), 0, 1232, true)

// addAll adds a datagram in three fragments.
func addAll(tab *Table, id uint32, data []byte) *Datagram {
	p := packet.Packet{Src: ends[4][0], Dst: ends[4][1], Proto: 17}
	var d *Datagram
	for off := 0; off < len(data); off += 1480 {
		end := min(off+1480, len(data))
		p.Payload, p.Wire = data[off:end], end-off
		p.Frag = packet.Frag{Set: true, More: end < len(data), Off: uint32(off), ID: id}
		d = tab.Add(&p, uint64(id), int64(id)*second/100)
	}
	return d
}

func BenchmarkJoin(b *testing.B) {
	tab := newTable(DefaultBytes)
	data := pattern(1, 3000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	id := uint32(0)
	for b.Loop() {
		id++
		addAll(tab, id, data)
	}
}

// BenchmarkFlood adds first fragments alone, each to a set of its own.
func BenchmarkFlood(b *testing.B) {
	tab := newTable(DefaultBytes)
	p := lostPacket
	b.ReportAllocs()
	for b.Loop() {
		p.Frag.ID++
		tab.Add(&p, 1, 0)
	}
}
