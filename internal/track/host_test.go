package track

import (
	"encoding/binary"
	"math"
	"math/bits"
	"net/netip"
	"testing"
)

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
