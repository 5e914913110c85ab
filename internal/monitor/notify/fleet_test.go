package notify

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"qsniff/internal/test/timing"
)

// TestFleetStalls: messages of a fleet never wait for a process that reads nothing; what has no room is
// counted at the sink that they are for, and notes have room all the same.
func TestFleetStalls(t *testing.T) {
	goOn := t.TempDir() + "/go"
	t.Setenv("GO_ON", goOn)
	m, err := startPart(t, "stalls", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	m.sinks = []SinkCounts{{Name: "x"}, {Name: FleetSink + "hub", QueueCounts: QueueCounts{Waiting: 5}}}
	m.mu.Unlock()
	line := json.RawMessage(`"` + strings.Repeat("x", 10_000) + `"`)
	const all = 2000 // 20 MB, where a pipe takes 64 KiB
	for i := range all {
		m.PutFleet(&FleetMessage{Kind: "server", ID: fmt.Sprintf("a/b/%d", i+1), Line: line})
	}
	m.Put(&Note{Thread: "1", Event: Begins, Line: line})
	way, sinks := m.Counts()
	// The pipe took the first few, and may have taken more since the last one was put.
	const inPipe = 20
	if x := sinks[1]; x.Lost < all-maxFleet-inPipe || x.Waiting > maxFleet+5 || uint64(x.Waiting)+x.Lost < all+5-inPipe || sinks[0].Lost != 0 || way.Lost != 0 {
		t.Errorf("%+v %+v", way, sinks)
	}
	if err := m.Close(); err != nil { // does not wait for it
		t.Error(err)
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-m.ended
}

// TestFleetDies: without the other process what is put is counted as lost.
func TestFleetDies(t *testing.T) {
	m, err := startPart(t, "dies", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	timing.Await(t, "its end", m.Gone)
	for range 100 {
		m.PutFleet(&FleetMessage{Line: json.RawMessage("{}")})
	}
	timing.Await(t, "all to be counted", func() bool { return m.fleet.lost.Load() == 100 })
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
