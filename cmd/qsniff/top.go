//go:build !js

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"qsniff/capture/live"
	"qsniff/capture/play"
	"qsniff/capture/recent"
	"qsniff/internal/app/cli"
	"qsniff/internal/app/terminal"
	"qsniff/internal/app/top"
	"qsniff/internal/base/sandbox"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/flood/rules"
	"qsniff/internal/flood/rules/loaded"
	"qsniff/internal/flood/rules/nft"
	"qsniff/internal/flood/rules/written"
	"qsniff/internal/monitor"
	"qsniff/internal/pipeline"
	"qsniff/internal/pipeline/filter"
)

// topOptions are the flags of top.
type topOptions struct {
	readOptions
	speed      string
	thresholds string
	rules      string
	maxServers int

	// What flags name, read and parsed.
	playSpeed float64
	limits    flood.Thresholds
}

func newTop(io streams) *cobra.Command {
	opts := &topOptions{readOptions: *readDefaults()}
	cmd := &cobra.Command{
		Use:     "top -i IFACE | FILE... [flags]",
		GroupID: groupTraffic,
		Short:   "the traffic of a host at a glance, on a terminal",
		Long:    topHelp,
		Example: `  qsniff top -i eth0                          what happens now
  qsniff top -i eth0 --servers 198.51.100.0/24   at one's own servers
  qsniff top --follow /var/log/ring           of a ring of files that grows
  qsniff top evening.pcap                     a capture, played as it was
  qsniff top --speed max evening.pcap         all of it at once`,
		ValidArgsFunction: completeCaptures,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.prepare(args, io); err != nil {
				return err
			}
			return onScreen(cmd.Context(), func() error { return runTop(cmd.Context(), opts, args, io) })
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	opts.registerCapture(cmd, " in place of reading FILE")
	f.StringVar(&opts.speed, "speed", "1", "play a capture `N` times as fast, from 0.25 to 1000, or max")
	f.BoolVar(&opts.follow, "follow", false, followHelp)
	f.BoolVar(&opts.utc, "utc", false, "times in UTC instead of local time")
	registerRules(cmd, &opts.rules)
	f.StringVar(&opts.thresholds, "thresholds", "", "take thresholds of floods from `FILE.toml`")
	f.IntVar(&opts.maxServers, "max-servers", monitor.DefaultServers, "so many servers that --servers does not name get rows of their own, at most `N`")
	opts.registerServers(cmd, "show these servers, and floods at them, only")
	opts.registerOwn(cmd)
	opts.registerFilter(cmd)
	opts.registerInput(cmd)
	propose(cmd, "speed", cobra.FixedCompletions([]cobra.Completion{"1", "10", "100", "max"}, cobra.ShellCompDirectiveNoFileComp))
	propose(cmd, "max-servers", cobra.NoFileCompletions)
	propose(cmd, "thresholds", cobra.FixedCompletions([]cobra.Completion{formTOML}, cobra.ShellCompDirectiveFilterFileExt))
	addHabits(cmd, &opts.readOptions)
	return cmd
}

// topHelp is the long description in the help of qsniff top.
const topHelp = `top shows on the whole screen of a terminal what the servers of a host are asked and answer:
in words whether something is wrong, a row for each server, and for each its clients,
its exchanges and each byte of them. It captures on interfaces, follows a capture that
grows, or plays one: stopped, slower, faster, from any time on. It never sends packets.

  Enter  opens a server, and there an exchange       Esc  goes back
  i      incidents: evidence, what to do, lines to paste   y  copies these lines
  W      writes the rules against all attacks into a file for nft -f
  /      filters: servers by words and by columns (players>10 answered<90), exchanges as -Y
  w      writes the packets of a server or of an exchange as pcapng
  p      stops a capture; + - its speed; [ ] 10 seconds, { } a minute back and forth; : a time
  ?      explains every key and every column

The figures are those of qsniff monitor. Rates are over 10 seconds, shares and times over the
last minute. Of a server its last packets are kept (32 KiB; of one that is open 1 MiB), and
its clients, exchanges and findings are those of these packets: a flood makes the screen
neither slow nor large. With --servers only these servers have rows of their own. With -Y
only requests count that match.

Columns and their order are kept in top.toml in the folder qsniff of $XDG_CONFIG_HOME. It
needs 80 columns and 24 lines for all that it says; without colours (NO_COLOR) and without
UTF-8 it says the same. Secrets are not shown.

With --rules FILE the rules against an attack are written when it is sure, and again as they
change; the verdict then says how to load them and to remove them. qsniff loads nothing.

Once everything is open, the program gives up what it does not need any more, as qsniff
live does; w writes into the current folder.

Exit status: 0 ended by q, or by a signal while it captured, 1 the run failed, 2 wrong usage, 130
interrupted by a signal while it read a capture.`

// prepare checks the flags, and reads the files that they name.
func (o *topOptions) prepare(args []string, io streams) error {
	switch {
	case !o.isLive() && len(args) == 0:
		return cli.Usage(errors.New("top: neither an interface nor a capture given"), "name an interface after -i, or a capture; qsniff interfaces lists the interfaces")
	case o.isLive() && len(args) > 0:
		return cli.Usage(errors.New("top captures on interfaces or reads a capture, not both"), "leave out -i, or "+args[0])
	case o.rules != "" && !o.isLive():
		return cli.Usage(errors.New("--rules goes with -i"), "of a capture: qsniff floods -o nft FILE > attack.nft")
	case slices.Contains(args, stdin):
		return cli.Usage(errors.New("top: standard input is for the keys"), "write the packets to a file, and read that with --follow: tcpdump -U -w FILE; qsniff stats - reads standard input")
	case o.maxServers < 0 || o.maxServers > monitor.MostServers:
		return cli.Usage(fmt.Errorf("--max-servers %d: not from 0 to %d", o.maxServers, monitor.MostServers), "each takes some 50 KiB")
	}
	err := cmp.Or(o.parseSpeed(), o.checkCapture(), o.parseServers(), o.parseOwn())
	if err != nil {
		return err
	}
	if o.limits, err = cli.LoadThresholds(o.thresholds); err != nil {
		return err
	}
	if !isTerminal(io.out) || !terminal.Check(os.Stdin, os.Stdout) {
		other := "qsniff stats " + strings.Join(args, " ") + " prints the same figures"
		if o.isLive() {
			other = "qsniff monitor -i " + o.interfaces[0] + " gives the same figures over HTTP"
		}
		return cli.Usage(errors.New("top: standard input and output are not a terminal that shows a screen"), other)
	}
	return nil
}

// parseSpeed parses --speed.
func (o *topOptions) parseSpeed() error {
	if o.playSpeed = play.Max; o.speed == "max" {
		return nil
	}
	var err error
	o.playSpeed, err = strconv.ParseFloat(strings.TrimPrefix(o.speed, "x"), 64)
	if err != nil || !(o.playSpeed >= .25 && o.playSpeed <= 1000) {
		return cli.Usage(fmt.Errorf("--speed %s: not from 0.25 to 1000", o.speed), "1 is as it was captured; max waits for nothing")
	}
	return nil
}

// topFolders returns where top writes: the current folder, and that of its settings, if they are there. Settings are not
// kept where the user that top becomes, if that is not nil, has another folder for them.
func topFolders(settings string, user *sandbox.User) (all []string) {
	if user != nil && settings != "" {
		if owner, err := sandbox.OwnerOf(settings); err != nil || owner == nil || *owner != *user {
			settings = ""
		}
	}
	for _, name := range []string{".", settings} {
		if info, err := os.Stat(name); name != "" && err == nil && info.IsDir() {
			all = append(all, name)
		}
	}
	return all
}

// topRun is the run that the screens show. It is the top.Source and the top.Player of them: a
// capture that is to go back is read anew from its begin.
type topRun struct {
	ctx   context.Context
	opts  *topOptions
	args  []string
	io    streams // err keeps what is printed until the screen is gone
	notes *terminal.Notes
	store *recent.Store
	live  *monitored // nil: a capture is played
	asked rules.Invocation

	loaded *loaded.Reader // nil: which rules are loaded is unknown

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
	t := &topRun{opts: opts, args: args, notes: new(terminal.Notes), store: recent.NewStore()}
	t.io = streams{io.out, t.notes}
	for _, name := range args {
		t.asked.Captures = strings.TrimSpace(t.asked.Captures + " " + cli.Quote(name))
	}
	for _, name := range opts.interfaces {
		t.asked.Captures = strings.TrimSpace(t.asked.Captures + " -i " + cli.Quote(name))
	}
	t.asked.IsLive, t.asked.Written = opts.isLive(), opts.rules
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	t.ctx = run
	defer t.notes.PrintTo(io.err)
	first, err := t.begin(opts.playSpeed, false, 0)
	if err != nil {
		return err
	}
	if t.live != nil && t.live.live != nil {
		t.loaded = readLoaded()
		defer t.loaded.Close()
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
	user, err := sandbox.OwnerOf(".")
	if err != nil {
		return nil, err
	}
	folder, text, remark := top.ReadSettings(user == nil)
	settings, err := top.ParseSettings(text)
	if err != nil {
		remark = "top.toml: " + err.Error()
	}
	if err := t.enterSandbox(folder, user); err != nil {
		return nil, err
	}
	x := top.Options{Source: t, Input: strings.Join(append(o.interfaces, t.args...), ", "), Settings: settings, Remark: remark,
		Save: func(s top.Settings) error { return s.Save(folder) }, Write: t.write, Rules: t.rules, WriteRules: t.writeRules,
		Decoder: &top.Decoder{Registry: reg, DecodeAs: s.cfg.DecodeAs, Store: t.store,
			Filter: func(text string) (*filter.Program, error) { return o.compile(text) }},
		Limits: o.limits, Expiry: advice.DefaultExpiry, Look: terminal.LookOf(os.Getenv), UTC: o.utc}
	x.Asked = t.asked
	if s.player != nil {
		x.Player = t
	}
	return top.New(x), nil
}

// enterSandbox drops the rights that the run does not need any more. A capture stays readable, because
// it is read again to go back. As root of the current folder of another user it becomes that user.
func (t *topRun) enterSandbox(settings string, user *sandbox.User) error {
	_ = time.Local.String() // loads the time zone, which is a file
	if t.opts.noSandbox {
		return nil
	}
	p := sandbox.Policy{Read: t.args}
	if t.live != nil {
		p = t.live.policy
	}
	p.Write, p.User = append(p.Write, topFolders(settings, user)...), user
	if err := allowRules(&p, t.opts.rules); err != nil {
		return err
	}
	_, err := sandbox.Enter(p)
	return err
}

// begin begins a run of the pipeline. A capture is played from its begin, and at once up to a time.
func (t *topRun) begin(speed float64, isPaused bool, until int64) (*session, error) {
	s := &session{done: make(chan struct{})}
	m := &monitorOptions{readOptions: t.opts.readOptions}
	run, cancel := context.WithCancel(t.ctx)
	s.stop = cancel
	m.reopenWith(func(live.Change) {}) // the screen has how many are away
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
	d := &incidents{t.opts.newDetector(s.cfg.Registry, t.opts.limits, advice.DefaultExpiry), t.opts.ours}
	s.cfg.WatchesMatches, s.cfg.CountsMessages = true, false
	mayList := t.opts.ours.Has // without --servers, any: whoever looks may be on the way to the servers
	if t.opts.ours == nil {
		mayList = nil
	}
	file, err := newRulesFile(written.Options{Path: t.opts.rules, Asked: t.asked, Expiry: advice.DefaultExpiry, IsOurs: func(in *flood.Incident) bool { return in.IsAt(t.opts.ours) },
		Tell: func(format string, args ...any) { fmt.Fprintf(t.notes, "qsniff: "+format+"\n", args...) }})
	if err != nil {
		s.stop()
		return nil, err
	}
	if file != nil {
		d.AddObserver(file.Observe)
	}
	s.feed = top.NewFeed(&s.cfg, monitor.Options{Servers: t.opts.ours.Ends(), MayList: mayList, MaxServers: t.opts.maxServers, Scale: t.opts.scale(), Clock: monotonic},
		d.Detector, func(in *flood.Incident) bool { return in.IsAt(t.opts.ours) }, t.store)
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
	j, err := t.opts.openJob(ctx, t.args, t.io)
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
	state := s.feed.Take(ctx)
	state.Loaded = t.loaded.LatestFor(state.Incidents)
	return state
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
	f := &rules.Input{Asked: t.asked, Incidents: []flood.Incident{*in}, Expiry: advice.DefaultExpiry}
	return "nft -f - <<'END'\n" + string(nft.AppendFloods(nil, f)) + "END\n"
}

// writeRules writes the rules against incidents to the file that --rules names, or to a new file in the current
// folder, and returns its name for a shell.
func (t *topRun) writeRules(incidents []flood.Incident) (string, error) {
	asked, name := t.asked, t.opts.rules
	if name == "" {
		name = "qsniff-rules-" + time.Now().Format("20060102-150405") + ".nft"
	}
	incidents = slices.DeleteFunc(slices.Clone(incidents), func(in flood.Incident) bool { return in.Level < flood.Warn || in.Advice.Rules == nil })
	if len(incidents) == 0 {
		return "", errors.New("there are no rules: no attack that a filter helps against")
	}
	if _, err := os.Stat(t.opts.rules); err == nil { // it is written as the rules change
		return cli.Quote(name), nil
	}
	asked.Written, asked.IsLive = cli.Quote(name), true
	return cli.Quote(name), sandbox.ReplaceFile(name, nft.AppendFloods(nil, &rules.Input{Asked: asked, Incidents: incidents, Expiry: advice.DefaultExpiry}))
}

// write writes packets to a new file in the current folder.
func (t *topRun) write(packets recent.Packets) (string, error) {
	build := readBuild()
	return top.WritePackets(packets, "qsniff "+build.Short())
}
