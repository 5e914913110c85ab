package sensor

import (
	"math"
	"net/netip"

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
