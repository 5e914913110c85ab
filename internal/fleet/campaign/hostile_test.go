package campaign

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"qsniff/internal/fleet"
	"qsniff/internal/flood/measure"
)

// liar makes messages of a sensor that says anything.
type liar struct {
	r    *rand.Rand
	name string
	seq  uint64
}

var nonsense = []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 1e300, 1e30, 1e9, 0, 1, 50}

func (l *liar) number() float64 { return nonsense[l.r.IntN(len(nonsense))] }

func (l *liar) count() uint64 {
	return []uint64{0, 1, 1000, 1 << 40, math.MaxUint64}[l.r.IntN(5)]
}

// time returns a time now and then, in the past and in the future.
func (l *liar) time(now int64) int64 {
	return []int64{now, now, now, now + 10e9, now - 600e9, now + 365*86400e9, 1, math.MaxInt64, math.MinInt64, -now, now - int64(l.r.IntN(86400e9))}[l.r.IntN(11)]
}

func (l *liar) networks() (all []fleet.Network) {
	for range l.r.IntN(fleet.MaxTop + 1) {
		n := fleet.Network{Queries: l.r.Uint32()}
		n.Prefix[0] = byte(l.r.IntN(256))
		all = append(all, n)
	}
	return all
}

// message returns one of any kind.
func (l *liar) message(now int64) fleet.Message {
	l.seq++
	h := fleet.Head{Version: 1, Sensor: l.name, Run: "5f0c", Seq: l.seq, Time: l.time(now)}
	switch l.r.IntN(10) {
	case 0:
		h.Run = fmt.Sprint(l.seq)
	case 1:
		h.Seq = l.count() + 1
	}
	switch l.r.IntN(4) {
	case 0:
		return &fleet.Host{Head: h, Packets: l.count(), Unlisted: -1, Open: math.MinInt, Others: fleet.Others{PacketsIn: l.count(), BytesOut: l.count()}}
	case 1:
		m := &fleet.Incident{Head: h, ID: l.r.Uint64N(1000), Event: []string{"open", "update", "close", "else"}[l.r.IntN(4)],
			Category: []string{"flood_spoofed", "scan", "crowd", "reflection", "", "more"}[l.r.IntN(6)], Protocol: "a2s",
			Target: "udp/" + netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(l.r.IntN(256)), byte(l.r.IntN(256))}), 27015).String(),
			Start:  l.time(now), End: l.time(now), Peak: l.number(), Baseline: l.number(), Confidence: l.number(), Requests: l.count(), Replies: l.count(),
			Top: l.networks(), Networks: l.networks()}
		l.fill(&m.Sources)
		return m
	}
	m := &fleet.Server{Head: h, PacketsIn: l.count(), BytesIn: l.count(), PacketsOut: l.count(), Junk: l.count(),
		Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(l.r.IntN(256)), byte(l.r.IntN(256))}), uint16(l.r.IntN(4)))}
	m.IsMeasured, m.Top = l.r.IntN(4) > 0, l.networks()
	for i := range m.Features {
		m.Features[i] = l.number()
	}
	m.Features[measure.Rate10] = []float64{math.Inf(1), 1e30, 1e12}[l.r.IntN(3)]
	l.fill(&m.Sources)
	m.Forms = []fleet.Form{{Protocol: []string{"a2s", "", fmt.Sprint(l.seq)}[l.r.IntN(3)], Packets: l.count()}}
	return m
}

func (l *liar) fill(s *fleet.Sketch) {
	for range l.r.IntN(50) {
		s.Add(l.r.Uint64())
	}
}

// TestLiar: a sensor that says anything may get into a campaign, but it changes nothing about those of the others.
func TestLiar(t *testing.T) {
	eachDelivered(t, func(t *testing.T, sc *scenario, log []delivery) {
		l := &liar{rand.New(rand.NewPCG(1, 1)), "liar", 0}
		var all []delivery
		for _, d := range log {
			all = append(all, d)
			for range 8 {
				sent := []int64{0, d.broker, d.broker - 3600e9, math.MaxInt64, math.MinInt64, d.broker + 5e9}[l.r.IntN(6)]
				all = append(all, delivery{l.message(d.broker), d.broker, sent})
			}
		}
		x := deliver(all)
		if d := gocmp.Diff(deliver(log).honest(), x.honest()); d != "" {
			t.Errorf("with a liar:\n%s", d)
		}
		x.checkBounds(t)
		x.checkEvents(t)
		c := x.engine.Counters()
		for name, n := range map[string]uint64{"too early": c.TooEarly, "too late": c.TooLate, "corrected": c.Corrected, "servers refused": c.ServersRefused, "lost": c.Lost} {
			if n == 0 {
				t.Errorf("%s: none is counted", name)
			}
		}
	})
}

// honest returns what was told of sensors but for the liar.
func (x *told) honest() (all []string) {
	for _, c := range x.campaigns {
		line := fmt.Sprintf("%s %d %s %s %s %v", c.ID, c.Number, c.Event, c.How, c.Category, c.Start)
		var members []string
		for _, m := range c.Members {
			if m.Sensor != "liar" {
				members = append(members, fmt.Sprintf("%v", m))
			}
		}
		slices.Sort(members)
		all = append(all, fmt.Sprint(line, members))
	}
	return all
}

