package campaign

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"qsniff/internal/fleet"
	"qsniff/internal/flood"
)

// Options are what an Engine is made of.
type Options struct {
	// Thresholds decide as they do at a single host; the zero value stands for flood.Defaults.
	Thresholds flood.Thresholds
	// Campaign is called with each event of a campaign, and Sensor when one falls silent or is heard
	// again. Both are called during Advance only. Their arguments are valid during the call. They may be nil.
	Campaign func(c *Campaign)
	Sensor   func(s *Sensor)
}

// Engine finds campaigns in messages. It is not safe for concurrent use.
type Engine struct {
	options  Options
	lim      flood.Thresholds
	judge    *flood.Judge
	state    state
	sorted   []*sensorState // see sortedSensors
	sortedOf uint64
	records  int // in all open windows
	compared int // pairs of incidents, in this close
}

// state is all that an engine holds: what Snapshot returns.
type state struct {
	HasBegun    bool
	Closed      int64 // index of the last window that was closed
	Sensors     map[string]*sensorState
	Windows     map[int64]*window // by index, after Closed
	LateWindows map[int64]*window
	Carpets     map[streakKey]*streak
	// Spoken is when the broker got the last Host message of all, and Resumed the first one after
	// no sensor sent anything for a lull.
	Spoken, Resumed int64
	Pending         []*incident // events of incidents that no window was closed for
	Incidents       map[incidentKey]*incident
	Courses         []*course   // open
	Ended           []*Campaign // newest first
	Totals          []Totals    // newest last
	Counters        Counters
}

func newState() state {
	return state{Sensors: map[string]*sensorState{}, Windows: map[int64]*window{}, LateWindows: map[int64]*window{},
		Carpets: map[streakKey]*streak{}, Incidents: map[incidentKey]*incident{}}
}

// New returns an engine that has seen no message.
func New(o Options) *Engine {
	if o.Thresholds == (flood.Thresholds{}) {
		o.Thresholds = flood.Defaults()
	}
	return &Engine{options: o, lim: o.Thresholds, judge: flood.NewJudge(o.Thresholds), state: newState()}
}

// Consume takes a message that Parse returned. broker is when the broker got it, sent when the sensor published it by the
// sensor's clock (0: unknown), in Unix nanoseconds. It reports whether the message is new. It closes no
// window and calls no function of Options: messages may come in any order until Advance.
func (e *Engine) Consume(m fleet.Message, broker, sent int64) (isNew bool) {
	h := fleet.HeadOf(m)
	if broker <= 0 || broker > 1<<62 {
		e.state.Counters.TooEarly++
		return false
	}
	e.noticeStep(broker)
	s := e.sensorOf(h.Sensor, broker)
	if s == nil {
		return false
	}
	if !s.isNew(h) {
		s.Duplicates++
		e.state.Counters.Duplicates++
		return false
	}
	s.Messages++
	e.state.Counters.Messages++
	s.Heard = max(s.Heard, broker)
	s.Clock.learn(broker, sent)
	switch m := m.(type) {
	case *fleet.Host:
		e.addHost(s, m, broker)
	case *fleet.Server:
		e.addServer(s, m, broker)
	case *fleet.Incident:
		e.addIncident(s, m, broker)
	}
	return true
}

// Advance moves time on to broker, a time of the broker before which all that it got was consumed: with
// several streams that is the time of the one that is read least far. It closes windows, and emits events.
func (e *Engine) Advance(broker int64) {
	st := &e.state
	if broker > 1<<62 || broker <= lateness {
		return
	}
	e.noticeStep(broker)
	last := (broker - lateness) / period
	if !st.HasBegun {
		st.HasBegun, st.Closed = true, last
	}
	for st.Closed < last {
		if last-st.Closed > longestGap { // nothing came for long, but for what is in windows
			st.Closed = max(st.Closed, min(last-longestGap, e.nextWindow()-1))
		}
		e.closeNext()
	}
}

