package measure

import (
	"math"
	"regexp"
	"testing"

	"qsniff/internal/track"
)

// busyOf returns a source with so many queries from so many ports.
func busyOf(queries uint32, ports int) *BusyHost {
	x := &BusyHost{Low: queries}
	for i := uint64(0); x.Activity.Ports.Count() < ports; i++ { // an estimate: some numbers never come
		x.Activity.Ports.Add(i << 56) // each a bit of its own, so that the estimate is near
	}
	return x
}

func TestManyClientsBehindOneAddress(t *testing.T) {
	for _, tt := range []struct {
		queries      uint32
		ports, mixed int
		nat, shared  bool
	}{
		{170, 17, 0, true, true}, {171, 17, 0, false, false}, {150, 15, 0, false, false}, // 16 is never counted
		{22, 17, 0, true, false}, {23, 17, 0, true, true}, // 1.3 queries from each port
		{20, 17, 1, true, false}, {20, 17, 2, true, true}, // a tenth of them on another path
	} {
		x := busyOf(tt.queries, tt.ports)
		x.Activity.ttlChanges = uint32(tt.mixed)
		if x.Activity.Ports.Count() != tt.ports || x.isNAT() != tt.nat || x.looksShared() != tt.shared {
			t.Errorf("%+v\ngot  %d ports, NAT %v, shared %v", tt, x.Activity.Ports.Count(), x.isNAT(), x.looksShared())
		}
	}
}

// TestCrowdAtLimits: what a source counts as, at the limits.
func TestCrowdAtLimits(t *testing.T) {
	const now = 100
	limits := Limits{Unproven: 10, Proven: 20}
	// since is how many seconds the source has been there.
	source := func(queries uint32, since int32, change func(*BusyHost)) *BusyHost {
		x := busyOf(queries, 1)
		x.Activity.First, x.Activity.last = now-since+1, now
		if change != nil {
			change(x)
		}
		return x
	}
	proven := func(x *BusyHost) { x.Activity.Proven = true }
	given := func(x *BusyHost) { x.Activity.challenged = 1 }
	shared := func(x *BusyHost) { x.Activity.Ports = busyOf(1, 240).Activity.Ports }
	for _, tt := range []struct {
		name    string
		x       *BusyHost
		feature Feature
		want    float64
	}{
		{"unproven, at its limit", source(100, 10, nil), HotRate, 10},
		{"just below", source(99, 10, nil), HotRate, 0},
		{"heavy", source(100, 10, nil), HeavyCount, 1},
		{"not heavy", source(99, 10, nil), HeavyCount, 0},
		{"proven, at its limit", source(200, 10, proven), HotRate, 20},
		{"just below", source(199, 10, proven), HotRate, 0},
		{"keeps asking", source(4, 12, nil), RepeatCount, 1},
		{"fewer than four", source(3, 3, nil), RepeatCount, 0},
		{"slower than 0.33/s", source(4, 13, nil), RepeatCount, 0},
		{"one burst is no rate", source(29, 1, nil), Lead, 29. / 3},
		{"stubborn", source(18, 6, given), StubbornCount, 1},
		{"slower than 3/s", source(17, 6, given), StubbornCount, 0},
		{"for less than 5 s", source(15, 5, given), StubbornCount, 0},
		{"shared, below three times the limit", source(400, 14, shared), Lead, 0},
		{"shared, at three times the limit", source(420, 14, shared), Lead, 30},
	} {
		var f Features
		y := crowd{limits: limits, now: now}
		y.addSource(&f, tt.x)
		if math.Abs(f[tt.feature]-tt.want) > 1e-9 {
			t.Errorf("%s\ngot  %g\nwant %g", tt.name, f[tt.feature], tt.want)
		}
	}
}

func newServer(now int32) *Server {
	t := &Server{}
	t.Init(1)
	t.Reset(track.End{}, 0, now)
	return t
}

// TestJunkOfStrangers: datagrams of no session are junk if they are many, at a server that
// speaks.
func TestJunkOfStrangers(t *testing.T) {
	for _, tt := range []struct {
		strange uint32
		sent    int32
		want    float64
	}{{20, 91, 20}, {19, 91, 0}, {20, 90, 0}, {20, 0, 0}} {
		x := newServer(1)
		x.LastSent = tt.sent
		x.OpenSecond(100, 0).Strange = tt.strange
		var f Features
		x.MeasureJunk(&f, 100, false)
		if f[JunkNow] != tt.want {
			t.Errorf("%+v\ngot  %g", tt, f[JunkNow])
		}
	}
}

