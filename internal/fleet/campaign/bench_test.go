package campaign

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"

	"qsniff/internal/fleet"
	"qsniff/internal/flood/measure"
)

// BenchmarkWindow is one window of a fleet with 16 servers a host: all messages of it, and the close. In peace
// one server in fifty is raised; in a carpet all are.
func BenchmarkWindow(b *testing.B) {
	for _, sensors := range []int{200, 2000, 10_000} {
		for _, isCarpet := range []bool{false, true} {
			if isCarpet && sensors > 2000 {
				continue // maxRecords of the servers are judged then as well, which is a fleet of 1,000
			}
			b.Run(fmt.Sprintf("%d/carpet=%t", sensors, isCarpet), func(b *testing.B) {
				f := newBenchFleet(sensors)
				for range 4 {
					f.window(false)
				}
				for b.Loop() {
					f.window(isCarpet)
				}
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.HeapAlloc)/float64(sensors), "B/sensor")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(sensors)/17, "ns/message")
				data, err := f.e.Snapshot()
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(data))/float64(sensors), "snapshotB/sensor")
				if carpets := len(f.e.Open()); (carpets > 0) != isCarpet {
					b.Errorf("%d campaigns", carpets)
				}
			})
		}
	}
}

// benchFleet sends the same messages again and again.
type benchFleet struct {
	e       *Engine
	sensors []string
	seq     uint64
	now     int64
	server  fleet.Server
}

func newBenchFleet(n int) *benchFleet {
	f := &benchFleet{e: New(Options{}), now: dawn}
	for i := range n {
		f.sensors = append(f.sensors, fmt.Sprintf("sensor-%05d", i))
	}
	f.server.IsMeasured = true
	f.server.Forms = []fleet.Form{{Protocol: "a2s", Message: "A2S_INFO", Min: 25, Max: 25, Packets: 20}}
	for i := range uint64(100) {
		f.server.Sources.Add(i * 0x9e3779b97f4a7c15)
		f.server.Sites.Add(i * 0x9e3779b97f4a7c15)
	}
	for i := range fleet.MaxTop {
		f.server.Top = append(f.server.Top, fleet.Network{Prefix: fleet.Sealed{byte(i + 1)}, Queries: 3})
	}
	return f
}

func (f *benchFleet) window(isCarpet bool) {
	f.now += period
	f.e.Advance(f.now)
	for i, name := range f.sensors {
		h := fleet.Head{Version: 1, Sensor: name, Run: "1", Time: f.now}
		for j := range 16 {
			m := f.server
			h.Seq = f.seq + uint64(j) + 1
			m.Head, m.Addr = h, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1}), uint16(27000+j))
			rate := 2.0
			if isCarpet || (16*i+j)%50 == 0 {
				rate = 12
			}
			m.Features[measure.Rate10], m.Features[measure.RateNow], m.Features[measure.WindowQueries] = rate, rate, 10*rate
			m.Features[measure.Base], m.Features[measure.Sources] = 2, 10*rate
			if isCarpet {
				m.Features[measure.Alien], m.Features[measure.TTL1], m.Features[measure.TTL] = .14, .8, 57
			}
			f.e.Consume(&m, f.now+1e8, f.now)
		}
		h.Seq = f.seq + 17
		f.e.Consume(&fleet.Host{Head: h}, f.now+1e8, f.now)
	}
	f.seq += 17
}
