package tcpstream_test

import (
	"runtime"
	"testing"

	"qsniff/internal/test/race"
	"qsniff/reassembly/tcpstream"
)

// TestMemoryByNeed: sixteen assemblers share a budget with all other tables, and the
// usual capture has a handful of connections.
func TestMemoryByNeed(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector needs memory of its own")
	}
	var a *tcpstream.Assembler
	half := &eater{message: 4096} // keeps what is shorter
	add := func(from int) {
		s := tcpstream.Segment{Src: flood(from), Dst: server, Data: make([]byte, 100), Wire: 100}
		s.TCP.Flags = ack
		a.Add(&s)
	}
	for _, tt := range []struct {
		name string
		do   func()
		most uint64 // bytes
	}{
		{"none", func() { a = tcpstream.New(tcpstream.Limits{}, half) }, 160 << 10},
		{"the first", func() { add(0) }, 100 << 10},
		{"a hundred more", func() {
			for n := range 100 {
				add(1 + n)
			}
		}, 224 << 10},
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		tt.do()
		runtime.GC()
		runtime.ReadMemStats(&after)
		if got := after.HeapAlloc - min(after.HeapAlloc, before.HeapAlloc); got > tt.most {
			t.Errorf("%s: bytes\n got %d\nwant at most %d", tt.name, got, tt.most)
		}
	}
	if a.Used() == 0 || a.Live() != 101 {
		t.Errorf("%d bytes wait, of %d connections", a.Used(), a.Live())
	}
}
