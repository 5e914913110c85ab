package advice

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestVeto: what the trial shows of bad lines comes first, and useless ones are not printed.
func TestVeto(t *testing.T) {
	in := adviceIncident("flood_spoofed")
	p := advisor.newPlan(in)
	for _, x := range []struct {
		name      string
		c         outcome
		hasRules  bool
		wantFirst string
		wantPass  bool // "lets 1 of N through"
	}{
		{"good", outcome{Flood: 1000, FloodDropped: 900, Clients: 300, ClientsHit: 3}, true, "The source addresses", true},
		{"half", outcome{Flood: 1000, FloodDropped: 500, Clients: 300}, true, "The source addresses", true},
		{"a burst", outcome{Flood: 1199, FloodDropped: 100, Clients: 300}, true, "The source addresses", true},
		{"too little", outcome{Flood: 2000, FloodDropped: 998, Clients: 300}, true, "Filters on this host stop too little of this flood: " +
			"These lines were tried on the packets of this capture, and the best would have dropped 49.9 % of them (998 of 2,000 packets). They are below", false},
		{"nothing", outcome{Flood: 2000, FloodDropped: 198, Clients: 300}, false, "Filters on this host stop too little", false},
		{"clients", outcome{Flood: 1000, FloodDropped: 900, Clients: 299, ClientsHit: 3, NewHit: 3}, true,
			"Before you load the lines below: on this capture they would have touched 3 of 299 clients that had proved their address (1.0 %), more than 1 in 100. None", false},
		{"clients who can pass", outcome{Flood: 1000, FloodDropped: 900, Clients: 100, ClientsHit: 30, NewHit: 1}, true,
			"Before you load the lines below: on this capture they would have touched 30 of 100 clients that had proved their address (30.0 %)," +
				" more than 1 in 100. Load them with the proven clients", false},
		{"clients unknown", outcome{Flood: 1000, FloodDropped: 900, Clients: 100, ClientsHit: 30, IsBlind: true}, true, "The source addresses", true},
		{"hardly tried", outcome{Flood: leastTried - 1}, true, "The source addresses", true},
		{"not tried", outcome{}, true, "The source addresses", true},
	} {
		x.c.plan = p
		a := advisor.write(in, &x.c)
		all := strings.ReplaceAll(strings.Join(a.Words, "\n"), "capture", "")
		if (a.Rules != nil) != x.hasRules || !strings.HasPrefix(a.Words[0], x.wantFirst) || strings.Contains(all, "through") != x.wantPass {
			t.Errorf("%s: rules %v\n%s", x.name, a.Rules != nil, all)
		}
		if a.ProvenFirst != strings.Contains(x.wantFirst, "Load them with the proven clients") {
			t.Errorf("%s: to be loaded with the proven clients: %v", x.name, a.ProvenFirst)
		}
		if !x.hasRules && !strings.Contains(all, "upstream") {
			t.Errorf("%s: nothing else is offered:\n%s", x.name, all)
		}
		if !x.hasRules && (strings.Contains(all, "cap") || a.Measured != "") {
			t.Errorf("%s: words about lines that are not there:\n%s", x.name, all)
		}
	}
}

// TestBestPlan: of the plans that were tried, the one that works is advised, and the others
// are named with what they did.
func TestBestPlan(t *testing.T) {
	in := adviceIncident("flood_distributed") // a limit for each source, and a cap
	tr := newTrial(in)
	if tr.numAttempts < 2 || tr.numAttempts > trialPlans {
		t.Fatalf("%d plans", tr.numAttempts)
	}
	for i := range 120_000 { // 400 bots, 30 queries a second each, for as long as it takes
		at := time.Duration(i) * time.Second / 12_000
		tr.Apply(pktFrom(pktInfo, netip.AddrFrom4([4]byte{20, 3, byte(i % 400 >> 8), byte(i % 400)}).String(), at), false)
		if i%200 == 0 { // clients come back
			tr.Apply(pktFrom(pktInfo, netip.AddrFrom4([4]byte{192, 0, 2, byte(i / 200)}).String(), at), true)
		}
	}
	all := tr.conclude(false)
	best := &all[0]
	if best.rank() != 3 || best.ClientsHit > 0 || best.plan.describeRules() != "a limit for each source" {
		t.Errorf("%s: %+v", best.plan.describeRules(), best.FloodDropped)
	}
	a := advisor.write(in, best, all[1:]...)
	if !strings.Contains(a.Measured, "touched 0 of 256 clients") || !strings.Contains(a.Measured, "not chosen: a limit for each source and a cap on all first queries (95") {
		t.Error(a.Measured)
	}
	if r, ok := a.Rules.(*plan); !ok || r.describeRules() != best.plan.describeRules() {
		t.Errorf("rules %v", a.Rules)
	}
}

// TestPlansAreBounded: no incident has more plans than a trial has room for, or more rules in
// one than a plan.
func TestPlansAreBounded(t *testing.T) {
	for _, x := range adviceExamples() {
		plans := advisor.newPlans(&x.in)
		if len(plans) == 0 || len(plans) > trialPlans {
			t.Errorf("%s: %d plans", x.name, len(plans))
		}
		for i := range plans {
			for j := range plans[:i] {
				if plans[j].doesSame(plans[i]) {
					t.Errorf("%s: plans %d and %d do the same", x.name, j, i)
				}
			}
		}
	}
}
