// Package outbox brings the messages of a sensor to a JetStream broker, in order and once each. While
// the broker is away it keeps them in memory and on disk, within limits, and counts what it drops. It
// makes no messages and reads none.
//
//	Put            memory, bounded; never blocks for long: it waits neither for the disk nor for the broker
//	  |
//	  |  Run       one goroutine has the spool and the connection
//	  v
//	spool          older messages on disk, newer ones in memory
//	  |
//	  |  session   one connection: a message leaves the spool when the broker has acknowledged it
//	  v
//	JetStream      drops a second message with the same Nats-Msg-Id
//
// # Order
//
// A connection delivers the messages that are published on it, from the first up to one of them. Messages that were
// not acknowledged when it ended are published again on the next one, from the oldest on: the broker has part
// of it already, and drops that by the message's number. A connection begins with one message in flight,
// and has more as acknowledgements come, so that a broker that takes none gets no later ones before it.
//
// # Once each
//
// The broker recognises numbers for as long as the stream's window for duplicates is (StreamConfig.Duplicates).
// A message whose acknowledgement was lost in an outage that is longer than the window is in the stream
// twice: a reader of the stream recognises both by sensor, run and number.
//
// # Disk
//
// Where there is a spool, what comes while the broker is away is written at once: a process that is
// killed loses only what had no acknowledgement yet on a connection that works. It reads the spool at its
// start. Nothing is synced: a machine that loses its power loses the last seconds, and the
// torn record at the end of a file is counted.
package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"qsniff/internal/base/digits"
	"qsniff/internal/fleet"
)

// Options are where messages go, and where they wait.
type Options struct {
	URLs   string // one or more of a cluster, with commas between them: nats:// or tls://
	Sensor string // its name
	Prefix string // of subjects
	Creds  string // a file of credentials, or with the seed of an NKey; empty: none
	CA     string // a file with the authorities that certificates are checked by; empty: the system's
	Spool  string // a folder; empty: messages wait in memory only
	Size   int64  // of the spool, in bytes
	// Dialer makes connections; nil: over the network.
	Dialer nats.CustomDialer
	// Log gets a line about what goes wrong, and when it is over.
	Log func(string)
}

// Broker is an address of a broker.
type Broker struct {
	Host  string
	Port  uint16
	IsTLS bool
}

// usualPort is that of NATS.
const usualPort = "4222"

// mostBrokers is how many addresses may be named. Chosen: a cluster has three or five.
const mostBrokers = 16

// ParseURLs parses Options.URLs. Errors have no passwords.
func ParseURLs(text string) (all []Broker, err error) {
	words := strings.Split(text, ",")
	if len(words) > mostBrokers {
		return nil, fmt.Errorf("more than %d brokers", mostBrokers)
	}
	for _, word := range words {
		u, err := url.Parse(strings.TrimSpace(word))
		switch {
		case err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "":
			return nil, errors.New("no address of a broker: nats://HOST or tls://HOST:PORT")
		case u.User != nil:
			return nil, errors.New("a password in an address is seen by all who list processes: put credentials into a file")
		}
		port, err := strconv.ParseUint(cmp.Or(u.Port(), usualPort), 10, 16)
		if err != nil || port == 0 {
			return nil, fmt.Errorf("the port %.10q cannot be", u.Port())
		}
		all = append(all, Broker{u.Hostname(), uint16(port), u.Scheme == "tls"})
	}
	return all, nil
}

// CheckPrefix returns an error if subjects cannot begin with a prefix.
func CheckPrefix(prefix string) error {
	for word := range strings.SplitSeq(prefix, ".") {
		if fleet.CheckName(word) != nil {
			return fmt.Errorf("%.100q: a prefix of subjects is words of letters, digits, - and _, with dots between them", prefix)
		}
	}
	return nil
}

