package flood

import (
	"math"
	"testing"

	"qsniff/internal/test/race"
	"qsniff/internal/track"
)

// TestSeenServers: few servers are counted, many estimated, and none costs memory
// packet by packet.
func TestSeenServers(t *testing.T) {
	var x Seen
	ask := func(n int) {
		s := track.Sighting{What: track.IsRequest, Asks: 1, Dst: track.Host{10: 0xff, 11: 0xff, 12: 198, 14: byte(n >> 8), 15: byte(n)}, DstPort: 27015}
		s.FillHashes(seed)
		x.Sight(&s)
	}
	for _, tt := range []struct {
		servers int
		rough   bool
	}{{0, false}, {1, false}, {seenExact, false}, {seenExact + 1, true}, {5000, true}} {
		for n := range 2 * tt.servers {
			ask(n % tt.servers)
		}
		got, rough := x.Servers()
		if off := math.Abs(float64(got) - float64(tt.servers)); rough != tt.rough || off > 0 && !rough || off > 0.1*float64(tt.servers) {
			t.Errorf("%d servers\ngot  %d, rough %v\nwant rough %v", tt.servers, got, rough, tt.rough)
		}
	}
	if n := 0; !race.Enabled {
		if allocs := testing.AllocsPerRun(1000, func() { ask(n); n++ }); allocs != 0 {
			t.Errorf("allocations for a packet\ngot  %v\nwant 0", allocs)
		}
	}
}
