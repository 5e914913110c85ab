package fleettest

import (
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"qsniff/internal/fleet"
	"qsniff/internal/flood"
)

// dawn is when worlds begin.
var dawn = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// warmUp is how long the world goes on before the first event.
const warmUp = 2 * time.Minute

// calmTime is how long nothing happens between two events: campaigns are over then.
const calmTime = 150 * time.Second

// scene is a run of a fleet with a judge, and a single detector of all packets.
type scene struct {
	*Fleet
	judge  *Judge
	whole  []Told
	labels []*Label
}

// play has events happen one after the other.
func play(t *testing.T, hosts int, events []*Event) *scene {
	s := &scene{judge: NewJudge(t, Secret())}
	whole := flood.New(flood.Defaults(), 1, nil)
	byID := map[uint64]int{}
	whole.AddObserver(func(in *flood.Incident, e flood.Event) {
		i, isKnown := byID[in.ID]
		if !isKnown {
			i = len(s.whole)
			byID[in.ID] = i
			s.whole = append(s.whole, Told{})
		}
		s.whole[i] = s.ToldBy(in)
	})
	s.Fleet = NewFleet(FleetOptions{World: Options{Hosts: hosts, Seed: 1, Start: dawn}, Secret: Secret(), Whole: whole,
		Put: func(x *Sensor, m fleet.Message) { s.judge.Take(x, m, s.Nanos(), 200*time.Millisecond) }})
	at := warmUp
	for _, e := range events {
		s.labels = append(s.labels, s.Labelled(e, at))
		at += e.Length + calmTime
	}
	s.PlayDay(at)
	s.Pass(at, func() { s.judge.Advance(s.Nanos()) })
	return s
}

// told returns what the judge told.
func (s *scene) told() (all []Told) {
	for _, c := range s.judge.Told {
		all = append(all, ToldOf(c, dawn))
	}
	return all
}

// checkLabels: each host alone stays silent in what is spread over the fleet, and in what is no attack.
func (s *scene) checkLabels(t *testing.T) {
	for _, l := range s.labels {
		alone := 0
		for _, x := range s.Sensors {
			for _, in := range x.Alone {
				at := time.Duration(in.Start - dawn.UnixNano())
				if at < l.From-10*time.Second || at > l.To+slack {
					continue
				}
				if alone++; l.IsSilent || !l.IsAttack() {
					t.Errorf("%s: %s alone tells of %v at %v", l.Name, x.Host.Name, in.Kind, in.Target)
				}
			}
		}
		if !l.IsSilent && l.IsAttack() && alone < len(l.Hosts)-1 {
			t.Errorf("%s: %d of %d hosts tell of it", l.Name, alone, len(l.Hosts))
		}
	}
}

// checkCounts: what is merged of all hosts is as near to the truth as sketches are said to be.
func (s *scene) checkCounts(t *testing.T) {
	var sum, worst float64
	n := 0
	for _, w := range s.judge.Windows() {
		hosts, sites := s.Truth.Sources(w.End)
		if w.End < dawn.Add(20*time.Second).UnixNano() {
			continue // a server counts as one of its host from its first answer on
		}
		off := w.Sources/float64(hosts) - 1
		sum, worst = sum+off*off, max(worst, math.Abs(off))
		if math.Abs(off) > 4*0.023 {
			t.Errorf("window %d: %.0f sources\nthere were %d", w.End, w.Sources, hosts)
		}
		if off := w.Sites/float64(sites) - 1; math.Abs(off) > 4*0.023 {
			t.Errorf("window %d: %.0f networks\nthere were %d", w.End, w.Sites, sites)
		}
		n++
	}
	if n < 12 {
		t.Fatalf("%d windows", n)
	}
	t.Logf("distinct sources in %d windows: off by %.1f %% in the mean square, %.1f %% at worst", n, 100*math.Sqrt(sum/float64(n)), 100*worst)
	if math.Sqrt(sum/float64(n)) > 1.3*0.023 {
		t.Errorf("merged counts are off by %.1f %%", 100*math.Sqrt(sum/float64(n)))
	}
}

// longHosts returns how many hosts the long tests have: 200 take a quarter of an hour of two
// processors (make test-fleet).
func longHosts(t *testing.T) int {
	n := 60
	if text := os.Getenv("QSNIFF_FLEET"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 40 {
			t.Fatalf("QSNIFF_FLEET=%s: it is the number of hosts, from 40 on", text)
		}
	}
	return n
}

// TestFleet: what no host sees is found in what all of them count, as well as by one detector that sees
// all packets.
func TestFleet(t *testing.T) {
	t.Parallel()
	hosts, events := 200, slices.Concat(Carpets, Floods, Calm)
	if testing.Short() {
		hosts, events = 12, []*Event{Carpets[0], Calm[0], Carpets[7]}
	}
	s := play(t, hosts, events)
	s.checkLabels(t)
	s.checkCounts(t)
	fleet, whole := Compare(s.labels, s.told()), Compare(s.labels, s.whole)
	t.Logf("%d hosts, %d servers, %v\n\nThe fleet:\n%v\nOne detector that sees all packets:\n%v", hosts, len(s.Servers()), s.Now(), fleet, whole)
	t.Logf("%d messages, %.0f bytes/s a host\n%+v", s.judge.Messages, float64(s.judge.Bytes)/s.Now().Seconds()/float64(hosts), s.judge.Counters())
	if found, all := fleet.Recall(); found < all {
		t.Errorf("%d of %d attacks were told of", found, all)
	}
	if len(fleet.False) > 0 {
		t.Errorf("told, and not so: %+v", fleet.False)
	}
	for _, r := range fleet.Rows {
		if n := len(r.Told) + len(r.Else); r.IsAttack() && n > 1 {
			t.Errorf("%s is told of as %d campaigns", r.Name, n)
		}
	}
}
