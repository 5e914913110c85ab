//go:build !js

package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"qsniff/flood"
	"qsniff/monitor"
)

// reloadable are the flags that SIGHUP changes, with the files that they name.
var reloadable = []string{"servers", "thresholds", "web-token-file", "web-cert", "web-key", "webhooks"}

// reload reads the configuration and the files that it names again. What is wrong leaves all as it
// was.
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

// applyReload makes what can be changed as next has it.
func (m *monitorRun) applyReload(next *monitorOptions) error {
	if m.server.WantsToken() != (len(next.token) > 0) || m.cert.isSet() != (next.cert != "") {
		return errors.New("a token or a certificate comes or goes: that takes a restart")
	}
	if (m.opts.hooks == "") != (next.hooks == "") {
		return errors.New("--webhooks comes or goes: that takes a restart")
	}
	if err := m.told.reloadHooks(next.hooks); err != nil {
		return err
	}
	if _, err := m.cert.load(next.cert, next.key); err != nil {
		return err
	}
	if len(next.token) > 0 {
		m.server.SetToken(next.token)
	}
	select {
	case m.todo <- func() {
		m.detector.SetThresholds(next.limits)
		m.detector.ownServers = next.ownServers
		m.meter.SetServers(next.ownServers.Ends(), next.mayList())
	}:
		return nil
	case <-time.After(monitor.Patience):
		return errors.New("the capture stands still")
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
	for _, name := range []string{o.config, o.thresholds, o.tokenFile, o.cert, o.key} {
		if name != "" && !slices.Contains(all, filepath.Dir(name)) {
			all = append(all, filepath.Dir(name))
		}
	}
	return all
}

// certificate is the one that the server shows. It can be replaced while it is in use.
type certificate struct {
	now atomic.Pointer[tls.Certificate]
}

func (c *certificate) isSet() bool { return c.now.Load() != nil }

// load reads a certificate and its key, and shows it from now on. It returns nil for none.
func (c *certificate) load(cert, key string) (*tls.Config, error) {
	x, err := loadCertificate(cert, key)
	if x == nil || err != nil {
		return nil, err
	}
	c.now.Store(x)
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now.Load(), nil }}, nil
}

// loadCertificate reads a certificate and its key; without names there is none.
func loadCertificate(cert, key string) (*tls.Certificate, error) {
	if cert == "" {
		return nil, nil
	}
	x, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, &hintedError{fmt.Errorf("--web-cert %s, --web-key %s: %w", cert, key, err), "both are PEM, and belong to each other"}
	}
	return &x, nil
}

// newLogger returns the logger of the run, on standard error.
func (o *monitorOptions) newLogger(w io.Writer) *slog.Logger {
	opt := &slog.HandlerOptions{Level: o.level()}
	if o.logForm == "json" {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
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