// TestJunkBesideQueries: queries that are a flood of their own hide no junk.
func TestJunkBesideQueries(t *testing.T) {
	for _, tt := range []struct {
		isFlooded bool
		least     float64
		most      float64
	}{{false, 0.3, 0.4}, {true, 0.9, 1}} {
		x := newServer(1)
		b := x.OpenSecond(100, 0)
		b.Junk, b.Packets = 40, 80
		var f Features
		x.MeasureJunk(&f, 100, tt.isFlooded)
		if s := f[JunkShareNow]; s < tt.least || s > tt.most {
			t.Errorf("%v: %g", tt.isFlooded, s)
		}
	}
}

// TestGuessesOfNewSources: sources that come with a challenge of before the capture are
// guesses if they are many more than usual.
func TestGuessesOfNewSources(t *testing.T) {
	for _, tt := range []struct {
		orphans uint32
		usual   float64
		first   int32 // challenge that the server gave
		want    float64
	}{{20, 0, 40, 20}, {19, 0, 40, 0}, {20, 0, 41, 0}, {24, 6, 40, 24}, {23, 6, 40, 0}} {
		x := newServer(1)
		x.FirstChallenge, x.LastChallenge, x.habit.orphans = tt.first, tt.first, tt.usual
		x.OpenSecond(100, 0).Orphans = tt.orphans
		var f Features
		x.MeasureGuesses(&f, 100)
		if f[GuessesNow] != tt.want {
			t.Errorf("%+v\ngot  %g", tt, f[GuessesNow])
		}
	}
}

// TestCompletionWindow: over how long it is counted who brought challenges back.
func TestCompletionWindow(t *testing.T) {
	const now = 200
	for _, tt := range []struct {
		name       string
		rate       float64
		ago        int32 // seconds since challenged were challenged, of whom a half completed
		challenged uint32
		usual      float64 // challenged a second, nearly all of whom completed
		born       int32
		want       float64 // challenged; -1: not counted
		echoed     float64
	}{
		{"the second at hand is too young", 50, 0, 100, 0, 190, 0, -1},
		{"busy: ten seconds", 50, 10, 100, 0, 190, 100, 0.5},
		{"no longer", 50, 11, 100, 0, 190, 0, -1},
		{"slow: fifty", 49, 50, 100, 0, 190, 100, 0.5},
		{"no longer", 49, 51, 100, 0, 190, 0, -1},
		{"those beyond the usual", 50, 10, 60, 4, 140, 60, 0},
		{"too few of them", 50, 10, 58, 3, 140, 58, 0.5},
		{"not more than usual", 50, 10, 62, 4.2, 140, 62, 0.5},
		{"no habit yet", 50, 10, 60, 4, 141, 60, 0.5},
	} {
		x := newServer(1)
		x.Born, x.LastChallenge = tt.born, 1
		x.habit.challenged, x.habit.echoed = tt.usual, tt.usual
		b := x.OpenSecond(now-tt.ago, 0)
		b.Challenged, b.Echoed = tt.challenged, tt.challenged/2
		f := Features{Rate10: tt.rate}
		x.measureCompletion(&f, now)
		echoed := f[Echoed]
		if math.IsNaN(echoed) {
			echoed = -1
		}
		if f[Challenged] != tt.want || math.Abs(echoed-tt.echoed) > 1e-9 {
			t.Errorf("%s\ngot  %g challenged, %g of them echoed\nwant %g, %g", tt.name, f[Challenged], echoed, tt.want, tt.echoed)
		}
	}
	// Many in the last seconds stand for themselves.
	for _, tt := range []struct {
		ago  int32
		many uint32
		want float64
	}{{3, 150, 150}, {3, 149, 249}, {4, 150, 250}} {
		x := newServer(1)
		x.LastChallenge = 1
		x.OpenSecond(now-10, 0).Challenged = 100
		x.OpenSecond(now-tt.ago, 0).Challenged = tt.many
		f := Features{Rate10: 50}
		if x.measureCompletion(&f, now); f[Challenged] != tt.want {
			t.Errorf("%+v\ngot  %g challenged", tt, f[Challenged])
		}
	}
}

// TestLearn: the baseline follows by a sixtieth of the difference in the first two minutes,
// then by a six hundredth, and one second teaches no more than four times it, or ten.
func TestLearn(t *testing.T) {
	for _, tt := range []struct {
		base    float64
		queries uint32
		age     int32
		want    float64
	}{
		{0, 6, 10, 0.1}, {0, 6, 119, 0.1}, {0, 6, 120, 0.01}, {0, 1000, 10, 10. / 60}, {30, 1000, 10, 30 + 90./60}, {60, 0, 120, 60 - 0.1},
	} {
		x := newServer(1)
		x.Born, x.Base = 200-tt.age, tt.base
		x.OpenSecond(200, 0).Queries = tt.queries
		if x.Learn(200); math.Abs(x.Base-tt.want) > 1e-9 {
			t.Errorf("%+v\ngot  %g", tt, x.Base)
		}
	}
}

