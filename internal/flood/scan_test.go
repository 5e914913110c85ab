package flood

import (
	"testing"
	"time"

	"qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// TestScansOfWatchedServers: where servers are watched closely, a source that asks two of them is watched for a scan
// if they never answered or not for a minute, and not if they did lately. Then it costs nothing to ask many.
func TestScansOfWatchedServers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer bool
		pause  time.Duration // from the answers on
		want   bool
	}{
		{"never answered", false, 20 * time.Second, true},
		{"answered lately", true, 20 * time.Second, false},
		{"answered up to the limit", true, measure.BinSeconds * time.Second, false},
		{"answered before", true, (measure.BinSeconds + 1) * time.Second, true},
	} {
		w := newWorld(1)
		servers := []track.Host{w.ip(0xc6120701), w.ip(0xc6120702)}
		ask := func(client, server track.Host) {
			w.see(track.Sighting{What: track.IsRequest, Asks: 1, Src: client, SrcPort: 4000, Dst: server, DstPort: 27015, Bytes: 25})
		}
		w.now = time.Second
		for at := w.now; w.now <= at+tt.pause; w.now += time.Second {
			for i, s := range servers {
				client := w.client(i).host
				for range promoteSecond {
					ask(client, s)
				}
				if w.now == at && tt.answer {
					w.see(track.Sighting{What: track.IsReply, Asks: 1, Src: s, SrcPort: 27015, Dst: client, DstPort: 4000, Bytes: 170})
				}
			}
		}
		w.now -= time.Second
		if n := len(w.d.side.servers.heavy); n != len(servers) || w.d.scans.isWatching() {
			t.Fatalf("%s: got  %d servers watched closely, a source watched: %v\nwant %d, false", tt.name, n, w.d.scans.isWatching(), len(servers))
		}
		for _, s := range servers {
			ask(w.client(9).host, s)
		}
		if got := w.d.scans.isWatching(); got != tt.want {
			t.Errorf("%s: got  a source watched: %v\nwant %v", tt.name, got, tt.want)
		}
	}
}
