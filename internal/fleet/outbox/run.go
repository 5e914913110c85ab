package outbox

import (
	"context"
	"time"
)

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
	c := make(chan dialled, 1) // that nobody may read any more
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
