package monitor

import (
	"net/netip"
	"testing"
	"time"

	"qsniff/internal/render/counters"
	"qsniff/internal/track"
)

// BenchmarkFull are what the goroutine of the pipeline makes for readers between two batches, with as
// many servers as there may be, each busy for an hour.
func BenchmarkFull(b *testing.B) {
	x := newScene(b, Options{MaxServers: MostServers})
	for range windowPoints {
		for i := range MostServers {
			server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(i >> 8), byte(i)}), 27015).String()
			x.packet(track.IsRequest, client, server, "A2S_INFO", 0)
			x.packet(track.IsReply, server, client, "S2A_INFO_SRC", 0)
		}
		x.pass(30 * time.Second)
	}
	b.Run("Window", func(b *testing.B) {
		for range b.N {
			x.m.Window(500)
		}
	})
	b.Run("Snapshot", func(b *testing.B) {
		for range b.N {
			x.m.take(new(counters.Result))
		}
	})
}
