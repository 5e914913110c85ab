//go:build !js

package main

import (
	"qsniff/internal/flood"
	"qsniff/internal/monitor/notify"
	"qsniff/internal/pipeline"
	"qsniff/internal/track"
)

// startTelling starts the messenger process, which sends notes of incidents, if it has anything to do.
func (m *monitorRun) startTelling() error {
	c, err := m.opts.Config()
	if err != nil {
		return err
	}
	c.NoSandbox, c.Reports, c.Fleet = m.opts.noSandbox, m.opts.reports, m.opts.fleet.config()
	m.told, err = m.opts.startTelling(c, m.opts.ownServers, func(text string) { m.log.Warn("telling", "what", text) })
	if m.in.live != nil {
		m.in.live.told = m.told // it asks for reports of files
	}
	if c.Fleet != nil {
		m.toFleet = m.putFleet
	}
	return err
}

// addTelling adds to the run what makes notes, and what keeps packets around incidents. Both ask the
// filter of servers at each incident, because a reload may change it.
func (m *monitorRun) addTelling(cfg *pipeline.Config) {
	observe := func(found func(*flood.Incident, flood.Event)) {
		m.detector.Detector.AddObserver(func(in *flood.Incident, e flood.Event) { m.detector.filter(found)(in, e) })
	}
	if m.in.live != nil {
		observe(m.in.live.noteAlarm)
	}
	if m.told == nil && m.opts.findings == "none" {
		return
	}
	if m.told != nil {
		m.teller = m.told.Teller
	} else { // the page has the findings
		m.teller = m.opts.newTeller(m.opts.ownServers, func(*notify.Note) {})
	}
	observe(m.teller.Observe)
	cfg.Watchers = append([]track.Watcher{m.teller}, cfg.Watchers...)
	if m.opts.findings != "none" {
		cfg.Listener = m.teller
	}
}

// logTelling logs lines about the sinks that get notes.
func (m *monitorRun) logTelling(lines ...string) {
	for _, line := range lines {
		if line != "" {
			m.log.Info("telling", "what", line)
		}
	}
}
