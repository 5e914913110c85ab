package flood

import (
	"net/netip"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/track"
)

func TestIncidentIsAt(t *testing.T) {
	servers, err := hostset.Parse("198.18.0.1:27015,198.18.1.0/24")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		kind Kind
		end  string
		want bool
	}{
		{FloodFew, "198.18.0.1:27015", true},
		{FloodFew, "198.18.0.1:27016", false},
		{FloodFew, "198.18.1.9:27016", true},
		{ReplyFloodVictim, "198.18.0.1:0", true},
		{ReplyFloodVictim, "198.18.1.9:0", true},
		{ReplyFloodVictim, "198.18.2.9:0", false},
		{Scan, "203.0.113.7:0", true},
	} {
		in := &Incident{Kind: tc.kind, Target: Target{End: netip.MustParseAddrPort(tc.end)}}
		if got := in.IsAt(servers); got != tc.want {
			t.Errorf("%v %s: got %v, want %v", tc.kind, tc.end, got, tc.want)
		}
		if !in.IsAt(nil) {
			t.Errorf("%v %s is not among all servers", tc.kind, tc.end)
		}
	}
}

// A verdict that holds and finds no room for its incident counts once, and again when it
// comes back.
func TestUnopenedCountsOnce(t *testing.T) {
	w := newWatched(seed)
	w.reset(track.End{}, 0, 60)
	b := &book{lim: Defaults(), advisor: noAdvice{}, announce: func(*Incident, Event) {}, minute: 1}
	b.opened[FloodSpoofed] = maxPerMinute
	s := &serverSecond{b, &w.Server, &w.features, w}
	second := func(v verdict) {
		w.OpenSecond(b.Now, int64(b.Now)*1e9).Queries = 600
		w.courses[ofQueries].applyVerdict(s, v, 600)
	}
	flood := verdict{kind: FloodSpoofed, rate: 600, isUrgent: true}
	for b.Now = 60; b.Now < 80; b.Now++ {
		second(flood)
	}
	if b.unopened != 1 {
		t.Errorf("while it holds\ngot  %d\nwant 1", b.unopened)
	}
	second(verdict{})
	for b.Now = 81; b.Now < 90; b.Now++ {
		second(flood)
	}
	if b.unopened != 2 {
		t.Errorf("when it comes back\ngot  %d\nwant 2", b.unopened)
	}
}

// Every kind has an id of the form that findings have, and ids are output: none changes.
func TestKindCodes(t *testing.T) {
	want := map[Kind]string{
		FloodFew: "DOS-F02", FloodDistributed: "DOS-F02", FloodSpoofed: "DOS-F01", FloodSuspect: "DOS-S01",
		Reflection: "DOS-R01", ReplyFloodVictim: "DOS-V01", ChallengeBypass: "DOS-B01", JunkFlood: "DOS-J01",
		RconBruteforce: "RCN-07", RconMisconfig: "RCN-10", Scan: "DOS-N01", Survey: "DOS-N02", Crowd: "DOS-P02",
		Poller: "DOS-P01", OpenAmplifier: "DOS-A01", OtherFlood: "DOS-O01", OwnToolStorm: "DOS-F03", FloodCompleting: "DOS-F04",
	}
	for k := NoKind + 1; k < NumKinds; k++ {
		if got := k.Code(); got != want[k] || got == "" {
			t.Errorf("%v\ngot  %s\nwant %s", k, got, want[k])
		}
	}
}

// The sources of an incident are none of the one before at the same server, also if its first second
// could still be a crowd.
func TestSecondIncidentHasItsOwnSources(t *testing.T) {
	w := newWorld(1)
	s := w.server(usual, 27015)
	w.daily(s, .3, 600*sec)
	invent(w, s, 1500, t0, t0+20*sec)
	w.every(400, 420*sec, 480*sec, func(i int) { w.query(w.client(50_000+i%250), w.port(), s, dissect.AskInfo, false) })
	w.run(600 * sec)
	if len(w.incidents) != 2 {
		w.logIncidents(t)
		t.Fatalf("got  %d incidents\nwant two", len(w.incidents))
	}
	if got := w.incidents[1].Sources; got < 250 || got > 500 {
		t.Errorf("sources\ngot  %.0f\nwant 250, and some visitors", got)
	}
}