// nextWindow returns the index of the next window that is open.
func (e *Engine) nextWindow() int64 {
	next := int64(1 << 62)
	for i := range e.state.Windows {
		if i > e.state.Closed {
			next = min(next, i)
		}
	}
	return next
}

// closeNext closes the next window, and what else is due then.
func (e *Engine) closeNext() {
	st := &e.state
	st.Closed++
	now := st.Closed*period + lateness // by the broker
	e.compared = 0
	w := st.Windows[st.Closed]
	if w == nil {
		w = newWindow(st.Closed, false, "")
	}
	delete(st.Windows, st.Closed)
	e.closeWindow(w)
	for _, index := range e.dueLateWindows(now) {
		w := st.LateWindows[index]
		delete(st.LateWindows, index)
		e.closeWindow(w)
	}
	e.watchSensors(now)
	e.takeIncidents(now)
	e.endCourses(now)
}

// dueLateWindows returns the indexes of the late windows to be closed, the oldest first: those that got no
// message for lateness, and the oldest of too many.
func (e *Engine) dueLateWindows(now int64) []int64 {
	var due []int64
	all := sortedIndexes(e.state.LateWindows)
	for i, index := range all {
		isQuiet := e.state.LateWindows[index].Arrival+lateness <= now
		isTooMany := len(all)-i > manyWindows
		if isTooMany && !isQuiet {
			e.state.Counters.WindowsHurried++
		}
		if isQuiet || isTooMany {
			due = append(due, index)
		}
	}
	return due
}

func sortedIndexes(list map[int64]*window) []int64 {
	var all []int64
	for i := range list {
		all = append(all, i)
	}
	slices.Sort(all)
	return all
}

// closeWindow judges a window, adds it to the sums, and has the servers learn from it.
func (e *Engine) closeWindow(w *window) {
	st := &e.state
	st.Counters.Windows++
	keys := w.sortedKeys()
	raised := e.raisedServers(w, keys)
	attacked := e.judgeCarpets(w, raised)
	for _, k := range keys {
		x := w.Entries[k]
		if v := e.findServer(k); v != nil {
			v.learn(x, w.Index*period, attacked[k], w.Late)
		}
		e.dropRecord(x)
	}
	if len(keys) > 0 || w.Totals.Sensors > 0 {
		st.Totals = append(st.Totals, w.sums(countRaised(raised)))
		st.Totals = slices.Delete(st.Totals, 0, max(0, len(st.Totals)-keptWindows))
	}
}

// findServer returns a server that was not evicted in the meantime; else nil.
func (e *Engine) findServer(k entryKey) *serverState {
	if s := e.state.Sensors[k.Sensor]; s != nil {
		if i, found := s.findServer(k.Addr); found {
			return s.Servers[i]
		}
	}
	return nil
}

func compareText(a, b string) int { return strings.Compare(a, b) }

// Open returns the campaigns that are not over, and Closed the last ones that are, newest first. They are
// valid until the next call of another method.
func (e *Engine) Open() []*Campaign {
	var all []*Campaign
	for _, c := range e.state.Courses {
		c.list()
		all = append(all, &c.Campaign)
	}
	slices.SortFunc(all, func(a, b *Campaign) int {
		return cmp.Or(cmp.Compare(b.Start, a.Start), compareText(a.ID, b.ID))
	})
	return all
}

// Closed is described at Open.
func (e *Engine) Closed() []*Campaign { return e.state.Ended }

// Sensors returns what is known of the sensors, by name.
func (e *Engine) Sensors() []Sensor {
	now := e.state.Closed*period + lateness
	var all []Sensor
	for _, s := range e.sortedSensors() {
		all = append(all, s.view(now))
	}
	return all
}

// Servers returns what is known of the servers of a sensor, by address.
func (e *Engine) Servers(sensor string) []Server {
	var all []Server
	if s := e.state.Sensors[sensor]; s != nil {
		for _, v := range s.Servers {
			all = append(all, v.Server)
		}
	}
	return all
}

// Windows returns the sums of the last windows that were closed, the newest last.
func (e *Engine) Windows() []Totals { return e.state.Totals }

