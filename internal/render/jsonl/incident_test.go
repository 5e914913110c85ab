package jsonl

import (
	"encoding/json"
	"math"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/flood"
	"qsniff/internal/render"
)

// TestIncident: what the capture could not give is left out, or null; what is not
// over has no end.
func TestIncident(t *testing.T) {
	in := &flood.Incident{ID: 7, Campaign: 3, Kind: flood.Reflection, Level: flood.Alert, Target: flood.Target{End: netip.MustParseAddrPort("198.18.7.2:27015")},
		Start: 1_700_000_000e9, Detected: 1_700_000_005e9, Frame: 9, Pulses: 1, Completion: -1, Answered: -1, Weight: flood.Weight{Value: 0.5}, Evidence: []flood.Sentence{{Text: `"quoted"`}, {Text: "and more", From: 1_700_000_001e9, To: 1_700_000_002e9}},
		Top:      []flood.Source{{Addr: netip.MustParseAddr("203.0.113.9"), Low: 1, High: 2, TTL: -1}},
		Features: []flood.FeatureValue{{Name: "C", Value: math.NaN()}, {Name: "R1", Value: 50}}}
	members := func(line []byte) map[string]any {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil || line[len(line)-1] != '\n' {
			t.Fatalf("%v in %s", err, line)
		}
		return m
	}
	whole := members(AppendIncident(nil, in, nil, true))
	if diff := cmp.Diff([]any{map[string]any{"text": `"quoted"`},
		map[string]any{"text": "and more", "from": "2023-11-14T22:13:21.000000Z", "to": "2023-11-14T22:13:22.000000Z"}}, whole["evidence"]); diff != "" {
		t.Errorf("evidence: want -, got +\n%s", diff)
	}
	if whole["schema"] != 2.0 {
		t.Errorf("schema %v, evidence is a list since 2", whole["schema"])
	}
	for _, absent := range []string{"end", "challenge_completion", "answered", "succeeded", "event", "time"} {
		if v, ok := whole[absent]; ok {
			t.Errorf("%s: %v", absent, v)
		}
	}
	if diff := cmp.Diff(map[string]any{"value": 0.5, "basis": "whole"}, whole["weight"]); diff != "" {
		t.Errorf("weight: want -, got +\n%s", diff)
	}
	if whole["confidence"] != 0.14 { // of flood.Calibration, for that weight
		t.Errorf("confidence %v", whole["confidence"])
	}
	if diff := cmp.Diff(map[string]any{"C": nil, "R1": 50.0}, whole["features"]); diff != "" {
		t.Errorf("features: want -, got +\n%s", diff)
	}
	if diff := cmp.Diff([]any{map[string]any{"address": "203.0.113.9", "count_low": 1.0, "count_high": 2.0, "verified": false, "ports": 0.0}}, whole["top_sources"]); diff != "" {
		t.Errorf("top_sources: want -, got +\n%s", diff)
	}
	if _, ok := whole["targets"]; ok {
		t.Error("targets of one server")
	}
	several := *in
	several.Servers, several.Targets = 70, []netip.AddrPort{netip.MustParseAddrPort("198.18.7.2:27015")}
	if x := members(AppendIncident(nil, &several, nil, true)); cmp.Diff([]any{"udp/198.18.7.2:27015"}, x["targets"]) != "" || x["target_count"] != 70.0 {
		t.Errorf("got %v, %v\nwant one of 70", x["targets"], x["target_count"])
	}
	event := members(New(Options{}).AppendIncident(nil, &render.IncidentEvent{Nanos: 1_700_000_006e9, Event: flood.Changes, Incident: in}))
	if event["event"] != "update" || event["time"] != "2023-11-14T22:13:26.000000Z" || event["start"] != "2023-11-14T22:13:20.000000Z" {
		t.Errorf("event %v, time %v, start %v", event["event"], event["time"], event["start"])
	}
	for name, v := range whole { // both forms say the same
		if got, ok := event[name]; name != "features" && name != "weight" && (!ok || cmp.Diff(v, got) != "") {
			t.Errorf("%s: got %v, want %v", name, got, v)
		}
	}
}

// TestRules: the object is JSON, and names every threshold with its default.
func TestRules(t *testing.T) {
	var got struct {
		Thresholds []struct{ Name, Value, Default, Doc string }
		Rules      []struct {
			Name, Doc string
			Needs     []struct{ Doc string }
		}
	}
	r := flood.Explain(flood.Defaults())
	if err := json.Unmarshal(AppendRules(nil, r), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Thresholds) != len(r.Settings) || len(got.Rules) != len(r.Rules) {
		t.Fatalf("%d thresholds of %d, %d rules of %d", len(got.Thresholds), len(r.Settings), len(got.Rules), len(r.Rules))
	}
	for _, s := range got.Thresholds {
		if s.Name == "" || s.Doc == "" || s.Value == "" || s.Value[0] == '"' || s.Value != s.Default {
			t.Errorf("%+v", s)
		}
	}
}
