package campaign

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"testing"

	"qsniff/internal/fleet"
	"qsniff/internal/flood"
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
)

// TestSeen: each number counts once in any order, and what lies between the numbers is missing until it comes.
func TestSeen(t *testing.T) {
	for _, tc := range []struct {
		name          string
		seqs          []uint64
		new           int
		missing, lost uint64
	}{
		{"in order", []uint64{1, 2, 3}, 3, 0, 0},
		{"twice", []uint64{1, 1, 2, 2, 1}, 2, 0, 0},
		{"a gap", []uint64{1, 5}, 2, 3, 0},
		{"a gap that is filled", []uint64{1, 5, 3, 2, 4, 3}, 5, 0, 0},
		{"from the midst on", []uint64{100, 101, 99}, 3, 0, 0},
		{"nonsense", []uint64{1, math.MaxUint64, math.MaxUint64}, 2, 0, maxJump},
	} {
		var r run
		n := 0
		for _, seq := range tc.seqs {
			if r.add(seq) {
				n++
			}
		}
		if n != tc.new || r.missing() != tc.missing || r.Lost != tc.lost || !r.isValid() {
			t.Errorf("%s: %d new, %d missing, %d lost: %v", tc.name, n, r.missing(), r.Lost, r.Came)
		}
	}
	var r run
	for i := range uint64(2 * maxGaps) {
		if !r.add(10 * (i + 1)) {
			t.Fatalf("%d is not new", 10*(i+1))
		}
	}
	if len(r.Came) != maxGaps || r.Lost != 9*maxGaps || r.missing() != 9*(maxGaps-1) || r.add(15) {
		t.Errorf("%d stretches, %d lost, %d missing", len(r.Came), r.Lost, r.missing())
	}
}

// spoken is a sensor with one server that speaks once in a window.
type spoken struct {
	*told
	seq uint64
}

func (x *spoken) speak(sensor string, end, broker, sent int64) {
	x.seq += 2
	h := fleet.Head{Version: 1, Sensor: sensor, Run: "1", Seq: x.seq - 1, Time: end}
	m := &fleet.Server{Head: h, Addr: netip.MustParseAddrPort("192.0.2.1:27015"), PacketsIn: 20, PacketsOut: 20}
	x.engine.Consume(m, broker, sent)
	h.Seq++
	x.engine.Consume(&fleet.Host{Head: h}, broker, sent)
}

// TestSkew: the windows of a sensor whose clock is off are those of the others, and messages that take long are
// no wrong clock.
func TestSkew(t *testing.T) {
	for _, tc := range []struct {
		name    string
		off     int64 // seconds by which the clock of the sensor is before the broker's
		delay   int64 // seconds that each second message takes
		windows int
		hasSkew bool
	}{
		{"right", 0, 0, 1, false},
		{"a second", 1, 0, 1, false},
		{"a minute", 60, 0, 1, true},
		{"a minute back", -60, 0, 1, true},
		{"slow messages", 0, 8, 1, false},
		{"an hour, and slow messages", 3600, 8, 1, true},
	} {
		x := &spoken{told: newTold()}
		for i := range int64(30) {
			now := dawn + i*period
			x.speak("right", now, now+2e8, now)
			sent := now + tc.off*1e9
			x.speak("off", sent, now+2e8+i%2*tc.delay*1e9, sent)
			x.engine.Advance(now + 8e9)
		}
		sums := x.engine.Windows()
		for _, w := range sums[2:] {
			if w.Servers != 2 || w.Late {
				t.Errorf("%s: a window has %d servers: %+v", tc.name, w.Servers, w)
				break
			}
		}
		i := slices.IndexFunc(x.engine.Sensors(), func(s Sensor) bool { return s.Name == "off" })
		if s := x.engine.Sensors()[i]; s.HasSkew != tc.hasSkew || tc.hasSkew && (s.Skew+tc.off*1e9-2e8 != 0) {
			t.Errorf("%s: skew %d, %t", tc.name, s.Skew, s.HasSkew)
		}
	}
}

// TestSilence: a sensor that falls silent, and is heard again, is told of once each; a server that nothing
// is heard of is counted as long as its sensor speaks.
func TestSilence(t *testing.T) {
	x := &spoken{told: newTold()}
	now := dawn
	pass := func(windows int, speaks ...string) {
		for range windows {
			now += period
			for _, name := range speaks {
				x.speak(name, now, now+1e8, now)
			}
			x.engine.Advance(now + 1e8)
		}
	}
	pass(5, "a", "b")
	pass(20, "a")
	if len(x.sensors) != 1 || x.sensors[0].Name != "b" || !x.sensors[0].Silent || x.sensors[0].Number != 1 {
		t.Fatalf("told of %+v", x.sensors)
	}
	pass(20, "a", "b")
	if len(x.sensors) != 2 || x.sensors[1].Silent || x.sensors[1].Number != 2 {
		t.Fatalf("told of %+v", x.sensors)
	}
	now += 9 * period // the broker was away, and a is the first to reach it again
	pass(5, "a")
	pass(5, "a", "b")
	if len(x.sensors) != 2 {
		t.Fatalf("told of %+v", x.sensors[2:])
	}
	for range 40 { // only Host messages
		now += period
		x.seq++
		x.engine.Consume(&fleet.Host{Head: fleet.Head{Version: 1, Sensor: "a", Run: "1", Seq: x.seq, Time: now}}, now, now)
		x.engine.Advance(now + 1e8)
	}
	if c := x.engine.Counters(); c.Unheard != 1 || c.Silent != 1 || c.Servers != 2 {
		t.Errorf("%d servers unheard, %d sensors silent", c.Unheard, c.Silent)
	}
	if s := x.engine.Servers("a"); len(s) != 1 || s[0].Asked == 0 || s[0].Answered == 0 || s[0].Usual <= 0 {
		t.Errorf("servers %+v", s)
	}
}

