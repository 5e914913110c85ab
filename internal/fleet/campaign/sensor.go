package campaign

import (
	"net/netip"
	"slices"

	"qsniff/internal/fleet"
)

// sensorState is what is known of a sensor: its last runs, its clock, and its servers.
type sensorState struct {
	Sensor
	Runs      []*run         `json:"runs"` // the last one that spoke is the last
	Clock     clock          `json:"clock"`
	Servers   []*serverState `json:"server_list"` // by address
	pending   int            // events of its incidents that no window was closed for
	incidents int            // of it that are kept
}

// serverState is what is known of a server.
type serverState struct {
	Server
	// Windows is how many were closed with it, at most youngWindows or more.
	Windows int `json:"windows"`
	// Challenged and Echoed are slow means of how many sources were challenged when nothing was wrong, and how
	// many of them brought the challenge back.
	Challenged float64 `json:"challenged"`
	Echoed     float64 `json:"echoed"`
	UsualJunk  float64 `json:"usual_junk"` // datagrams/s that are nothing known, a slow mean
}

// clock estimates how far a sensor's clock is after the broker's: by the message that took least time.
type clock struct {
	Turn   int64    `json:"turn"` // number of the skewPeriod
	Least  [2]int64 `json:"least"`
	Has    [2]bool  `json:"has"`
	Offset int64    `json:"offset"` // nanoseconds that are added to the sensor's times
}

// learn takes in when a message was sent, and when the broker got it.
func (c *clock) learn(broker, sent int64) {
	delay := broker - sent
	if sent <= 0 || delay > maxLate || delay < -maxLate {
		return
	}
	turn := broker / skewPeriod
	if turn > c.Turn { // an older message counts in the present turn
		if turn > c.Turn+1 {
			c.Has[(turn+1)&1] = false
		}
		c.Has[turn&1], c.Turn = false, turn
	}
	if (c.Has[0] || c.Has[1]) && delay-c.skew() > stepLeast { // no message is on its way for so long: the sensor's clock was set back
		c.Has = [2]bool{}
	}
	i := c.Turn & 1
	if !c.Has[i] || delay < c.Least[i] {
		c.Least[i], c.Has[i] = delay, true
	}
	if d := c.skew(); max(d-c.Offset, c.Offset-d) > skewLeast { // so that small changes move no window
		c.Offset = d
		if max(d, -d) <= skewLeast {
			c.Offset = 0
		}
	}
}

// skew returns the least delay.
func (c *clock) skew() int64 {
	switch {
	case c.Has[0] && c.Has[1]:
		return min(c.Least[0], c.Least[1])
	case c.Has[0]:
		return c.Least[0]
	case c.Has[1]:
		return c.Least[1]
	}
	return 0
}

// sensorOf returns the sensor of a message, a new one if there is room; else nil.
func (e *Engine) sensorOf(name string, broker int64) *sensorState {
	if s := e.state.Sensors[name]; s != nil {
		return s
	}
	if len(name) == 0 || len(name) > fleet.MaxName {
		return nil
	}
	if len(e.state.Sensors) >= maxSensors && !e.evictLongestSilent() {
		e.state.Counters.SensorsRefused++
		return nil
	}
	s := &sensorState{Sensor: Sensor{Name: cleanText(name, fleet.MaxName), First: broker, Heard: broker, LastHost: broker}}
	e.state.Sensors[s.Name] = s
	return s
}

// evictLongestSilent makes room for a sensor in place of a silent one.
func (e *Engine) evictLongestSilent() bool {
	var x *sensorState
	for _, s := range e.state.Sensors {
		if s.Silent && (x == nil || s.Heard < x.Heard || s.Heard == x.Heard && s.Name < x.Name) {
			x = s
		}
	}
	if x == nil {
		return false
	}
	e.evictSensor(x)
	return true
}

func (e *Engine) evictSensor(s *sensorState) {
	delete(e.state.Sensors, s.Name)
	e.state.Counters.SensorsEvicted++
	for _, r := range s.Runs {
		e.state.Counters.Lost = addUp(e.state.Counters.Lost, addUp(r.Lost, r.missing()))
	}
}

// isNew records the number of a message, and reports whether it is the first with it.
func (s *sensorState) isNew(h *fleet.Head) bool {
	i := slices.IndexFunc(s.Runs, func(r *run) bool { return r.Name == h.Run })
	if i >= 0 {
		return s.Runs[i].add(h.Seq)
	}
	if len(s.Runs) == maxRuns {
		s.Lost = addUp(s.Lost, addUp(s.Runs[0].Lost, s.Runs[0].missing()))
		s.Runs = slices.Delete(s.Runs, 0, 1)
	}
	r := &run{Name: cleanText(h.Run, fleet.MaxName)}
	s.Runs = append(s.Runs, r)
	return r.add(h.Seq)
}

// findServer returns where a server is, or would be, in the list.
func (s *sensorState) findServer(a netip.AddrPort) (int, bool) {
	return slices.BinarySearchFunc(s.Servers, a, func(v *serverState, a netip.AddrPort) int { return v.Addr.Compare(a) })
}

// serverOf returns a server of a sensor, a new one if there is room; else nil.
func (e *Engine) serverOf(s *sensorState, a netip.AddrPort, end int64) *serverState {
	i, found := s.findServer(a)
	if found {
		return s.Servers[i]
	}
	if len(s.Servers) >= maxServers {
		k := -1
		for j, v := range s.Servers {
			if v.Heard < end-unheardAfter && (k < 0 || v.Heard < s.Servers[k].Heard) {
				k = j
			}
		}
		if k < 0 {
			e.state.Counters.ServersRefused++
			return nil
		}
		s.Servers = slices.Delete(s.Servers, k, k+1)
		e.state.Counters.ServersEvicted++
		i, _ = s.findServer(a)
	}
	v := &serverState{Server: Server{Sensor: s.Name, Addr: a, Heard: end}}
	s.Servers = slices.Insert(s.Servers, i, v)
	return v
}

