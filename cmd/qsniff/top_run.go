//go:build !js

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"qsniff/capture/file"
	"qsniff/capture/play"
	"qsniff/capture/recent"
	"qsniff/internal/app/terminal"
	"qsniff/internal/app/top"
	"qsniff/internal/base/cli"
	"qsniff/internal/base/sandbox"
	"qsniff/internal/base/shell"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/flood/rules/nft"
	"qsniff/internal/monitor"
	"qsniff/internal/pipeline"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
)

// topRun is the run that the screens show. It is the top.Source and the top.Player of them: a
// capture that is to go back is read anew from its begin.
type topRun struct {
	ctx   context.Context
	opts  *topOptions
	args  []string
	io    streams // err keeps what is printed until the screen is gone
	notes *bytes.Buffer
	store *recent.Store
	live  *monitored // nil: a capture is played
	asked render.Invocation

	mu   sync.Mutex // guards what follows
	now  *session   // nil: another one begins
	last *top.State // while now is nil
	open netip.AddrPort
}

// session is one run of the pipeline.
type session struct {
	cfg    pipeline.Config
	feed   *top.Feed
	player *play.Source // nil: what happens now
	stop   func()
	done   chan struct{} // closed after the run
}

// runTop shows the screens until they are left.
func runTop(ctx context.Context, opts *topOptions, args []string, io streams) error {
	t := &topRun{opts: opts, args: args, notes: new(bytes.Buffer), store: recent.NewStore()}
	t.io = streams{io.out, t.notes}
	for _, name := range args {
		t.asked.Captures = strings.TrimSpace(t.asked.Captures + " " + shell.Quote(name))
	}
	for _, name := range opts.interfaces {
		t.asked.Captures = strings.TrimSpace(t.asked.Captures + " -i " + shell.Quote(name))
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	t.ctx = run
	defer func() { _, _ = io.err.Write(t.notes.Bytes()) }()
	first, err := t.begin(opts.playSpeed, false, 0)
	if err != nil {
		return err
	}
	model, err := t.newModel(first)
	if err != nil {
		return err
	}
	err = terminal.Run(ctx, model, os.Stdin)
	if s := t.session(); s != nil {
		s.stop()
		select {
		case <-s.done:
		case <-time.After(lingering):
		}
	}
	if t.live != nil {
		closed := t.live.close()
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		return cmp.Or(err, closed)
	}
	return err
}

// newModel returns the model of the screens, after it has dropped the rights that are not needed
// any more.
func (t *topRun) newModel(s *session) (*top.Model, error) {
	o, reg := t.opts, s.cfg.Registry
	folder, text, remark := readTopSettings()
	settings, err := top.ParseSettings(text)
	if err != nil {
		remark = "top.toml: " + err.Error()
	}
	if err := t.enterSandbox(folder); err != nil {
		return nil, err
	}
	x := top.Options{Source: t, Input: strings.Join(append(o.interfaces, t.args...), ", "), Settings: settings, Remark: remark,
		Save: func(s top.Settings) error { return saveTopSettings(folder, &s) }, Write: t.write, Rules: t.rules,
		Decoder: &top.Decoder{Registry: reg, DecodeAs: s.cfg.DecodeAs, Store: t.store,
			Filter: func(text string) (*filter.Program, error) { return o.compile(text, reg) }},
		Limits: o.limits, Expiry: advice.DefaultExpiry, Look: terminal.LookOf(os.Getenv), UTC: o.utc}
	x.Asked = t.asked
	if s.player != nil {
		x.Player = t
	}
	return top.New(x), nil
}

// enterSandbox drops the rights that the run does not need any more. A capture stays readable, because
// it is read again to go back.
func (t *topRun) enterSandbox(settings string) error {
	_ = time.Local.String() // loads the time zone, which is a file
	if t.opts.noSandbox {
		return nil
	}
	p := sandbox.Policy{Read: t.args}
	if t.live != nil {
		p = t.live.policy
	}
	p.Write = append(p.Write, topFolders(settings)...)
	var err error
	if p.User, err = sandbox.OwnerOf("."); err != nil {
		return err
	}
	_, err = sandbox.Enter(p)
	return err
}

// begin begins a run of the pipeline. A capture is played from its begin, and at once up to a time.
func (t *topRun) begin(speed float64, isPaused bool, until int64) (*session, error) {
	s := &session{done: make(chan struct{})}
	m := &monitorOptions{readOptions: t.opts.readOptions, ownServers: t.opts.ownServers}
	run, cancel := context.WithCancel(t.ctx)
	s.stop = cancel
	if m.isLive() || t.opts.follow {
		in, err := openMonitored(run, m, t.args, t.io)
		if err != nil {
			cancel()
			return nil, err
		}
		t.live, s.cfg, s.stop = in, in.cfg, func() { in.stop(); cancel() }
	} else if err := t.openPlayed(run, s, speed, isPaused, until); err != nil {
		cancel()
		return nil, err
	}
	d := &incidents{newDetector(s.cfg.Registry, t.opts.limits, t.opts.scale(), advice.DefaultExpiry, t.opts.ownTools), t.opts.ownServers}
	s.cfg.WatchesMatches, s.cfg.CountsMessages = true, false
	mayList := t.opts.ownServers.Has // without --servers, any: whoever looks may be on the way to the servers
	if t.opts.ownServers == nil {
		mayList = nil
	}
	s.feed = top.NewFeed(&s.cfg, monitor.Options{Servers: t.opts.ownServers.Ends(), MayList: mayList, MaxServers: t.opts.maxServers, Scale: t.opts.scale(), Clock: monotonic},
		d.Detector, func(in *flood.Incident) bool { return in.IsAt(t.opts.ownServers) }, t.store)
	if t.live != nil {
		s.feed.Count = t.live.count
	}
	t.mu.Lock()
	t.now = s
	s.feed.Open(t.open)
	t.mu.Unlock()
	go func() {
		_, err := pipeline.Run(run, s.cfg)
		s.feed.End(cmp.Or(err, errOver))
		close(s.done)
	}()
	return s, nil
}

var errOver = errors.New("the input is over")

// openPlayed opens the captures that the arguments name, to be played.
func (t *topRun) openPlayed(ctx context.Context, s *session, speed float64, isPaused bool, until int64) error {
	j, err := t.opts.prepareAll(ctx, t.args, t.io)
	if err != nil {
		return err
	}
	s.player = play.New(j.src.Source, speed, monotonic, func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	})
	s.player.SetPaused(isPaused)
	s.player.SkipTo(until)
	s.cfg = j.cfg
	s.cfg.Source, s.cfg.Clock = s.player, s.player.Clock
	return nil
}