// TestCombinations: each feature has a rule by which those of several servers are combined, and servers that
// are all alike make one that is like them.
func TestCombinations(t *testing.T) {
	for i, c := range combinations {
		if c == 0 {
			t.Errorf("feature %d has none", i)
		}
	}
	r := &record{}
	f := &r.Features
	for i := range f {
		f[i] = .25
	}
	f[measure.Rate10], f[measure.WindowQueries], f[measure.OneWay], f[measure.TTL], f[measure.PortQueries] = 10, 100, 0, 57, 100
	f[measure.Pace], f[measure.Completion], f[measure.Challenged] = math.NaN(), .1, 40
	var d fleet.Sketch
	for i := range uint64(500) {
		d.Add(i * 0x9e3779b97f4a7c15)
	}
	r.Sources, r.Sites = d.AppendPacked(nil), d.AppendPacked(nil)
	s := newSum(100)
	for range 5 {
		s.add(r, &serverState{})
	}
	got := s.measure(7)
	for name, x := range map[string][2]float64{
		"rate": {got[measure.Rate10], 50}, "base": {got[measure.Base], 7}, "alien": {got[measure.Alien], .25}, "TTL": {got[measure.TTL], 57},
		"TTL1": {got[measure.TTL1], .25}, "port1": {got[measure.Port1], .25}, "servers": {got[measure.NetServers], 5}, "busiest": {got[measure.NetBusiest], .2},
		"completion": {got[measure.Completion], .1}, "echoed": {got[measure.Echoed], .1}, "challenged": {got[measure.Challenged], 200},
		"answered": {got[measure.Answered], .25}, "sources": {got[measure.Sources], d.Count()},
	} {
		if math.Abs(x[0]-x[1]) > 1e-9 {
			t.Errorf("%s is %f, not %f", name, x[0], x[1])
		}
	}
	if !math.IsNaN(got[measure.Pace]) {
		t.Error("an even pace of several servers is known")
	}
}

// TestJump: a sensor that skips more numbers than it can have sent has not lost as many.
func TestJump(t *testing.T) {
	r := run{}
	for _, seq := range []uint64{1, 2, 5, 1 << 63, 1<<64 - 1, 1<<64 - 3} {
		if !r.add(seq) && seq != 1<<64-3 {
			t.Errorf("%d: it came before", seq)
		}
	}
	if r.Lost != 2+2*maxJump || r.missing() != 0 || !r.isValid() {
		t.Errorf("got %+v, missing %d", r, r.missing())
	}
	for i := range uint64(10000) {
		r.add(1<<60 + i)
		r.add(i + 1)
	}
	if r.Lost > mostLost {
		t.Errorf("lost: %d", r.Lost)
	}
}

// TestFewSensors: what two sensors report is told as possible, with the reason; a third one makes it as sure as its evidence.
func TestFewSensors(t *testing.T) {
	c := &course{Measured: .98, Hosts: new(sketch.Distinct)}
	for _, tc := range []struct {
		sensors    int
		confidence float64
		sentences  int
	}{{1, confidenceOfFew, 1}, {2, confidenceOfFew, 1}, {3, .98, 0}, {2, confidenceOfFew, 1}} {
		c.Sensors = tc.sensors
		c.list()
		c.list()
		n := 0
		for _, s := range c.Evidence {
			if s == fewSensors {
				n++
			}
		}
		if c.Confidence != tc.confidence || n != tc.sentences || flood.ConfidenceWord(confidenceOfFew) != "low" {
			t.Errorf("%d sensors: confidence %v, %d times the sentence", tc.sensors, c.Confidence, n)
		}
	}
}

// TestOpenIncidents: attacks and warnings that go on are shown, the worst first, and neither notes nor what is over.
func TestOpenIncidents(t *testing.T) {
	e := New(Options{})
	add := func(id uint64, category string, peak float64, end int64) {
		k := incidentKey{Sensor: "a", Run: "1", ID: id}
		e.state.Incidents[k] = &incident{Key: k, Category: category, Target: fmt.Sprint("target ", id), Peak: peak, End: end}
	}
	add(1, "crowd", 9000, 0)
	add(2, "flood_spoofed", 9000, 5)
	add(3, "scan", 7000, 0)
	add(4, "flood_few", 100, 0)
	add(5, "flood_spoofed", 200, 0)
	var got []string
	for _, x := range e.Incidents() {
		got = append(got, x.Target)
	}
	if want := []string{"target 5", "target 4", "target 3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for id := range uint64(2 * shownIncidents) {
		add(id, "flood_spoofed", 1, 0)
	}
	if n := len(e.Incidents()); n != shownIncidents {
		t.Errorf("%d are shown", n)
	}
}
