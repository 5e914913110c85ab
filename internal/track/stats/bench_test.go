package stats

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"qsniff/internal/track"
)

// BenchmarkFlood is what the fold does for a request whose source is forged.
func BenchmarkFlood(b *testing.B) {
	c := New(Options{})
	f := ask(1)
	n := uint32(0)
	for b.Loop() {
		n += 0x9e37_79b1
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], n)
		f.Client = netip.AddrPortFrom(netip.AddrFrom4(a), 4000)
		f.Nanos += 20_000
		c.AddFact(&f, nil, nil)
	}
}

// BenchmarkExchange is a request of a known client and its answer.
func BenchmarkExchange(b *testing.B) {
	c := New(Options{})
	q, r := ask(1), answer(2, 12e6)
	for b.Loop() {
		q.Nanos += 1e6
		r.Nanos += 1e6
		c.AddFact(&q, nil, nil)
		c.AddFact(&r, nil, &track.ServerInfo{Players: 3, Max: 16})
	}
}
