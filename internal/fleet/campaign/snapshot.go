package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"qsniff/internal/fleet"
	"qsniff/internal/flood/sketch"
)

// snapshotVersion is that of the state. A program reads its own only: a hub that cannot read the state begins
// a new one.
const snapshotVersion = 1

// snapshot is the state as JSON: lists in place of maps, in order, so that equal states are equal bytes.
type snapshot struct {
	Version   int            `json:"v"`
	HasBegun  bool           `json:"begun"`
	Closed    int64          `json:"closed"`
	Sensors   []*sensorState `json:"sensors"`
	Windows   []savedWindow  `json:"windows"`
	Late      []savedWindow  `json:"late_windows"`
	Carpets   []savedStreak  `json:"carpets"`
	Pending   []*incident    `json:"pending"`
	Incidents []*incident    `json:"incidents"`
	Courses   []savedCourse  `json:"courses"`
	Ended     []*Campaign    `json:"ended"`
	Totals    []Totals       `json:"totals"`
	Counters  Counters       `json:"counters"`
}

type savedWindow struct {
	Index   int64          `json:"index"`
	Opener  string         `json:"opener"`
	Arrival int64          `json:"arrival"`
	Totals  Totals         `json:"totals"`
	Sources []byte         `json:"sources"`
	Sites   []byte         `json:"sites"`
	Top     []savedNetwork `json:"top"`
	Entries []savedEntry   `json:"entries"`
}

type savedEntry struct {
	Key   entryKey `json:"key"`
	Entry *entry   `json:"entry"`
}

type savedNetwork struct {
	Prefix  fleet.Sealed `json:"prefix"`
	Queries uint64       `json:"queries"`
}

type savedStreak struct {
	Key    streakKey   `json:"key"`
	Last   int64       `json:"last"`
	Length int         `json:"length"`
	Course savedCourse `json:"course"`
}

type savedCourse struct {
	Course   *course        `json:"course"`
	Hosts    []byte         `json:"hosts"`
	Networks []savedNetwork `json:"networks"`
}

// Snapshot returns the whole state. An engine that restores it emits the same events from there on. It is
// JSON, which compresses to a tenth.
func (e *Engine) Snapshot() ([]byte, error) {
	st := &e.state
	s := snapshot{Version: snapshotVersion, HasBegun: st.HasBegun, Closed: st.Closed, Sensors: e.sortedSensors(), Pending: st.Pending,
		Incidents: e.sortedIncidents(), Ended: st.Ended, Totals: st.Totals, Counters: st.Counters,
		Windows: saveWindows(st.Windows), Late: saveWindows(st.LateWindows)}
	for k, t := range st.Carpets {
		s.Carpets = append(s.Carpets, savedStreak{k, t.Last, t.Length, saveCourse(t.Course)})
	}
	slices.SortFunc(s.Carpets, func(a, b savedStreak) int { return compareStreaks(a.Key, b.Key) })
	for _, c := range st.Courses {
		s.Courses = append(s.Courses, saveCourse(c))
	}
	return json.Marshal(&s)
}

func saveWindows(windows map[int64]*window) (all []savedWindow) {
	for _, index := range sortedIndexes(windows) {
		w := windows[index]
		x := savedWindow{Index: index, Opener: w.Opener, Arrival: w.Arrival, Totals: w.Totals,
			Sources: w.Sources.AppendPacked(nil), Sites: w.Sites.AppendPacked(nil), Top: saveNetworks(w.Top)}
		for _, k := range w.sortedKeys() {
			x.Entries = append(x.Entries, savedEntry{k, w.Entries[k]})
		}
		all = append(all, x)
	}
	return all
}

func saveNetworks(c networkCounts) (all []savedNetwork) {
	for _, x := range c.sorted() {
		all = append(all, savedNetwork{x.prefix, x.queries})
	}
	return all
}

func saveCourse(c *course) savedCourse {
	return savedCourse{c, c.Hosts.AppendPacked(nil), saveNetworks(c.Networks)}
}

// errSnapshot is what is wrong with a snapshot that no engine made.
var errSnapshot = errors.New("the state of the hub is not what a hub saves")

