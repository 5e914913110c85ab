package checksum

import (
	"encoding/binary"
	"testing"
)

// TestSum: the example of RFC 1071, headers whose checksum is right, and any bytes, in two parts, against the definition.
func TestSum(t *testing.T) {
	if got := Fold(Add(0, []byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7})); got != 0xddf2 {
		t.Errorf("got %#x, want 0xddf2", got)
	}
	b := make([]byte, 0, 65)
	for i := range cap(b) {
		b = append(b, byte(i*i+0xa5))
		var want uint32
		padded := append(append([]byte{}, b...), 0)
		for j := 0; j < len(b); j += 2 {
			if want += uint32(binary.BigEndian.Uint16(padded[j:])); want > 0xffff {
				want -= 0xffff
			}
		}
		for cut := 0; cut <= len(b); cut += 2 {
			if got := Fold(Add(Add(0, b[:cut]), b[cut:])); uint32(got) != want {
				t.Fatalf("%d bytes in parts from %d: %#x, want %#x", len(b), cut, got, want)
			}
		}
	}
}
