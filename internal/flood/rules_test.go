package flood

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/flood/measure"
)

var update = flag.Bool("update", false, "rewrite the files of testdata")

// golden compares got with a file of testdata, which -update writes.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("go test -run %s -update writes it anew; want -, got +\n%s", t.Name(), diff)
	}
}

// TestSigns holds the points of many sources against numbers that are written here once
// more, each sign at its limits and alone.
func TestSigns(t *testing.T) {
	tests := []struct {
		points float64
		set    map[measure.Feature]float64
	}{
		{3, map[measure.Feature]float64{measure.Challenged: 30, measure.Echoed: 0.1, measure.Each: 9, measure.Repeat: 1}},
		{2, map[measure.Feature]float64{measure.Challenged: 30, measure.Echoed: 0.3, measure.Each: 9, measure.Repeat: 1}},
		{-4, map[measure.Feature]float64{measure.Challenged: 30, measure.Echoed: 0.6, measure.Proven: 0.3}},
		{-4, map[measure.Feature]float64{measure.OneWay: 1, measure.EchoLike: 0.5}},
		{3, map[measure.Feature]float64{measure.Alien: 0.01, measure.Sources: 100}},
		{2, map[measure.Feature]float64{measure.TTL1: 0.7, measure.Sources: 200}},
		{2, map[measure.Feature]float64{measure.TTLX: 0.1, measure.Sources: 100}},
		{7, map[measure.Feature]float64{measure.Heavy: 0.6, measure.HeavyCount: 8, measure.Rate10: 100}},
		{7, map[measure.Feature]float64{measure.Repeat: 0.5, measure.RepeatCount: 40, measure.Push: 8}},
		{2, map[measure.Feature]float64{measure.Challenged: 1, measure.EachRate: 1.5, measure.Sources: 40, measure.Proven: 0.2}},
		{3, map[measure.Feature]float64{measure.Stubborn: 0.5, measure.Rate10: 30}},
		{1, map[measure.Feature]float64{measure.Low: 0.008, measure.Sources: 200}},
		{2, map[measure.Feature]float64{measure.Low: 0.5}},
		{1.5, map[measure.Feature]float64{measure.Port1: 0.5, measure.Sources: 50}},
		{1, map[measure.Feature]float64{measure.Sources: 2000, measure.SiteShare: 0.7}},
		{1, map[measure.Feature]float64{measure.Refusing: 1}},
		{1, map[measure.Feature]float64{measure.Unreach: 0.02}},
		{1, map[measure.Feature]float64{measure.RateNow: 200, measure.Pace: 0.3}},
		{1, map[measure.Feature]float64{measure.Rate3: 3000}},
		{3, map[measure.Feature]float64{measure.Rate3: 20000}},
	}
	lim := Defaults()
	all := lim.resolve(queryRules)
	many := all[slices.IndexFunc(all, func(r rule) bool { return r.kind == FloodSpoofed })]
	for _, tt := range tests {
		f := allUnknown()
		for feature, v := range tt.set {
			f[feature] = v
		}
		if got, _ := many.score(&f); math.Abs(got-tt.points) > 1e-9 {
			t.Errorf("%v\ngot  %g points\nwant %g", tt.set, got, tt.points)
		}
	}
}

// allUnknown is features of which none is known: no condition holds of them.
func allUnknown() (f measure.Features) {
	for i := range f {
		f[i] = math.NaN()
	}
	return f
}

// atLimit is the value nearest to the limit for which the condition holds, beyondLimit
// the nearest for which it does not.
func (c *condition) atLimit() float64 {
	switch c.comparison {
	case above:
		return math.Nextafter(c.limit, math.Inf(1))
	case below:
		return math.Nextafter(c.limit, math.Inf(-1))
	}
	return c.limit
}

func (c *condition) beyondLimit() float64 {
	switch c.comparison {
	case atLeast:
		return math.Nextafter(c.limit, math.Inf(-1))
	case atMost:
		return math.Nextafter(c.limit, math.Inf(1))
	}
	return c.limit
}

func (c *condition) isLower() bool { return c.comparison == atLeast || c.comparison == above }

// implies reports whether o holds wherever c does.
func (c *condition) implies(o *condition) bool {
	return c.feature == o.feature && c.isLower() == o.isLower() && (c.limit >= o.limit) == c.isLower()
}

// at returns features that meet a way at the limits of its conditions: of each clause the
// first one, or the one in place of it.
func (w way) at(of map[int]int) measure.Features {
	f := allUnknown()
	for i, c := range w {
		x := &c[of[i]]
		if v := f[x.feature]; math.IsNaN(v) || x.isLower() && x.atLimit() > v {
			f[x.feature] = x.atLimit()
		}
	}
	return f
}