// session returns the one at hand, nil if another one begins.
func (t *topRun) session() *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// Take implements top.Source.
func (t *topRun) Take(ctx context.Context) *top.State {
	s := t.session()
	if s == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.last
	}
	return s.feed.Take(ctx)
}

// Open implements top.Source.
func (t *topRun) Open(server netip.AddrPort) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open = server; t.now != nil {
		t.now.feed.Open(server)
	}
}

// SetSpeed implements top.Player.
func (t *topRun) SetSpeed(speed float64) {
	if s := t.session(); s != nil {
		s.player.SetSpeed(speed)
	}
}

// SetPaused implements top.Player.
func (t *topRun) SetPaused(paused bool) {
	if s := t.session(); s != nil {
		s.player.SetPaused(paused)
	}
}

// GoTo implements top.Player.
func (t *topRun) GoTo(nanos int64) {
	s := t.session()
	if s == nil {
		return
	}
	p := s.player.State()
	if nanos >= p.Position {
		s.player.SkipTo(nanos)
		return
	}
	last := *s.feed.Take(t.ctx)
	p.Position, p.Target, p.IsAtEnd = nanos, nanos, false
	last.Play = &p
	t.mu.Lock()
	t.now, t.last = nil, &last
	t.mu.Unlock()
	go t.goBack(s, &p)
}

// goBack reads the capture anew up to a position, once the run before is over and its tables are
// free: two of them would take twice the memory.
func (t *topRun) goBack(s *session, p *play.State) {
	s.stop()
	<-s.done
	debug.FreeOSMemory()
	if _, err := t.begin(p.Speed, p.IsPaused, p.Position); err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		last := *t.last
		last.Ended = err
		t.last = &last
	}
}

// rules returns the lines that load rules against an incident.
func (t *topRun) rules(in *flood.Incident) string {
	f := &render.Floods{Incidents: []flood.Incident{*in}, Limits: t.opts.limits, Expiry: advice.DefaultExpiry, IsLive: t.live != nil, Asked: t.asked}
	f.Run.Packets = 1
	return "nft -f - <<'END'\n" + string(nft.AppendFloods(nil, f)) + "END\n"
}

// write writes packets to a new file in the current folder.
func (t *topRun) write(packets recent.Packets) (string, error) {
	build, stem := readBuild(), "qsniff-top-"+time.Now().Format("20060102-150405")
	for n := 1; ; n++ {
		name := stem + ".pcapng"
		if n > 1 {
			name = fmt.Sprintf("%s-%d.pcapng", stem, n)
		}
		w, err := file.Create(name, file.WriteOptions{Application: "qsniff " + build.Short()})
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		for i := range packets {
			if err := w.Write(&packets[i].Packet); err != nil {
				return "", cmp.Or(err, w.Close())
			}
		}
		return name, w.Close()
	}
}

// topSettings is the file of settings, in the folder that readTopSettings returns.
const topSettings = "top.toml"

// readTopSettings returns the folder of settings, which it makes, and the settings in it. remark
// is why there are none, where there should be.
func readTopSettings() (folder, text, remark string) {
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", "", ""
	}
	folder = filepath.Join(folder, "qsniff")
	_ = os.MkdirAll(folder, 0o700) // if it fails, saveTopSettings returns the error
	text, err = cli.ReadFile(filepath.Join(folder, topSettings), cli.LongestConfig, "file of settings")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		remark = topSettings + ": " + err.Error()
	}
	return folder, text, remark
}

// saveTopSettings writes settings to a new file that replaces the old one: no reader finds half a file.
func saveTopSettings(folder string, s *top.Settings) error {
	if folder == "" {
		return errors.New("settings are not kept: there is no folder for them ($XDG_CONFIG_HOME)")
	}
	name := filepath.Join(folder, topSettings)
	err := os.WriteFile(name+".new", []byte(s.Text()), 0o600)
	if err == nil {
		err = os.Rename(name+".new", name)
	}
	if err != nil {
		return fmt.Errorf("settings are not kept: %w", err)
	}
	return nil
}
