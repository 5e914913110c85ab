package flood

import (
	"testing"

	"qsniff/dissect"
	"qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

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