// noteSpoken notes that the broker got a Host message.
func (st *state) noteSpoken(broker int64) {
	if broker-st.Spoken > lull {
		st.Resumed = broker
	}
	st.Spoken = max(st.Spoken, broker)
}

// watchSensors passes to Options.Sensor the sensors that fell silent or are heard again by a time of the broker,
// and removes sensors and servers of which nothing was heard for expireAfter.
func (e *Engine) watchSensors(now int64) {
	for _, s := range e.sortedSensors() {
		if isSilent := now-max(s.LastHost, e.state.Resumed) > silentAfter; isSilent != s.Silent {
			s.Silent = isSilent
			s.Number++
			if e.options.Sensor != nil {
				view := s.view(now)
				e.options.Sensor(&view)
			}
		}
		if now-s.Heard > expireAfter {
			e.evictSensor(s)
			continue
		}
		n := len(s.Servers)
		s.Servers = slices.DeleteFunc(s.Servers, func(v *serverState) bool { return now-v.Heard > expireAfter })
		e.state.Counters.ServersEvicted += uint64(n - len(s.Servers))
	}
}

// sortedSensors returns the sensors by name.
func (e *Engine) sortedSensors() []*sensorState {
	if len(e.sorted) != len(e.state.Sensors) || e.sortedOf != e.state.Counters.SensorsEvicted {
		e.sorted = e.sorted[:0]
		for _, s := range e.state.Sensors {
			e.sorted = append(e.sorted, s)
		}
		slices.SortFunc(e.sorted, func(a, b *sensorState) int { return compareText(a.Name, b.Name) })
		e.sortedOf = e.state.Counters.SensorsEvicted
	}
	return slices.Clone(e.sorted)
}

// view returns a sensor as it is shown.
func (s *sensorState) view(now int64) Sensor {
	x := s.Sensor
	x.Skew, x.HasSkew = s.Clock.skew(), s.Clock.Offset != 0
	x.Missing, x.Servers, x.Unheard = 0, len(s.Servers), 0
	for _, r := range s.Runs {
		x.Missing = addUp(x.Missing, r.missing())
		x.Lost = addUp(x.Lost, r.Lost)
	}
	for _, v := range s.Servers {
		if !s.Silent && now-v.Heard > unheardAfter+lateness {
			x.Unheard++
		}
	}
	return x
}

// stretch is numbers of a run that came: from First to Last.
type stretch struct {
	First uint64 `json:"f"`
	Last  uint64 `json:"l"`
}

// run is what came of one run of a sensor.
type run struct {
	Name string    `json:"run"`
	Came []stretch `json:"came"` // in order, with gaps between; at most maxGaps
	Lost uint64    `json:"lost"` // in gaps that are not waited for any more
}

// add records that a number came. It returns false if it came before, or is in a gap that is not waited for.
func (r *run) add(seq uint64) bool {
	i, found := slices.BinarySearchFunc(r.Came, seq, func(s stretch, n uint64) int {
		switch {
		case s.Last < n:
			return -1
		case s.First > n:
			return 1
		}
		return 0
	})
	if found || r.Lost > 0 && len(r.Came) > 0 && i == 0 { // before the first gap that is still waited for
		return false
	}
	if n := len(r.Came); i == n && n > 0 && seq-r.Came[n-1].Last > maxJump {
		r.Lost = min(addUp(r.Lost, addUp(r.missing(), maxJump)), mostLost)
		r.Came = append(r.Came[:0], stretch{seq, seq})
		return true
	}
	joinsLast := i > 0 && r.Came[i-1].Last+1 == seq
	joinsNext := i < len(r.Came) && seq+1 == r.Came[i].First
	switch {
	case joinsLast && joinsNext:
		r.Came[i-1].Last = r.Came[i].Last
		r.Came = slices.Delete(r.Came, i, i+1)
	case joinsLast:
		r.Came[i-1].Last = seq
	case joinsNext:
		r.Came[i].First = seq
	default:
		r.Came = slices.Insert(r.Came, i, stretch{seq, seq})
	}
	if len(r.Came) > maxGaps {
		r.giveUp()
	}
	return true
}

// giveUp counts the first gap as lost.
func (r *run) giveUp() {
	r.Lost = min(addUp(r.Lost, r.Came[1].First-r.Came[0].Last-1), mostLost)
	r.Came[1].First = r.Came[0].First
	r.Came = slices.Delete(r.Came, 0, 1)
}

// missing returns how many numbers are waited for.
func (r *run) missing() (n uint64) {
	for i := 1; i < len(r.Came); i++ {
		n = addUp(n, r.Came[i].First-r.Came[i-1].Last-1)
	}
	return n
}

// isValid reports whether the run can be one of a snapshot.
func (r *run) isValid() bool {
	for i, s := range r.Came {
		if s.First == 0 || s.Last < s.First || i > 0 && s.First <= r.Came[i-1].Last+1 {
			return false
		}
	}
	return len(r.Came) > 0 && len(r.Came) <= maxGaps
}

// addUp adds counts that sensors claim. It saturates, so that no sensor can make them begin
// again from 0.
func addUp(a, b uint64) uint64 {
	if a+b < a {
		return ^uint64(0)
	}
	return a + b
}
