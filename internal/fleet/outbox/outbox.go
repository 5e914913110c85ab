package outbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"qsniff/internal/base/digits"
)

// Outbox brings messages to a broker. Put, Close and Counts may be called by any goroutine.
type Outbox struct {
	opt     Options
	brokers []Broker
	who     *identity
	spool   *spool // for the goroutine of Run, as what follows

	online  *session          // nil: there is none
	dialled chan dialled      // a connection is being made
	retry   *time.Timer       // until another attempt; nil: none is wanted yet
	attempt int               // since the last acknowledgement
	end     <-chan time.Time  // when Run ends, after Close
	found   []string          // what Open found, for Run to log
	dropped uint64            // messages that had been dropped at the last look
	said    map[string]string // the trouble that was logged last, by what it is about

	wake chan struct{} // is sent to when there is something new for Run

	mu       sync.Mutex // guards what follows
	incoming []*Message
	bytes    int // of incoming
	isClosed bool
	counts   Counts
}

// Counts are running totals, but for Waiting.
type Counts struct {
	Waiting int    // not acknowledged yet
	Sent    uint64 // acknowledged
	Retried uint64 // connections that failed, or ended with something in flight
	Refused uint64 // the broker will not take them, or they are of another sensor
	Dropped uint64 // had no room, or could not be read again
}

// dialled is what came of an attempt to connect.
type dialled struct {
	session *session
	err     error
}

// Open opens the spool, and reads credentials. It makes no connection.
func Open(opt Options) (*Outbox, error) {
	o, err := open(opt)
	if err != nil || opt.Spool == "" {
		return o, err
	}
	disk, found, err := openDisk(opt.Spool, opt.Size, func(m *Message) bool { return m.check(opt.Sensor) == nil })
	if err != nil {
		return nil, fmt.Errorf("the spool %s: %w", opt.Spool, withoutPath(err))
	}
	o.spool.disk = disk
	o.counts.Refused = uint64(found.foreign)
	o.counts.Dropped = uint64(found.dropped + found.torn)
	o.counts.Waiting = o.spool.waiting()
	for _, x := range []struct { // logged by Run: nobody listens before
		n    int
		what string
	}{{found.torn, "files in it end within a record, or with something else, and have been read up to there"}, {found.foreign, "messages in it were of another sensor, and are gone"},
		{found.dropped, "messages in it have no room any more, and are gone"}} {
		if x.n > 0 {
			o.found = append(o.found, fmt.Sprintf("the spool %s: %d %s", opt.Spool, x.n, x.what))
		}
	}
	return o, nil
}

// open returns an Outbox without a spool on disk.
func open(opt Options) (*Outbox, error) {
	o := &Outbox{opt: opt, wake: make(chan struct{}, 1), said: map[string]string{}, spool: &spool{now: time.Now}}
	var err error
	if o.brokers, err = ParseURLs(opt.URLs); err != nil {
		return nil, err
	}
	wantTLS := false
	for _, b := range o.brokers {
		wantTLS = wantTLS || b.IsTLS
	}
	if opt.Spool != "" && (opt.Size < LeastSpool || opt.Size > MostSpool) {
		return nil, fmt.Errorf("a spool of %s: from %s to %s", digits.Bytes(float64(opt.Size)), digits.Bytes(LeastSpool), digits.Bytes(MostSpool))
	}
	o.who, err = loadIdentity(opt.Creds, opt.CA, wantTLS)
	return o, err
}

// Put passes a message on. It waits neither for the disk nor for the broker: what has no room is
// counted.
func (o *Outbox) Put(m *Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.isClosed:
		o.counts.Dropped++
		return
	case m.check(o.opt.Sensor) != nil:
		o.counts.Refused++
		return
	}
	o.incoming, o.bytes = append(o.incoming, m), o.bytes+m.cost()
	for o.bytes > incomingSize {
		o.bytes -= o.incoming[0].cost()
		o.incoming = o.incoming[1:]
		o.counts.Dropped++
	}
	o.notify()
}

// Close makes Run end once all is delivered or in the spool on disk. Further messages are dropped.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.isClosed = true
	o.notify()
}

// notify wakes Run.
func (o *Outbox) notify() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Counts returns the counts so far.
func (o *Outbox) Counts() Counts {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.counts
	c.Waiting += len(o.incoming)
	return c
}

// Discard closes an Outbox whose Run was not called.
func (o *Outbox) Discard() { o.spool.close() }

// count changes the counts.
func (o *Outbox) count(change func(c *Counts)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(&o.counts)
	o.counts.Dropped += o.spool.dropped
	o.counts.Waiting, o.spool.dropped = o.spool.waiting(), 0
}

// take puts into the spool what has come. It reports whether nothing more will.
func (o *Outbox) take() (isClosed bool) {
	o.mu.Lock()
	all := o.incoming
	o.incoming, o.bytes, isClosed = nil, 0, o.isClosed
	o.mu.Unlock()
	for _, m := range all {
		o.spool.put(m)
	}
	o.count(func(*Counts) {})
	return isClosed
}

// report logs trouble once, until it changes, and when it is over: text is empty then.
func (o *Outbox) report(about, text string) {
	if o.said[about] == text {
		return
	}
	if o.said[about] = text; text == "" {
		text = "works again"
	}
	if about != "" {
		text = about + ": " + text
	}
	o.opt.Log(text)
}

// backoff returns how long to wait after an attempt, from half of the time on, so that sensors that
// lost the broker together do not come back together.
func backoff(attempt int) time.Duration {
	d := longestWait
	if attempt < 6 {
		d = min(d, firstWait<<attempt)
	}
	return d/2 + rand.N(d/2)
}

// Run delivers messages until ctx ends, or Close was called and all is delivered. What it leaves is in
// the spool on disk, or dropped.
func (o *Outbox) Run(ctx context.Context) {
	defer o.finish()
	for _, line := range o.found {
		o.opt.Log(line)
	}
	tick := time.NewTicker(tickTime)
	defer tick.Stop()
	o.dial()
	for {
		isClosed := o.take()
		o.publish()
		if isClosed && o.isOver() {
			return
		}
		if !o.step(ctx, tick.C) {
			return
		}
	}
}
