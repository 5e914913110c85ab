package messenger

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"qsniff/internal/monitor/notify"
	"qsniff/internal/test/natstest"
	"qsniff/internal/test/timing"
)

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
