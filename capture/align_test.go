package capture

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// listed is a fake whose packets are of the interfaces of packets.
type listed struct {
	fake
	packets []Packet
	onRead  func() // may be nil
}

func (f *listed) Read(b *Batch) error {
	if f.onRead != nil {
		f.onRead()
	}
	first := f.next
	err := f.fake.Read(b)
	for i := range b.Packets {
		b.Packets[i].Iface = f.packets[first+i].Iface
	}
	return err
}

func (f *listed) Interfaces() []Interface { return make([]Interface, 2) }

// TestReorder: packets of two interfaces with clocks that differ are delivered in the order in which they
// were captured, once each, with the comments about them and the gaps before them, in files
// that have them in that order, and in the order of their stamps.
func TestReorder(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		skew := r.Int64N(2000) - 1000
		n := 1 + r.IntN(400)
		var packets []Packet
		for i := range n {
			p := Packet{Nanos: 10_000 + int64(10*i), Iface: uint16(r.IntN(2))}
			if p.Iface == 1 {
				p.Nanos += skew
			}
			packets = append(packets, p)
		}
		if seed%2 == 1 {
			slices.SortStableFunc(packets, func(a, b Packet) int { return cmp.Compare(a.Nanos, b.Nanos) })
		}
		src := &listed{packets: packets, fake: fake{t: t, name: "x", most: 1 + r.IntN(9), gaps: map[int]bool{n: true}}}
		for i, p := range packets {
			src.times = append(src.times, p.Nanos)
			src.gaps[i] = i%5 == 0
		}
		a := &aligned{source: src}
		a.Look(func(*Packet) {})
		a.Shift(0, 1, -skew)
		a.Shift(0, EveryInterface, 7)
		var b Batch
		got, gaps, comments := 0, 0, 0
		for err := error(nil); err == nil; {
			err = a.Read(&b)
			if err == nil && len(b.Packets)+len(b.Gaps) == 0 {
				t.Fatalf("seed %d: nothing, and no error", seed)
			}
			for _, p := range b.Packets {
				if p.Nanos != 10_007+10*int64(got) || p.No != uint64(got+1) {
					t.Fatalf("seed %d: packet %d: number %d, time %d", seed, got, p.No, p.Nanos)
				}
				got++
			}
			for _, c := range b.Comments {
				comments++
				if string(c.Text) != string(b.Packets[c.At].Data) {
					t.Errorf("seed %d: comment %q about %q", seed, c.Text, b.Packets[c.At].Data)
				}
			}
			gaps += len(b.Gaps)
		}
		if got != n || comments != (n+2)/3 || gaps != (n+4)/5+1 {
			t.Errorf("seed %d: %d packets, %d comments, %d gaps, want %d, %d, %d", seed, got, comments, gaps, n, (n+2)/3, (n+4)/5+1)
		}
	}
}

// TestReorderEras: a clock that is set back, or a stamp that is wrong, delays no packets until the end.
func TestReorderEras(t *testing.T) {
	const second = 1_000_000_000
	src := &listed{fake: fake{t: t, name: "x", most: 2}}
	for i := range 400 {
		nanos := int64(5_000+i) * second
		switch {
		case i == 21:
			nanos += 1_000_000 * second
		case i >= 200:
			nanos -= 3_600 * second
		}
		src.packets = append(src.packets, Packet{Iface: uint16(i % 2)})
		src.times = append(src.times, nanos)
	}
	a := &aligned{source: src}
	a.Shift(0, 1, -3*second)
	src.onRead = func() {
		n := 0
		for _, l := range a.order.lanes {
			n += len(l.queue) - l.first
		}
		if n > 12 {
			t.Fatalf("%d packets are held", n)
		}
	}
	var b Batch
	next := 0
	for err := error(nil); err == nil; {
		err = a.Read(&b)
		for _, p := range b.Packets {
			var no int
			if _, err := fmt.Sscanf(string(p.Data), "x%d", &no); err != nil {
				t.Fatal(err)
			}
			if no < next-8 || no > next+8 {
				t.Fatalf("packet %d comes at place %d", no, next)
			}
			next++
		}
	}
	if next != 400 {
		t.Errorf("%d packets", next)
	}
}

// buffered is a fixed source with batches of 256 KiB.
type buffered struct{ fixed }

func (f *buffered) Read(b *Batch) error {
	if b.Buf == nil {
		b.Buf = make([]byte, 0, 1<<18)
	}
	return f.fixed.Read(b)
}

// TestReorderBounded: a file whose packets all have to wait is held up to a limit, and nothing is
// allocated once batches are used again.
func TestReorderBounded(t *testing.T) {
	f := &buffered{fixed{data: make([]byte, 1400), step: 1, times: make([]int64, 8)}}
	a := &aligned{source: f}
	a.Shift(0, 1, -1<<60)
	var b Batch
	most := 0
	for range 400 {
		if err := a.Read(&b); err != nil {
			t.Fatal(err)
		}
		most = max(most, a.order.size)
	}
	if most < reorderBytes || most > reorderBytes+1<<19 {
		t.Errorf("%d bytes are held", most)
	}
	if n := testing.AllocsPerRun(100, func() { _ = a.Read(&b) }); n > 0 {
		t.Errorf("%v allocations a batch", n)
	}
}
