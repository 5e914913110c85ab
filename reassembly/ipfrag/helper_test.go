package ipfrag

import (
	"net/netip"
	"slices"
	"testing"
	"time"
	"unsafe"

	"qsniff/capture/packet"
	"qsniff/reassembly"
)

// ends are the two address pairs that the tests use.
var ends = map[uint8][2]netip.AddrPort{
	4: {netip.MustParseAddrPort("10.0.0.1:0"), netip.MustParseAddrPort("198.51.100.7:0")},
	6: {netip.MustParseAddrPort("[2001:db8::1]:0"), netip.MustParseAddrPort("[2001:db8::2]:0")},
}

// packet is a fragment of data, a whole IP payload.
func newPacket(version, proto uint8, id uint32, data []byte, off, length int, more bool) *packet.Packet {
	return &packet.Packet{
		Src: ends[version][0], Dst: ends[version][1], Proto: proto, TTL: 64,
		Payload: data[off : off+length], Wire: length,
		Frag: packet.Frag{Set: true, More: more, Off: uint32(off), ID: id},
	}
}

// pattern is n bytes that are different at different places and for different
// seeds.
func pattern(seed, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8*3 + seed*31)
	}
	return b
}

// clone keeps a datagram beyond the next call of its table.
func clone(d *Datagram) *Datagram {
	if d == nil {
		return nil
	}
	c := *d
	c.Data, c.Pieces = slices.Clone(d.Data), slices.Clone(d.Pieces)
	return &c
}

// newTable returns a Table that has taken its memory.
func newTable(maxBytes int) *Table {
	t := New(maxBytes)
	t.allocate()
	return t
}

const second = int64(time.Second)

// checkTable asks that every set, fragment and block is either held once or
// free, and that what is held adds up.
func checkTable(t *testing.T, tab *Table) (heldFrags uint64) {
	t.Helper()
	sets, frags, blocks := 0, 0, 0
	older := none
	for s := tab.oldest; s != none; s = tab.sets[s].newer {
		set := &tab.sets[s]
		if sets++; sets > len(tab.sets) {
			t.Fatalf("got  a list of sets that does not end\nwant at most %d", len(tab.sets))
		}
		if set.older != older || tab.find(&set.key) != s {
			t.Fatalf("got  set %d that its neighbour or the index does not know\nwant it linked", s)
		}
		older = s
		count, have, end := 0, uint32(0), uint32(0)
		last := none
		for n := set.frags; n != none; n = tab.frags[n].next {
			f := &tab.frags[n]
			got := (int(f.got) + blockSize - 1) / blockSize
			for b := f.block; b != none; b = tab.next[b] {
				blocks++
				got--
			}
			if got != 0 || f.off < end || f.got > f.wire {
				t.Fatalf("got  fragment %+v after byte %d, %d blocks short\nwant order and all blocks", *f, end, got)
			}
			end = f.end()
			have += f.wire
			last = n
			count++
		}
		if count != int(set.count) || have != set.have || last != set.tail || count > maxFragments {
			t.Fatalf("got  %d fragments with %d bytes, last %d\nwant %+v", count, have, last, *set)
		}
		if count == 0 {
			t.Fatalf("got  a set without fragments\nwant it removed")
		}
		frags += count
	}
	if older != tab.newest {
		t.Fatalf("got  newest set %d\nwant %d", tab.newest, older)
	}
	checkFree(t, "sets", len(tab.sets)-sets, tab.freeSet, func(i uint32) uint32 { return tab.sets[i].chain })
	checkFree(t, "fragments", len(tab.frags)-frags, tab.freeFrag, func(i uint32) uint32 { return tab.frags[i].next })
	checkFree(t, "blocks", len(tab.next)-blocks, tab.freeBlock, func(i uint32) uint32 { return tab.next[i] })
	if tab.blocksLeft != len(tab.next)-blocks {
		t.Fatalf("got  %d blocks counted as free\nwant %d", tab.blocksLeft, len(tab.next)-blocks)
	}
	return uint64(frags)
}

func checkFree(t *testing.T, what string, want int, head uint32, next func(uint32) uint32) {
	t.Helper()
	got := 0
	for i := head; i != none && got <= want; i = next(i) {
		got++
	}
	if got != want {
		t.Fatalf("got  %d free %s\nwant %d", got, what, want)
	}
}

// memory is what a table occupies, in bytes.
func memory(tab *Table) int {
	return int(unsafe.Sizeof(*tab)) +
		cap(tab.index)*4 + cap(tab.next)*4 + cap(tab.data) +
		cap(tab.sets)*int(unsafe.Sizeof(set{})) +
		cap(tab.frags)*int(unsafe.Sizeof(fragment{})) +
		cap(tab.out.Pieces)*int(unsafe.Sizeof(reassembly.Piece{}))
}

var outcomeNames = [...]string{
	"joined", "expired", "evicted", "capture ended", "overlapping fragments", "too many fragments",
}

func (o Outcome) String() string { return outcomeNames[o] }
