package flood

import (
	"math"
	"testing"

	m "qsniff/internal/flood/measure"
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
		{"no more than usual", func(f *m.Features) { f[m.Rate10], f[m.Base], f[m.Sources] = 150, 100, 100 }, false, Crowd, Crowd},
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

// What many servers get together asks for a verdict where it is far above what is usual, in proportion or
// in number.
func TestJudgeHasAlarm(t *testing.T) {
	j := NewJudge(Defaults())
	for _, tc := range []struct {
		rate, now, base float64
		want            bool
	}{
		{29, 29, 1, false},
		{30, 30, 1, true},
		{101, 101, 40, true},   // 41 above it
		{99, 99, 40, false},    // 39 above it
		{375, 375, 125, true},  // forty busy servers with six more each
		{220, 220, 125, false}, // a busier evening
		{40, 2600, 125, true},
	} {
		f := m.Features{m.Rate10: tc.rate, m.RateNow: tc.now, m.Base: tc.base}
		if got := j.HasAlarm(&f); got != tc.want {
			t.Errorf("%v/s, %v/s now, usually %v/s: got %v, want %v", tc.rate, tc.now, tc.base, got, tc.want)
		}
	}
}
