package campaign

import (
	"math"
	"net/netip"
	"slices"

	"qsniff/internal/fleet"
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
)

// window holds what came of ten seconds until it is closed.
type window struct {
	Index   int64  // of its end, in periods since 1970
	Late    bool   // of messages that came after the window was closed
	Opener  string // the sensor whose message came first
	Arrival int64  // when the broker got the last of its messages
	Totals  Totals
	Sources sketch.Distinct
	Sites   sketch.Distinct
	Top     networkCounts
	Entries map[entryKey]*entry
}

type entryKey struct {
	Sensor string
	Addr   netip.AddrPort
}

// entry is what a window holds of one server.
type entry struct {
	Packets    uint64  `json:"packets"`
	Sent       uint64  `json:"sent"`
	Rate       float64 `json:"rate"` // queries/s
	Base       float64 `json:"base"` // by the sensor
	Challenged float64 `json:"challenged"`
	Echoed     float64 `json:"echoed"`
	Junk       float64 `json:"junk"`             // datagrams/s that are nothing known
	Record     *record `json:"record,omitempty"` // of one that may be raised
}

// record is what the judgement of a raised server rests on.
type record struct {
	Features fleet.Features  `json:"features"`
	Sources  []byte          `json:"sources"` // packed, as is Sites
	Sites    []byte          `json:"sites"`
	Top      []fleet.Network `json:"top"`
	Form     form            `json:"form"`
}

// form is the commonest form of packets, if most have it.
type form struct {
	Protocol string `json:"protocol,omitempty"`
	Message  string `json:"message,omitempty"`
	HasKey   bool   `json:"challenge,omitempty"`
	Min      uint32 `json:"min,omitempty"`
	Max      uint32 `json:"max,omitempty"`
}

// mostForm is the share of packets from which on a form is that of a flood. Chosen: a tool sends one form,
// and usual visitors are in it.
const mostForm = 0.7

// formOf returns the form that most packets have; none if no form has most.
func formOf(forms []fleet.Form) (x form) {
	var all, most float64
	for _, f := range forms {
		all += float64(f.Packets)
		if n := float64(f.Packets); n > most {
			most = n
			x = form{cleanText(f.Protocol, fleet.MaxName), cleanText(f.Message, fleet.MaxName), f.HasKey, f.Min, f.Max}
		}
	}
	if most < mostForm*all {
		return form{Protocol: x.Protocol}
	}
	return x
}

func newWindow(index int64, isLate bool, opener string) *window {
	w := &window{Index: index, Late: isLate, Opener: opener, Top: networkCounts{}, Entries: map[entryKey]*entry{}}
	w.Totals.End, w.Totals.Late = index*period, isLate
	return w
}

// hasRoom reports whether a sensor may open one more window.
func hasRoom(list map[int64]*window, opener string) bool {
	n := 0
	for _, w := range list {
		if w.Opener == opener {
			n++
		}
	}
	return len(list) < maxWindows && n < sensorWindows
}

// windowOf returns the window that ends at end, a new one if there is none, and nil if that time is not
// believed.
func (e *Engine) windowOf(s *sensorState, end, broker int64) *window {
	st := &e.state
	if !st.HasBegun {
		st.HasBegun, st.Closed = true, (broker-lateness)/period-1
	}
	index := (end + period/2) / period
	switch late := max(broker, st.Closed*period) - end; {
	case end <= 0 || late < -maxEarly:
		st.Counters.TooEarly++
		return nil
	case late > maxLate:
		st.Counters.TooLate++
		return nil
	}
	list := st.Windows
	if index <= st.Closed {
		st.Counters.Late++
		list = st.LateWindows
	}
	w := list[index]
	if w == nil {
		if !hasRoom(list, s.Name) {
			st.Counters.WindowsRefused++
			return nil
		}
		w = newWindow(index, index <= st.Closed, s.Name)
		list[index] = w
	}
	w.Arrival = max(w.Arrival, broker)
	return w
}

// moved returns a time of a sensor by the clock of the broker.
func moved(t, offset int64) int64 {
	if t > math.MaxInt64/2 || t < 0 { // nonsense, and no sum shall overflow
		return 0
	}
	return t + offset
}

