package flood

import (
	"math"
	"slices"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/test/lrutest"
)

const sec = time.Second

// t0 is when attacks begin.
const t0 = 60 * sec

// attack is what must be found.
type attack struct {
	kinds    []Kind
	target   string
	from, to time.Duration
	within   time.Duration // of from: when it is detected at the latest
	pulses   int           // 0: one
	peak     float64       // packets/s, 20 % off at most; 0: any
	requests float64       // 2 % off at most; 0: any
	mean     float64       // packets/s over all of its length, 5 % off at most; 0: any
	isSlow   bool          // it begins slowly: any start is right
	sources  float64       // 10 % off at most, usual visitors in that time counted; 0: any
	hosts    int           // of the busiest network, 15 % off at most; 0: any
	campaign int           // those with the same number belong together; 0: to none of the others
}

// scenario is what happens in a world, and what a detector must say: the attacks,
// each once, and no other alert or warning.
type scenario struct {
	name string
	play func(w *world) []attack
	// blind are the kinds that each attack may have where only requests are
	// captured, and what takes longer to tell then; nil: the same ones.
	blind []Kind
	// both: it means nothing in a capture of one direction.
	both bool
	// four: it means nothing in IPv6.
	four bool
	last time.Duration // end of the capture
}

func kinds(k ...Kind) []Kind { return k }

const usual = "198.51.100.17"

// scenarios are all.
var scenarios = slices.Concat(attacksToFind, guesses, inPulses, calm, carpets)

// TestScenarios: attacks are found and nothing else is. All figures are those of testdata/scenarios.txt: another one there is
// another detector, and -update writes the file.
func TestScenarios(t *testing.T) {
	var all worlds
	for n, sc := range scenarios {
		for m, v := range []struct {
			name       string
			blind, six bool
		}{{"both ways", false, false}, {"requests only", true, false}, {"IPv6", false, true}} {
			if v.blind && sc.both || v.six && sc.four || testing.Short() && m > 0 && (n+m)%4 > 0 {
				continue // with -short half of the scenarios have one of the last two
			}
			t.Run(sc.name+"/"+v.name, func(t *testing.T) {
				w := newWorld(1)
				w.blind, w.six = v.blind, v.six
				attacks := sc.play(w)
				w.run(sc.last)
				for i := range attacks {
					if v.blind && sc.blind != nil {
						attacks[i].kinds = sc.blind
						attacks[i].within += 5 * sec
					}
				}
				w.compare(t, attacks)
				if t.Failed() {
					w.logIncidents(t)
				}
				if m == 0 {
					all.add(t.Name(), w)
				}
			})
		}
	}
	all.compare(t, "scenarios.txt")
}

// compare holds what was found against what happened.
func (w *world) compare(t *testing.T, attacks []attack) {
	t.Helper()
	for _, s := range w.absurd {
		t.Error(s)
	}
	var alerts []*record
	for _, x := range w.incidents {
		if x.level >= Warn {
			alerts = append(alerts, x)
		}
	}
	if len(alerts) != len(attacks) {
		t.Errorf("got  %d alerts and warnings\nwant %d", len(alerts), len(attacks))
	}
	campaigns := map[int]uint64{}
	seen := map[uint64]int{}
	for _, a := range attacks {
		i := slices.IndexFunc(alerts, func(x *record) bool { return x.Target.String() == a.target })
		if i < 0 {
			t.Errorf("got  nothing at %s\nwant one of %v", a.target, a.kinds)
			continue
		}
		x := alerts[i]
		alerts = slices.Delete(alerts, i, i+1)
		a.check(t, x)
		if first, ok := campaigns[a.campaign]; ok && a.campaign > 0 {
			if x.Campaign != first {
				t.Errorf("campaign of %s\ngot  %d\nwant %d", x.Name(), x.Campaign, first)
			}
		} else if seen[x.Campaign] > 0 {
			t.Errorf("campaign of %s\ngot  %d, which others have\nwant its own", x.Name(), x.Campaign)
		}
		campaigns[a.campaign] = x.Campaign
		seen[x.Campaign]++
	}
}