// TestPortsEach: ports are held against no more queries than they are counted for.
func TestPortsEach(t *testing.T) {
	for _, tt := range []struct {
		queries uint32
		of      float64
	}{{200, 200}, {256, 256}, {400, 256}} {
		var f Features
		x := busyOf(tt.queries, 100)
		var y crowd
		y.measureBiggest(&f, x, 1000)
		y.addRepeater(x)
		if want := f[BiggestPorts] / tt.of; f[BiggestPortsEach] != want || y.portQueries != tt.of {
			t.Errorf("%d queries\ngot  %g ports for each, of %g\nwant %g, of %g", tt.queries, f[BiggestPortsEach], y.portQueries, want, tt.of)
		}
	}
}

// TestSampledRates: rates are of all packets, shares of the samples; with fewer than ten samples there is
// no rate, and what takes two packets of a source is unknown.
func TestSampledRates(t *testing.T) {
	for _, tt := range []struct {
		samples int
		weight  uint32
		rate    float64
	}{{9, 0, 0.9}, {9, 1000, 0}, {10, 1000, 1000}, {500, 1000, 50_000}} {
		var s Server
		s.Init(KeyOf(&track.Sighting{Frame: 1}))
		s.Reset(track.End{Port: 27015}, 1, 10)
		for i := range tt.samples {
			x := track.Sighting{What: track.IsRequest, Bytes: 25, Weight: tt.weight, ClientHash: uint64(i+1) * 0x9e3779b97f4a7c15}
			x.Src[15], x.Src[14] = byte(i), byte(i>>8)
			c := Clock{Now: 10, Nanos: 1}
			s.CountChecked(&x, c, s.CountRequest(&x, c), Request{IsQuery: true})
		}
		var f Features
		s.Measure(&f, 10, Limits{Unproven: 30, Proven: 60})
		if f[Rate10] != tt.rate {
			t.Errorf("%d samples of weight %d: got %v queries/s, want %v", tt.samples, tt.weight, f[Rate10], tt.rate)
		}
		if isUnknown := math.IsNaN(f[Proven]); isUnknown != (tt.weight > 1) {
			t.Errorf("weight %d: share of proven sources %v", tt.weight, f[Proven])
		}
		if f[Each] > 1.2 || f[HotRate] != 0 {
			t.Errorf("weight %d: %v queries of a source, %v of fast ones: each came once", tt.weight, f[Each], f[HotRate])
		}
	}
}

// TestOwnPort: a host that brings few of its challenges back is forged, and its own port is known where
// most comes from others.
func TestOwnPort(t *testing.T) {
	for _, tt := range []struct {
		challenged, echoes uint16
		ports              int
		want               uint16
	}{{100, 5, 60, 41_000}, {100, 20, 60, 0}, {19, 0, 60, 0}, {100, 5, 1, 0}} {
		x := busyOf(100, tt.ports)
		x.Activity.challenged, x.Activity.echoes, x.Activity.provenPort = tt.challenged, tt.echoes, 41_000
		if got := x.Activity.OwnPort(); got != tt.want {
			t.Errorf("%+v\ngot  %d", tt, got)
		}
	}
}

// TestNames: each feature has a name of its own, fit for a column.
func TestNames(t *testing.T) {
	word := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	seen := map[string]Feature{}
	for f := range NumFeatures {
		name := f.Name()
		if other, is := seen[name]; is || !word.MatchString(name) {
			t.Errorf("feature %d is called %q, as is feature %d", f, name, other)
		}
		seen[name] = f
	}
}

// TestLastQuery: a flood that ends in the midst of a second ends there, although a query as usual
// comes after it.
func TestLastQuery(t *testing.T) {
	const begin, ms = int64(1_700_000_000_920_000_000), int64(1_000_000)
	var s Second
	at := func(nanos int64) { s.bins[uint64(nanos)/10e6%100]++ }
	for i := range int64(30) {
		at(begin + i*2*ms)
	}
	at(begin + 700*ms)
	for usual, want := range map[int]int64{0: 710, 1: 60, 31: 1000, 100: 1000} {
		if got := (s.LastQuery(begin+1000*ms, usual) - begin) / ms; got != want {
			t.Errorf("%d usual\ngot  %d ms\nwant %d", usual, got, want)
		}
	}
}