// Step is to be called when the broker's clock was set, by so many nanoseconds (negative: back), before what came after
// that is consumed. The state keeps its age: sensors are not silent and campaigns not over for it, and windows
// that are open go on. Without it, an engine notices a clock that was set back with the first time that it gets, and
// takes one that was set forward for a time in which no sensor sent anything.
func (e *Engine) Step(by int64) {
	st := &e.state
	shift := func(t *int64) {
		if *t > 0 {
			*t = addTime(*t, by)
		}
	}
	k := by / period
	index := func(i *int64) { *i = addTime(*i, k) }
	for _, t := range []*int64{&st.Spoken, &st.Resumed} {
		shift(t)
	}
	if st.HasBegun {
		index(&st.Closed)
	}
	for _, s := range st.Sensors {
		s.step(shift, by)
	}
	st.Windows, st.LateWindows = stepWindows(st.Windows, index, shift), stepWindows(st.LateWindows, index, shift)
	for i := range st.Totals {
		st.Totals[i].End = addTime(st.Totals[i].End, k*period)
	}
	incidents := map[*incident]bool{}
	for _, x := range st.Pending {
		incidents[x] = true
	}
	for _, x := range st.Incidents {
		incidents[x] = true
	}
	for x := range incidents {
		index(&x.Due)
		for _, t := range []*int64{&x.Start, &x.End, &x.Updated} {
			shift(t)
		}
	}
	courses := map[*course]bool{}
	for _, c := range st.Courses {
		courses[c] = true
	}
	for _, x := range st.Carpets {
		index(&x.Last)
		if x.Course != nil {
			courses[x.Course] = true
		}
	}
	for c := range courses {
		c.step(shift, index)
	}
	st.Counters.ClockSteps++
}

// step moves what is known of a sensor.
func (s *sensorState) step(shift func(*int64), by int64) {
	for _, t := range []*int64{&s.First, &s.Heard, &s.LastHost} {
		shift(t)
	}
	c := &s.Clock
	c.Turn = addTime(c.Turn, by/skewPeriod)
	if (by/skewPeriod)&1 != 0 { // the turns change places
		c.Has[0], c.Has[1] = c.Has[1], c.Has[0]
		c.Least[0], c.Least[1] = c.Least[1], c.Least[0]
	}
	for i := range c.Least {
		c.Least[i] = addTime(c.Least[i], by)
	}
	c.Offset = addTime(c.Offset, by)
	if max(c.Offset, -c.Offset) <= skewLeast {
		c.Offset = 0
	}
	for _, v := range s.Servers {
		for _, t := range []*int64{&v.Heard, &v.Asked, &v.Answered} {
			shift(t)
		}
	}
}

// step moves the times of a campaign that is not over.
func (c *course) step(shift, index func(*int64)) {
	index(&c.FirstIndex)
	index(&c.LastIndex)
	for _, t := range []*int64{&c.Start, &c.Detected, &c.End} {
		shift(t)
	}
	for _, m := range c.All {
		shift(&m.Start)
		shift(&m.End)
	}
}

// stepWindows returns windows by their new indexes.
func stepWindows(list map[int64]*window, index, shift func(*int64)) map[int64]*window {
	moved := make(map[int64]*window, len(list))
	for _, w := range list {
		index(&w.Index)
		shift(&w.Arrival)
		w.Totals.End = w.Index * period
		moved[w.Index] = w
	}
	return moved
}

// addTime returns the sum of a time and a span, at the end of what an int64 holds if it is beyond.
func addTime(t, by int64) int64 {
	sum := t + by
	switch {
	case by > 0 && sum < t:
		return math.MaxInt64 / 2
	case by < 0 && sum > t:
		return math.MinInt64 / 2
	}
	return sum
}

// noticeStep calls Step if a time of the broker is so long before the last one that its clock was set back.
func (e *Engine) noticeStep(broker int64) {
	if now := e.state.Closed*period + lateness; e.state.HasBegun && broker > 0 && broker < now-stepLeast {
		e.Step(broker - now)
	}
}
