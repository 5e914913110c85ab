package flood

import (
	"strings"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/track"
)

func TestWords(t *testing.T) {
	tests := []struct{ got, want string }{
		{percent(0), "0 %"}, {percent(0.0004), "under 0.1 %"}, {percent(0.004), "0.4 %"}, {percent(0.01), "1 %"}, {percent(0.5), "50 %"},
		{percent(0.999), "99 %"}, {percent(1), "100 %"},
		{count(0), "0"}, {count(2.34), "2.3"}, {count(9), "9"}, {count(999), "999"}, {count(1000), "1,000"}, {count(1234567.8), "1,234,568"},
		{times(0.36), "0.36x"}, {times(7.1), "7.10x"}, {times(1200), "1,200x"},
		{bytesOf(0), "0 B"}, {bytesOf(9999), "9999 B"}, {bytesOf(288e3), "288 kB"}, {bytesOf(125e6), "125 MB"},
		{plural("host", 1), "one host"}, {plural("host", 24.2), "about 24 hosts"},
		{ConfidenceWord(0.99), "high"}, {ConfidenceWord(0.85), "high"}, {ConfidenceWord(0.7), "medium"}, {ConfidenceWord(0.65), "medium"}, {ConfidenceWord(0.6), "low"},
	}
	for i, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%d\ngot  %s\nwant %s", i, tt.got, tt.want)
		}
	}
	for k := NoKind + 1; k < NumKinds; k++ {
		if k.String() == "" {
			t.Errorf("kind %d has no name", k)
		}
		if d := k.Doc(); d.Packets == "" || d.What == "" || d.Apart == "" || d.Do == "" {
			t.Errorf("%v is not explained: %+v", k, *d)
		}
	}
}

// Targets beyond those that there is room for are counted coarsely; the busy ones
// are not driven out, and those that fall silent make room.
func TestRoomForTargets(t *testing.T) {
	d := New(Defaults(), 1, nil)
	s := track.Sighting{Proto: a2s}
	show := func(second int64, from, to int) {
		for port := from; port < to; port++ {
			for i := range promoteTen {
				s.Age = second*1e9 + int64(i)
				ask(&s, v4(20, 0, byte(i), 1), uint16(i+1), 64)
				s.DstPort = uint16(port)
				s.FillHashes(seed)
				d.Sight(&s)
			}
		}
	}
	watched := func(port int) bool {
		host := v4(198, 51, 100, 17)
		return d.servers.find(&host, uint16(port)) != nil
	}
	show(0, 1000, 1000+heavyTargets+10)
	if got := len(d.servers.heavy); got != heavyTargets {
		t.Errorf("got  %d targets\nwant %d", got, heavyTargets)
	}
	if !watched(1000) || watched(1000+heavyTargets) {
		t.Errorf("the first is watched: %v, one too many: %v\nwant true, false", watched(1000), watched(1000+heavyTargets))
	}
	show(200, 2000, 2001) // all others are silent, and their incidents over
	if got := len(d.servers.heavy); got != heavyTargets || !watched(2000) {
		t.Errorf("a new one is watched: %v, with %d in all\nwant true, %d", watched(2000), got, heavyTargets)
	}
	for i := range d.servers.heavy {
		for o := range i {
			if d.servers.heavy[i].End == d.servers.heavy[o].End {
				t.Errorf("%v is watched twice", d.servers.heavy[i].End)
			}
		}
	}
}

// Somebody who opens more incidents than anybody reads finds the rest counted only.
func TestMaxPerMinute(t *testing.T) {
	w := newWorld(1)
	for i := range 2 * maxPerMinute {
		s := w.server(usual, uint16(27000+i))
		c := w.client(70_000 + i)
		w.every(0.5, time.Duration(i)*time.Millisecond, 25*sec, func(n int) { w.login(s, c, uint16(30_000+n), 77, false) })
	}
	w.run(59 * sec)
	if got := len(w.incidents); got != maxPerMinute {
		t.Errorf("got  %d incidents\nwant %d", got, maxPerMinute)
	}
	if got := w.d.book.unopened; got < maxPerMinute {
		t.Errorf("got  %d counted only\nwant %d at least", got, maxPerMinute)
	}
	for _, x := range w.incidents {
		if x.Kind != RconMisconfig || x.events[len(x.events)-1] != Ends {
			t.Errorf("got  %s\nwant what began to end", x.line())
		}
	}
}

// TestBytesOf: numbers of bytes have at most three digits before the unit, or a point.
func TestBytesOf(t *testing.T) {
	for n, want := range map[uint64]string{999: "999 B", 623_000: "623 kB", 2_090_000: "2.1 MB", 12_400_000: "12 MB"} {
		if got := bytesOf(n); got != want {
			t.Errorf("%d\ngot  %s\nwant %s", n, got, want)
		}
	}
}

// TestServersOfNetwork: a network has servers, and what they were challenged with is no number of
// sources: one that asks eighty servers gets eighty challenges.
func TestServersOfNetwork(t *testing.T) {
	w := newWorld(1)
	poll(w, w.hoster(40, .1, 100*sec), 60, 1, true, t0, 100*sec)
	w.run(100 * sec)
	if len(w.incidents) != 1 {
		w.logIncidents(t)
		t.Fatalf("got  %d incidents\nwant one", len(w.incidents))
	}
	got := evidenceText(w.incidents[0].Evidence)
	if !strings.Contains(got, "sources were challenged ") || !strings.Contains(got, "the servers sent ") {
		t.Errorf("got  %s\nwant challenges, and servers", got)
	}
}

// TestRepliesWithoutRequests: the evidence of a flood of replies says what of them answers nothing, or that no request of
// the host was captured at all.
func TestRepliesWithoutRequests(t *testing.T) {
	for _, tt := range []struct {
		asks bool
		want string
	}{
		{false, "none of them answers a request that was captured"},
		{true, "answer no request of this host"},
	} {
		w := newWorld(1)
		s := w.server(usual, 27015)
		h := w.parse("198.51.100.99")
		if tt.asks {
			w.every(2, 0, 60*sec, func(int) { w.query(client{host: h}, 80, s, dissect.AskInfo, true) })
		}
		w.every(2400, 40*sec, 60*sec, func(i int) {
			w.see(track.Sighting{What: track.IsReply, Src: w.client(80_000 + i%400).host, SrcPort: uint16(27015 + i%5), Dst: h, DstPort: 80,
				TTL: 55, Asks: dissect.AskInfo, Proto: a2s, Bytes: 180})
		})
		w.run(80 * sec)
		if len(w.incidents) != 1 || w.incidents[0].Kind != ReplyFloodVictim {
			w.logIncidents(t)
			t.Fatalf("asks %v: got  %d incidents\nwant one", tt.asks, len(w.incidents))
		}
		if got := evidenceText(w.incidents[0].Evidence); !strings.Contains(got, tt.want) {
			t.Errorf("asks %v: got  %s\nwant %s", tt.asks, got, tt.want)
		}
	}
}