// eachLimit calls check with features at the limit of each condition of a way, and just
// beyond it. What another clause asks for more strictly, or the same clause less
// strictly, has no limit of its own.
func (w way) eachLimit(check func(c *condition, at, beyond measure.Features)) {
	for i, cl := range w {
		for j := range cl {
			x := &cl[j]
			stricter := slices.ContainsFunc(slices.Concat(w[:i], w[i+1:]), func(o clause) bool {
				return len(o) == 1 && o[0].limit != x.limit && o[0].implies(x)
			})
			weaker := slices.ContainsFunc(cl, func(o condition) bool { return o.limit != x.limit && x.implies(&o) })
			if stricter || weaker {
				continue
			}
			f := w.at(map[int]int{i: j})
			f[x.feature] = x.atLimit()
			g := f
			g[x.feature] = x.beyondLimit()
			check(x, f, g)
		}
	}
}

// allRules are those that features decide, with the limits in use.
func allRules() []rule {
	lim := Defaults()
	return lim.resolve(slices.Concat(queryRules, []rule{ownRule, guessRule, junkRule}))
}

// TestLimitsOfRules: each rule fits at the limit of each of its conditions, and not just
// beyond.
func TestLimitsOfRules(t *testing.T) {
	checked := 0
	for _, r := range allRules() {
		ways := r.ways
		if len(ways) == 0 {
			ways = []way{nil}
		}
		for k, w := range ways {
			slices.Concat(r.needs, w).eachLimit(func(c *condition, at, beyond measure.Features) {
				checked++
				if !r.fits(&at, 99, true) || r.fits(&beyond, 99, true) {
					t.Errorf("%s, way %d: %+v\nat the limit %v, beyond %v\nwant true, false", r.kind, k, *c, r.fits(&at, 99, true), r.fits(&beyond, 99, true))
				}
			})
			if r.minPoints.setting == "" {
				continue
			}
			f := slices.Concat(r.needs, w).at(nil)
			less := math.Nextafter(r.minPoints.limit, math.Inf(-1))
			if !r.fits(&f, r.minPoints.limit, r.needsAddressSign) || r.fits(&f, less, true) || r.fits(&f, 99, false) == r.needsAddressSign {
				t.Errorf("%s: %g points: %v, just less: %v, without a proof: %v", r.kind, r.minPoints.limit, r.fits(&f, r.minPoints.limit, r.needsAddressSign), r.fits(&f, less, true), r.fits(&f, 99, false))
			}
		}
	}
	if checked < 40 {
		t.Errorf("%d conditions", checked)
	}
}

// TestLimitsOfSigns: each sign counts at the limit of each of its conditions, and not just
// beyond; and whether it is about addresses depends on what speaks against it.
func TestLimitsOfSigns(t *testing.T) {
	checked := 0
	for _, r := range allRules() {
		for i := range r.signs {
			s := &r.signs[i]
			for _, w := range s.ways {
				w.eachLimit(func(c *condition, at, beyond measure.Features) {
					checked++
					if !s.holds(&at) || s.holds(&beyond) {
						t.Errorf("%s: %s: %+v\nat the limit %v, beyond %v\nwant true, false", r.kind, s.text(), *c, s.holds(&at), s.holds(&beyond))
					}
					r.checkScore(t, &at, s.isAboutAddresses)
					r.checkScore(t, &beyond, false)
					for k := range s.unless {
						u := &s.unless[k]
						at[u.feature] = u.atLimit()
						r.checkScore(t, &at, false)
						at[u.feature] = u.beyondLimit()
						r.checkScore(t, &at, true)
						at[u.feature] = math.NaN()
					}
				})
			}
		}
	}
	if checked < 40 {
		t.Errorf("%d conditions", checked)
	}
}

// checkScore compares the points with those of the signs that hold, one by one.
func (r *rule) checkScore(t *testing.T, f *measure.Features, wantProof bool) {
	t.Helper()
	want := r.start
	for i := range r.signs {
		if r.signs[i].holds(f) {
			want += r.signs[i].points
			wantProof = wantProof || r.signs[i].isAboutAddresses && len(r.signs[i].unless) == 0
		}
	}
	// Beyond the limit of one sign about challenges the next one holds.
	if got, proof := r.score(f); got != want || proof != wantProof && !(f[measure.Echoed] > 0) {
		t.Errorf("%s\ngot  %g points, proof %v\nwant %g, %v", r.kind, got, proof, want, wantProof)
	}
}

// TestTextsHaveLimits: what a sign says has each of its limits, and no place is left
// empty.
func TestTextsHaveLimits(t *testing.T) {
	for _, r := range allRules() {
		for _, s := range r.signs {
			text := s.text()
			limits := slices.Clone(s.unless)
			for _, w := range s.ways {
				limits = append(limits, slices.Concat(w...)...)
			}
			for _, c := range limits {
				told := c.setting != "" && strings.Contains(text, c.setting) || c.feature == measure.OneWay || c.feature == measure.Refusing
				if !told && !strings.Contains(text, formatLimit(c.limit)) && !strings.Contains(text, limitWord(c.limit)) {
					t.Errorf("%q\ndoes not tell of %+v", text, c)
				}
			}
			if strings.ContainsAny(s.text(), "{}") {
				t.Errorf("%q", s.text())
			}
		}
	}
}

