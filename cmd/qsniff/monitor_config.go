//go:build !js

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qsniff/capture/file"
	"qsniff/capture/live"
	"qsniff/internal/app/cli"
	"qsniff/internal/fleet/messenger"
	"qsniff/internal/flood"
)

// monitorSource is where the options of monitor come from: the command line, and the file that it
// names. They can be loaded again.
type monitorSource struct {
	flags *pflag.FlagSet // those of the command line
	args  []string
}

// load returns the options by the command line and the file, checked, and what is captured.
func (s *monitorSource) load() (*monitorOptions, []string, error) {
	opts := newMonitorOptions()
	cmd := &cobra.Command{}
	opts.register(cmd)
	var err error
	s.flags.Visit(func(f *pflag.Flag) {
		if mine := cmd.Flags().Lookup(f.Name); mine != nil && err == nil {
			err = copyFlag(mine, f)
		}
	})
	args := s.args
	if err == nil && opts.config != "" {
		c := cli.Config{Name: opts.config, Command: "monitor", Path: "qsniff monitor", Not: notInConfig, Keys: []string{fileKey}}
		c.Take = func(key string, value any) bool {
			if key == fileKey && len(args) == 0 && !s.flags.Changed("interface") {
				args = []string{fmt.Sprint(value)}
			}
			return key == fileKey || key == "interface" && len(args) > 0
		}
		err = c.Load(cmd.Flags())
	}
	if err == nil {
		home := cli.UserHome()
		_, err = home.Apply(cmd.Flags())
	}
	if err != nil {
		return nil, nil, err
	}
	return opts, args, opts.prepare(args)
}

// copyFlag gives a flag the value of another one.
func copyFlag(to, from *pflag.Flag) error {
	to.Changed = true
	if list := cli.ListOf(from); list != nil {
		return cli.ListOf(to).Replace(list.GetSlice())
	}
	return to.Value.Set(from.Value.String())
}

// notInConfig are flags that a file cannot set; fileKey stands for the argument.
var notInConfig = []string{"config", "check", "help"}

// fileKey is the key for the capture or the folder that is the command's argument.
const fileKey = "file"

// printCheck prints what would run, or returns why it would not. The port is not opened, nor are
// interfaces, as a monitor that is at work may have the one and its user the right to the other.
func (o *monitorOptions) printCheck(w io.Writer, args []string) error {
	sinks, err := o.checkPlaces(args)
	if err != nil {
		return err
	}
	what := "capture on " + strings.Join(o.interfaces, ", ")
	if !o.isLive() {
		what = "read " + args[0]
	}
	token, tls := "no token", "no encryption"
	if len(o.token) > 0 {
		token = "a token"
	}
	if o.web.Cert != "" {
		tls = "encrypted"
	}
	servers := cmp.Or(o.servers, "those that answer")
	_, err = fmt.Fprintf(w, "monitor would %s\nlisten:  %s, %s, %s\nservers: %s, at most %d that are not named\ntell:    %s\nfleet:   %s\n",
		what, o.web.Listen, token, tls, servers, o.maxServers, cmp.Or(strings.Join(sinks, ", "), "nobody"), o.fleet.describe())
	return err
}

// checkPlaces returns an error if a start would fail at what the options name: addresses,
// interfaces, files to read and to write, services. It returns the names of the sinks that would
// get notes of incidents.
func (o *monitorOptions) checkPlaces(args []string) (sinks []string, err error) {
	if _, err = parseDecodeAs(o.as, o.registry()); err != nil {
		return nil, err
	}
	for _, name := range o.interfaces {
		if err := live.CheckInterface(name); err != nil {
			return nil, err
		}
	}
	if !o.isLive() && !slices.Contains(args, stdin) {
		if err := checkReadable(args[0]); err != nil {
			return nil, err
		}
	}
	at, err := net.ResolveTCPAddr("tcp", o.web.Listen)
	if err != nil {
		return nil, cli.Hinted(fmt.Errorf("--listen %s: %w", o.web.Listen, err), "as in 127.0.0.1:9477, or :9477 for all addresses")
	}
	if !at.IP.IsLoopback() && len(o.token) == 0 {
		return nil, o.web.NoToken()
	}
	if err := o.web.CheckTLS(at.IP.IsLoopback()); err != nil {
		return nil, err
	}
	switch {
	case o.keepOptions.write == "":
	case o.keepOptions.options().HasSeveralFiles():
		err = file.CheckFolder(filepath.Dir(o.keepOptions.write))
	default:
		err = file.CheckCreate(o.keepOptions.write, o.force)
	}
	if err != nil {
		return nil, err
	}
	c, err := o.Config()
	if err != nil {
		return nil, err
	}
	c.Fleet = o.fleet.config()
	return messenger.Check(c)
}

// checkReadable returns an error for a file or a folder that cannot be opened.
func checkReadable(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return cli.Hinted(err, "name a capture, or a folder that others write captures to")
	}
	return f.Close()
}

// reloadable are the flags that SIGHUP changes, with the files that they name.
var reloadable = []string{"servers", "own", "thresholds", "web-token-file", "web-cert", "web-key", "webhooks"}

// reload reads the configuration and the files that it names again. An error leaves all as it was.
func (m *monitorRun) reload() {
	m.manager.Reloading()
	defer m.manager.Notify("READY=1")
	m.told.Reopen()
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
	if err := m.told.ReloadHooks(next.Hooks); err != nil {
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
		m.detector.ours = next.ours
		m.meter.SetServers(next.ours.Ends(), next.mayList())
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

// folders returns where the files are that are read again. A file is replaced by another one
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
