package limiter

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseModel(t *testing.T) {
	tests := []struct {
		in   string
		want Model
		err  string // a part of it
	}{
		{in: "rehlds", want: Model{"rehlds", 3, 30, 60, 0}},
		{in: "source", want: Model{"source", 3, 60, 30, 0}},
		{in: "source-late", want: Model{"source-late", 3, 3000, 30, 0}},
		{in: "csgo", want: Model{"csgo", 10, 500, 30, 50_000}},
		{in: "per=3,global=30,window=60", want: Model{"", 3, 30, 60, 0}},
		{in: " per=0.5, window=1,global=1e3 ", want: Model{"", 0.5, 1000, 1, 0}},
		{in: "source,global=3000", want: Model{"source with other numbers", 3, 3000, 30, 0}},
		{in: "csgo,window=60", want: Model{"csgo with other numbers", 10, 500, 60, 50_000}},
		{in: "", err: `"": no limits are called that`},
		{in: "quake", err: `"quake": no limits are called that`},
		{in: "per=3,global=30", err: "are needed, all three"},
		{in: "per=3,global=30,window=60,per=4", err: "per is given twice"},
		{in: "per=3,rehlds", err: `"rehlds": neither per=`},
		{in: "source,burst=4", err: `"burst": neither per=`},
		{in: "source,", err: `"": neither per=`},
		{in: "source,per=0", err: "not a number of packets a second"},
		{in: "source,per=-1", err: "not a number of packets a second"},
		{in: "source,global=NaN", err: "not a number of packets a second"},
		{in: "source,global=1e10", err: "not a number of packets a second"},
		{in: "source,window=1.5", err: "not a number of seconds from 1 to 3600"},
		{in: "source,window=0", err: "not a number of seconds from 1 to 3600"},
		{in: "source,window=3601", err: "not a number of seconds from 1 to 3600"},
		{in: "csgo,window=61", err: "at most 60 with csgo"},
	}
	for _, tt := range tests {
		got, err := ParseModel(tt.in)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q:\ngot  %v\nwant %s", tt.in, err, tt.err)
			}
		case err != nil:
			t.Errorf("%q: %v", tt.in, err)
		default:
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("%q: got -, want +\n%s", tt.in, diff)
			}
		}
	}
}

// TestJudge: packets of one source, and of many, with times in seconds.
func TestJudge(t *testing.T) {
	type burst struct {
		at, n   int64
		sources int64
	}
	tests := []struct {
		name  string
		model string
		in    []burst
		want  [3]int // admitted, by rate, by all
	}{
		{"all of a window at once", "rehlds", []burst{{0, 180, 1}}, [3]int{180, 0, 0}},
		{"and one more", "rehlds", []burst{{0, 181, 1}}, [3]int{180, 1, 0}},
		{"nothing until the window is over", "rehlds", []burst{{0, 181, 1}, {60, 1, 1}}, [3]int{180, 2, 0}},
		{"then a new one", "rehlds", []burst{{0, 181, 1}, {61, 180, 1}}, [3]int{360, 1, 0}},
		{"the global limit", "rehlds", []burst{{0, 1800, 1800}, {59, 100, 100}}, [3]int{1800, 0, 100}},
		{"begins anew, too", "rehlds", []burst{{0, 1900, 1900}, {61, 1800, 1800}}, [3]int{3600, 0, 100}},
		{"who is refused alone does not use it up", "rehlds", []burst{{0, 10_000, 1}, {1, 1620, 1620}}, [3]int{1799, 9820 + 1, 0}},
		{"source", "source", []burst{{0, 91, 1}}, [3]int{90, 1, 0}},
		{"source, all", "source", []burst{{0, 1801, 1801}}, [3]int{1800, 0, 1}},
		{"source-late, all", "source-late", []burst{{0, 2000, 2000}}, [3]int{2000, 0, 0}},
		{"csgo", "csgo", []burst{{0, 301, 1}}, [3]int{300, 1, 0}},
		{"csgo remembers who got through only", "csgo", []burst{{0, 15_001, 15_001}, {1, 10, 20_000}}, [3]int{15_000, 0, 11}},
		{"fractions", "per=0.5,global=100,window=3", []burst{{0, 2, 1}}, [3]int{1, 1, 0}},
	}
	for _, tt := range tests {
		m, err := ParseModel(tt.model)
		if err != nil {
			t.Fatal(err)
		}
		st, list := &serverLimiter{era: 1}, map[int64]*sourceCounter{}
		var got [3]int
		for _, b := range tt.in {
			for i := range b.n {
				who := i % b.sources
				if list[who] == nil {
					list[who] = &sourceCounter{}
				}
				got[m.admit(st, list[who], b.at)]++
			}
		}
		if got != tt.want {
			t.Errorf("%s:\ngot  %v admitted, refused for the source's limit, for all\nwant %v", tt.name, got, tt.want)
		}
	}
}

