package sketch

import (
	"math/rand/v2"
	"testing"
)

func TestPacked(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var d, back Distinct
	for n := 0; n < 100_000; n++ {
		d.Add(rng.Uint64())
	}
	b := d.AppendPacked(nil)
	if len(b) != PackedSize {
		t.Errorf("%d bytes", len(b))
	}
	if err := back.Unpack(b); err != nil || back != d {
		t.Errorf("another sketch comes back: %v", err)
	}
	b[0] = 0xff
	if err := back.Unpack(b); err == nil || back != (Distinct{}) {
		t.Errorf("rank 63 is taken: %v", err)
	}
	if err := back.Unpack(b[1:]); err == nil {
		t.Error("a short one is taken")
	}
}
