package advice

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/track"
)

// TestFirstPlanFits: the first plan's lines look at what came, and leave the rest alone.
func TestFirstPlanFits(t *testing.T) {
	packets := []struct {
		name string
		s    track.Sighting
	}{{"info", pktInfo}, {"infoAgain", pktInfoAgain}, {"padded", pktPadded}, {"rules", pktRules}, {"rulesAgain", pktRulesAgain},
		{"getKey", pktGetKey}, {"junk", pktJunk}, {"game", pktGame}}
	for _, x := range []struct{ incident, want string }{
		{"flood_spoofed", "[info rules getKey]"}, // nothing is known of what came
		{"flood_spoofed-padded", "[padded]"},
		{"flood_spoofed-guesses", "[infoAgain rulesAgain]"},
		{"flood_spoofed-rules", "[rules]"},
		{"flood_spoofed-mixed", "[infoAgain padded rules rulesAgain]"},
		{"challenge_bypass", "[infoAgain rulesAgain]"},
		{"junk_flood", "[junk]"},
		{"junk_flood-strange", "[game]"},
	} {
		var got []string
		for _, p := range packets {
			tr := newTrial(adviceIncident(x.incident))
			for i := range tr.attempts[0].plan.rules {
				tr.attempts[0].plan.rules[i].limit.burst = 0
			}
			tr.attempts[0].setTests()
			tr.Apply(pktFrom(p.s, "192.0.2.99", 0), true)
			if tr.outcomeSoFar().ClientLost > 0 {
				got = append(got, p.name)
			}
		}
		if fmt.Sprint(got) != x.want {
			t.Errorf("%s:\ngot  %v\nwant %s", x.incident, got, x.want)
		}
	}
}

// TestPeersAreDeclared: outputs for filters that do not remember whom the server sent something
// are told which lines need that.
func TestPeersAreDeclared(t *testing.T) {
	for name, want := range map[string]bool{"flood_spoofed-guesses": true, "junk_flood-strange": true, "flood_spoofed-padded": false} {
		p := advisor.newPlan(adviceIncident(name))
		for _, x := range p.Lines() {
			if x.NeedsPeers != want {
				t.Errorf("%s: %s", name, x.What)
			}
		}
	}
}

// TestOddLengths: between the lengths that a protocol declares, and nothing where it leaves
// them open.
func TestOddLengths(t *testing.T) {
	for _, x := range []struct {
		typ          *dissect.Type
		odd, lengths string
	}{
		{askInfo, "[{0 24} {26 28} {30 0}]", "25 or 29"},
		{askRules, "[{0 8} {10 0}]", "9"},
		{askToy, "[{0 3} {5 7} {9 0}]", "4 or 8"},
		{askASE, "[]", ""}, // it has no token
		{nil, "[]", ""},
	} {
		if got := fmt.Sprint(oddLengths(x.typ)); got != x.odd || knownLengths(x.typ) != x.lengths {
			t.Errorf("got %s and %q, want %s and %q", got, knownLengths(x.typ), x.odd, x.lengths)
		}
	}
}

// TestInventedChallenges: a flood of them is dropped; who was sent a challenge may bring it,
// for a minute, and the server's answers to what was dropped let nobody in.
func TestInventedChallenges(t *testing.T) {
	tr := newTrial(adviceIncident("flood_spoofed-guesses"))
	host := func(i int) string { return netip.AddrFrom4([4]byte{20, 1, byte(i >> 8), byte(i)}).String() }
	for i := range 5000 {
		at := time.Duration(i) * time.Millisecond
		tr.Apply(pktFrom(pktInfoAgain, host(i), at), false)
		tr.Apply(pktTo(pktChallenge, host(i), at), false) // in the capture it was answered
		tr.Apply(pktFrom(pktInfoAgain, host(i), at), false)
	}
	real := "192.0.2.1"
	for i := range 20 {
		at := time.Duration(i) * time.Second
		tr.Apply(pktFrom(pktInfo, real, at), i > 0)
		tr.Apply(pktTo(pktChallenge, real, at), i > 0)
		tr.Apply(pktFrom(pktInfoAgain, real, at), true)
	}
	late := 20*time.Second + peerIdle
	tr.Apply(pktFrom(pktInfoAgain, real, late), true)
	c := tr.outcomeSoFar()
	if c.Flood != 10_001 || c.FloodDropped != 10_000 {
		t.Errorf("dropped %d of %d", c.FloodDropped, c.Flood)
	}
	if c.Clients != 1 || c.ClientPackets != 40 || c.ClientLost != 1 {
		t.Errorf("the client lost %d of %d packets, want the last one", c.ClientLost, c.ClientPackets)
	}
}

