// Package messenger is the process that passes Notes of package tell on: to a file, to services
// over HTTP, to a program, to the logs of the system; and messages of a fleet to its broker (internal/fleet/outbox).
// It makes no Notes, and never sees a packet.
//
// Serve reads orders from a pipe. Each sink has a tell.Queue and a worker of its own, so that one
// that stalls costs the others nothing. A worker sends a Note, tries again after an error that may
// pass, and counts what it cannot deliver; the next Note that is delivered says how many.
package messenger

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"qsniff/internal/base/sandbox"
	"qsniff/internal/monitor/notify"
)

// reportEvery is how often the counts go back. Chosen: as often as anybody looks.
const reportEvery = time.Second

// Options are what Serve needs besides its orders.
type Options struct {
	// Report returns the command that makes the report of a capture beside it.
	Report func(capture string) (*exec.Cmd, error)
	// Errors gets the errors after the reader of the output has gone.
	Errors io.Writer
	clock  clock // nil: the system's
}

// server is Serve at work.
type server struct {
	opt     Options
	config  notify.Config
	posts   []*post       // for the goroutine of Serve; others take list()
	hooks   []notify.Hook // of them
	ports   []uint16      // that the sandbox lets hooks have; nil: any
	reports *reportMaker  // nil: none are made
	fleet   *fleetPost    // nil: there is none
	isCheck bool          // no note will be sent
	start   func(*post)   // starts the workers of a post
	mu      sync.Mutex    // guards out, and changes of posts
	out     *json.Encoder
	last    []notify.SinkCounts
}

// Serve reads orders from in and carries them out, and writes notify.Reports to out. It opens all
// sinks, drops the rights that it does not need, and serves until in is at its end; what is
// still to be delivered then has lastWords.
func Serve(in io.Reader, out io.Writer, o Options) error {
	if o.clock == nil {
		o.clock = systemClock{}
	}
	orders := json.NewDecoder(bufio.NewReader(in))
	s := &server{opt: o, out: json.NewEncoder(out)}
	var first notify.Order
	if err := orders.Decode(&first); err != nil || first.Config == nil {
		return fmt.Errorf("no configuration: %w", err)
	}
	s.config = *first.Config
	err := s.open()
	status := ""
	if err == nil {
		status, err = s.enterSandbox()
	}
	if err != nil {
		s.closeSinks()
		if s.fleet != nil {
			s.fleet.box.Discard()
		}
		s.send(notify.Report{Failed: err.Error()})
		return nil // the report has the error
	}
	s.send(notify.Report{Ready: true, Sandbox: status, Sinks: s.counts()})
	s.run(orders)
	return nil
}

// Check opens the sinks of a configuration and closes them again. It returns their names, or why a
// start would fail. A file that was not there is removed again.
func Check(c *notify.Config) (sinks []string, err error) {
	s := &server{opt: Options{clock: systemClock{}}, config: *c, isCheck: true}
	_, missing := os.Lstat(c.File)
	wasMissing := missing != nil
	err = s.open()
	for _, p := range s.posts {
		sinks = append(sinks, p.name)
	}
	s.closeSinks()
	if f, missing := os.Stat(c.File); wasMissing && missing == nil && f.Size() == 0 {
		err = cmp.Or(err, os.Remove(c.File))
	}
	return sinks, err
}

// open opens the sinks.
func (s *server) open() error {
	c := &s.config
	if c.File != "" {
		f, err := openFile(c)
		if err != nil {
			return err
		}
		s.add(f, 1)
	}
	if err := s.loadHooks(c.HooksFile); err != nil {
		return err
	}
	if c.Exec != "" {
		x, err := openProgram(c, s.log)
		if err != nil {
			return err
		}
		s.add(x, execAtOnce)
	}
	if c.Syslog != "" {
		s.add(openSyslog(c.Syslog), 1)
	}
	if c.Journal != "" {
		s.add(openJournal(c.Journal), 1)
	}
	for _, p := range s.posts { // a socket that is not there is an error now
		if x, ok := p.sink.(*socketSink); ok {
			if err := x.connect(context.Background()); err != nil {
				return err
			}
		}
	}
	if c.Fleet != nil {
		var err error
		if s.fleet, err = openFleet(c.Fleet, s.isCheck, s.log); err != nil {
			s.fleet = nil
			return err
		}
	}
	if c.Reports {
		s.reports = &reportMaker{command: s.opt.Report, log: s.log}
	}
	return nil
}

