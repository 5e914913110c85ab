package main

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/timing"
)

// hostileName would be markup, the end of an element, or of a line, where it is not text.
const hostileName = "</script><img src=x onerror=alert(1)>\"\u2028'"

// TestMonitorPage: the page and what it asks for. A flood is in the report while it goes on, with its
// figures of the moment; findings are if they are wanted, also where nobody is told of them; names
// are text, and nothing is in it that a monitor does not keep.
func TestMonitorPage(t *testing.T) {
	t.Parallel()
	w := watchPipe(t, "--tell-findings", "warn")
	if status, body := w.get(t, "/"); status != http.StatusOK || !strings.Contains(body, `<template id="live">`) || strings.Contains(body, "{{") {
		t.Fatalf("/: %d %s", status, body)
	}
	server := netip.MustParseAddrPort(watchedServer)
	for i := range uint32(40) {
		w.packet(t, clientAt(i), server, plainQuery)
		w.at += 20 * time.Millisecond
		w.packet(t, server, clientAt(i), strings.Replace(someReply, "a server", hostileName, 1))
		w.at += time.Second
	}
	for range 2 {
		w.packet(t, clientAt(1), server, plainQuery[:5]+"\x00") // A2S-C02
	}
	for i := range uint32(6000) { // in five seconds
		w.packet(t, clientAt(1000+i), server, plainQuery)
		w.at += 833 * time.Microsecond
	}
	w.awaitPackets(t, 6082)
	var report struct {
		Stats struct {
			Packets, Requests, Answered uint64
			Servers                     []struct{ Server, Name string }
			Clients                     []any
		}
		Timeline  struct{ Points int }
		Incidents []struct {
			Kind, End string
			Requests  int
			Advice    []string `json:"advice_words"`
		}
		Exchanges []any
		Findings  []struct {
			ID, Server string
			Count      int
		}
		Explain map[string]struct{ Do string }
		LeftOut struct{ Exchanges uint64 } `json:"left_out"`
	}
	timing.Await(t, "the incident", func() bool {
		status, body := w.get(t, "/report.json")
		if status != http.StatusOK || json.Unmarshal([]byte(body), &report) != nil {
			t.Fatalf("/report.json: %d %s", status, body)
		}
		return len(report.Incidents) > 0
	})
	s := &report.Stats
	if len(s.Servers) != 1 || s.Servers[0].Server != watchedServer || s.Servers[0].Name != hostileName {
		t.Errorf("servers: %q", s.Servers)
	}
	if s.Packets != 6082 || s.Requests != 6042 || s.Answered != 40 || report.Timeline.Points < 45 {
		t.Errorf("%+v, %d points", s, report.Timeline.Points)
	}
	if in := report.Incidents[0]; !strings.HasPrefix(in.Kind, "flood_") || in.End != "" || len(in.Advice) == 0 || in.Requests < 4800 { // a second may be at hand
		t.Errorf("%+v", in)
	}
	if len(report.Exchanges)+len(s.Clients) > 0 || report.LeftOut.Exchanges < 40 {
		t.Errorf("exchanges %v, clients %v, left out %+v", report.Exchanges, s.Clients, report.LeftOut)
	}
	if f := report.Findings; len(f) != 2 || f[1].ID != "DOS-A01" || f[0].ID != "A2S-C02" || f[0].Server != watchedServer || f[0].Count != 2 || report.Explain["A2S-C02"].Do == "" {
		t.Errorf("findings %+v, explained %+v", f, report.Explain)
	}
	if status := w.end(t); status != 0 {
		t.Errorf("exit status %d", status)
	}
}
