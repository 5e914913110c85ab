package flood

import (
	"slices"
	"testing"

	"qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// victimSecond is a second of replies to a host: of some servers, so many of each that it did not ask for, and
// so many in all that it did. The first servers send a challenge before.
type victimSecond struct{ servers, each, wanted, challenges int }

// runVictim gives a host that is watched closely what comes in each second, and returns for which it is flooded,
// and for which that lasts long enough.
func runVictim(lim Thresholds, seconds ...victimSecond) (flooded, longEnough []bool) {
	b, x := &book{lim: lim}, &victim{}
	x.Init(1)
	x.Reset(v4(198, 51, 100, 9), 1)
	for i, sec := range seconds {
		b.Now = int32(i + 1)
		x.TurnPane(b.Now)
		for n := range sec.servers {
			s := track.Sighting{What: track.IsChallenge, Src: v4(203, 0, 113, byte(n)), Bytes: 100}
			if n < sec.challenges {
				x.Count(&s, b.Clock, false)
			}
			s.What = track.IsReply
			for range sec.each {
				x.Count(&s, b.Clock, false)
			}
		}
		for range sec.wanted {
			x.Count(&track.Sighting{What: track.IsReply}, b.Clock, true)
		}
		flooded = append(flooded, x.isFlooded(b))
		longEnough = append(longEnough, x.isLongEnough(b))
	}
	return flooded, longEnough
}

// TestVictimIsFlooded: when a second is one of a reply flood, at each limit and beside it.
func TestVictimIsFlooded(t *testing.T) {
	lim := Thresholds{VictimRate: 10, VictimBurst: 50, VictimShare: 0.5, SlowTicks: 1}
	few := Thresholds{VictimRate: 27, VictimBurst: 20, SlowTicks: 1}
	rate := func(last int) []victimSecond { // ten seconds, of a host that asked in the first one
		all := slices.Repeat([]victimSecond{{1, 10, 0, 0}}, 9)
		all[0].wanted = 1
		return append(all, victimSecond{1, last, 0, 0})
	}
	for _, tt := range []struct {
		name    string
		lim     Thresholds
		seconds []victimSecond
		want    bool
	}{
		{"victim_rate", lim, rate(10), true},
		{"below it", lim, rate(9), false},
		{"the rate of eleven seconds", lim, append(rate(10), victimSecond{1, 9, 0, 0}), false},
		{"nothing in the last second", lim, append(rate(99), victimSecond{}), false},
		{"victim_burst", lim, []victimSecond{{1, 50, 1, 0}}, true},
		{"below it", lim, []victimSecond{{1, 49, 1, 0}}, false},
		{"victim_share", lim, []victimSecond{{1, 50, 50, 0}}, true},
		{"below it", lim, []victimSecond{{1, 50, 51, 0}}, false},
		{"few servers", few, []victimSecond{{9, 3, 0, 0}}, true},
		{"below victim_rate", few, []victimSecond{{8, 3, 0, 0}}, false},
		{"as many as in a list", few, []victimSecond{{11, 3, 0, 0}}, false},
		{"and more from each", few, []victimSecond{{11, 5, 0, 0}}, true},
		{"of a host that asked", few, []victimSecond{{11, 3, 1, 0}}, true},
		{"a quarter of the servers had an exchange", lim, []victimSecond{{8, 7, 0, 2}}, true},
		{"more of them", lim, []victimSecond{{8, 7, 0, 3}}, false},
	} {
		if flooded, _ := runVictim(tt.lim, tt.seconds...); flooded[len(flooded)-1] != tt.want {
			t.Errorf("%s: flooded %t, want %t", tt.name, !tt.want, tt.want)
		}
	}
}

// TestVictimLastsLongEnough: seconds in a row count, fewer of them at victim_burst.
func TestVictimLastsLongEnough(t *testing.T) {
	lim := Thresholds{VictimRate: 1, VictimBurst: 50, FastTicks: 2, SlowTicks: 4}
	slow, fast, calm := victimSecond{1, 49, 1, 0}, victimSecond{1, 50, 1, 0}, victimSecond{0, 0, 1, 0}
	_, got := runVictim(lim, slow, slow, slow, slow, calm, fast, fast, calm, fast, slow, slow, slow)
	want := []bool{false, false, false, true, false, false, true, false, false, false, false, true}
	if !slices.Equal(got, want) {
		t.Errorf("got  %t\nwant %t", got, want)
	}
}

// TestVictimsAreWatched: from how many replies on a host is watched closely, and for whom it makes room.
func TestVictimsAreWatched(t *testing.T) {
	b := &book{}
	v := newVictims(b)
	count := func(h byte, n int) (x *victim) {
		for range n {
			x = v.countLight(v4(198, 51, 100, h))
		}
		return x
	}
	b.Now = 1
	if count(1, promoteSecond-1) != nil || count(1, 1) == nil {
		t.Error("not watched from promoteSecond on")
	}
	each := promoteTen / measure.PaneSeconds
	first := promoteTen - each*(measure.PaneSeconds-1)
	for _, short := range []int{0, 1} {
		host := byte(2 + short)
		for i := range int32(measure.PaneSeconds) {
			b.Now = 20 + i
			n := each
			if i == 0 {
				n = first - short
			}
			if x := count(host, n); (x != nil) != (short == 0 && i == measure.PaneSeconds-1) {
				t.Errorf("%d replies too few in a pane: watched %t in second %d", short, x != nil, i)
			}
		}
	}
	for b.Now = 40; len(v.heavy) < heavyVictims; {
		x := count(byte(10+len(v.heavy)), promoteSecond)
		x.LastReply = b.Now
	}
	for _, x := range v.heavy {
		x.LastReply = 40
	}
	b.Now = 40 + measure.PaneSeconds - 1
	if count(200, promoteSecond) != nil || !v.hasNoRoom {
		t.Error("there is room although all got replies within a pane")
	}
	b.Now++
	v.heavy[5].LastReply, v.heavy[6].LastReply, v.heavy[6].in = 39, 38, &Incident{}
	if x := count(201, promoteSecond); x != v.heavy[5] {
		t.Error("the host that got no reply for longest, without an incident, makes no room")
	}
}
