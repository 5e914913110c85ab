package sensor

import (
	"testing"
	"time"

	"qsniff/internal/track"
)

// BenchmarkPacket is what a packet of a forged source costs a monitor, with a sensor and without.
// Its time is that of 500,000 packets a second, so that windows end as in such a flood.
func BenchmarkPacket(b *testing.B) {
	for _, name := range []string{"with", "without"} {
		b.Run(name, func(b *testing.B) {
			h := newHost(b, serversOf(16), nil)
			h.silent = true
			if name == "without" {
				h = newHost(b, serversOf(16), func(o *Options) { o.Detector = newHost(b, nil, nil).detector })
				h.watchers = []track.Watcher{h.meter, h.detector}
			}
			servers := serversOf(16)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				h.now += int64(2 * time.Microsecond)
				h.age += int64(2 * time.Microsecond)
				h.packet(track.IsRequest, address(uint32(i)*2654435761), uint16(i), servers[i%16], "A2S_INFO", 0)
			}
		})
	}
}

// BenchmarkWindow is what the end of a window with 16 servers costs, JSON included.
func BenchmarkWindow(b *testing.B) {
	h := newHost(b, serversOf(16), nil)
	h.silent = true
	servers := serversOf(16)
	for i := range uint32(50_000) {
		h.packet(track.IsRequest, address(i*2654435761), 40000, servers[i%16], "A2S_INFO", 0)
	}
	h.pass(time.Second)
	for b.Loop() {
		h.sensor.closeWindow()
	}
}
