package limiter

import (
	"fmt"
	"strconv"
	"strings"
)

// Model is an engine's limits: an average per source, one over all, in packets a
// second, and the window in seconds that they are averaged over.
type Model struct {
	Name    string // empty: of the user's own
	Per     float64
	Global  float64
	Window  int64
	Tracked int // addresses with a window above which the engine refuses all; 0: no such bound
}

// Models are the engines by name.
var Models = []Model{
	{Name: "rehlds", Per: 3, Global: 30, Window: 60},
	{Name: "source", Per: 3, Global: 60, Window: 30},
	{Name: "source-late", Per: 3, Global: 3000, Window: 30},
	{Name: "csgo", Per: 10, Global: 500, Window: 30, Tracked: 50_000},
}

// Usage says in a line what ParseModel reads.
const Usage = "rehlds, source, source-late or csgo, or numbers: per=3,global=30,window=60; a name and numbers change the engine's"

// ParseModel reads the name of an engine, numbers of one's own, or a name and the
// numbers that differ: rehlds; per=3,global=30,window=60; source,global=3000.
func ParseModel(text string) (Model, error) {
	var m Model
	given := map[string]bool{}
	for i, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		key, value, isNumber := strings.Cut(word, "=")
		switch {
		case isNumber && given[key]:
			return m, fmt.Errorf("%s is given twice", key)
		case isNumber:
			if err := m.set(key, value); err != nil {
				return m, err
			}
			given[key] = true
		case i > 0:
			return m, fmt.Errorf("%q: neither per=, nor global=, nor window=", word)
		default:
			base, ok := named(word)
			if !ok {
				return m, fmt.Errorf("%q: no limits are called that", word)
			}
			m = base
		}
	}
	switch {
	case m.Per == 0 || m.Global == 0 || m.Window == 0:
		return m, fmt.Errorf("%q: per=, global= and window= are needed, all three", text)
	case m.Tracked > 0 && m.Window > maxTrackedWindow:
		return m, fmt.Errorf("window=%d: at most %d with %s", m.Window, maxTrackedWindow, m.Name)
	}
	if m.Name != "" && len(given) > 0 {
		m.Name += " with other numbers"
	}
	return m, nil
}

func named(name string) (Model, bool) {
	for _, m := range Models {
		if m.Name == name {
			return m, true
		}
	}
	return Model{}, false
}

func (m *Model) set(key, value string) error {
	switch key {
	case "per", "global":
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v > 0 && v <= maxRate) {
			return fmt.Errorf("%s=%q: not a number of packets a second", key, value)
		}
		if key == "per" {
			m.Per = v
		} else {
			m.Global = v
		}
	case "window":
		v, err := strconv.ParseInt(value, 10, 64)
		if err != nil || v < 1 || v > maxWindow {
			return fmt.Errorf("window=%q: not a number of seconds from 1 to %d", value, maxWindow)
		}
		m.Window = v
	default:
		return fmt.Errorf("%q: neither per=, nor global=, nor window=", key)
	}
	return nil
}

// over reports whether n packets in a window are above a limit.
func (m *Model) over(n uint64, rate float64) bool { return float64(n) > rate*float64(m.Window) }

// verdict is what the limiter does with a packet.
type verdict uint8

const (
	admitted verdict = iota
	byRate           // of its source
	byAll
)

// judge counts a packet of source x at a server, in second now.
func (m *Model) judge(st *server, x *source, now int64) verdict {
	if m.Tracked > 0 {
		m.track(st, now)
	}
	known := x.era == st.era
	switch {
	case known && now-x.start > m.Window:
		x.start, x.count = now, 1
		m.entered(st, now)
	case known:
		x.count++
		if m.over(uint64(x.count), m.Per) {
			return byRate
		}
	case m.Tracked == 0:
		x.start, x.count, x.era = now, 1, st.era
	}
	st.count++
	switch {
	case !st.began || now-st.start > m.Window:
		st.began, st.start, st.count = true, now, 1
	case m.over(st.count, m.Global):
		return byAll
	}
	if !known && m.Tracked > 0 {
		x.start, x.count, x.era = now, 1, st.era
		m.entered(st, now)
	}
	return admitted
}

// track forgets addresses whose window is over, and all where there are too many.
func (m *Model) track(st *server, now int64) {
	if now-st.turned >= int64(len(st.ring)) {
		clear(st.ring[:])
		st.tracked = 0
	} else {
		for t := st.turned + 1; t <= now; t++ {
			old := &st.ring[place(t-m.Window)]
			st.tracked -= uint64(*old)
			*old = 0
		}
	}
	st.turned = max(st.turned, now)
	if st.tracked > uint64(m.Tracked) {
		clear(st.ring[:])
		st.tracked = 0
		st.era++
		st.overruns++
		st.began, st.start = true, now
		st.count = uint64((m.Global + 1) * float64(m.Window+1))
	}
}

// entered counts an address whose window begins now.
func (m *Model) entered(st *server, now int64) {
	if m.Tracked > 0 {
		st.ring[place(now)]++
		st.tracked++
	}
}

// place is where a second is in a ring.
func place(second int64) int64 { return second & (ringSize - 1) }

// ringSize is a power of two above maxTrackedWindow.
const ringSize = 64
