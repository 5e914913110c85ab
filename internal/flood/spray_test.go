package flood

import (
	"encoding/binary"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/track"
)

// spray has bots, each with a /64 of its own, ask made-up addresses of the server's IPv6 network, none of
// which answers, rate of them a second for half a minute.
func spray(w *world, s *server, bots, rate int) (until time.Duration) {
	until = 110 * sec
	w.every(3, 0, until, func(i int) { w.query(w.client(i), uint16(2000+i), s, dissect.AskInfo, true) })
	w.every(float64(rate), 70*sec, 100*sec, func(i int) {
		to, from := s.host, w.client(50_000+i%bots)
		binary.BigEndian.PutUint64(to[8:], w.r.Uint64()|1<<63)
		w.see(track.Sighting{What: track.IsRequest, Src: from.host, SrcPort: uint16(1024 + i%60_000), Dst: to, DstPort: s.port,
			TTL: from.ttl, Asks: dissect.AskInfo, Proto: s.proto, Print: 9, Bytes: 25})
	})
	return until
}

// TestSpray: what many sources ask of made-up addresses of one network is one flood of that network, and
// no scan of each of them; what one asks is a scan.
func TestSpray(t *testing.T) {
	for _, tt := range []struct {
		name       string
		bots, rate int
		kind       Kind
		network    bool
	}{
		{"a botnet", 120, 600, FloodDistributed, true},
		{"a scanner", 1, 25, Scan, false},
	} {
		w := newWorld(7)
		w.six = true
		s := w.server(usual, 27015)
		w.run(spray(w, s, tt.bots, tt.rate))
		n := 0
		for _, in := range w.incidents {
			if in.Kind.Level() == Info {
				continue
			}
			n++
			if in.Kind != tt.kind || in.Target.IsNetwork() != tt.network {
				t.Errorf("%s: %s at %s", tt.name, in.Kind, in.Target)
			}
			if late := time.Duration(in.Detected - in.Start); tt.network && late > 5*sec {
				t.Errorf("%s: found after %v", tt.name, late)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d incidents", tt.name, n)
		}
	}
}