// reference is the description in doc.go, written down once more with maps.
type reference struct {
	m        Model
	start    map[int]int64
	count    map[int]uint64
	allStart int64
	all      uint64
	began    bool
	overruns int
}

func (r *reference) admit(who int, now int64) outcome {
	if r.m.MaxTracked > 0 {
		for other, s := range r.start {
			if other != who && now-s >= r.m.Window {
				delete(r.start, other)
				delete(r.count, other)
			}
		}
		live := 0
		for _, s := range r.start {
			if now-s < r.m.Window {
				live++
			}
		}
		if live > r.m.MaxTracked {
			r.start, r.count = map[int]int64{}, map[int]uint64{}
			r.allStart, r.began, r.all = now, true, uint64((r.m.Global+1)*float64(r.m.Window+1))
			r.overruns++
		}
	}
	s, known := r.start[who]
	switch {
	case known && now-s > r.m.Window, !known && r.m.MaxTracked == 0:
		r.start[who], r.count[who] = now, 1
	case known:
		r.count[who]++
		if float64(r.count[who])/float64(r.m.Window) > r.m.Per {
			return refusedByRate
		}
	}
	r.all++
	if !r.began || now-r.allStart > r.m.Window {
		r.began, r.allStart, r.all = true, now, 1
	} else if float64(r.all)/float64(r.m.Window) > r.m.Global {
		return refusedByAll
	}
	if !known && r.m.MaxTracked > 0 {
		r.start[who], r.count[who] = now, 1
	}
	return admitted
}

// TestReference: random packets, against the description.
func TestReference(t *testing.T) {
	for _, m := range []Model{{Per: 0.4, Global: 3, Window: 10}, {Per: 1, Global: 1000, Window: 7},
		{Per: 0.5, Global: 8, Window: 10, MaxTracked: 30}, {Per: 2, Global: 1000, Window: 60, MaxTracked: 20}} {
		rng := rand.New(rand.NewPCG(7, uint64(m.Window)))
		ref := &reference{m: m, start: map[int]int64{}, count: map[int]uint64{}}
		st, list := &serverLimiter{era: 1}, map[int]*sourceCounter{}
		seen := map[outcome]int{}
		now := int64(1000)
		st.ringEnd = now
		for i := range 30_000 {
			switch rng.IntN(40) {
			case 0:
				now++
			case 1:
				if rng.IntN(20) == 0 {
					now += int64(rng.IntN(100))
				}
			}
			who := rng.IntN(60)
			if rng.IntN(3) == 0 {
				who = rng.IntN(3)
			}
			if list[who] == nil {
				list[who] = &sourceCounter{}
			}
			// The very second in which a window ends is not modelled where addresses
			// are tracked: whether another packet came first in it decides there.
			if s, ok := ref.start[who]; m.MaxTracked > 0 && ok && now-s == m.Window {
				continue
			}
			got, want := m.admit(st, list[who], now), ref.admit(who, now)
			if seen[got]++; got != want {
				t.Fatalf("%+v, packet %d: got %d, want %d", m, i, got, want)
			}
		}
		if m.MaxTracked > 0 && (st.overruns == 0 || st.overruns != uint64(ref.overruns)) {
			t.Errorf("%+v: got %d overruns, want %d", m, st.overruns, ref.overruns)
		}
		if seen[admitted] == 0 || seen[refusedByRate]+seen[refusedByAll] == 0 {
			t.Errorf("%+v: verdicts %v", m, seen)
		}
	}
}
