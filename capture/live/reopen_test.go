package live

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
	"time"

	"qsniff/capture"
)

// comingBack is a Source with an interface that a test takes away, another one beside it, and a clock of the test.
type comingBack struct {
	*Source
	going, staying *scripted
	now            int64
	found          target
	findError      error
	looks          int
	changes        []Change
}

func newComingBack() *comingBack {
	c := &comingBack{going: &scripted{}, staying: &scripted{step: 1}, found: target{name: "eth0", index: 3}}
	c.Source = &Source{backend: Libpcap, inputs: []*input{
		{handle: c.going, iface: 0, target: c.found},
		{handle: c.staying, iface: 1, target: target{name: "eth1", index: 4}},
	}}
	c.reopen = &Reopen{Clock: func() int64 { return c.now }, Report: func(change Change) { c.changes = append(c.changes, change) }}
	c.locate = func(target) (target, error) { c.looks++; return c.found, c.findError }
	return c
}

// read reads once, after some time.
func (c *comingBack) read(after time.Duration) (packets int, err error) {
	c.now += int64(after)
	var b capture.Batch
	c.staying.waiting = 1
	err = c.Read(&b)
	return len(b.Packets), err
}

// TestReopen: while an interface is away the other one is captured on; it is looked for less and less often, reported
// once when it goes and once when it is back, and counted.
func TestReopen(t *testing.T) {
	c := newComingBack()
	c.going.err, c.findError = goneError("eth0", false), unknownError("eth0", nil)
	for range 600 { // a minute
		if n, err := c.read(100 * time.Millisecond); n != 1 || err != nil {
			t.Fatalf("%d packets of the other interface, error %v", n, err)
		}
	}
	if away, all := c.Interruptions(); away != 1 || all != 1 || len(c.changes) != 1 || !errors.Is(c.changes[0].Err, ErrVanished) {
		t.Errorf("away %d, %d interruptions, reported %+v", away, all, c.changes)
	}
	if c.looks < 12 || c.looks > 20 { // 0.1, 0.2, 0.4 ... 5, 5
		t.Errorf("looked %d times in a minute", c.looks)
	}
	c.going.err, c.findError, c.found = nil, nil, target{name: "eth0", index: 9}
	for range 60 {
		c.read(100 * time.Millisecond)
	}
	if away, all := c.Interruptions(); away != 0 || all != 1 || len(c.changes) != 2 || c.changes[1] != (Change{Interface: "eth0"}) || c.going.bound != 9 {
		t.Errorf("away %d, %d interruptions, reported %+v, bound to %d", away, all, c.changes, c.going.bound)
	}
	c.going.waiting = 2
	if n, err := c.read(time.Millisecond); n != 3 || err != nil {
		t.Errorf("%d packets of both, error %v", n, err)
	}
}

// TestReopenRenamed: a device that is up again under another name is captured on, and its name reported.
func TestReopenRenamed(t *testing.T) {
	c := newComingBack()
	c.going.err = goneError("eth0", true)
	c.read(0)
	c.going.err, c.found = nil, target{name: "lan0", index: 3}
	c.read(reopenFirst)
	if want := (Change{Interface: "eth0", Now: "lan0"}); len(c.changes) != 2 || c.changes[1] != want || c.inputs[0].name != "eth0" {
		t.Errorf("reported %+v, sought as %s", c.changes, c.inputs[0].name)
	}
}

// TestReopenFlapping: an interface that comes and goes all the time is reported no more often than it is looked for.
func TestReopenFlapping(t *testing.T) {
	c := newComingBack()
	c.going.err = goneError("eth0", true)
	for range 6000 { // ten minutes, in which it goes as soon as it is back
		c.read(100 * time.Millisecond)
	}
	if n := len(c.changes); n < 100 || n > 300 {
		t.Errorf("%d reports in ten minutes", n)
	}
	c.going.err = nil
	c.read(reopenMost)
	c.read(2 * reopenCalm)
	c.going.err = goneError("eth0", true)
	c.read(0)
	if wait := time.Duration(c.inputs[0].next - c.now); wait != reopenFirst {
		t.Errorf("after a calm time it is looked for in %v", wait)
	}
}

// TestReopenEnds: the capture ends with the error when an interface came back and cannot be captured on, and at once
// without Reopen.
func TestReopenEnds(t *testing.T) {
	c := newComingBack()
	c.going.err, c.going.bindError = goneError("eth0", false), permissionError("eth0", fs.ErrPermission)
	c.read(0)
	var err error
	for range 5 {
		if _, err = c.read(reopenFirst); err != nil {
			break
		}
	}
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("without a right: %v", err)
	}
	c = newComingBack()
	c.reopen = nil
	c.going.err = goneError("eth0", false)
	c.read(0)
	if _, err := c.read(0); !errors.Is(err, ErrVanished) {
		t.Errorf("without Reopen: %v", err)
	}
	c = newComingBack()
	c.going.err = errors.New("the socket is broken")
	c.read(0)
	if _, err := c.read(0); err == nil || slices.ContainsFunc(c.changes, func(Change) bool { return true }) {
		t.Errorf("another error: %v, reported %+v", err, c.changes)
	}
}

// TestReopenAlone: while all interfaces are away, reads take their time as always.
func TestReopenAlone(t *testing.T) {
	c := newComingBack()
	if err := c.waiter.open(); err != nil {
		t.Fatal(err)
	}
	defer c.waiter.close()
	c.inputs, c.polls = c.inputs[:1], 1
	c.going.err, c.findError = goneError("eth0", true), downError("eth0")
	c.read(0)
	start := time.Now()
	c.read(0)
	if took := time.Since(start); took < pollTimeout/2 {
		t.Errorf("a read without an interface took %v", took)
	}
}