// TestStrangers: random datagrams are capped, and players, to whom the server sends the game,
// lose at most what they send before it does, however many addresses are sent challenges.
func TestStrangers(t *testing.T) {
	tr := newTrial(adviceIncident("junk_flood-strange"))
	for i := range trialPeers + 100 {
		forged := netip.AddrFrom4([4]byte{30, byte(i >> 16), byte(i >> 8), byte(i)}).String()
		tr.Apply(pktTo(pktChallenge, forged, 0), false)
		tr.Apply(pktTo(pktAnswer, forged, 0), false)
	}
	for i := range 20_000 {
		at := time.Duration(i) * time.Millisecond / 3
		tr.Apply(pktFrom(pktGame, netip.AddrFrom4([4]byte{20, 2, byte(i % 3), byte(i % 100)}).String(), at), false)
		if i%100 == 50 {
			tr.Apply(pktFrom(pktGame, "192.0.2.7", at), true)
			tr.Apply(pktTo(pktGame, "192.0.2.7", at), true)
		}
	}
	c := tr.outcomeSoFar()
	if c.Flood != 20_000 || c.FloodDropped < 19_500 {
		t.Errorf("dropped %d of %d", c.FloodDropped, c.Flood)
	}
	if c.Clients != 1 || c.ClientsHit != 0 || c.ClientPackets != 200 || c.ClientLost > 1 {
		t.Errorf("%+v", c)
	}
}

// TestBusyProvenSource: one that proved its address and asks more than any client is part of
// the flood; a monitor is not.
func TestBusyProvenSource(t *testing.T) {
	tr := newTrial(adviceIncident("flood_few"))
	for i := range 600 {
		at := time.Duration(i) * 20 * time.Millisecond
		tr.Apply(pktFrom(pktInfo, "198.18.0.1", at), true) // 50 a second
		if i%50 == 0 {
			tr.Apply(pktFrom(pktInfo, "198.18.0.2", at), true) // once a second
		}
	}
	c := tr.outcomeSoFar()
	if c.Flood != 600 || c.FloodDropped < 400 || c.Clients != 1 || c.ClientsHit != 0 || c.ClientPackets != 12 {
		t.Errorf("%+v", c)
	}
}

// TestSettingsFit: no advice to demand a challenge for what is challenged anyway.
func TestSettingsFit(t *testing.T) {
	const challenge = "REQUIRE_CHALLENGE"
	for _, x := range []struct {
		incident   string
		challenged int
		want       bool
	}{{"flood_spoofed", 0, true}, {"flood_spoofed", 100, false}, {"flood_spoofed-padded", 0, true}, {"flood_spoofed-rules", 0, false}} {
		in := *adviceIncident(x.incident)
		in.Challenged = x.challenged
		if x.incident == "flood_spoofed-rules" {
			in.Shape = in.Shape[:1]
		}
		a := advisor.write(&in, nil)
		if got := strings.Contains(strings.Join(a.Words, " "), challenge); got != x.want {
			t.Errorf("%s, %d challenged: %v", x.incident, x.challenged, got)
		}
	}
}
