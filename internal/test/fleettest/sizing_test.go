package fleettest

import (
	"fmt"
	"testing"
	"time"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/campaign"
)

// recordedHosts is how many hosts are recorded for the benchmarks, which multiply them.
const recordedHosts = 100

// BenchmarkJudge measures what internal/fleet/campaign takes for a window of the messages of so many sensors,
// which are parsed already. A hub may take ten seconds for it.
func BenchmarkJudge(b *testing.B) {
	windows := Record(recordedHosts, 2*time.Minute, 40*time.Second, dawn)
	for _, sensors := range []int{200, 1000, 5000} {
		for _, what := range []struct {
			name        string
			first, last int // of the windows
		}{{"calm", 8, 11}, {"carpet", 13, 15}} {
			b.Run(fmt.Sprintf("%d/%s", sensors, what.name), func(b *testing.B) {
				e := campaign.New(campaign.Options{})
				seq, n := map[string]uint64{}, 0
				feed := func(w *Window, end int64) {
					all := w.Clone(sensors / recordedHosts)
					for _, m := range all {
						h := fleet.HeadOf(m)
						seq[h.Sensor]++
						h.Seq, h.Time = seq[h.Sensor], h.Time-w.End+end
					}
					b.StartTimer()
					for _, m := range all {
						e.Consume(m, end+int64(time.Second), end)
					}
					e.Advance(end + int64(fleet.Period) + int64(6*time.Second))
					b.StopTimer()
					n += len(all)
				}
				b.StopTimer()
				end := windows[3].End
				for i := 3; i < what.first; i++ { // what is usual is learned
					feed(&windows[i], end)
					end += int64(fleet.Period)
				}
				b.ResetTimer()
				n = 0
				for i := range b.N {
					feed(&windows[what.first+i%(what.last-what.first)], end)
					end += int64(fleet.Period)
				}
				took := b.Elapsed().Seconds() / float64(b.N)
				b.ReportMetric(took*1e3, "ms/window")
				b.ReportMetric(float64(n)/float64(b.N), "messages/window")
				b.ReportMetric(float64(sensors)*fleet.Period.Seconds()/took, "sensors/core")
				snapshot, err := e.Snapshot()
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(snapshot))/(1<<20), "MiB-state")
			})
		}
	}
}

// BenchmarkParse measures what a hub takes to read a message, by the kind.
func BenchmarkParse(b *testing.B) {
	windows := Record(20, time.Minute, 20*time.Second, dawn)
	lines := map[fleet.Kind][]byte{}
	names := map[fleet.Kind]string{}
	for _, w := range windows {
		for _, m := range w.Messages {
			line, err := fleet.Encode(m)
			if err != nil {
				b.Fatal(err)
			}
			h := fleet.HeadOf(m)
			lines[h.Kind], names[h.Kind] = line, h.Sensor
		}
	}
	for k, line := range lines {
		b.Run(string(k), func(b *testing.B) {
			b.ReportAllocs()
			b.ReportMetric(float64(len(line)), "B/message")
			for b.Loop() {
				if _, err := fleet.Parse(names[k], k, line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
