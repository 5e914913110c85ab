//go:build !js

package main

import (
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"qsniff/internal/flood"
)

// reloadable are the flags that SIGHUP changes, with the files that they name.
var reloadable = []string{"servers", "own", "thresholds", "web-token-file", "web-cert", "web-key", "webhooks"}

// reload reads the configuration and the files that it names again. An error leaves all as it was.
func (m *monitorRun) reload() {
	m.manager.Reloading()
	defer m.manager.Notify("READY=1")
	m.told.reopen()
	next, _, err := m.source.load()
	if err == nil {
		err = m.applyReload(next)
	}
	if err != nil {
		m.log.Error("nothing was reloaded", "why", err)
		return
	}
	m.log.Info("reloaded", "servers", next.servers, "thresholds", next.thresholds)
	if later := m.changedForRestart(next); len(later) > 0 {
		m.log.Warn("a restart is needed for what else has changed", "flags", later)
	}
}

// applyReload sets what a reload can change to the values in next. Each step that can fail precedes
// those that change something, and the services are last of them: the messenger reads their file itself.
func (m *monitorRun) applyReload(next *monitorOptions) error {
	if m.server.WantsToken() != (len(next.token) > 0) || m.cert.IsSet() != (next.web.Cert != "") {
		return errors.New("a token or a certificate comes or goes: that takes a restart")
	}
	if (m.opts.Hooks == "") != (next.Hooks == "") {
		return errors.New("--webhooks comes or goes: that takes a restart")
	}
	cert, err := next.web.LoadCertificate()
	if err != nil {
		return err
	}
	if err := m.awaitCapture(); err != nil {
		return err
	}
	if err := m.told.reloadHooks(next.Hooks); err != nil {
		return err
	}
	if cert != nil {
		m.cert.Set(cert)
	}
	if len(next.token) > 0 {
		m.server.SetToken(next.token)
	}
	return m.runInCapture(func() {
		m.detector.SetThresholds(next.limits)
		m.detector.SetOwn(next.ownTools)
		m.detector.ownServers = next.ownServers
		m.meter.SetServers(next.ownServers.Ends(), next.mayList())
	})
}

// awaitCapture waits until the goroutine of the capture comes to what it is asked: then it takes the next
// thing, too. It waits for twice reloadPatience at most.
func (m *monitorRun) awaitCapture() error {
	came := make(chan struct{})
	if err := m.runInCapture(func() { close(came) }); err != nil {
		return err
	}
	select {
	case <-came:
		return nil
	case <-time.After(m.patience):
		return errStandsStill
	}
}

// runInCapture has the goroutine of the capture call f, some time. It fails if that has not even begun
// with what it was asked before, for reloadPatience.
func (m *monitorRun) runInCapture(f func()) error {
	select {
	case m.todo <- f:
		return nil
	case <-time.After(m.patience):
		return errStandsStill
	}
}

// changedForRestart lists the flags that have changed and that a reload does not change.
func (m *monitorRun) changedForRestart(next *monitorOptions) []string {
	now := next.settings()
	changed := maps.Clone(now)
	maps.DeleteFunc(changed, func(name, value string) bool {
		return slices.Contains(reloadable, name) || m.settings[name] == value
	})
	return slices.Sorted(maps.Keys(changed))
}

// settings returns the values of all flags by their names.
func (o *monitorOptions) settings() map[string]string {
	all := map[string]string{}
	o.flags.VisitAll(func(f *pflag.Flag) { all[f.Name] = f.Value.String() })
	return all
}

// folders returns where the files are that are read again. Whoever replaces a file makes another one
// of its name, so the right is one to the folder.
func (o *monitorOptions) folders() (all []string) {
	for _, name := range []string{o.config, o.thresholds, o.web.TokenFile, o.web.Cert, o.web.Key} {
		if name != "" && !slices.Contains(all, filepath.Dir(name)) {
			all = append(all, filepath.Dir(name))
		}
	}
	return all
}

// logIncident logs an event of a warning or an alert.
func (m *monitorRun) logIncident(in *flood.Incident, e flood.Event) {
	level := slog.LevelWarn
	if e == flood.Ends {
		level = slog.LevelInfo
	}
	m.log.Log(m.in.ctx, level, "incident", "event", e.String(), "id", in.ID, "kind", in.Kind.String(), "level", in.Level.String(),
		"target", in.Target.String(), "rate", in.Peak, "frame", in.Frame)
}
