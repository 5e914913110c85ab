// Package sensor makes the messages of one host of a fleet: at the end of each window, of what
// monitor.Meter and flood.Detector counted in it, and when an incident begins, changes or ends. It
// sends nothing, and takes its time from the packets.
//
//	track.Sighting
//	  |
//	  v
//	Sensor            is the window over? Then, before the packet counts anywhere:
//	  |                 flood.Detector up to its last second, counters of monitor.Meter,
//	  |                 a Server for each, a Host, findings, what servers say of themselves
//	  v
//	monitor.Meter, flood.Detector
//	  |  observers
//	  v
//	Sensor            an Incident when one begins or ends; what changed meanwhile, with the window
//
// # Of the same seconds
//
// Windows begin at multiples of fleet.Period in Unix time, and so do the panes of the detector's
// sketches (flood.Detector.Share): the sketch in a Server is of exactly the window, so that those of
// all hosts for a window merge into what one host would have counted. Its Features are what the rules
// of one host judge: of the window and, where queries came in it, the one before; Features has how
// many seconds these are (measure.Window).
//
// # As many bytes in a flood as in peace
//
// The size of a window's messages does not grow with the traffic: sketches and features have one size, and
// lists are bounded and filled up. A Server is of the same length, but for digits, whether no host asks or a
// million forged hosts do. Events are bounded for each window, see windowBytes.
package sensor

import (
	"cmp"
	"math"
	"net/netip"
	"slices"

	"qsniff/internal/fleet"
	"qsniff/internal/flood"
	"qsniff/internal/flood/measure"
	"qsniff/internal/monitor"
	"qsniff/internal/track"
)

// Options are what a Sensor makes messages of.
type Options struct {
	Meter    *monitor.Meter
	Detector *flood.Detector // the sensor calls its Share
	Secret   *fleet.Secret
	Name     string // of the sensor, by fleet.CheckName
	Run      string // random, see fleet.Head
	Program  string // its version
	Input    string // see fleet.Host
	// Line returns an incident as floods -o json prints it, for fleet.Incident.Line; nil: messages
	// have no addresses of clients.
	Line func(*flood.Incident, flood.Event) []byte
	// Packets returns how many packets were read since the start; nil: that is unknown.
	Packets func() uint64
	// Wall returns the time of the host's clock, in Unix nanoseconds, for a live capture: after that clock was set back,
	// the times of packets go on as if it had not been, and those of messages do not. nil: they are those of packets.
	Wall func() int64
	// Put takes a message, which is its own from then on. It is called by the goroutine that runs
	// the pipeline, and must not block.
	Put func(fleet.Message)
}

// Sensor makes messages. It is a track.Watcher that must come before the Meter and the Detector, so
// that a window is over before the first packet of the next one counts. It is for the goroutine that
// runs the pipeline.
type Sensor struct {
	opt    Options
	endAge int64  // age of packets at which the window is over; math.MinInt64: there is none yet
	end    int64  // its Unix time
	seq    uint64 // of the last message
	unsent uint64

	started int64 // Unix time of the first packet
	ahead   int64 // by which times of packets are later than the host's clock, in whole periods
	dropped uint64

	places  []place // by monitor.Meter.Place
	order   []int   // places of servers
	listed  map[netip.AddrPort]*listing
	windows int32 // so far

	events   events
	findings map[findingKey]uint64

	// Memory of one window.
	features measure.Features
	shape    measure.Shape
	forms    []measure.Form
	networks []busyNetwork
	kinds    []kindDelta
}

// New returns a Sensor. It is called before the first sighting: it has the detector watch the
// servers of the host closely from their first request on, and measure with the key of the fleet.
func New(opt Options) *Sensor {
	x := &Sensor{opt: opt, endAge: math.MinInt64, listed: map[netip.AddrPort]*listing{}, findings: map[findingKey]uint64{}}
	x.events = events{open: map[uint64]bool{}, updates: map[uint64]*fleet.Incident{}}
	opt.Detector.Share(opt.Secret.Key(), opt.Meter.Has)
	return x
}

// Sight ends the window before a packet, if that is the first one after it.
func (x *Sensor) Sight(s *track.Sighting) {
	if s.Age >= x.endAge {
		x.pass(s.Age, s.Nanos)
	}
}

// Tick ends the window if time has passed it.
func (x *Sensor) Tick(age, nanos int64) {
	if age >= x.endAge {
		x.pass(age, nanos)
	}
}

// Lost counts packets that are missing from the capture.
func (x *Sensor) Lost(packets uint64) { x.dropped += packets }

// End ends the window at hand.
func (x *Sensor) End(age, nanos int64) {
	x.Tick(age, nanos)
	if x.endAge != math.MinInt64 {
		x.opt.Detector.Tick(age, nanos)
		x.closeWindow()
	}
}

// pass ends the windows before age, and finds out when the one at hand is over. There is none
// before the first packet, which the detector gets after the sensor.
func (x *Sensor) pass(age, nanos int64) {
	x.followClock(nanos)
	if x.started == 0 {
		x.started = max(nanos, 1)
	}
	if x.endAge == math.MinInt64 {
		x.endAge, x.end = x.opt.Detector.Pane()
		return
	}
	for range 1 + emptyWindows {
		x.opt.Detector.Tick(x.endAge-1, x.end-1)
		x.closeWindow()
		if x.endAge += int64(fleet.Period); x.endAge > age {
			break
		}
		x.end += int64(fleet.Period)
	}
	x.opt.Detector.Tick(age, nanos)
	if x.endAge, x.end = x.opt.Detector.Pane(); x.endAge <= age { // the detector's time stands still
		x.endAge = math.MaxInt64
	}
}

