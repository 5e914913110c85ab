package messenger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"qsniff/internal/monitor/notify"
	"qsniff/internal/test/natstest"
	"qsniff/internal/test/timing"
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

// fleetMessage returns the message of a number.
func fleetMessage(no int) *notify.FleetMessage {
	return &notify.FleetMessage{Kind: "host", ID: fmt.Sprintf("web-1/run/%d", no), Line: json.RawMessage("{}")}
}

// TestServeFleet: messages of a fleet go to its broker beside notes, and are counted; what is put last is
// sent before the end.
func TestServeFleet(t *testing.T) {
	b := natstest.Start(t, nil)
	natstest.MakeStream(t, b.Connect(), "FLEET", "qsniff.*.*")
	dir := t.TempDir()
	s := serve(t, &notify.Config{File: filepath.Join(dir, "a.jsonl"),
		Fleet: &notify.Fleet{URL: b.URL(), Name: "web-1", Prefix: "qsniff", Spool: filepath.Join(dir, "spool")}}, Options{})
	first := <-s.reports
	if !first.Ready || len(first.Sinks) != 2 || first.Sinks[1].Name != notify.FleetSink+"127.0.0.1" {
		t.Errorf("%+v", first)
	}
	for no := range 100 {
		s.order(t, notify.Order{Fleet: fleetMessage(no + 1)})
	}
	timing.Await(t, "all messages", func() bool { return len(natstest.Messages(t, b.Connect(), "FLEET")) == 100 })
	s.order(t, notify.Order{Note: note(1, notify.Begins)})
	s.order(t, notify.Order{Fleet: fleetMessage(101)})
	s.order(t, notify.Order{Fleet: &notify.FleetMessage{Kind: "host", ID: "web-2/run/1", Line: json.RawMessage("{}")}})
	sinks, log := s.end()
	if len(sinks) != 2 || sinks[0].Sent != 1 || sinks[1].Sent != 101 || sinks[1].Refused != 1 || !strings.Contains(log, "fleet at 127.0.0.1: 1 were not delivered") {
		t.Errorf("%+v %s", sinks, log)
	}
	if got := natstest.Messages(t, b.Connect(), "FLEET"); len(got) != 101 || got[100].Subject != "qsniff.web-1.host" || got[100].Header.Get("Nats-Msg-Id") != "web-1/run/101" {
		t.Errorf("%d messages, the last %+v", len(got), got[len(got)-1])
	}
}

// TestServeFleetFails: what cannot be opened is told at once, and a check finds the same.
func TestServeFleetFails(t *testing.T) {
	c := &notify.Config{Fleet: &notify.Fleet{URL: "nats://127.0.0.1:1", Name: "web-1", Prefix: "qsniff", Creds: filepath.Join(t.TempDir(), "none")}}
	if _, err := Check(c); err == nil || !strings.Contains(err.Error(), c.Fleet.Creds) {
		t.Errorf("the check: %v", err)
	}
	s := serve(t, c, Options{})
	if r := <-s.reports; r.Ready || !strings.Contains(r.Failed, c.Fleet.Creds) {
		t.Errorf("%+v", r)
	}
	s.end()
	c.Fleet.Creds = ""
	if _, err := Check(c); err != nil {
		t.Error(err)
	}
}
