package limiter

import (
	"fmt"
	"strconv"
	"strings"

	"qsniff/internal/track"
)

// Model is an engine's limits: Per is the average for one source and Global that for all,
// in packets a second, both over Window seconds.
type Model struct {
	Name       string // empty if the user gave the numbers
	Per        float64
	Global     float64
	Window     int64
	MaxTracked int // addresses with a window above which the engine refuses all packets; 0: no such bound
}

// Models are the models of the engines. Package limiter's comment names their sources.
var Models = func() (all []Model) {
	for _, e := range track.EngineLimits {
		all = append(all, Model{Name: e.Name, Per: float64(e.Per), Global: float64(e.Global), Window: int64(e.Window), MaxTracked: e.MaxTracked})
	}
	return all
}()

// Usage describes what ParseModel accepts.
const Usage = "rehlds, source, source-late or csgo, or numbers: per=3,global=30,window=60; a name and numbers change the engine's"

// ParseModel parses the name of an engine, numbers, or a name with the
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
			base, ok := findModel(word)
			if !ok {
				return m, fmt.Errorf("%q: no limits are called that", word)
			}
			m = base
		}
	}
	switch {
	case m.Per == 0 || m.Global == 0 || m.Window == 0:
		return m, fmt.Errorf("%q: per=, global= and window= are needed, all three", text)
	case m.MaxTracked > 0 && m.Window > maxTrackedWindow:
		return m, fmt.Errorf("window=%d: at most %d with %s", m.Window, maxTrackedWindow, m.Name)
	}
	if m.Name != "" && len(given) > 0 {
		m.Name += " with other numbers"
	}
	return m, nil
}

// findModel returns the model of an engine; ok is false if the name is none of an engine.
func findModel(name string) (m Model, ok bool) {
	for _, m := range Models {
		if m.Name == name {
			return m, true
		}
	}
	return Model{}, false
}

// set parses one number of a model: key is per, global or window.
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

// exceeds reports whether n packets in a window are above the limit of rate a second.
func (m *Model) exceeds(n uint64, rate float64) bool { return float64(n) > rate*float64(m.Window) }

// outcome is what the limiter does with a packet.
type outcome uint8

const (
	admitted      outcome = iota
	refusedByRate         // for the limit of its source
	refusedByAll
)

// admit counts a packet of source x at server st, in second now, and returns whether the
// limiter lets it through.
func (m *Model) admit(st *serverLimiter, x *sourceCounter, now int64) outcome {
	if m.MaxTracked > 0 {
		m.expireTracked(st, now)
	}
	isKnown := x.era == st.era
	switch {
	case isKnown && now-x.start > m.Window:
		x.start, x.count = now, 1
		m.addTracked(st, now)
	case isKnown:
		x.count++
		if m.exceeds(uint64(x.count), m.Per) {
			return refusedByRate
		}
	case m.MaxTracked == 0:
		x.start, x.count, x.era = now, 1, st.era
	}
	st.count++
	switch {
	case !st.hasWindow || now-st.start > m.Window:
		st.hasWindow, st.start, st.count = true, now, 1
	case m.exceeds(st.count, m.Global):
		return refusedByAll
	}
	if !isKnown && m.MaxTracked > 0 {
		x.start, x.count, x.era = now, 1, st.era
		m.addTracked(st, now)
	}
	return admitted
}

// expireTracked drops the addresses whose window is over from the ring. If more than
// MaxTracked are left, it drops all of them and refuses every packet for a window.
func (m *Model) expireTracked(st *serverLimiter, now int64) {
	if now-st.ringEnd >= int64(len(st.ring)) {
		clear(st.ring[:])
		st.tracked = 0
	} else {
		for t := st.ringEnd + 1; t <= now; t++ {
			old := &st.ring[ringIndex(t-m.Window)]
			st.tracked -= uint64(*old)
			*old = 0
		}
	}
	st.ringEnd = max(st.ringEnd, now)
	if st.tracked > uint64(m.MaxTracked) {
		clear(st.ring[:])
		st.tracked = 0
		st.era++
		st.overruns++
		st.hasWindow, st.start = true, now
		st.count = uint64((m.Global + 1) * float64(m.Window+1))
	}
}

// addTracked counts an address whose window begins now.
func (m *Model) addTracked(st *serverLimiter, now int64) {
	if m.MaxTracked > 0 {
		st.ring[ringIndex(now)]++
		st.tracked++
	}
}

// ringIndex returns the place of a second in server.ring.
func ringIndex(second int64) int64 { return second & (ringSize - 1) }

// ringSize is the length of server.ring: a power of two above maxTrackedWindow.
const ringSize = 64

const (
	// limit: maxWindow bounds the window of a model, in seconds. Chosen: operators set up to a few
	// minutes.
	maxWindow = 3600
	// limit: maxTrackedWindow bounds the window of a model with MaxTracked: addresses are counted in a
	// ring of seconds for each server.
	maxTrackedWindow = 60
	// limit: maxRate bounds the limits of a model, so that a limit times the window can be compared with
	// counters.
	maxRate = 1_000_000_000
)