// addHost takes what a sensor reports of itself.
func (e *Engine) addHost(s *sensorState, m *fleet.Host, broker int64) {
	e.state.noteSpoken(broker)
	if broker >= s.LastHost {
		s.LastHost = broker
		s.Run, s.Program, s.Input = cleanText(m.Run, fleet.MaxName), cleanText(m.Program, fleet.MaxName), cleanText(m.Input, fleet.MaxText)
		s.Unlisted, s.Open = max(m.Unlisted, 0), max(m.Open, 0)
		s.Packets, s.Dropped, s.Unsent = m.Packets, m.Dropped, m.Unsent
	}
	w := e.windowOf(s, moved(m.Time, s.Clock.Offset), broker)
	if w == nil {
		return
	}
	t := &w.Totals
	t.Sensors++
	t.PacketsIn += min(m.Others.PacketsIn, mostCount)
	t.BytesIn += min(m.Others.BytesIn, mostCount)
	t.PacketsOut += min(m.Others.PacketsOut, mostCount)
	t.BytesOut += min(m.Others.BytesOut, mostCount)
	t.Junk += min(m.Others.Junk, mostCount)
}

// addServer takes what a sensor reports of a server.
func (e *Engine) addServer(s *sensorState, m *fleet.Server, broker int64) {
	w := e.windowOf(s, moved(m.Time, s.Clock.Offset), broker)
	if w == nil {
		return
	}
	v := e.serverOf(s, cleanServer(m.Addr), w.Index*period)
	if v == nil {
		return
	}
	k := entryKey{s.Name, v.Addr}
	old := w.Entries[k]
	if old != nil {
		e.state.Counters.Repeated++
		if m.PacketsIn <= old.Packets {
			return
		}
		e.dropRecord(old)
	}
	x := e.entryOf(m, v)
	w.Entries[k] = x
	w.addTotals(m)
}

// addTotals adds a server to the sums of the window.
func (w *window) addTotals(m *fleet.Server) {
	t := &w.Totals
	t.PacketsIn += min(m.PacketsIn, mostCount)
	t.BytesIn += min(m.BytesIn, mostCount)
	t.PacketsOut += min(m.PacketsOut, mostCount)
	t.BytesOut += min(m.BytesOut, mostCount)
	t.Junk += min(m.Junk, mostCount)
	for _, a := range m.Asked[:min(len(m.Asked), fleet.MaxKinds)] {
		for outcome, n := range a.Outcomes {
			n = min(n, mostCount)
			t.Requests += n
			if outcome == "unanswered" {
				t.Unanswered += n
			}
		}
	}
	if m.IsMeasured {
		w.Sources.Merge(&m.Sources.Distinct)
		w.Sites.Merge(&m.Sites.Distinct)
		w.Top.add(cleanNetworks(m.Top))
	}
}

// entryOf returns what a window holds of a server. A server that may count as raised when the window is
// closed has a record.
func (e *Engine) entryOf(m *fleet.Server, v *serverState) *entry {
	x := &entry{Packets: min(m.PacketsIn, mostCount), Sent: min(m.PacketsOut, mostCount)}
	x.Rate = cleanRate(float64(x.Packets) / (float64(period) / 1e9))
	if !m.IsMeasured {
		return x
	}
	f := m.Features
	if !cleanFeatures(&f) {
		e.state.Counters.Corrected++
	}
	x.Rate, x.Base, x.Junk = f[measure.Rate10], f[measure.Base], f[measure.JunkMean]
	if c := f[measure.Challenged]; !math.IsNaN(f[measure.Completion]) {
		x.Challenged, x.Echoed = c, c*f[measure.Completion]
	}
	if v.Windows >= youngWindows && x.Rate < keepFactor*v.Usual && x.Junk < max(junkLeast, keepFactor*v.UsualJunk) {
		return x
	}
	if e.records >= maxRecords {
		e.state.Counters.RecordsRefused++
		return x
	}
	e.records++
	x.Record = &record{Features: f, Sources: m.Sources.AppendPacked(nil), Sites: m.Sites.AppendPacked(nil),
		Top: cleanNetworks(m.Top), Form: formOf(m.Forms)}
	return x
}

// dropRecord frees the record of an entry.
func (e *Engine) dropRecord(x *entry) {
	if x.Record != nil {
		e.records--
		x.Record = nil
	}
}

// sortedKeys returns the keys of the entries by sensor and address: sums are made in that order.
func (w *window) sortedKeys() []entryKey {
	keys := make([]entryKey, 0, len(w.Entries))
	for k := range w.Entries {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

func compareKeys(a, b entryKey) int {
	if c := compareText(a.Sensor, b.Sensor); c != 0 {
		return c
	}
	return a.Addr.Compare(b.Addr)
}

// sums returns the sums of the window as they are shown.
func (w *window) sums(raised int) Totals {
	t := w.Totals
	t.Servers, t.Raised = len(w.Entries), raised
	t.Sources, t.Sites, t.Top = w.Sources.Count(), w.Sites.Count(), w.Top.top(listedNetworks)
	return t
}
