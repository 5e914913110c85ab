package track

import (
	"testing"
	"unsafe"

	"qsniff/dissect"
	"qsniff/internal/base/lru"
)

// The tables of all partitions stay below 4 MiB.
func TestExchangeMemory(t *testing.T) {
	const partitions, most = 16, 4 << 20
	const index = 64 / 3 // 512 buckets for 1,536 entries
	entry := unsafe.Sizeof(lru.Entry[endsKey, exchange]{}) + index
	request := unsafe.Sizeof(lru.Evicted[callKey, call]{}) + unsafe.Sizeof([5]uint32{}) // hash and order, and two of the index
	x := NewExchanges(DefaultExchanges, NewFlows(DefaultFlows))
	n := uintptr(x.ring.Cap())
	if got := partitions * (n*entry + uintptr(x.calls.Cap())*request + 4*uintptr(len(x.links.newest))); got > most {
		t.Errorf("got  %d bytes\nwant %d at most", got, most)
	}
}

func BenchmarkFlood(b *testing.B) {
	flows := NewFlows(DefaultFlows)
	x := NewExchanges(DefaultExchanges, flows)
	m := Message{Dst: server, Proto: &testProto, Type: testKinds['T']}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		m.Src, m.Frame = from(n), uint64(n+1)
		flows.Learn(server, m.Src.Addr(), dissect.FlowFacts{Proto: 1})
		x.Place(&m)
	}
}

func BenchmarkExchange(b *testing.B) {
	x := NewExchanges(DefaultExchanges, NewFlows(100))
	ask := Message{Dst: server, Proto: &testProto, Type: testKinds['T']}
	answer := Message{Src: server, Proto: &testProto, Type: testKinds['I'], Reply: true}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		ask.Src, ask.Frame, ask.Key = from(n%5000), uint64(4*n+1), 0
		x.Place(&ask)
		answer.Dst, answer.Frame, answer.Type, answer.Key = ask.Src, uint64(4*n+2), testKinds['A'], 1<<32|7
		x.Place(&answer)
		ask.Frame, ask.Key = uint64(4*n+3), 1<<32|7
		x.Place(&ask)
		answer.Frame, answer.Type, answer.Key = uint64(4*n+4), testKinds['I'], 0
		x.Place(&answer)
	}
}
