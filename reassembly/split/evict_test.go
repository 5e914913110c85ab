package split

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"
)

// filler makes parts of the 12-byte form of n bytes.
func filler(id uint32, total, number byte, size uint16, n int, fill byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{0xfe, 0xff, 0xff, 0xff}, id)
	b = append(b, total, number)
	b = binary.LittleEndian.AppendUint16(b, size)
	if number == 0 {
		b = append(b, 0xff, 0xff, 0xff, 0xff)
	}
	for len(b) < n {
		b = append(b, fill)
	}
	return b
}

// Making room for a part may deliver a held set whose parts go to the very set
// that the part is for, and complete or empty it. Nothing may be left linked to
// what is gone: memory would leak until there is none, and then no set to evict.
func TestMakingRoomTouchesTheSetInHand(t *testing.T) {
	for _, tc := range []struct {
		name  string
		total byte
		last  []byte
	}{
		{"an open set is completed", 2, filler(0, 2, 1, 1248, 1260, 'd')},
		{"a held set is emptied", 3, filler(0, 3, 2, 1000, 1260, 'd')},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := New(Limits{})
			a.Deliver = func(*Set) {}
			now, frame := int64(1e18), uint64(0)
			server, client := netip.MustParseAddrPort("198.18.0.1:27015"), netip.MustParseAddr("10.64.0.1")
			add := func(port uint16, b []byte) {
				frame++
				now += 1000
				a.Add(&Datagram{Src: server, Dst: netip.AddrPortFrom(client, port), Data: b, Wire: len(b), Frame: frame, Nanos: now})
			}
			for round := range uint32(50) {
				now += 20e9
				a.Tick(now)
				id := 1000 + round
				add(4000, filler(id, tc.total, 0, 1248, 100, 'a'))
				add(4000, filler(id, tc.total, 1, 1000, 100, 'b')) // fits two forms: held
				for k := uint16(0); a.blocks.left() > 3 && k < 2000; k++ {
					add(5000+k, filler(uint32(k), 3, 0, 1248, 1260, 'c'))
				}
				binary.LittleEndian.PutUint32(tc.last[4:], id)
				add(4000, tc.last)
			}
			a.Flush(now)
			if a.Buffered() != 0 || a.parts.used != 0 || a.sets.used != 0 || a.pieces.used != 0 {
				t.Errorf("after Flush\n got %d bytes, %d parts, %d sets, %d pieces\nwant none",
					a.Buffered(), a.parts.used, a.sets.used, a.pieces.used)
			}
			if a.Counters.Evicted == 0 {
				t.Error("nothing was evicted")
			}
		})
	}
}

// TestBudgetShares: neither one source nor all together spend more than their share of a second, and the next second
// begins anew.
func TestBudgetShares(t *testing.T) {
	const second = int64(time.Second)
	b := newBudget(Limits{Sources: 8, Work: 10, SourceWork: 6})
	one, two, three := sourceKey{1}, sourceKey{2}, sourceKey{3}
	for i, s := range []struct {
		src     sourceKey
		nanos   int64
		spent   int
		hasLeft bool
	}{
		{one, 0, 6, true}, {one, 1, 0, false}, {two, 2, 4, true}, {two, 3, 0, false}, {three, 4, 0, false}, {one, second, 1, true}, {three, second + 1, 9, true}, {two, second + 2, 0, false},
	} {
		if got := b.hasLeft(s.src, s.nanos); got != s.hasLeft {
			t.Errorf("step %d: work left %v, want %v", i, got, s.hasLeft)
		}
		b.spend(s.src, s.spent)
	}
}
