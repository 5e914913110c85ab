package flood

import (
	"math"
	"testing"

	m "qsniff/flood/measure"
)

// TestJudge: features that no detector measured are judged by the rules for servers, those of several
// servers also by what networks need.
func TestJudge(t *testing.T) {
	j := NewJudge(Defaults())
	spoofed := func(f *m.Features) {
		f[m.Rate10], f[m.RateNow], f[m.Base], f[m.Sources], f[m.Each] = 150, 150, 10, 1500, 1
		f[m.Alien], f[m.TTL1] = .14, .9
	}
	for _, tc := range []struct {
		name                string
		set                 func(f *m.Features)
		hasAlarm            bool
		ofServer, ofServers Kind
	}{
		{"forged addresses", spoofed, true, FloodSpoofed, FloodSpoofed},
		{"the same where few sources without proof send most", func(f *m.Features) { spoofed(f); f[m.Top8] = .7 }, true, FloodSpoofed, NoKind},
		{"a crowd", func(f *m.Features) {
			f[m.Rate10], f[m.Base], f[m.Sources], f[m.Challenged], f[m.Echoed], f[m.ChallengedShare] = 150, 10, 1000, 900, .9, .9
		}, true, Crowd, Crowd},
		{"no more than usual", func(f *m.Features) { f[m.Rate10], f[m.Base], f[m.Sources] = 150, 40, 100 }, false, Crowd, Crowd},
	} {
		var f m.Features
		f[m.Completion], f[m.Echoed], f[m.Pace] = math.NaN(), math.NaN(), math.NaN()
		tc.set(&f)
		if got := j.HasAlarm(&f); got != tc.hasAlarm {
			t.Errorf("%s: alarm %t", tc.name, got)
		}
		if got := j.JudgeServer(&f).Kind; got != tc.ofServer {
			t.Errorf("%s: %s at a server, not %s", tc.name, got, tc.ofServer)
		}
		if got := j.JudgeServers(&f).Kind; got != tc.ofServers {
			t.Errorf("%s: %s at servers, not %s", tc.name, got, tc.ofServers)
		}
	}
	if KindNamed("flood_spoofed") != FloodSpoofed || KindNamed("of a later version") != NoKind {
		t.Error("kinds have other names")
	}
}
