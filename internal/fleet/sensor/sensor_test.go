package sensor

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"qsniff/internal/fleet"
	"qsniff/internal/test/race"
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

// visitPackets is how many packets visit makes.
const visitPackets = 8

// traffic is what comes to the servers of a host.
type traffic struct {
	*host
	servers []netip.AddrPort
	r       *rand.Rand
}

// run lets a time go by with so many packets a second: those of clients, up to peace of them, and
// queries of forged sources.
func (x *traffic) run(d time.Duration, rate, peace int) {
	const step = 40 * time.Millisecond // 40 packets in peace, which are whole visits
	for at := time.Duration(0); at < d; at += step {
		n := rate / int(time.Second/step)
		for visits := min(n, peace/int(time.Second/step)) / visitPackets; visits > 0; visits-- {
			x.visit(address(0xcb007100+x.r.Uint32N(200)), x.servers[x.r.IntN(len(x.servers))])
			n -= visitPackets
		}
		for ; n > 0 && rate > peace; n-- {
			x.packet(track.IsRequest, address(x.r.Uint32()), uint16(x.r.Uint32()), x.servers[n%len(x.servers)], "A2S_INFO", 0)
		}
		x.pass(step)
	}
}

// TestFlat: a window takes as many bytes in a flood as in peace. What is compared is all messages
// that each window has, a Server of each of 16 servers and the Host, in JSON, as the mean of whole
// windows in the midst of each rate. Not among them are events: an incident is told when it begins,
// changes and ends, however long a flood lasts and however much comes, see windowBytes. In peace 200
// clients make 1,000 packets a second; then nobody comes; then forged sources send besides what the
// rate is more.
func TestFlat(t *testing.T) {
	rates := []int{1000, 0, 50_000, 500_000}
	if testing.Short() || race.Enabled {
		rates = rates[:3]
	}
	const peace, windows = 1000, 2
	h := newHost(t, serversOf(16), nil)
	h.silent = true
	x := &traffic{h, serversOf(16), rand.New(rand.NewPCG(1, 2))}
	x.run(60*time.Second, peace, peace)
	var calm float64
	for _, rate := range rates {
		x.run(fleet.Period, rate, peace) // the window in which it changes
		clear(h.bytes)
		clear(h.counts)
		x.run(windows*fleet.Period, rate, peace)
		n := float64(h.bytes[fleet.KindServer]+h.bytes[fleet.KindHost]) / windows
		if h.counts[fleet.KindServer] != windows*16 || h.counts[fleet.KindHost] != windows {
			t.Errorf("%d packets/s: %v messages", rate, h.counts)
		}
		if rate == peace {
			calm = n
		}
		t.Logf("%d packets/s: %.0f bytes in a window, %.1f %% of peace, and %d bytes of events in %d windows", rate, n, 100*n/calm, h.bytes[fleet.KindIncident], windows)
		if n < 0.9*calm || n > 1.1*calm {
			t.Errorf("%d packets/s: %.0f bytes in a window, %.0f in peace", rate, n, calm)
		}
	}
}

// TestAllocations: a packet costs none, but for those that end a window.
func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	h := newHost(t, serversOf(16), nil)
	h.silent = true
	x := &traffic{h, serversOf(16), rand.New(rand.NewPCG(1, 2))}
	x.run(25*time.Second, 20_000, 1000)
	if n := testing.AllocsPerRun(20_000, func() {
		x.packet(track.IsRequest, address(x.r.Uint32()), 40000, x.servers[x.r.IntN(16)], "A2S_INFO", 0)
	}); n > 0 {
		t.Errorf("%f allocations for a packet", n)
	}
}