// Restore replaces the state with what Snapshot returned. After an error the state is that of New.
func (e *Engine) Restore(data []byte) error {
	e.state, e.sorted, e.sortedOf, e.records = newState(), nil, 0, 0
	var s snapshot
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("the state of the hub is no JSON of it: %w", err)
	}
	if s.Version != snapshotVersion {
		return fmt.Errorf("the state of the hub has version %d; this program reads %d", s.Version, snapshotVersion)
	}
	st := newState()
	st.HasBegun, st.Closed, st.Pending, st.Ended, st.Totals, st.Counters = s.HasBegun, s.Closed, s.Pending, s.Ended, s.Totals, s.Counters
	records := 0
	isGood := s.Closed >= 0 && s.Closed < math.MaxInt64/4/period && len(s.Sensors) <= maxSensors && len(s.Ended) <= keptClosed &&
		len(s.Totals) <= keptWindows && !slices.Contains(s.Ended, nil) && st.takeSensors(s.Sensors) && st.takeIncidents(s.Pending, s.Incidents) &&
		restoreWindows(st.Windows, s.Windows, false, &records) && restoreWindows(st.LateWindows, s.Late, true, &records) && st.takeCourses(&s)
	if !isGood {
		return errSnapshot
	}
	e.state, e.records = st, records
	return nil
}

func (st *state) takeSensors(list []*sensorState) bool {
	for _, s := range list {
		if s == nil || st.Sensors[s.Name] != nil || s.Name == "" || len(s.Runs) > maxRuns || len(s.Servers) > maxServers {
			return false
		}
		for _, r := range s.Runs {
			if r == nil || !r.isValid() {
				return false
			}
		}
		for i, v := range s.Servers {
			if v == nil || i > 0 && s.Servers[i-1].Addr.Compare(v.Addr) >= 0 {
				return false
			}
		}
		st.Sensors[s.Name] = s
	}
	return true
}

func (st *state) takeIncidents(pending, list []*incident) bool {
	if len(pending) > maxIncidents || len(list) > maxIncidents || slices.Contains(pending, nil) {
		return false
	}
	for _, x := range pending {
		if s := st.Sensors[x.Key.Sensor]; s != nil {
			s.pending++
		}
	}
	for _, x := range list {
		if x == nil || st.Incidents[x.Key] != nil {
			return false
		}
		st.Incidents[x.Key] = x
		if s := st.Sensors[x.Key.Sensor]; s != nil {
			s.incidents++
		}
	}
	return true
}

func restoreWindows(windows map[int64]*window, list []savedWindow, isLate bool, records *int) bool {
	if len(list) > maxWindows {
		return false
	}
	for _, x := range list {
		w := newWindow(x.Index, isLate, x.Opener)
		w.Arrival, w.Totals, w.Top = x.Arrival, x.Totals, restoreNetworks(x.Top)
		if windows[x.Index] != nil || x.Index < 0 || x.Index > math.MaxInt64/4/period || w.Sources.Unpack(x.Sources) != nil || w.Sites.Unpack(x.Sites) != nil {
			return false
		}
		windows[x.Index] = w
		for _, y := range x.Entries {
			if y.Entry == nil || w.Entries[y.Key] != nil {
				return false
			}
			if y.Entry.Record != nil {
				*records++
				cleanFeatures(&y.Entry.Record.Features)
			}
			w.Entries[y.Key] = y.Entry
		}
	}
	return true
}

func restoreNetworks(list []savedNetwork) networkCounts {
	c := networkCounts{}
	for _, x := range list {
		c[x.Prefix] = x.Queries
	}
	return c
}

func (st *state) takeCourses(s *snapshot) bool {
	if len(s.Courses) > maxCampaigns || len(s.Carpets) > maxStreaks {
		return false
	}
	for _, x := range s.Courses {
		c := x.restore()
		if c == nil {
			return false
		}
		st.Courses = append(st.Courses, c)
	}
	for _, x := range s.Carpets {
		c := x.Course.restore()
		if c == nil || st.Carpets[x.Key] != nil {
			return false
		}
		st.Carpets[x.Key] = &streak{Last: x.Last, Length: x.Length, Course: c}
	}
	return true
}

// restore returns the course, or nil if it cannot be one.
func (x *savedCourse) restore() *course {
	c := x.Course
	if c == nil || len(c.All) > maxMembers {
		return nil
	}
	for i, m := range c.All {
		if m == nil || i > 0 && compareMembers(&c.All[i-1].Member, &m.Member) >= 0 {
			return nil
		}
	}
	c.Hosts, c.Networks = new(sketch.Distinct), restoreNetworks(x.Networks)
	if c.Hosts.Unpack(x.Hosts) != nil {
		return nil
	}
	return c
}
