//go:build !js

package main

import (
	"crypto/rand"
	"encoding/hex"
	"net/netip"
	"path/filepath"
	"strings"

	"qsniff/internal/base/cli"
	"qsniff/internal/fleet"
	"qsniff/internal/fleet/sensor"
	"qsniff/internal/flood"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/track"
)

// fleetOptions are the flags about the fleet that this host is one of.
type fleetOptions struct {
	url        string // of the broker; empty: there is no fleet
	name       string // of this sensor
	secretFile string
	prefix     string // of subjects
	creds, ca  string
	spool      string
	spoolSize  cli.ByteSize
	addresses  bool // messages have the addresses of clients

	secret *fleet.Secret // that of secretFile
}

// addFleet adds to the run a sensor, which passes its messages for the hub of the fleet to m.toFleet. It
// comes before all other watchers: it ends a window before these count the first packet of the next one.
func (m *monitorRun) addFleet(cfg *pipeline.Config) {
	o := &m.opts.fleet
	var run [8]byte
	rand.Read(run[:]) // it does not fail
	opt := sensor.Options{Meter: m.meter, Detector: m.detector.Detector, Secret: o.secret, Name: o.name, Run: hex.EncodeToString(run[:]),
		Program: readBuild().Version, Input: m.inputName(), Packets: func() uint64 { return m.received }, Put: m.toFleet}
	if o.addresses {
		opt.Line = newFleetLine()
	}
	x := sensor.New(opt)
	cfg.Seed = o.secret.Seed()
	cfg.Watchers = append([]track.Watcher{x}, cfg.Watchers...)
	m.detector.Detector.AddObserver(func(in *flood.Incident, e flood.Event) { m.detector.filter(x.AddIncident)(in, e) })
	if cfg.Listener != nil { // findings are wanted
		cfg.Listener = fleetListener{cfg.Listener, x}
	}
}

// inputName returns what is read, as the hub shows it: interfaces, or a capture without its folder.
func (m *monitorRun) inputName() string {
	if m.opts.isLive() {
		return strings.Join(m.opts.interfaces, ", ")
	}
	return filepath.Base(m.in.what)
}

// newFleetLine returns a function that returns an incident as floods -o json prints it, with what
// happened to it.
func newFleetLine() func(*flood.Incident, flood.Event) []byte {
	r := jsonl.New(jsonl.Options{})
	return func(in *flood.Incident, e flood.Event) []byte {
		line := r.AppendIncident(nil, &render.IncidentEvent{Nanos: max(in.Detected, in.End), Event: e, Incident: in})
		return line[:len(line)-1]
	}
}

// fleetListener passes findings to a sensor as well.
type fleetListener struct {
	track.Listener
	sensor *sensor.Sensor
}

func (l fleetListener) AddFact(f *track.Fact, found []track.Found, info *track.ServerInfo) {
	l.Listener.AddFact(f, found, info)
	for i := range found {
		l.sensor.AddFinding(f.Server, found[i])
	}
}

func (l fleetListener) AddFinding(frame uint64, nanos int64, server, client netip.AddrPort, found track.Found) {
	l.Listener.AddFinding(frame, nanos, server, client, found)
	l.sensor.AddFinding(server, found)
}
