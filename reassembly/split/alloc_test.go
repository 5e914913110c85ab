package split_test

import (
	"testing"

	"qsniff/internal/test/race"
	"qsniff/reassembly"
	"qsniff/reassembly/split"
	"qsniff/reassembly/wire"
)

// traffic is a mixture of all forms, with parts out of order, duplicates, a
// loss and a compressed message. Every round has ids of its own.
func traffic(t testing.TB) (datagrams [][]byte, bytes int) {
	msg := message(5000)
	body := append(prefixOf(msg), pack(t, msg, 9)...)
	source := cut(wire.Source, 1, msg, 1248)
	source[0], source[2] = source[2], source[0]
	gold := cut(wire.GoldSource, 2, msg, 1391)
	old := cut(wire.SourceOld, 3, msg, 1248)
	old = append(old[:1], old[2:]...)
	small := cut(wire.SourceOld, 4|wire.Compressed, body, 1400)
	for _, set := range [][][]byte{source, source[1:2], gold, old, small} {
		for _, p := range set {
			datagrams = append(datagrams, p)
			bytes += len(p)
		}
	}
	return datagrams, bytes
}

// round sends the traffic once, half a second further on.
func round(a *split.Assembler, datagrams [][]byte, n int, now int64, pieces []reassembly.Piece) {
	for i, p := range datagrams {
		p[5], p[6] = byte(n), byte(n>>8)
		a.Add(&split.Datagram{
			Src: server, Dst: client, Data: p, Wire: len(p), Frame: uint64(n*100 + i),
			Nanos: now, Pieces: pieces,
		})
	}
}

func TestNoAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	a := split.New(split.Limits{})
	complete, findings := 0, 0
	a.Deliver = func(s *split.Set) {
		if s.Outcome == split.Complete {
			complete++
		}
		findings += len(s.Expert)
	}
	datagrams, _ := traffic(t)
	pieces := []reassembly.Piece{{Frame: 1, Len: 600}, {Frame: 2, Off: 600, Len: 2000}}
	n, now := 0, 1000*second
	next := func() {
		n++
		now += second / 2
		round(a, datagrams, n, now, pieces)
	}
	for range 40 { // longer than the wait, so that losses are delivered too
		next()
	}
	complete, findings = 0, 0
	if got := testing.AllocsPerRun(100, next); got != 0 {
		t.Errorf("allocations a round\n got %v\nwant 0", got)
	}
	if complete < 300 || findings < 100 {
		t.Errorf("complete sets, findings\n got %d, %d\nwant 303, at least 101: the traffic is not what it should be", complete, findings)
	}
}

func BenchmarkAdd(b *testing.B) {
	a := split.New(split.Limits{})
	a.Deliver = func(*split.Set) {}
	for _, tt := range []struct {
		name string
		form wire.Engine
	}{{"source", wire.Source}, {"goldsource", wire.GoldSource}} {
		b.Run(tt.name, func(b *testing.B) {
			parts := cut(tt.form, 1, message(6000), 1248)
			now := 1000 * second
			b.ReportAllocs()
			b.SetBytes(int64(len(parts[0])))
			for n := 0; b.Loop(); n++ {
				if n%len(parts) == 0 {
					now += second / 10
					for _, p := range parts {
						p[5], p[6], p[7] = byte(n), byte(n>>8), byte(n>>16)&0x7f
					}
				}
				p := parts[n%len(parts)]
				a.Add(&split.Datagram{Src: server, Dst: client, Data: p, Wire: len(p), Frame: uint64(n), Nanos: now})
			}
		})
	}
}

func BenchmarkInflate(b *testing.B) {
	for _, tt := range []struct {
		name string
		in   []byte
	}{
		{"sound 3,000 bytes", packed(1, prefixOf(message(3000)), pack(b, message(3000), 9))},
		{"bomb", packed(1, prefix(38, 0), bomb(b))},
	} {
		b.Run(tt.name, func(b *testing.B) {
			a := split.New(split.Limits{Work: 1 << 40, SourceWork: 1 << 40})
			a.Deliver = func(*split.Set) {}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				tt.in[4], tt.in[5] = byte(n), byte(n>>8)
				a.Add(&split.Datagram{Src: server, Dst: client, Data: tt.in, Wire: len(tt.in), Frame: uint64(n), Nanos: int64(n) * second})
			}
		})
	}
}