func (s *server) add(x sink, workers int) *post {
	p := newPost(x, s.opt.clock, s.log, workers)
	for n := 2; slices.ContainsFunc(s.posts, func(o *post) bool { return o.name == p.name }); n++ {
		p.name = fmt.Sprintf("%s (%d)", x.name(), n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts = append(s.posts, p)
	return p
}

// list returns the posts of the moment.
func (s *server) list() []*post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.posts)
}

// run carries out orders until their end, and what is left after it.
func (s *server) run(orders *json.Decoder) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var working sync.WaitGroup
	s.start = func(p *post) {
		own, stop := context.WithCancel(ctx)
		p.stop = stop
		working.Go(func() { p.run(own) })
	}
	for _, p := range s.posts {
		s.start(p)
	}
	if s.fleet != nil {
		working.Go(func() { s.fleet.run(ctx) })
	}
	stop := make(chan struct{})
	var reporting sync.WaitGroup
	reporting.Go(func() { s.reportCounts(stop) })
	for {
		var o notify.Order
		if err := orders.Decode(&o); err != nil {
			break
		}
		s.obey(&o)
	}
	for _, p := range s.posts {
		p.queue.Close()
	}
	if s.fleet != nil {
		s.fleet.box.Close()
	}
	if s.reports != nil {
		working.Go(s.reports.wait)
	}
	end := make(chan struct{})
	go func() {
		if s.opt.clock.sleep(ctx, lastWords) {
			for _, p := range s.posts {
				p.queue.Drop()
			}
			cancel()
		}
		close(end)
	}()
	working.Wait()
	cancel()
	<-end
	close(stop)
	reporting.Wait()
	s.closeSinks()
	for _, c := range s.counts() {
		if n := c.Lost + c.Refused; n > 0 {
			s.log(fmt.Sprintf("%s: %d were not delivered", c.Name, n))
		}
	}
	s.send(notify.Report{Sinks: s.counts()})
}

// obey carries out an order.
func (s *server) obey(o *notify.Order) {
	for _, p := range s.posts {
		if o.Lost > 0 {
			p.queue.AddLost(o.Lost)
		}
		if o.Note != nil {
			p.queue.Put(o.Note)
		}
		if x, ok := p.sink.(reopener); ok && o.Reopen {
			x.reopen()
		}
	}
	if o.Fleet != nil && s.fleet != nil {
		s.fleet.put(o.Fleet)
	}
	if o.Report != "" && s.reports != nil {
		s.reports.start(o.Report)
	}
	if o.HooksFile != "" {
		said := notify.Report{Reloaded: true}
		if err := s.loadHooks(o.HooksFile); err != nil {
			said.Failed = err.Error()
		}
		said.Sinks = s.counts()
		s.send(said)
	}
}

func (s *server) closeSinks() {
	for _, p := range s.posts {
		p.sink.close()
	}
}

// counts returns those of all sinks.
func (s *server) counts() []notify.SinkCounts {
	all := []notify.SinkCounts{}
	for _, p := range s.list() {
		all = append(all, p.sinkCounts())
	}
	if s.fleet != nil {
		all = append(all, s.fleet.sinkCounts())
	}
	if s.reports != nil {
		all = append(all, s.reports.sinkCounts())
	}
	return all
}

// reportCounts sends the counts when they have changed, until stop is closed.
func (s *server) reportCounts(stop chan struct{}) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-stop:
			return
		}
		if now := s.counts(); !slices.Equal(now, s.last) {
			s.last = now
			s.send(notify.Report{Sinks: now})
		}
	}
}

// log reports what went wrong.
func (s *server) log(text string) { s.send(notify.Report{Log: text}) }

// send writes a report, or prints its content if the reader of reports has gone.
func (s *server) send(r notify.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.out.Encode(r); err != nil && r.Log != "" && s.opt.Errors != nil {
		fmt.Fprintf(s.opt.Errors, "qsniff: %s\n", r.Log)
	}
}

