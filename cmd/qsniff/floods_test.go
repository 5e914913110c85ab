package main

import (
	"encoding/json"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/base/display"
)

// incidentLine is what a line says that can be wrong in itself.
type incidentLine struct {
	Record, Event, Kind, Level, Target, Advice string
	Evidence                                   []struct {
		Text     string
		From, To *time.Time
	}
	ID, Campaign, Frame   uint64
	Requests, Replies     uint64
	Packets               uint64  // of an other_flood
	Peak                  float64 `json:"peak_qps"`
	Mean                  float64 `json:"mean_qps"`
	Start, Detected, Time time.Time
	End                   *time.Time
	Confidence            float64
	Sources               uint64
	TopSources            []struct {
		CountLow  uint64 `json:"count_low"`
		CountHigh uint64 `json:"count_high"`
	} `json:"top_sources"`
}

func (x *incidentLine) check(t *testing.T, name string) {
	t.Helper()
	first := time.Unix(1_700_000_000, 0)
	bad := x.Record != "incident" || x.Kind == "" || x.Level == "" || x.Target == "" || len(x.Evidence) == 0 || x.Frame == 0 ||
		x.Campaign == 0 || x.Campaign > x.ID || x.Confidence < 0 || x.Confidence > 1 ||
		x.Start.Before(first) || x.Detected.Before(x.Start) || x.End != nil && x.End.Before(x.Start)
	for _, s := range x.TopSources {
		bad = bad || s.CountLow > s.CountHigh
	}
	for _, e := range x.Evidence {
		bad = bad || e.Text == "" || e.From != nil && e.From.After(*e.To)
	}
	if n := float64(max(x.Requests, 1)); x.Event == "" && x.End != nil && x.Kind != "open_amplifier" { // the figures agree with each other
		if x.Requests == 0 {
			n = float64(x.Replies + x.Packets)
		}
		length := max(x.End.Sub(x.Start).Seconds(), 1)
		bad = bad || x.Mean > x.Peak || math.Abs(x.Mean*length-n) > max(2, 0.02*n)
	}
	if bad {
		t.Errorf("%s: %+v", name, x)
	}
}

// TestFloodsEach: of each capture there is a page that does no harm and keeps to its
// width, and lines that are JSON and make sense; without -short, whatever the number of
// goroutines.
func TestFloodsEach(t *testing.T) {
	var found atomic.Int32
	t.Cleanup(func() {
		if n := found.Load(); n < 3 && !t.Failed() {
			t.Errorf("%d incidents in all captures", n)
		}
	})
	someCaptures(t, func(t *testing.T, _ int, name string) {
		page, errs, status := output(t, "floods", "--utc", "-v", "--explain", name)
		if status != exitOK {
			t.Fatalf("exit status %d: %s", status, errs)
		}
		harmless(t, page)
		secretless(t, page)
		narrow(t, name, page)
		lines, _, _ := output(t, "floods", "-o", "json", name)
		for line := range strings.Lines(lines) {
			var x incidentLine
			if err := json.Unmarshal([]byte(line), &x); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			if x.Record == "other_traffic" {
				continue
			}
			x.check(t, name)
			found.Add(1)
		}
		if testing.Short() {
			return
		}
		if again, _, _ := output(t, "floods", "-o", "json", "--jobs", "1", name); again != lines {
			t.Errorf("all jobs -, 1 job +\n%s", cmp.Diff(lines, again))
		}
	}, "floods", "stories", "hostile")
}

// narrow wants lines of at most 80 columns, but for those that are copied: they are
// indented further, and stay whole.
func narrow(t *testing.T, name, page string) {
	t.Helper()
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if display.Cells([]byte(line)) > 80 && !strings.HasPrefix(line, "    ") || !utf8.ValidString(line) {
			t.Errorf("%s: %q", name, line)
		}
	}
}

// TestFloodsJobs: several attacks in one run, in every form that shows them.
func TestFloodsJobs(t *testing.T) {
	t.Parallel()
	both := []string{pcapfiles + "/floods/spoofed.pcap", pcapfiles + "/floods/reflection.pcap", pcapfiles + "/stories/rcon-guessing.pcap"}
	for _, args := range [][]string{{"floods", "--utc", "--explain"}, {"floods", "-o", "json", "--explain"}, {"read", "--utc"},
		{"read", "-o", "json"}, {"read", "--utc", "-o", "tree"}, {"read", "-t", "d"}} {
		args = append(args, both...)
		want, errs, status := output(t, append(args, "--jobs", "1")...)
		if status != exitOK {
			t.Fatalf("exit status %d: %s", status, errs)
		}
		for _, jobs := range []string{"2", "4", "16"} {
			if got, _, _ := output(t, append(args, "--jobs", jobs)...); got != want {
				t.Errorf("%v: 1 job -, %s jobs +\n%s", args[:2], jobs, cmp.Diff(want, got))
			}
		}
	}
}

// TestReadIncidents: among the messages each incident opens once and closes once, in
// this order, at times that do not go back.
func TestReadIncidents(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"floods/spoofed", "floods/reflection", "stories/rcon-guessing"} {
		out, _, _ := output(t, "read", "-o", "json", pcapfiles+"/"+name+".pcap")
		var events []string
		var last time.Time
		for line := range strings.Lines(out) {
			var x incidentLine
			if strings.Contains(line, `"record":"finding"`) { // its id is another thing
				continue
			}
			if err := json.Unmarshal([]byte(line), &x); err != nil {
				t.Fatalf("%s: %v in %s", name, err, line)
			}
			if x.Record == "" {
				last = x.Time
			}
			if x.Record != "incident" {
				continue
			}
			x.check(t, name)
			events = append(events, x.Event)
			if x.Time.Before(last) || x.Level == "info" || x.Event == "open" && x.End != nil {
				t.Errorf("%s: after a message of %v: %+v", name, last, x)
			}
		}
		n := len(events)
		if n < 2 || events[0] != "open" || events[n-1] != "close" || strings.Count(strings.Join(events, " "), "open") != 1 {
			t.Errorf("%s: %v", name, events)
		}
	}
}
