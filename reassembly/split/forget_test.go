package split_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"qsniff/reassembly/split"
)

// TestBrokenBefore: nothing of a stream that was not read to its end comes out before the
// next one.
func TestBrokenBefore(t *testing.T) {
	msg := message(600)
	stream := pack(t, msg, 1)
	runs := append(message(5), bytes.Repeat([]byte{'r'}, 700)...)
	rng := rand.New(rand.NewPCG(1, 2))
	b := newBench(split.Limits{})
	for i := range 120 {
		broken, declared := pack(t, runs, 1), len(runs)
		switch i % 3 {
		case 0:
			declared -= 1 + rng.IntN(len(runs)-1)
		case 1:
			broken[14+rng.IntN(len(broken)-14)] ^= 1 << rng.IntN(8)
		case 2:
			broken = broken[:14+rng.IntN(len(broken)-14)]
		}
		b.got = b.got[:0]
		b.add(packed(uint32(2*i), prefix(uint32(declared), 0), broken))
		b.add(packed(uint32(2*i+1), prefixOf(msg), slices.Clone(stream)))
		if len(b.got) != 2 {
			t.Fatalf("%d: sets\n got %d\nwant 2", i, len(b.got))
		}
		if s := b.got[1]; s.Outcome != split.Complete || !bytes.Equal(s.Data, msg) {
			t.Fatalf("%d: a sound message after a broken one\n got %v, %d bytes\nwant complete, %d bytes", i, s.Outcome, len(s.Data), len(msg))
		}
	}
}
