package fleettest

import (
	"fmt"
	"slices"
	"time"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/sensor"
	"qsniff/internal/flood"
	"qsniff/internal/monitor"
	"qsniff/internal/track"
)

// Sensor is what qsniff monitor has on a host.
type Sensor struct {
	Host     *Host
	Meter    *monitor.Meter
	Detector *flood.Detector
	*sensor.Sensor
	// Alone are the warnings and alerts of the host alone.
	Alone []Seen

	run     int
	packets uint64
}

// NewSensor returns the sensor of a host.
func NewSensor(h *Host, secret *fleet.Secret, put func(*Sensor, fleet.Message)) *Sensor {
	x := &Sensor{Host: h}
	x.Restart(secret, put)
	return x
}

// Seen is an incident, with the last that was said of it.
type Seen struct {
	ID     uint64
	Kind   flood.Kind
	Level  flood.Level // the highest
	Target flood.Target
	Start  int64
	End    int64 // 0: open
}

// sensorSize is that of the tables of detectors and meters. Chosen: two hundred of them fit into the
// memory of a small machine, and none of them overflows.
const sensorSize = 0.25

// Restart begins another run of the program on the host, which has forgotten all that it counted.
func (x *Sensor) Restart(secret *fleet.Secret, put func(*Sensor, fleet.Message)) {
	x.run++
	x.packets = 0
	x.Detector = flood.New(flood.Defaults(), sensorSize, nil)
	x.Meter = monitor.New(Registry.Protos(), monitor.Options{MaxServers: 64, Scale: sensorSize, Clock: func() int64 { return 0 }})
	x.Sensor = sensor.New(sensor.Options{Meter: x.Meter, Detector: x.Detector, Secret: secret, Name: x.Host.Name,
		Run: fmt.Sprintf("run-%d", x.run), Program: "test", Input: "eth0", Packets: func() uint64 { return x.packets },
		Put: func(m fleet.Message) { put(x, m) }})
	x.Detector.AddObserver(Note(&x.Alone))
	x.Detector.AddObserver(x.AddIncident)
}

// Note returns an observer that keeps a list of warnings and alerts.
func Note(list *[]Seen) func(*flood.Incident, flood.Event) {
	first := len(*list)
	return func(in *flood.Incident, e flood.Event) {
		i := slices.IndexFunc((*list)[first:], func(s Seen) bool { return s.ID == in.ID })
		switch {
		case i >= 0:
			i += first
		case in.Level < flood.Warn:
			return
		default:
			i = len(*list)
			*list = append(*list, Seen{ID: in.ID})
		}
		s := &(*list)[i]
		s.Kind, s.Level, s.Target, s.Start, s.End = in.Kind, max(s.Level, in.Level), in.Target, in.Start, in.End
	}
}

// See is what the pipeline does with a packet.
func (x *Sensor) See(s *track.Sighting) {
	x.packets++
	x.Sensor.Sight(s)
	x.Meter.Sight(s)
	x.Detector.Sight(s)
}

// Pass is what the pipeline does while no packet comes.
func (x *Sensor) Pass(nanos int64) {
	x.Sensor.Tick(nanos, nanos)
	x.Meter.Tick(nanos, nanos)
	x.Detector.Tick(nanos, nanos)
}

// FleetOptions are what a fleet is made of.
type FleetOptions struct {
	World  Options
	Secret *fleet.Secret
	// Put takes the messages of a sensor.
	Put func(x *Sensor, m fleet.Message)
	// Whole, if it is set, sees the packets of all hosts.
	Whole *flood.Detector
}

// Fleet is a world with a sensor on each host.
type Fleet struct {
	*World
	Sensors []*Sensor
	Truth   Truth
	opt     FleetOptions
}

// Secret returns a secret for tests.
func Secret() *fleet.Secret {
	s, err := fleet.NewSecret([]byte("no secret at all: it is of tests"))
	if err != nil {
		panic(err)
	}
	return s
}

// NewFleet returns a fleet in which nothing has happened yet.
func NewFleet(opt FleetOptions) *Fleet {
	opt.World.Hashes = opt.Secret.Seed()
	f := &Fleet{World: NewWorld(opt.World), opt: opt, Truth: Truth{windows: map[int64]*truth{}}}
	for _, h := range f.Hosts {
		f.Sensors = append(f.Sensors, NewSensor(h, opt.Secret, opt.Put))
	}
	f.Seen = func(h *Host, s *track.Sighting) {
		f.Truth.add(s)
		f.Sensors[h.Index].See(s)
		if opt.Whole != nil {
			opt.Whole.Sight(s)
		}
	}
	return f
}

// Pass lets time pass, and calls each after each second.
func (f *Fleet) Pass(until time.Duration, each func()) {
	for t := f.Now().Truncate(time.Second) + time.Second; t <= until; t += time.Second {
		f.Run(t)
		for _, x := range f.Sensors {
			x.Pass(f.Nanos())
		}
		if f.opt.Whole != nil {
			f.opt.Whole.Tick(f.Nanos(), f.Nanos())
		}
		if each != nil {
			each()
		}
	}
}