func (a *attack) check(t *testing.T, x *record) {
	t.Helper()
	since := func(n int64) time.Duration { return time.Duration(n - dawn.UnixNano()) }
	if !slices.Contains(a.kinds, x.Kind) {
		t.Errorf("kind\ngot  %v\nwant one of %v", x.Kind, a.kinds)
	}
	if got := since(x.Detected) - a.from; got < 0 || got > a.within {
		t.Errorf("%v detected after\ngot  %v\nwant %v at most", x.Kind, got, a.within)
	}
	if got := since(x.Start) - a.from; got.Abs() > 3*sec && !a.isSlow {
		t.Errorf("%v starts\ngot  %v off\nwant 3 s at most", x.Kind, got)
	}
	if got := since(x.End) - a.to; x.End == 0 || got.Abs() > 4*sec {
		t.Errorf("%v ends\ngot  %v off (end %d)\nwant 4 s at most", x.Kind, got, x.End)
	}
	if want := max(a.pulses, 1); x.Pulses != want {
		t.Errorf("%v pulses\ngot  %d\nwant %d", x.Kind, x.Pulses, want)
	}
	if a.peak > 0 && math.Abs(x.Peak/a.peak-1) > 0.2 {
		t.Errorf("%v peak\ngot  %.0f\nwant %.0f, 20 %% off at most", x.Kind, x.Peak, a.peak)
	}
	if a.requests > 0 && math.Abs(float64(x.Requests)/a.requests-1) > 0.02 {
		t.Errorf("%v requests\ngot  %d\nwant %.0f, 2 %% off at most", x.Kind, x.Requests, a.requests)
	}
	if a.mean > 0 && math.Abs(x.Mean/a.mean-1) > 0.05 {
		t.Errorf("%v mean\ngot  %.1f/s\nwant %.1f, 5 %% off at most", x.Kind, x.Mean, a.mean)
	}
	if a.sources > 0 && math.Abs(x.Sources/a.sources-1) > 0.1 {
		t.Errorf("%v sources\ngot  %.0f\nwant %.0f, 10 %% off at most", x.Kind, x.Sources, a.sources)
	}
	if a.hosts > 0 && (len(x.Prefixes) == 0 || math.Abs(float64(x.Prefixes[0].Hosts)/float64(a.hosts)-1) > 0.15) {
		t.Errorf("%v networks\ngot  %v\nwant one with %d hosts first, 15 %% off at most", x.Kind, x.Prefixes, a.hosts)
	}
	if x.events[0] != Begins || x.events[len(x.events)-1] != Ends {
		t.Errorf("%v\ngot  %v\nwant open first and close last", x.Kind, x.events)
	}
}

// TestChosenKeys: nobody can choose keys that collide in the tables.
func TestChosenKeys(t *testing.T) {
	lrutest.Check[loginKey](t)
}

// TestNoNewsAtOnce: what an incident is when it is opened is no change of it. The floods
// grow fourfold a second, so that the second that opens the incident has many times the
// rate of what led to it.
func TestNoNewsAtOnce(t *testing.T) {
	opened := 0
	for _, rate := range []float64{150, 400, 3000} {
		for _, into := range []time.Duration{0, 700 * time.Millisecond, 950 * time.Millisecond} {
			w := newWorld(uint64(rate))
			at := map[uint64]int32{} // second in which each was opened
			w.d.AddObserver(func(in *Incident, e Event) {
				switch e {
				case Begins:
					opened++
					at[in.ID] = w.d.book.Now
					if in.Peak < rate/20 {
						t.Errorf("%v/s, %v into a second: %s is opened with a peak of %v/s", rate, into, in.Name(), in.Peak)
					}
				case Changes:
					if w.d.book.Now == at[in.ID] {
						t.Errorf("%v/s, %v into a second: %s changes in the second that opened it", rate, into, in.Name())
					}
				}
			})
			s := w.server(usual, 27015)
			w.daily(s, 2, 50*sec)
			c := w.client(70_001)
			ask := func(int) { w.query(c, 57147, s, dissect.AskInfo, false) }
			w.every(rate/16, 40*sec+into, 41*sec+into, ask)
			w.every(rate/4, 41*sec+into, 42*sec+into, ask)
			w.every(rate, 42*sec+into, 48*sec, ask)
			w.run(50 * sec)
		}
	}
	if opened < 9 {
		t.Errorf("%d incidents were opened, want one of each flood", opened)
	}
}
