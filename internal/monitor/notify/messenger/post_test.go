package messenger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"qsniff/internal/monitor/notify"
)

// diary is a sink that keeps what it was sent.
type diary struct {
	got  []string
	fail int // so many attempts fail
}

func (d *diary) name() string { return "diary" }
func (d *diary) close() error { return nil }

func (d *diary) send(_ context.Context, n *notify.Note, lost uint64) error {
	if d.fail > 0 {
		d.fail--
		return errors.New("not now")
	}
	text := n.Thread + " " + string(n.Event)
	if n.Kind != "flood_few" {
		text += " " + n.Kind
	}
	if lost > 0 {
		text += fmt.Sprintf(" (%d lost)", lost)
	}
	d.got = append(d.got, text)
	return nil
}

func checkGot(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s\ngot  %q\nwant %q", what, got, want)
	}
}

// TestThread: a service is told of an incident's begin and end once, and of changes once in a
// while, unless it became something else.
func TestThread(t *testing.T) {
	c := newFakeClock()
	d := &diary{}
	p := newPost(d, c, func(string) {}, 1)
	p.every = 10 * time.Minute
	other := note(1, notify.Changes)
	other.Kind = "flood_spoofed"
	for _, step := range []struct {
		after time.Duration
		n     *notify.Note
	}{
		{0, note(1, notify.Begins)},
		{0, note(1, notify.Begins)}, // once more
		{time.Minute, note(1, notify.Changes)},
		{time.Minute, note(2, notify.Begins)},
		{time.Minute, other},
		{9 * time.Minute, other},
		{2 * time.Minute, other},
		{0, note(1, notify.Ends)},
		{time.Hour, note(1, notify.Ends)},
	} {
		c.advance(step.after)
		tellAll(t, p, step.n)
	}
	checkGot(t, "told", d.got, "run-1 open", "run-2 open", "run-1 update flood_spoofed", "run-1 update flood_spoofed", "run-1 close")
	if n := p.sinkCounts(); n.Sent != 5 || n.Folded != 4 {
		t.Errorf("%+v", n)
	}
}

// TestLost: the next note that is delivered says how many were not.
func TestLost(t *testing.T) {
	c := newFakeClock()
	d := &diary{fail: 1 << 30}
	p := newPost(d, c, func(string) {}, 1)
	tellAll(t, p, note(1, notify.Begins), note(2, notify.Begins))
	d.fail = 2
	var many []*notify.Note
	for i := range 300 {
		many = append(many, note(10+i, notify.Begins))
	}
	tellAll(t, p, many...)
	if len(d.got) != 256 || d.got[0] != "run-10 open (46 lost)" || d.got[1] != "run-11 open" {
		t.Errorf("%d notes, %q ...", len(d.got), d.got[:2])
	}
	if n := p.sinkCounts(); n.Sent != 256 || n.Refused != 2 || n.Lost != 44 || n.Retried < 60 {
		t.Errorf("%+v", n)
	}
}

// TestPace: so many at once, then one in the time.
func TestPace(t *testing.T) {
	p := pace{every: 2 * time.Second, burst: 5}
	now := time.Unix(1_700_000_000, 0)
	for i, want := range []time.Duration{0, 0, 0, 0, 0, 2 * time.Second, 2 * time.Second, 2 * time.Second} {
		wait := p.next(now)
		if wait != want {
			t.Errorf("note %d: waits %v, want %v", i, wait, want)
		}
		now = now.Add(wait)
	}
	now = now.Add(time.Hour)
	for i := range 5 {
		if wait := p.next(now); wait != 0 {
			t.Errorf("after an hour, note %d: waits %v", i, wait)
		}
	}
	if wait := p.next(now); wait != 2*time.Second {
		t.Errorf("after an hour, the sixth: waits %v", wait)
	}
}

// TestTrouble: the same error is logged once, until a note was delivered.
func TestTrouble(t *testing.T) {
	var log notebook
	d := &diary{fail: 3}
	p := newPost(d, newFakeClock(), log.add, 1)
	tellAll(t, p, note(1, notify.Begins))
	d.fail = 2
	tellAll(t, p, note(2, notify.Begins))
	checkGot(t, "log", log.lines, "diary: not now", "diary: not now")
}
