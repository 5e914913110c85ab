package advice

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"qsniff/internal/flood"
	"qsniff/internal/track"
)

// TestCost: a new visitor whose first query is dropped has lost an answer, although it proves its address
// only afterwards; players lose what is theirs, and visitors that come after the end lose nothing.
func TestCost(t *testing.T) {
	tr := newTrial(adviceIncident("flood_spoofed"))
	send := func(s track.Sighting, src string, at time.Duration, proven bool) {
		p := pktFrom(s, src, at)
		p.Nanos = p.Age
		tr.Apply(p, proven)
	}
	visitor := func(i int) string { return netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}).String() }
	for i := range 20_000 {
		at := time.Duration(i) * time.Millisecond / 2
		send(pktInfo, netip.AddrFrom4([4]byte{20, 1, byte(i >> 8), byte(i)}).String(), at, false)
		switch {
		case i%200 == 50: // a new one asks
			send(pktInfo, visitor(i/200), at, false)
		case i%200 == 150:
			send(pktInfoAgain, visitor(i/200), at, true)
		case i%4000 == 75: // one that was known
			send(pktInfo, "203.0.113.7", at, true)
		}
		if i%50 == 0 {
			send(pktGame, "203.0.113.8", at, true)
		}
	}
	end := 10 * time.Second
	for i := range 50 {
		send(pktInfoAgain, visitor(150+i), end+time.Minute+time.Duration(i)*time.Second, true)
	}
	c := tr.conclude(false, 1_700_000_000_000_000_000+int64(end))[0]
	got := flood.CostOf(c.losses)
	dropped := share(c.FloodDropped, c.Flood)
	if got.Players != 1 || got.PlayersHit != 0 || got.Known != 1 || got.KnownHit != 1 || got.New != 100 {
		t.Errorf("%+v", got)
	}
	if lost := float64(got.NewHit) / 100; lost < dropped-0.05 || lost == 1 || dropped < 0.5 {
		t.Errorf("%.2f of the new visitors are hit, and %.2f of the flood is dropped", lost, dropped)
	}
	if c.Clients != 151 || c.ClientsHit != 1 { // what ranks plans: those that had proved their address
		t.Errorf("%d of %d clients", c.ClientsHit, c.Clients)
	}
}

// TestCostTogether: a client counts once, and is hit if the rules together hit it.
func TestCostTogether(t *testing.T) {
	one := flood.ClientLosses{FloodShare: 0.9, All: []flood.ClientLoss{
		{Client: 1, Packets: 1000, Lost: 6, IsPlayer: true},
		{Client: 2, Packets: 1000, Lost: 6, IsPlayer: true},
		{Client: 3, Packets: 3},
		{Client: 4, Packets: 3, IsNew: true, First: flood.FirstUnknown},
		{Client: 5, Packets: 3, IsNew: true, First: flood.FirstDropped},
	}}
	two := flood.ClientLosses{All: []flood.ClientLoss{
		{Client: 1, Packets: 1000, Lost: 6},
		{Client: 3, Packets: 4, Lost: 1, IsNew: true},
		{Client: 4, Packets: 3, IsNew: true},
		{Client: 5, Packets: 3, IsNew: true},
	}}
	want := flood.Cost{Players: 2, PlayersHit: 1, Known: 1, KnownHit: 1, New: 2, NewHit: 2}
	if got := flood.CostOf(one, two); got != want {
		t.Errorf("%+v", got)
	}
	one.All = one.All[3:4] // nothing is known of first packets: they look like the flood
	if got := flood.CostOf(one); got.NewHit != 1 {
		t.Errorf("%+v", got)
	}
	rules := []flood.Incident{{Advice: flood.Advice{Rules: &plan{}, Losses: one}}, {Advice: flood.Advice{Rules: &plan{}, Losses: two}}, {}}
	if c, n := flood.CostTogether(rules); n != 2 || c.Known != 1 || c.New != 3 {
		t.Errorf("%+v of %d", c, n)
	}
	if _, n := flood.CostTogether(rules[1:]); n != 0 {
		t.Error("one incident alone has a cost together with others")
	}
}

// TestDescribeCost: each class that came is named with what it loses, and no other.
func TestDescribeCost(t *testing.T) {
	for _, tt := range []struct {
		cost flood.Cost
		want string
	}{
		{flood.Cost{Players: 1}, "While it lasted, 0 of 1 player in the game would have lost 1 in 100 of its packets or more." +
			" What visitors would have lost is unknown: none proved an address meanwhile."},
		{flood.Cost{Known: 4, New: 6, NewHit: 3}, "While it lasted, 0 of 4 known visitors would have lost an answer and 3 of 6 new visitors (50.0 %) an answer." +
			" The first query of a new visitor looks like the flood."},
		{flood.Cost{New: 2, NewHit: 2}, "2 of 2 new visitors would have lost an answer."},
		{flood.Cost{}, ""},
	} {
		if got := DescribeCost(&tt.cost); !strings.HasPrefix(got, tt.want) && (tt.want == "" || !strings.Contains(got, tt.want)) {
			t.Errorf("%+v: %s", tt.cost, got)
		}
	}
}
