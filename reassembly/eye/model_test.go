package eye

import (
	"math/rand/v2"
	"testing"

	"qsniff/internal/test/race"
	"qsniff/reassembly/wire"
)

// TestModel sends random replies, shuffled, interleaved, doubled and with losses,
// and compares with what was sent.
func TestModel(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newBench()
		var order [][]byte
		want := map[string]bool{} // replies, and whether nothing of them was lost
		for id := range uint32(3) {
			msg := reply(1500 + r.IntN(4000))
			msg[5] = 'A' + byte(id)
			fs := cut(msg, id)
			lost := -1
			if r.IntN(3) == 0 {
				lost = r.IntN(len(fs))
			}
			want[string(msg)] = lost < 0
			for n, f := range fs {
				if n != lost {
					order = append(order, f)
				}
				if n != lost && r.IntN(4) == 0 {
					order = append(order, f)
				}
			}
		}
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, f := range order {
			b.add(f)
		}
		b.Flush(b.nanos)
		complete := 0
		for _, whole := range want {
			if whole {
				complete++
			}
		}
		for _, g := range b.sets {
			if g.Outcome != Complete {
				continue
			}
			complete--
			if !want[g.Data] {
				t.Errorf("seed %d: a reply of %d bytes that nobody sent whole", seed, len(g.Data))
			}
		}
		if complete > 0 {
			t.Errorf("seed %d: %d replies are missing", seed, complete)
		}
		if b.Buffered() != 0 {
			t.Errorf("seed %d: %d bytes are kept", seed, b.Buffered())
		}
	}
}

// TestOverflow begins more sets than there is room for: memory stays, every set
// is delivered or counted, and replies still join.
func TestOverflow(t *testing.T) {
	b := newBench()
	for id := range uint32(1000) {
		fs := cut(reply(9*room), 1+id)
		b.add(fs[0])
		b.add(fs[1+id%8])
		if b.Buffered() > maxBlocks*wire.EyeFragmentLen {
			t.Fatalf("%d bytes are kept", b.Buffered())
		}
	}
	for _, f := range cut(reply(3000), 0) {
		b.add(f)
	}
	c := b.Counters
	if c.Complete != 1 || c.Evicted < 900 || c.Evicted != c.Incomplete || int(c.Sets) != len(b.sets) {
		t.Errorf("counters: %+v", c)
	}
	b.Flush(b.nanos)
	if b.Counters.Sets != 1001 || b.live != 0 {
		t.Errorf("delivered\ngot  %d, %d left\nwant 1001, 0 left", b.Counters.Sets, b.live)
	}
}

func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	a, nanos, id := New(), int64(0), uint32(0)
	a.Deliver = func(*Set) {}
	fs := cut(reply(3000), 1)
	n := testing.AllocsPerRun(200, func() {
		nanos += second
		id++
		for i, f := range fs {
			f[len(f)-1] = byte(id)
			if i == 1 && id%3 == 0 {
				continue
			}
			a.Add(&Datagram{Src: server, Dst: client, Data: f, Wire: len(f), Frame: 1, Nanos: nanos})
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
	if a.Counters.Complete == 0 || a.Counters.Incomplete == 0 {
		t.Errorf("counters: %+v", a.Counters)
	}
}

// FuzzAdd: whatever comes, memory is bounded, sets hang together, and after Flush
// nothing is left.
func FuzzAdd(f *testing.F) {
	for _, d := range cut(reply(3000), 1) {
		f.Add(d, uint8(1), []byte{1, 2, 3})
	}
	f.Add([]byte("EYE2\x01\x01\x01\x01abcd"), uint8(0), []byte{9, 9, 200})
	f.Fuzz(func(t *testing.T, data []byte, step uint8, numbers []byte) {
		a := New()
		a.Deliver = func(s *Set) {
			if s.Run > len(s.Data) || s.Run == 0 || len(s.Parts) == 0 || len(s.Frames) == 0 {
				t.Errorf("set: run %d of %d, %d parts, %d frames", s.Run, len(s.Data), len(s.Parts), len(s.Frames))
			}
			next := uint32(0)
			for _, p := range s.Parts {
				if p.Off != next {
					t.Errorf("part at %d, want %d", p.Off, next)
				}
				next += p.Len
			}
			if int(next) != len(s.Data) {
				t.Errorf("parts end at %d of %d", next, len(s.Data))
			}
		}
		nanos := int64(0)
		for _, n := range numbers {
			d := append([]byte(nil), data...)
			if len(d) > 4 {
				d[3] = '1' + n%10
				d[4] = n / 10
			}
			nanos += int64(step) * second / 10
			a.Add(&Datagram{Src: server, Dst: client, Data: d, Wire: len(d), Frame: uint64(n), Nanos: nanos, WantsShort: n%7 == 0})
		}
		a.Flush(nanos)
		if a.Buffered() != 0 || a.live != 0 {
			t.Errorf("%d bytes, %d sets left", a.Buffered(), a.live)
		}
	})
}
