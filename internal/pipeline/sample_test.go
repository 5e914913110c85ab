package pipeline

import (
	"context"
	"os"
	"testing"

	"qsniff/internal/test/protos"
	"qsniff/internal/track"
	"qsniff/internal/track/stats"
)

// weights adds up what sightings stand for.
type weights struct {
	count   uint64
	samples int
}

func (w *weights) Sight(s *track.Sighting) {
	w.count += uint64(s.Count())
	if s.IsSample() {
		w.samples++
	}
}
func (*weights) Tick(int64, int64) {}
func (*weights) Lost(uint64)       {}
func (*weights) End(int64, int64)  {}

// TestSamples: packets that are samples count as many times as they stand for, in facts and in
// sightings, and nothing is called unanswered by them.
func TestSamples(t *testing.T) {
	tests := []struct {
		capture  string
		sampled  uint32
		packets  uint64
		requests uint64
		replies  uint64
	}{
		{"a2s/full-poll", 0, 8, 4, 4},
		{"a2s/full-poll", 100, 800, 400, 400},
		{"net/sflow", 0, 3501, 3000, 500}, // with the datagram that is none
	}
	for _, tt := range tests {
		data, err := os.ReadFile("../../pcapfiles/" + tt.capture + ".pcap")
		if err != nil {
			t.Fatal(err)
		}
		seen, c := &weights{}, stats.New(stats.Options{})
		run, err := Run(context.Background(), Config{Source: open(t, data), Registry: protos.Registry(t), Jobs: 1,
			Listener: c, Watchers: []track.Watcher{seen}, Sampled: tt.sampled})
		if err != nil {
			t.Fatal(err)
		}
		sum := c.Summary(run.Last)
		if sum.Requests != tt.requests || sum.Replies != tt.replies || sum.Unanswered != 0 {
			t.Errorf("%s, 1 of %d: %d requests, %d replies, %d unanswered; want %d, %d, 0", tt.capture, tt.sampled, sum.Requests, sum.Replies, sum.Unanswered, tt.requests, tt.replies)
		}
		if seen.count != tt.packets {
			t.Errorf("%s, 1 of %d: sightings stand for %d packets, want %d", tt.capture, tt.sampled, seen.count, tt.packets)
		}
		if uint64(seen.samples) > run.Samples {
			t.Errorf("%s: %d sightings of %d samples", tt.capture, seen.samples, run.Samples)
		}
	}
}