// followClock finds out by how much the time of a packet that was just captured is later than the host's clock. It moves
// messages by whole periods, so that windows stay those of other hosts.
func (x *Sensor) followClock(nanos int64) {
	if x.opt.Wall == nil {
		return
	}
	const period = int64(fleet.Period)
	switch ahead := max(nanos-x.opt.Wall(), 0); {
	case ahead < period/2:
		x.ahead = 0
	case max(ahead-x.ahead, x.ahead-ahead) > period*6/10: // not to and fro between two
		x.ahead = (ahead + period/2) / period * period
	}
}

// put numbers a message and gives it out.
func (x *Sensor) put(m fleet.Message, k fleet.Kind, nanos int64) {
	x.seq++
	*fleet.HeadOf(m) = fleet.Head{Version: fleet.Version, Kind: k, Sensor: x.opt.Name, Run: x.opt.Run, Seq: x.seq, Time: max(nanos-x.ahead, 1)}
	x.opt.Put(m)
}

// place is what a place of the Meter counted up to the window before.
type place struct {
	addr   netip.AddrPort
	before counts
}

// counts are the counters of monitor.Counts that messages have.
type counts struct {
	in, out                 monitor.Traffic
	junk, unasked, unproven uint64
}

func countsOf(c *monitor.Counts) counts {
	return counts{c.In, c.Out, c.Junk.Packets, c.Unasked, c.Unproven}
}

// since returns what was counted after before. A server that lost its counters meanwhile, and got
// others, began anew.
func (c counts) since(before counts) counts {
	if c.in.Packets < before.in.Packets || c.out.Packets < before.out.Packets {
		return c
	}
	return counts{
		monitor.Traffic{Packets: c.in.Packets - before.in.Packets, Bytes: c.in.Bytes - before.in.Bytes},
		monitor.Traffic{Packets: c.out.Packets - before.out.Packets, Bytes: c.out.Bytes - before.out.Bytes},
		c.junk - before.junk, c.unasked - before.unasked, c.unproven - before.unproven,
	}
}

// closeWindow makes the messages of the window that ends at x.end.
func (x *Sensor) closeWindow() {
	x.windows++
	x.chooseServers()
	h := &fleet.Host{Program: cut(x.opt.Program), Input: cut(x.opt.Input), Started: max(x.started-x.ahead, 1), Servers: len(x.order),
		Unlisted: max(len(x.order)-fleet.MaxServers, 0), Dropped: x.dropped, Open: len(x.events.open)}
	if x.opt.Packets != nil {
		h.Packets = x.opt.Packets()
	}
	addCounts(&h.Others, x.takeCounts(0))
	for i, at := range x.order {
		c := x.takeCounts(at)
		if i >= fleet.MaxServers {
			addCounts(&h.Others, c)
			continue
		}
		x.putServer(at, c)
	}
	for a, l := range x.listed {
		if l.window != x.windows {
			delete(x.listed, a)
		}
	}
	x.putUpdates()
	x.putFindings()
	h.Unsent = x.unsent
	x.put(h, fleet.KindHost, x.end)
}

// chooseServers sets order to the places of all servers: those that were asked in the window first,
// by their addresses, then those that were asked last.
func (x *Sensor) chooseServers() {
	m := x.opt.Meter
	x.order = x.order[:0]
	for i := 1; i <= m.NumServers(); i++ {
		x.order = append(x.order, i)
	}
	for len(x.places) <= m.NumServers() {
		x.places = append(x.places, place{})
	}
	begin := x.end - int64(fleet.Period)
	slices.SortFunc(x.order, func(i, j int) int {
		a, b := m.Place(i), m.Place(j)
		return cmp.Or(cmp.Compare(min(b.Counts().LastSeen, begin), min(a.Counts().LastSeen, begin)), a.Addr().Compare(b.Addr()))
	})
}

// takeCounts returns what was counted at a place since it was called before.
func (x *Sensor) takeCounts(at int) counts {
	p := x.opt.Meter.Place(at)
	b := &x.places[at]
	if a := p.Addr(); b.addr != a {
		*b = place{addr: a}
	}
	now := countsOf(p.Counts())
	c := now.since(b.before)
	b.before = now
	return c
}

func addCounts(o *fleet.Others, c counts) {
	o.PacketsIn += c.in.Packets
	o.BytesIn += c.in.Bytes
	o.PacketsOut += c.out.Packets
	o.BytesOut += c.out.Bytes
	o.Junk += c.junk
}

// cut returns the first fleet.MaxText bytes of a text at most, as valid UTF-8.
func cut(s string) string { return toValid(s[:min(len(s), fleet.MaxText)]) }

// limit: emptyWindows is how many windows without a packet are sent after one with packets, where
// no time passed in between: in a capture with a gap. Chosen: a hub announces after a minute
// that a sensor is silent.
const emptyWindows = 6

const (
	// limit: The longest messages of each kind, in JSON. A test makes them.
	serverBytes    = 11 << 10
	hostBytes      = 2 << 10
	incidentBytes  = 12 << 10
	findingBytes   = 512
	inventoryBytes = 2 << 10

	// limit: windowBytes is the most that the messages of a window have together, but for Incident.Line,
	// which only those who ask for addresses have. Most of it is room for events that no window
	// has all of: sixteen servers have 110 KiB.
	windowBytes = fleet.MaxServers*(serverBytes+inventoryBytes) + hostBytes +
		(incidentsEach+updatesEach)*incidentBytes + findingsEach*findingBytes
)
