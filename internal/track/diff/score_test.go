package diff

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// scores are, of each class, the datagrams that have it, that were said to, and that do and were.
type scores [NumClasses]struct{ has, said, both float64 }

// score compares classes with what happened. What is too near to the ends of the captures is not
// counted.
func score(w *world, got [2]map[uint64]Class, r *Result) (all scores) {
	from := max(r.Captures[Edge].First, r.Captures[Host].First-int64(w.offset)) + int64(r.Wait) + int64(2*time.Second)
	to := min(r.Captures[Edge].Last, r.Captures[Host].Last-int64(w.offset)) - int64(r.Wait) - int64(2*time.Second)
	base := r.Captures[Edge].First - int64(w.first())
	add := func(truth Class, side int, frames []uint64) {
		for _, f := range frames {
			said := got[side][f]
			all[truth].has++
			all[said].said++
			if said == truth {
				all[truth].both++
			}
		}
	}
	for _, s := range w.sent {
		for side := range s.frames {
			if at := base + int64(s.at[side]); at < from || at > to || len(s.frames[side]) == 0 {
				continue
			}
			add(s.truth, side, s.frames[side])
			if s.copyOf == side {
				add(Duplicated, side, s.copies)
			}
		}
	}
	return all
}

func (w *world) first() time.Duration {
	first := time.Duration(math.MaxInt64)
	for _, s := range w.sent {
		if s.only != int(Host) {
			first = min(first, s.at[Edge])
		}
	}
	return first
}

var update = flag.Bool("update", false, "rewrite the files of testdata")

// figures has a line for each part of a test with what was found: the same each time, as the traffic is drawn from a seed.
type figures struct {
	mu    sync.Mutex
	lines []string
}

// compareWith compares all lines with a file when the parts of the test have ended, unless only some of them ran.
func (x *figures) compareWith(t *testing.T, path string) {
	t.Cleanup(func() {
		slices.Sort(x.lines)
		got := strings.Join(x.lines, "")
		if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
			return
		}
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if diff := cmp.Diff(string(want), got); diff != "" || err != nil {
			t.Errorf("%s: want -, got +; %v\n%s", path, err, diff)
		}
	})
}

// add adds the counts of each class and way, the clock, and a hash of rows and differences, in microseconds: processors
// that multiply and add at once round otherwise.
func (x *figures) add(name string, r *Result) {
	h := fnv.New64a()
	for i := range r.Rows {
		fmt.Fprintln(h, r.Rows[i].Way, r.Rows[i].Server, r.Rows[i].Fates)
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		fmt.Fprintln(h, d.Class, d.Way, d.Frames, d.Sizes, d.Nanos/1000, d.Delay/1000, d.Count, d.TTL, d.Request, d.SameAs, d.Age, d.UsualTTL)
	}
	fmt.Fprintln(h, r.Sizes, r.Connections, r.ComparedTo)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lines = append(x.lines, fmt.Sprintf("%s: %v, clock %d %d %v %v %t %.2g %t %t, %d rows, %d differences, %d reframed, %v #%x\n", name, r.Counts, r.Clock.Pairs,
		r.Clock.At-r.Captures[Edge].First, r.Clock.Offset.Round(time.Microsecond), r.Clock.Error.Round(time.Microsecond), r.Clock.IsOneWay, r.Clock.Drift, r.Clock.IsReversed, r.Clock.IsDoubtful,
		len(r.Rows), len(r.Differences), r.Reframed, r.Shortages, h.Sum64()))
}

// TestScores: recall and precision of each class, on captures made from the same traffic.
func TestScores(t *testing.T) {
	base := world{clients: 60, rounds: 40}
	var all figures
	all.compareWith(t, "testdata/scores.txt")
	for name, change := range map[string]func(w *world){
		"nothing":          func(w *world) {},
		"loss":             func(w *world) { w.loss = 0.05 },
		"heavy loss":       func(w *world) { w.loss = 0.4 },
		"delay":            func(w *world) { w.late = 0.05 },
		"copies":           func(w *world) { w.copies = 0.05 },
		"copies, no ids":   func(w *world) { w.copies, w.zeroIDs = 0.05, true },
		"reordering":       func(w *world) { w.reordered = 0.5 },
		"changes":          func(w *world) { w.changed = 0.05 },
		"cache":            func(w *world) { w.cached = 0.3 },
		"edge loses":       func(w *world) { w.uncaptured[Edge] = 0.05 },
		"host loses":       func(w *world) { w.uncaptured[Host] = 0.05 },
		"host loses much":  func(w *world) { w.uncaptured[Host] = 0.2 },
		"host loses, NAT":  func(w *world) { w.uncaptured[Host], w.natServer, w.natClients = 0.05, true, true },
		"host loses, loss": func(w *world) { w.uncaptured[Host], w.loss = 0.05, 0.05 },
		"both lose a few":  func(w *world) { w.uncaptured = [2]float64{0.01, 0.01} },
		"other parts":      func(w *world) { w.reframed = 0.5 },
		"parts, loss":      func(w *world) { w.reframed, w.loss, w.mtu = 0.5, 0.05, 1200 },
		"all":              func(w *world) { w.all() },
		"all, clock":       func(w *world) { w.all(); w.offset, w.drift = 3*time.Second, 50e-6 },
		"all, slow clock":  func(w *world) { w.all(); w.offset, w.drift = -3*time.Second, -50e-6 },
		"all, day ahead":   func(w *world) { w.all(); w.offset, w.drift = 26*time.Hour, 50e-6 },
		"all, server NAT":  func(w *world) { w.all(); w.natServer = true; w.offset = time.Second },
		"all, client NAT":  func(w *world) { w.all(); w.natClients = true; w.offset = time.Second },
		"all, both NAT":    func(w *world) { w.all(); w.natClients, w.natServer = true, true },
		"equal challenges": func(w *world) { w.all(); w.equalChallenges = true; w.offset = 3 * time.Second },
		"info only":        func(w *world) { w.loss, w.onlyInfo, w.offset, w.drift = 0.1, true, 3*time.Second, 50e-6 },
		"fragments":        func(w *world) { w.all(); w.mtu = 1200 },
		"snaplen":          func(w *world) { w.all(); w.changed, w.reframed, w.snaplen = 0, 0, 90 },
		"snaplen of heads": func(w *world) { w.loss, w.offset, w.snaplen = 0.05, 3*time.Second, 60 },
		"other start": func(w *world) {
			w.all()
			w.lateStart, w.earlyEnd, w.offset = 12*time.Second, 9*time.Second, 3*time.Second
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := base
			w.rng = rand.New(rand.NewPCG(1, uint64(len(name))))
			change(&w)
			w.play()
			r, got := runOn(t, w.captures(t), Options{})
			all.add(name, r)
			t.Logf("clock %+v", r.Clock)
			for c, x := range score(&w, got, r) {
				recall, precision := x.both/max(x.has, 1), x.both/max(x.said, 1)
				if x.has > 0 || x.said > 0 {
					t.Logf("%-16s %5.0f datagrams, recall %.4f, precision %.4f", Class(c), x.has, recall, precision)
				}
				const least = 0.98
				if x.has > 0 && recall < least || x.said > 0 && precision < least {
					t.Errorf("%s: %+v, recall %.4f, precision %.4f", Class(c), x, recall, precision)
				}
			}
		})
	}
}

// all makes everything happen.
func (w *world) all() {
	w.loss, w.late, w.copies, w.changed, w.reordered, w.cached, w.reframed = 0.03, 0.02, 0.02, 0.02, 0.3, 0.15, 0.2
}
