package mem

import (
	"bytes"
	"encoding/binary"
	"testing"
)

func TestStatus(t *testing.T) {
	b := make([]byte, 16)
	Status(b, 8).Store(7)
	if got := binary.NativeEndian.Uint32(b[8:]); got != 7 || Status(b, 8).Load() != 7 {
		t.Errorf("got  %d\nwant 7", got)
	}
	if !bytes.Equal(b[:8], make([]byte, 8)) || !bytes.Equal(b[12:], make([]byte, 4)) {
		t.Errorf("other bytes changed: %v", b)
	}
	for _, at := range []int{-4, 2, 14, 16} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a status at %d of %d bytes was not refused", at, len(b))
				}
			}()
			Status(b, at)
		}()
	}
}

func TestSizeOf(t *testing.T) {
	if got := SizeOf[struct {
		a uint32
		b uint8
	}](); got != 8 {
		t.Errorf("got  %d\nwant 8", got)
	}
}

// TestPrefetch: any address will do, that of nothing and those at the end of memory among them.
func TestPrefetch(t *testing.T) {
	x := []uint64{1, 2}
	Prefetch(&x[0], &x[1])
	Prefetch[int, int](nil, nil)
	if x[0] != 1 || x[1] != 2 {
		t.Errorf("got  %v\nwant [1 2]", x)
	}
}
