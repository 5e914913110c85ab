package flood

import (
	"math"
	"net/netip"
	"slices"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/flood/measure"
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

// TestMissingProof: that nobody brought a challenge back is missing in a capture only where
// the protocol has one.
func TestMissingProof(t *testing.T) {
	token := &dissect.Token{Len: 4}
	proves := &dissect.Proto{Types: []*dissect.Type{{Token: token}, {Token: token, Reply: true}}}
	for _, oneWay := range []float64{0, 1} {
		f := &measure.Features{}
		f[measure.OneWay], f[measure.Completion] = oneWay, math.NaN()
		for p, want := range map[*dissect.Proto]bool{nil: true, proves: true, {}: false} {
			if got := listMissing(nil, f, p); slices.Contains(got, "C") != want || slices.Contains(got, "ans") != (oneWay > 0) {
				t.Errorf("one way %v, proof %v: got %q", oneWay, want, got)
			}
		}
	}
}

// TestKinds: forms of one type become one kind, with the length that nearly all have.
func TestKinds(t *testing.T) {
	info, rules := &dissect.Type{Name: "A2S_INFO"}, &dissect.Type{Name: "A2S_RULES"}
	for _, x := range []struct {
		name   string
		in     Incident
		want   string
		shares []float64
	}{
		{"nothing", Incident{}, "", nil},
		{"one", Incident{Shape: []measure.Form{{Type: rules, Min: 9, Max: 9, Packets: 10}}}, "what came: A2S_RULES 100 % (9 bytes)", []float64{1}},
		{"padded", Incident{Shape: []measure.Form{{Type: info, Min: 1200, Max: 1200, Packets: 990}, {Type: info, Min: 25, Max: 25, Packets: 5},
			{Type: info, HasKey: true, Min: 29, Max: 29, Packets: 5}}}, "what came: A2S_INFO 100 % (1,200 bytes, 0.5 % with a challenge)", []float64{1}},
		{"two", Incident{Shape: []measure.Form{{Type: rules, HasKey: true, Min: 9, Max: 9, Packets: 60}, {Type: info, Min: 25, Max: 1400, Packets: 30}},
			OtherForms: 10}, "what came: A2S_RULES 60 % (9 bytes, 100 % with a challenge), A2S_INFO 30 % (25 to 1400 bytes), others 10 %", []float64{.6, .3, .1}},
		{"junk", Incident{Shape: []measure.Form{{Min: 1, Max: 1, Packets: 60}}}, "what came: unknown 100 % (1 byte)", []float64{1}},
	} {
		if got := x.in.DescribeKinds(); got != x.want {
			t.Errorf("%s:\ngot  %s\nwant %s", x.name, got, x.want)
		}
		for i, k := range x.in.Kinds() {
			if k.Share != x.shares[i] {
				t.Errorf("%s: share %v, want %v", x.name, k.Share, x.shares[i])
			}
		}
	}
}

// TestIncidentsHaveShapes: what floods a server is in the shape of its incident, and the
// clients' queries of before and their echoes are not.
func TestIncidentsHaveShapes(t *testing.T) {
	w := newWorld(1)
	s := w.server(usual, 27015)
	w.daily(s, 2, 150*sec)
	ask := &dissect.Type{Name: "A2S_RULES"}
	w.every(900, t0, t0+20*sec, func(int) {
		w.see(track.Sighting{What: track.IsRequest, Src: w.anywhere(), SrcPort: w.port(), Dst: s.host, DstPort: s.port, TTL: 117,
			Asks: dissect.AskRules, Proto: a2s, Type: ask, Bytes: 9})
	})
	w.run(150 * sec)
	for _, in := range w.incidents {
		kinds := in.Kinds()
		if in.Level != Alert || len(kinds) == 0 {
			continue
		}
		if k := kinds[0]; k.Type != ask || k.Share < 0.98 || k.CommonLen != 9 || k.Packets < 17_000 || k.Packets > 18_500 {
			t.Errorf("%s: %+v", in.Name(), k)
		}
		return
	}
	w.logIncidents(t)
	t.Error("no alert with a shape")
}