// Check returns an error if an Outbox cannot be opened. It opens no connection, and does not touch a
// spool that another process uses.
func Check(opt Options) error {
	o, err := open(opt)
	if err == nil && opt.Spool != "" {
		if err = checkDisk(opt.Spool); err != nil {
			err = fmt.Errorf("the spool %s: %w", opt.Spool, withoutPath(err))
		}
	}
	_ = o
	return err
}

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
	for _, x := range []struct { // logged by Run: there is no listener before
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

// Run delivers messages until ctx ends, or Close was called and all is delivered. Messages that remain are in
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

// step waits for the next thing that happens, and does what it asks for. It reports false if Run is to
// end.
func (o *Outbox) step(ctx context.Context, tick <-chan time.Time) bool {
	var retry <-chan time.Time
	if o.retry != nil {
		retry = o.retry.C
	}
	var trouble <-chan error
	s := &session{}
	if o.online != nil {
		s, trouble = o.online, o.online.trouble
	}
	acked, failed := s.first()
	select {
	case <-ctx.Done():
		return false
	case <-o.end:
		return false
	case <-o.wake:
	case <-acked:
		o.acknowledge()
	case err := <-failed:
		o.fail(err)
	case err := <-trouble:
		o.hangUp(err)
	case x := <-o.dialled:
		o.begin(x)
	case <-retry:
		o.dial()
	case <-tick:
		o.look()
	}
	return true
}

// dial has a connection made, beside what Run does.
func (o *Outbox) dial() {
	o.retry = nil
	text := ""
	if err := o.who.reload(); err != nil {
		text = err.Error() + "; those that were read before are used"
	}
	o.report("credentials", text)
	c := make(chan dialled, 1) // which may have no reader any more
	o.dialled = c
	go func() {
		s, err := o.connect()
		c <- dialled{s, err}
	}()
}

// begin begins to publish on a connection that was made.
func (o *Outbox) begin(x dialled) {
	o.dialled = nil
	if x.err != nil {
		o.hangUp(x.err)
		return
	}
	o.online = x.session
	o.spool.setOnline(true)
}

// publish publishes as many messages as may fly.
func (o *Outbox) publish() {
	s := o.online
	if s == nil {
		return
	}
	for len(s.flying) < s.window {
		r := o.spool.next()
		if r == nil {
			return
		}
		s.publish(o, r)
	}
}

// acknowledge notes that the broker has the oldest message that flies.
func (o *Outbox) acknowledge() {
	o.land()
	o.count(func(c *Counts) { c.Sent++ })
	o.attempt = 0
	o.report("", "")
	o.online.window = min(inFlight, 2*o.online.window)
}

// land removes the oldest message that flies from the spool.
func (o *Outbox) land() {
	o.spool.done(o.online.flying[0].record)
	o.online.flying = o.online.flying[1:]
}

// fail deals with the oldest message that flies, which was not taken.
func (o *Outbox) fail(err error) {
	if !isFinal(err) {
		o.hangUp(err)
		return
	}
	o.report("", o.wordsFor(err))
	o.land()
	o.count(func(c *Counts) { c.Refused++ })
}

// hangUp ends the connection, if there is one, and has another one made later.
func (o *Outbox) hangUp(err error) {
	if o.online != nil {
		o.online.conn.Close()
		o.online = nil
	}
	o.report("", o.wordsFor(err))
	o.spool.setOnline(false)
	o.count(func(c *Counts) { c.Retried++ })
	o.retry = time.NewTimer(backoff(o.attempt))
	o.attempt++
}

// look ends a connection on which an acknowledgement is late, and tries a disk again that failed.
func (o *Outbox) look() {
	if o.online != nil && o.online.isLate() {
		o.hangUp(errNoAck)
	}
	p := o.spool
	if p.trouble != nil && !p.isOnline {
		p.save()
	}
	if p.disk != nil {
		text := ""
		if p.trouble != nil {
			text = p.trouble.Error() + "; messages stay in memory"
		}
		o.report("the spool "+o.opt.Spool, text)
	}
	o.lookForLosses()
}

// lookForLosses logs that messages are dropped, until the broker has all that there are.
func (o *Outbox) lookForLosses() {
	o.count(func(*Counts) {})
	c := o.Counts()
	switch {
	case c.Dropped > o.dropped:
		o.dropped = c.Dropped
		o.report("no room", "the oldest messages that the broker has not taken are dropped")
	case c.Waiting == 0:
		o.report("no room", "")
	}
}

// isOver reports whether Run may end, after Close: all is delivered, or on disk and no broker is there.
// With a disk that works, a broker that is there has spoolTime to get the rest.
func (o *Outbox) isOver() bool {
	if o.spool.waiting() == 0 {
		return true
	}
	if !o.spool.isSafe() {
		return false
	}
	if o.end == nil {
		o.end = time.After(spoolTime)
	}
	return o.online == nil && o.dialled == nil
}

// finish closes everything.
func (o *Outbox) finish() {
	if o.online != nil {
		o.online.conn.Close()
	}
	if c := o.dialled; c != nil {
		go func() {
			if x := <-c; x.session != nil {
				x.session.conn.Close()
			}
		}()
	}
	o.mu.Lock()
	o.isClosed = true
	o.mu.Unlock()
	o.take()
	o.spool.close()
	waiting := 0
	if o.spool.disk != nil {
		waiting = o.spool.disk.waiting()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counts.Dropped += o.spool.dropped
	o.counts.Waiting, o.spool.dropped = waiting, 0
}
