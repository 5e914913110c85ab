package sensor

import (
	"net/netip"

	"qsniff/fleet"
	"qsniff/flood"
	"qsniff/monitor"
	"qsniff/track"
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
	// IsOwn reports whether a server is one of this host although it has no counters of its own: as
	// those that the user named; nil: none is.
	IsOwn func(netip.AddrPort) bool
	// Line returns an incident as floods -o json prints it, for fleet.Incident.Line; nil: messages
	// have no addresses of clients.
	Line func(*flood.Incident, flood.Event) []byte
	// Packets returns how many packets were read since the start; nil: that is unknown.
	Packets func() uint64
	// Put takes a message, which is its own from then on. It is called by the goroutine that runs
	// the pipeline, and must not block.
	Put func(fleet.Message)
}

// Sensor makes messages. It is a track.Watcher that must come before the Meter and the Detector, so
// that a window is over before the first packet of the next one counts. It is for the goroutine that
// runs the pipeline.
type Sensor struct {
	opt Options
}

// New returns a Sensor. It is called before the first sighting: it has the detector watch the
// servers of the host closely from their first request on, and measure with the key of the fleet.
func New(opt Options) *Sensor { return &Sensor{opt: opt} }

// AddIncident makes messages of an incident. It is an observer of the detector.
func (x *Sensor) AddIncident(in *flood.Incident, e flood.Event) {}

// AddFinding counts a finding at a server.
func (x *Sensor) AddFinding(server netip.AddrPort, found track.Found) {}

// Sight ends the window before a packet, if that is the first one after it.
func (x *Sensor) Sight(s *track.Sighting) {}

// Tick ends the window if time has passed it.
func (x *Sensor) Tick(age, nanos int64) {}

// Lost counts packets that are missing from the capture.
func (x *Sensor) Lost(packets uint64) {}

// End ends the window at hand.
func (x *Sensor) End(age, nanos int64) {}
