package fleettest

import (
	"fmt"
	"testing"
	"time"

	"qsniff/internal/fleet"
	"qsniff/internal/flood"
	"qsniff/internal/track"
)

// BenchmarkSensor measures what a host takes for being part of a fleet: a minute of a host with eight
// servers, with a flood of so many packets a second to one of them, in the monitor alone and with
// messages made and encoded.
func BenchmarkSensor(b *testing.B) {
	for _, rate := range []float64{0, 1000, 20_000} {
		minute := recordMinute(rate)
		for _, isMember := range []bool{false, true} {
			b.Run(fmt.Sprintf("%.0f/member=%v", rate, isMember), func(b *testing.B) {
				var bytes, messages int
				for b.Loop() {
					bytes, messages = replayMinute(b, minute, isMember)
				}
				b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*1e3/60, "ms/s") // of a processor
				b.ReportMetric(float64(len(minute))/60, "packets/s")
				b.ReportMetric(float64(bytes)/60, "B/s")
				b.ReportMetric(float64(messages)/6, "messages/window")
			})
		}
	}
}

// recordMinute returns the packets of one host in a minute.
func recordMinute(rate float64) (all []track.Sighting) {
	w := NewWorld(Options{Hosts: 1, Seed: 3, Hashes: Secret().Seed(), Start: dawn})
	h := w.Hosts[0]
	for len(h.Servers) < 8 {
		h.Servers = append(h.Servers, newServer(w, h, uint16(27015+len(h.Servers))))
	}
	w.Seen = func(_ *Host, s *track.Sighting) { all = append(all, *s) }
	w.PlayDay(time.Minute)
	if rate > 0 {
		w.forged(h.Servers[0], rate/2, 117, 0, time.Minute) // each is answered
	}
	w.Run(time.Minute)
	return all
}

// replayMinute shows packets to a monitor, and returns what it sent.
func replayMinute(b *testing.B, minute []track.Sighting, isMember bool) (bytes, messages int) {
	x := NewSensor(&Host{Name: "host-000"}, Secret(), func(_ *Sensor, m fleet.Message) {
		line, err := fleet.Encode(m)
		if err != nil {
			b.Fatal(err)
		}
		bytes += len(line)
		messages++
	})
	if !isMember {
		x.Detector = flood.New(flood.Defaults(), sensorSize, nil)
	}
	for i := range minute {
		s := &minute[i]
		if isMember {
			x.Sensor.Sight(s)
		}
		x.Meter.Sight(s)
		x.Detector.Sight(s)
	}
	end := dawn.Add(time.Minute).UnixNano()
	if isMember {
		x.Sensor.Tick(end, end)
	}
	x.Meter.Tick(end, end)
	x.Detector.Tick(end, end)
	return bytes, messages
}