// reportMaker makes reports of captures beside them, one at a time. One that is asked for
// meanwhile is skipped and counted, so that a night of incidents is no load of its own.
type reportMaker struct {
	command func(capture string) (*exec.Cmd, error)
	log     func(string)
	working sync.WaitGroup

	mu     sync.Mutex // guards what follows
	isBusy bool
	counts notify.SinkCounts
}

// start begins to make the report of a capture, unless it is busy. One that has begun goes on when
// the run ends.
func (m *reportMaker) start(capture string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isBusy {
		m.counts.Lost++
		return
	}
	m.isBusy = true
	m.working.Go(func() {
		cmd, err := m.command(capture)
		out := ""
		if err == nil {
			out, err = runProgram(context.Background(), cmd, reportTime)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.isBusy = false
		if err == nil {
			m.counts.Sent++
			return
		}
		m.counts.Refused++
		m.log(fmt.Sprintf("no report of %s: %v: %s", capture, err, out))
	})
}

// wait waits until no report is being made.
func (m *reportMaker) wait() { m.working.Wait() }

func (m *reportMaker) sinkCounts() notify.SinkCounts {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counts
	c.Name = notify.Reports
	return c
}

// https is the port of services whose address has none.
const https = 443

// enterSandbox drops the rights that the sinks do not need, and returns in words which these are.
// Programs that are started have the rights of who started qsniff: they load rules of firewalls.
func (s *server) enterSandbox() (string, error) {
	c := &s.config
	switch {
	case c.NoSandbox:
		return "none (--no-sandbox)", nil
	case c.StartsPrograms():
		return "none: it starts programs, which have all rights of who started qsniff", nil
	}
	p, err := policyFor(c, s.hooks)
	if err != nil {
		return "", err
	}
	if s.fleet != nil {
		if err := s.fleet.addRights(&p, c.Fleet); err != nil {
			return "", err
		}
	}
	s.ports = p.Connect
	if p.User != nil { // this user could not open the file again
		for _, x := range s.posts {
			if f, ok := x.sink.(*fileSink); ok {
				if err := f.f.Chown(p.User.UID, p.User.GID); err != nil {
					return "", err
				}
			}
		}
	}
	status, err := sandbox.Enter(p)
	return status.String(), err
}

// addRights adds what it takes to reach the broker, and to read credentials again and the spool. Whoever
// replaces a file makes another one of its name, so the right is one to the folder.
func (f *fleetPost) addRights(p *sandbox.Policy, c *notify.Fleet) error {
	p.AllowNames()
	for _, b := range f.brokers {
		p.Connect = append(p.Connect, b.Port)
	}
	for _, file := range []string{c.Creds, c.CA} {
		if file != "" {
			p.Read = append(p.Read, filepath.Dir(file))
		}
	}
	if c.Spool == "" {
		return nil
	}
	p.Read, p.Write = append(p.Read, c.Spool), append(p.Write, c.Spool)
	owner, err := sandbox.OwnerOf(c.Spool)
	switch {
	case err != nil:
		return err
	case p.User == nil && len(p.Write) == 1:
		p.User = owner
	case (p.User == nil) != (owner == nil) || owner != nil && *p.User != *owner:
		return fmt.Errorf("%s and %s have different owners: without root's rights one of them could not be written", p.Write[0], c.Spool)
	}
	return nil
}

// policyFor returns what the sinks still need, and other services at the usual port.
func policyFor(c *notify.Config, hooks []notify.Hook) (p sandbox.Policy, err error) {
	if c.File != "" {
		p.Write = []string{filepath.Dir(c.File)}
		if p.User, err = sandbox.OwnerOf(p.Write[0]); err != nil {
			return p, err
		}
	}
	for _, socket := range []string{c.Syslog, c.Journal} {
		if socket == "" {
			continue
		}
		path, err := filepath.EvalSymlinks(socket)
		if err != nil {
			return p, err
		}
		p.Sockets = append(p.Sockets, filepath.Dir(path))
	}
	if len(hooks) == 0 && c.HooksFile == "" {
		return p, nil
	}
	p.AllowNames()
	if c.HooksFile != "" {
		p.Read = append(p.Read, filepath.Dir(c.HooksFile))
	}
	p.Connect = append(p.Connect, https)
	for i := range hooks {
		p.Connect = append(p.Connect, hooks[i].Port())
	}
	return p, nil
}
