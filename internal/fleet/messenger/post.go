package messenger

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/outbox"
	"qsniff/internal/monitor/notify"
)

// sink delivers notes. send may be called by as many goroutines as the post has workers.
type sink interface {
	name() string // without secrets
	// send delivers a note, before which so many were lost. An error is tried again unless it is
	// a *failure that is final.
	send(ctx context.Context, n *notify.Note, lost uint64) error
	close() error
}

// reopener is a sink that can open its file anew.
type reopener interface{ reopen() }

// failure is an error of send of which more is known. Its text has no secrets.
type failure struct {
	err     error
	isFinal bool          // trying again does not help
	wait    time.Duration // for so long no attempt is wanted; 0: unknown
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// clock is the time by which posts wait. Tests have their own.
type clock interface {
	now() time.Time
	// sleep waits, and reports false if ctx ended before.
	sleep(ctx context.Context, d time.Duration) bool
}

type systemClock struct{}

func (systemClock) now() time.Time { return time.Now() }

func (systemClock) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// post has the notes for one sink, and delivers them.
type post struct {
	queue   *notify.Queue
	sink    sink
	name    string // of the sink, unique
	clock   clock
	log     func(string)
	workers int
	every   time.Duration // at most one change of a thread in this time; 0: all
	pace    pace
	stop    context.CancelFunc // ends the workers

	mu      sync.Mutex // guards what follows
	counts  notify.SinkCounts
	untold  uint64 // notes that were lost since the last one that was delivered
	threads map[string]told
	trouble string // the error that was logged last
}

// told is the last note of a thread that a sink got.
type told struct {
	event       notify.Event
	kind, level string
	at          time.Time
}

// newPost returns the post of a sink.
func newPost(s sink, c clock, log func(string), workers int) *post {
	return &post{queue: notify.NewQueue(), sink: s, name: s.name(), clock: c, log: log, workers: workers, threads: map[string]told{}}
}

// run delivers notes until the queue is closed and empty, or ctx has ended.
func (p *post) run(ctx context.Context) {
	var all sync.WaitGroup
	for range p.workers {
		all.Go(func() {
			for n, lost := p.queue.Take(ctx); n != nil; n, lost = p.queue.Take(ctx) {
				p.addUntold(lost)
				if p.isNews(n) {
					p.deliver(ctx, n)
				}
				p.queue.Done(n)
			}
		})
	}
	all.Wait()
}

func (p *post) addUntold(n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.untold += n
}

// isNews reports whether a note is to be sent. One with the kind and the level of the last note of
// its thread that the sink got is not: a begin or an end, if that one was the same event; a change,
// if it comes too soon after that one.
func (p *post) isNews(n *notify.Note) bool {
	if p.every == 0 {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last, isKnown := p.threads[n.Thread]
	isSame := isKnown && last.kind == n.Kind && last.level == n.Level
	switch {
	case isSame && last.event == n.Event && n.Event != notify.Changes,
		isSame && n.Event == notify.Changes && p.clock.now().Sub(last.at) < p.every:
		p.counts.Folded++
		return false
	}
	return true
}

// deliver sends a note, again and again if that may help.
func (p *post) deliver(ctx context.Context, n *notify.Note) {
	first := p.clock.now()
	for attempt := 0; ; attempt++ {
		if !p.clock.sleep(ctx, p.pace.next(p.clock.now())) {
			p.refuse(ctx.Err())
			return
		}
		p.mu.Lock()
		lost := p.untold
		p.mu.Unlock()
		err := p.sink.send(ctx, n, lost)
		if err == nil {
			p.record(n, lost)
			return
		}
		p.report(err)
		var f *failure
		isKnown := errors.As(err, &f)
		if isKnown && f.isFinal || p.clock.now().Sub(first) >= keepTrying {
			p.refuse(err)
			return
		}
		wait := backoff(attempt)
		if isKnown && f.wait > 0 {
			wait = min(f.wait, longestAsked)
		}
		p.mu.Lock()
		p.counts.Retried++
		p.mu.Unlock()
		if !p.clock.sleep(ctx, wait) {
			p.refuse(err)
			return
		}
	}
}

// record notes that a note was delivered.
func (p *post) record(n *notify.Note, lost uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Sent++
	p.untold -= min(lost, p.untold)
	p.trouble = ""
	if p.every == 0 {
		return
	}
	if len(p.threads) >= toldThreads {
		for thread := range p.threads { // any one
			delete(p.threads, thread)
			break
		}
	}
	p.threads[n.Thread] = told{n.Event, n.Kind, n.Level, p.clock.now()}
}

// refuse counts a note that was not delivered.
func (p *post) refuse(error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Refused++
	p.untold++
}

// report logs an error that differs from the one before.
func (p *post) report(err error) {
	text := err.Error()
	p.mu.Lock()
	isNew := p.trouble != text
	p.trouble = text
	p.mu.Unlock()
	if isNew {
		p.log(p.name + ": " + text)
	}
}

// Counts returns the counts so far.
func (p *post) sinkCounts() notify.SinkCounts {
	q := p.queue.Counts()
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.counts
	c.Name, c.Waiting, c.Lost = p.name, q.Waiting, q.Lost
	c.Folded += q.Folded
	return c
}

// backoff returns how long to wait after an attempt, from half of the time on, so that those who
// failed together do not come back together.
func backoff(attempt int) time.Duration {
	d := longestWait
	if attempt < 6 {
		d = min(d, firstWait<<attempt)
	}
	return d/2 + rand.N(d/2)
}

// pace spreads what is sent: burst at once, then one in each time of every.
type pace struct {
	mu    sync.Mutex
	every time.Duration // 0: no limit
	burst int
	free  time.Time // when all of the burst may be sent again
}

// next returns how long to wait until one more may be sent, which counts as sent then.
func (p *pace) next(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.every == 0 {
		return 0
	}
	if p.free.Before(now) {
		p.free = now
	}
	wait := p.free.Sub(now) - time.Duration(p.burst-1)*p.every
	p.free = p.free.Add(p.every)
	return max(0, wait)
}

// fleetPost has the messages to the hub of a fleet, and delivers them.
type fleetPost struct {
	name    string // as a sink
	brokers []outbox.Broker
	box     *outbox.Outbox
}

// fleetOptions returns those of an Outbox.
func fleetOptions(c *notify.Fleet, log func(string)) outbox.Options {
	return outbox.Options{URLs: c.URL, Sensor: c.Name, Prefix: c.Prefix, Creds: c.Creds, CA: c.CA, Spool: c.Spool,
		Size: cmp.Or(c.SpoolSize, outbox.DefaultSpool), Log: log}
}

// openFleet opens the Outbox of a configuration; with isCheck it only tries whether that would do.
func openFleet(c *notify.Fleet, isCheck bool, log func(string)) (*fleetPost, error) {
	p := &fleetPost{}
	var err error
	if p.brokers, err = outbox.ParseURLs(c.URL); err != nil {
		return nil, err
	}
	p.name = notify.FleetSink + p.brokers[0].Host
	o := fleetOptions(c, func(text string) { log(p.name + ": " + text) })
	if isCheck {
		err = outbox.Check(o)
	} else {
		p.box, err = outbox.Open(o)
	}
	return p, err
}

// put passes a message on.
func (p *fleetPost) put(m *notify.FleetMessage) {
	p.box.Put(&outbox.Message{Kind: fleet.Kind(m.Kind), ID: m.ID, Line: m.Line})
}

func (p *fleetPost) run(ctx context.Context) { p.box.Run(ctx) }

// sinkCounts returns the counts so far.
func (p *fleetPost) sinkCounts() notify.SinkCounts {
	c := p.box.Counts()
	return notify.SinkCounts{Name: p.name, QueueCounts: notify.QueueCounts{Waiting: c.Waiting, Lost: c.Dropped},
		Sent: c.Sent, Retried: c.Retried, Refused: c.Refused}
}