// TestRulesAreThose compares everything that rules rest on with testdata/rules.txt: a
// limit changes there, too, or not at all.
func TestRulesAreThose(t *testing.T) {
	var b strings.Builder
	lim := Defaults()
	for _, s := range lim.Settings() {
		fmt.Fprintf(&b, "%s = %s\n", s.Name, s.Value)
	}
	for _, r := range lim.Rules() {
		fmt.Fprintf(&b, "\n%s: %s\n", r.Name, r.Meaning)
		for _, n := range r.Needs {
			fmt.Fprintf(&b, "  %s %g %s (%s %s)\n", n.Comparison, n.Value, n.Text, n.Feature, n.Setting)
		}
		for _, s := range r.Signs {
			fmt.Fprintf(&b, "  %+g %s\n", s.Points, s.Text)
		}
	}
	golden(t, "rules.txt", b.String())
}

// TestRules: each kind has a rule, each threshold is in one, and the features that
// rules name exist and are explained.
func TestRules(t *testing.T) {
	lim := Defaults()
	unused := map[string]bool{}
	for _, s := range lim.Settings() {
		unused[s.Name] = true
		if s.Name == "" || s.Doc == "" || s.Value != s.Default {
			t.Errorf("%+v", s)
		}
	}
	kinds := map[Kind]bool{}
	named := map[string]bool{}
	for _, f := range append(otherMeanings(), measure.Meanings[:]...) {
		named[f.Name] = true
		if f.Name == "" || MeaningOf(f.Name) == "" {
			t.Errorf("nothing says what %q is", f.Name)
		}
	}
	for _, r := range lim.Rules() {
		kinds[r.Kind] = true
		if r.Name == "" || r.Meaning == "" {
			t.Errorf("%+v", r)
		}
		for _, n := range r.Needs {
			delete(unused, n.Setting)
			if math.IsNaN(n.Value) || n.Value == 0 && n.Comparison != needsAbove {
				t.Errorf("%s: %q has no value", r.Name, n.Text)
			}
			if n.Feature != "" && !named[n.Feature] {
				t.Errorf("%s: no feature is called %s", r.Name, n.Feature)
			}
		}
	}
	for k := NoKind + 1; k < NumKinds; k++ {
		if !kinds[k] {
			t.Errorf("no rule for %s", k)
		}
	}
	for name := range unused {
		t.Errorf("no rule says what %s does", name)
	}
}

// TestJudge: features that no detector measured are judged by the rules for servers, those of several
// servers also by what networks need.
func TestJudge(t *testing.T) {
	j := NewJudge(Defaults())
	spoofed := func(f *measure.Features) {
		f[measure.Rate10], f[measure.RateNow], f[measure.Base], f[measure.Sources], f[measure.Each] = 150, 150, 10, 1500, 1
		f[measure.Alien], f[measure.TTL1] = .14, .9
	}
	for _, tc := range []struct {
		name                string
		set                 func(f *measure.Features)
		hasAlarm            bool
		ofServer, ofServers Kind
	}{
		{"forged addresses", spoofed, true, FloodSpoofed, FloodSpoofed},
		{"the same where few sources without proof send most", func(f *measure.Features) { spoofed(f); f[measure.Top8] = .7 }, true, FloodSpoofed, NoKind},
		{"a crowd", func(f *measure.Features) {
			f[measure.Rate10], f[measure.Base], f[measure.Sources], f[measure.Challenged], f[measure.Echoed], f[measure.ChallengedShare] = 150, 10, 1000, 900, .9, .9
		}, true, Crowd, Crowd},
		{"no more than usual", func(f *measure.Features) { f[measure.Rate10], f[measure.Base], f[measure.Sources] = 150, 100, 100 }, false, Crowd, Crowd},
	} {
		var f measure.Features
		f[measure.Completion], f[measure.Echoed], f[measure.Pace] = math.NaN(), math.NaN(), math.NaN()
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
		f := measure.Features{measure.Rate10: tc.rate, measure.RateNow: tc.now, measure.Base: tc.base}
		if got := j.HasAlarm(&f); got != tc.want {
			t.Errorf("%v/s, %v/s now, usually %v/s: got %v, want %v", tc.rate, tc.now, tc.base, got, tc.want)
		}
	}
}

// TestSlowDrift: where the rates that ask for a verdict at once are far, what came above the baseline does, with two
// a second to spare at a server that is hardly asked.
func TestSlowDrift(t *testing.T) {
	lim := Defaults()
	lim.SlowRate, lim.SlowFactor, lim.SurgeRate = 1e6, 1e6, 1e6
	j := NewJudge(lim)
	for rate, want := range map[float64]bool{42: false, 42.5: true} {
		if got := j.HasAlarm(&measure.Features{measure.Rate10: rate, measure.RateNow: rate}); got != want {
			t.Errorf("%v/s\ngot  %v\nwant %v", rate, got, want)
		}
	}
}
