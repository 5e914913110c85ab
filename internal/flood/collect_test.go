package flood

import (
	"math"
	"slices"
	"testing"

	"qsniff/internal/test/race"
	"qsniff/internal/track"
)

func TestCollector(t *testing.T) {
	c := &Collector{}
	add := func(level Level, n int) {
		for range n {
			in := &Incident{ID: c.counts[0] + c.counts[1] + c.counts[2] + 1, Level: level, Missing: []string{"C"}}
			c.Observe(in, Begins)
			c.Observe(in, Ends)
			in.Missing[0] = "" // the detector uses it again
		}
	}
	add(Info, collected)
	add(Alert, 3)
	add(Info, 2)
	if got, want := len(c.Incidents()), collected; got != want {
		t.Errorf("kept: got %d, want %d", got, want)
	}
	if got, want := c.unlisted, uint64(5); got != want {
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

// TestScansMakeRoom: of more scans than there is room for, the first are kept; other alerts
// take the places of the last ones.
func TestScansMakeRoom(t *testing.T) {
	c := &Collector{}
	add := func(kind Kind, id uint64) { c.Observe(&Incident{ID: id, Kind: kind, Level: Alert}, Ends) }
	for id := range uint64(collected + 1) {
		add(Scan, id+1)
	}
	add(FloodFew, collected+2)
	add(Scan, collected+3)
	list := c.Incidents()
	if len(list) != collected || c.unlisted != 3 {
		t.Fatalf("kept %d, %d not\nwant %d, 3", len(list), c.unlisted, collected)
	}
	if first, second, last := list[0].ID, list[1].ID, list[collected-1].ID; first != collected+2 || second != 1 || last != collected-1 {
		t.Errorf("got  %d, %d to %d\nwant %d, 1 to %d", first, second, last, collected+2, collected-1)
	}
}

// TestWarningsOnly: notes are not passed on, one that becomes more begins then, and
// each begin that was passed on is followed by an end.
func TestWarningsOnly(t *testing.T) {
	d := New(Defaults(), 0.01, nil)
	var got []string
	calls := 0
	d.AddObserver(func(*Incident, Event) { calls++ })
	d.AddObserver(WarningsOnly(func(in *Incident, e Event) { got = append(got, in.Level.String()+" "+e.String()) }))
	in := &Incident{ID: 1, Level: Info}
	d.announce(in, Begins)
	d.announce(in, Changes)
	in.Level = Alert
	d.announce(in, Changes)
	d.announce(in, Changes)
	d.announce(in, Ends)
	d.announce(&Incident{ID: 2, Level: Info}, Ends)
	in = &Incident{ID: 3, Level: Warn}
	d.announce(in, Begins)
	in.Level = Info
	d.announce(in, Changes)
	d.announce(in, Ends)
	want := []string{"alert open", "alert update", "alert close", "warn open", "info close"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if calls != 9 {
		t.Errorf("another observer: %d events\nwant 9", calls)
	}
}

// TestCollectorKeepsOpen: what goes on is listed and counted as it is, once, and as it was at its
// end after that.
func TestCollectorKeepsOpen(t *testing.T) {
	c := &Collector{KeepsOpen: true, MinLevel: Warn}
	in := &Incident{ID: 1, Kind: FloodSuspect, Level: Warn}
	note := &Incident{ID: 2, Kind: Crowd, Level: Info}
	for i, step := range []struct {
		in     *Incident
		event  Event
		level  Level
		counts [Alert + 1]uint64
	}{
		{in, Begins, Warn, [...]uint64{0, 1, 0}},
		{note, Begins, Info, [...]uint64{0, 1, 0}},
		{in, Changes, Alert, [...]uint64{0, 0, 1}},
		{in, Ends, Alert, [...]uint64{0, 0, 1}},
		{note, Ends, Info, [...]uint64{1, 0, 1}},
	} {
		step.in.Level = step.level
		c.Observe(step.in, step.event)
		if step.event != Ends {
			step.in.Requests++ // between events
		}
		all := c.Incidents()
		if c.Counts() != step.counts || len(all) != 1 || all[0].ID != 1 || all[0].Level != max(in.Level, Warn) || all[0].Requests != in.Requests {
			t.Errorf("step %d: %d listed, counts %v, want %v\n%+v", i, len(all), c.Counts(), step.counts, all)
		}
	}
}

// TestSeenServers: few servers are counted, many estimated, and none costs memory
// packet by packet.
func TestSeenServers(t *testing.T) {
	var x Seen
	ask := func(n int) {
		s := track.Sighting{What: track.IsRequest, Asks: 1, Dst: track.Host{10: 0xff, 11: 0xff, 12: 198, 14: byte(n >> 8), 15: byte(n)}, DstPort: 27015}
		s.FillHashes(seed)
		x.Sight(&s)
	}
	for _, tt := range []struct {
		servers int
		rough   bool
	}{{0, false}, {1, false}, {seenExact, false}, {seenExact + 1, true}, {5000, true}} {
		for n := range 2 * tt.servers {
			ask(n % tt.servers)
		}
		got, rough := x.Servers()
		if off := math.Abs(float64(got) - float64(tt.servers)); rough != tt.rough || off > 0 && !rough || off > 0.1*float64(tt.servers) {
			t.Errorf("%d servers\ngot  %d, rough %v\nwant rough %v", tt.servers, got, rough, tt.rough)
		}
	}
	if n := 0; !race.Enabled {
		if allocs := testing.AllocsPerRun(1000, func() { ask(n); n++ }); allocs != 0 {
			t.Errorf("allocations for a packet\ngot  %v\nwant 0", allocs)
		}
	}
}
