package flood

import (
	"math"
	"slices"
	"testing"
)

// TestSigns holds the points that the rules tell against the code that gives them.
func TestSigns(t *testing.T) {
	base := func() features {
		return features{completion: -1, answered: -1, gain: -1, pace: -1, alien: 0}
	}
	sets := []func(*features){
		func(f *features) { f.challenged, f.completion, f.each, f.repeat = 30, 0.1, 9, 1 },
		func(f *features) { f.challenged, f.completion, f.each, f.repeat = 30, 0.3, 9, 1 },
		func(f *features) { f.challenged, f.completion = 30, 0.6 },
		func(f *features) { f.oneWay, f.looksComplete = true, 0.5 },
		func(f *features) { f.alien, f.sources = 0.01, 100 },
		func(f *features) { f.ttl1, f.sources = 0.7, 200 },
		func(f *features) { f.ttlX, f.sources = 0.1, 100 },
		func(f *features) { f.heavy, f.heavyCount, f.r10 = 0.6, 8, 100 },
		func(f *features) { f.repeat, f.repeatCount, f.push = 0.5, 40, 8 },
		func(f *features) { f.challenged, f.each, f.window, f.sources, f.proven = 1, 15, 10, 40, 0.2 },
		func(f *features) { f.stubborn, f.r10 = 0.5, 30 },
		func(f *features) { f.low, f.sources = 0.008, 200 },
		func(f *features) { f.low = 0.5 },
		func(f *features) { f.port1, f.sources = 0.5, 50 },
		func(f *features) { f.sources, f.sites = 2000, 1400 },
		func(f *features) { f.refused = true },
		func(f *features) { f.unreach = 0.02 },
		func(f *features) { f.now, f.pace = 200, 0.3 },
		func(f *features) { f.r3 = 3000 },
		func(f *features) { f.r3 = 20000 },
	}
	if len(sets) != len(manySigns) {
		t.Fatalf("%d signs, %d are tried", len(manySigns), len(sets))
	}
	d := New(Defaults(), 0.01)
	for i, set := range sets {
		f := base()
		set(&f)
		got, _ := d.many(&f)
		want := manySigns[i].Points
		if i == len(sets)-1 { // besides the one in front
			want += manySigns[i-1].Points
		}
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s\ngot  %g\nwant %g", manySigns[i].Says, got, want)
		}
	}
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
	for _, f := range (&features{}).named(nil) {
		named[f.Name] = true
		if MeaningOf(f.Name) == "" {
			t.Errorf("nothing says what %s is", f.Name)
		}
	}
	for _, r := range lim.Rules() {
		kinds[r.Kind] = true
		if r.Name == "" || r.Means == "" {
			t.Errorf("%+v", r)
		}
		for _, n := range r.Needs {
			delete(unused, n.Setting)
			if math.IsNaN(n.Value) || n.Value == 0 {
				t.Errorf("%s: %q has no value", r.Name, n.Says)
			}
			if n.Feature != "" && !named[n.Feature] {
				t.Errorf("%s: no feature is called %s", r.Name, n.Feature)
			}
		}
	}
	for k := NoKind + 1; k < numKinds; k++ {
		if !kinds[k] {
			t.Errorf("no rule for %s", k)
		}
	}
	for name := range unused {
		t.Errorf("no rule says what %s does", name)
	}
}

func TestCollector(t *testing.T) {
	c := &Collector{}
	add := func(level Level, n int) {
		for range n {
			in := &Incident{ID: c.counts[0] + c.counts[1] + c.counts[2] + 1, Level: level, Missing: []string{"C"}}
			c.Found(in, Begins)
			c.Found(in, Ends)
			in.Missing[0] = "" // the detector uses it again
		}
	}
	add(Info, collected)
	add(Alert, 3)
	add(Info, 2)
	if got, want := len(c.Incidents()), collected; got != want {
		t.Errorf("kept: got %d, want %d", got, want)
	}
	if got, want := c.Left(), uint64(5); got != want {
		t.Errorf("left: got %d, want %d", got, want)
	}
	if got, want := c.Counts(), [3]uint64{collected + 2, 0, 3}; got != want {
		t.Errorf("counts:\ngot  %v\nwant %v", got, want)
	}
	for i, in := range c.Incidents() {
		if i > 0 && in.ID <= c.Incidents()[i-1].ID || in.Missing[0] != "C" {
			t.Fatalf("incident %d: %+v", i, in)
		}
	}
}

// TestAnnounce: notes are not told of, and one that becomes more begins then;
// whoever was told of a begin is told of the end.
func TestAnnounce(t *testing.T) {
	d := New(Defaults(), 0.01)
	var got []string
	d.Announce(func(in *Incident, e Event) { got = append(got, in.Level.String()+" "+e.String()) })
	in := &Incident{ID: 1, Level: Info}
	d.Found(in, Begins)
	d.Found(in, Changes)
	in.Level = Alert
	d.Found(in, Changes)
	d.Found(in, Changes)
	d.Found(in, Ends)
	d.Found(&Incident{ID: 2, Level: Info}, Ends)
	in = &Incident{ID: 3, Level: Warn}
	d.Found(in, Begins)
	in.Level = Info
	d.Found(in, Changes)
	d.Found(in, Ends)
	want := []string{"alert open", "alert update", "alert close", "warn open", "info close"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