// checkBounds: nothing is larger than its limit.
func (x *told) checkBounds(t testing.TB) {
	t.Helper()
	st := &x.engine.state
	check := func(what string, n, most int) {
		t.Helper()
		if n > most {
			t.Errorf("%d %s, more than %d", n, what, most)
		}
	}
	check("sensors", len(st.Sensors), maxSensors)
	records := 0
	for _, s := range st.Sensors {
		check("servers of "+s.Name, len(s.Servers), maxServers)
		check("runs", len(s.Runs), maxRuns)
		check("pending incidents of one", s.pending, sensorIncidents)
		check("incidents of one", s.incidents, sensorIncidents)
		for _, r := range s.Runs {
			check("gaps", len(r.Came), maxGaps)
		}
	}
	for _, windows := range []map[int64]*window{st.Windows, st.LateWindows} {
		check("windows", len(windows), maxWindows)
		for _, w := range windows {
			check("networks", len(w.Top), 2*windowNetworks)
			for _, y := range w.Entries {
				if y.Record != nil {
					records++
				}
			}
		}
	}
	if records != x.engine.records {
		t.Errorf("%d records are counted as %d", records, x.engine.records)
	}
	check("records", records, maxRecords)
	check("incidents", len(st.Incidents), maxIncidents)
	check("pending incidents", len(st.Pending), maxIncidents)
	check("campaigns", len(st.Courses), maxCampaigns)
	check("campaigns that are over", len(st.Ended), keptClosed)
	check("sums", len(st.Totals), keptWindows)
	check("streaks", len(st.Carpets), maxStreaks)
	for _, c := range x.campaigns {
		check("listed members", len(c.Members), listedMembers)
		check("listed networks", len(c.Top), listedNetworks)
	}
}

// TestMemory: messages of servers, windows and incidents that a sensor invents fill the state, and then it grows no more.
func TestMemory(t *testing.T) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	x := newTold()
	l := &liar{rand.New(rand.NewPCG(1, 1)), "liar-1", 0}
	now := dawn
	n := 60_000
	if testing.Short() {
		n = 10_000
	}
	send := func() uint64 {
		for i := range n {
			now += 1e6
			x.engine.Consume(l.message(now), now, 0)
			if i%1000 == 0 {
				x.engine.Advance(now)
			}
		}
		return heap()
	}
	send()
	before := send()
	after := send()
	if after > before+before/4+4<<20 {
		t.Errorf("%d KiB grew to %d KiB", before>>10, after>>10)
	}
	x.checkBounds(t)
	runtime.KeepAlive(x)
}

// TestLimits: what is beyond a limit is refused, counted, and refused to nobody else.
func TestLimits(t *testing.T) {
	e := New(Options{})
	host := func(name string, seq uint64, at int64) *fleet.Host {
		return &fleet.Host{Head: fleet.Head{Version: 1, Sensor: name, Run: "1", Seq: seq, Time: at}}
	}
	for i := range maxSensors + 5 {
		e.Consume(host(fmt.Sprintf("s%05d", i), 1, dawn), dawn, 0)
	}
	if c := e.Counters(); c.Sensors != maxSensors || c.SensorsRefused != 5 {
		t.Fatalf("%d sensors, %d refused", c.Sensors, c.SensorsRefused)
	}
	// When some are silent, new ones replace those that are for longest.
	for i := range int64(3) {
		at := dawn + (i+1)*lull
		e.Consume(host("s00007", 2+uint64(i), at), at, 0)
	}
	e.Advance(dawn + 120e9)
	if !e.Consume(host("new", 1, dawn+121e9), dawn+121e9, 0) {
		t.Error("no room for a new sensor in place of a silent one")
	}
	names := e.Sensors()
	if c := e.Counters(); c.SensorsEvicted != 1 || slices.ContainsFunc(names, func(s Sensor) bool { return s.Name == "s00000" }) || c.Silent != maxSensors-2 {
		t.Errorf("%d evicted, %d silent", c.SensorsEvicted, c.Silent)
	}
}

// TestIncidentLimit: a thousand incidents of one sensor leave room for those of another.
func TestIncidentLimit(t *testing.T) {
	e := New(Options{})
	incident := func(sensor string, id uint64) *fleet.Incident {
		return &fleet.Incident{Head: fleet.Head{Version: 1, Sensor: sensor, Run: "1", Seq: id, Time: dawn}, ID: id, Event: "open",
			Category: "flood_spoofed", Start: dawn - 5e9, Requests: 100, Peak: 10}
	}
	for i := range uint64(1000) {
		e.Consume(incident("liar", i+1), dawn, 0)
		e.Advance(dawn + int64(i)*10e6)
	}
	e.Consume(incident("ams-1", 1), dawn, 0)
	e.Advance(dawn + 60e9)
	c := e.Counters()
	if c.Incidents != sensorIncidents+1 || c.IncidentsRefused != 1000-sensorIncidents {
		t.Errorf("%d incidents, %d refused", c.Incidents, c.IncidentsRefused)
	}
}
