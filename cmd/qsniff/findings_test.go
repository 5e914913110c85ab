package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture"
	"qsniff/capture/file"
)

// foundLine is what lines of read and of findings have of a finding.
type foundLine struct {
	ID, Severity, Text string
	Count              uint64
	Frame              uint64
	Time               string
	Frames             []uint64
	Findings           []foundLine
}

// countFound adds up the findings in lines of JSON by id and severity, those in messages too.
func countFound(t *testing.T, lines string) map[string]uint64 {
	t.Helper()
	counts := map[string]uint64{}
	for line := range strings.Lines(lines) {
		if strings.Contains(line, `"record":"incident"`) {
			continue
		}
		var x foundLine
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if strings.Contains(line, `"record":"finding"`) {
			counts[x.ID+" "+x.Severity] += x.Count
		}
		if strings.Contains(line, `"record":"reply"`) { // joined from messages
			continue
		}
		for _, f := range x.Findings {
			counts[f.ID+" "+f.Severity]++
		}
	}
	return counts
}

// TestFindingsEach: of each capture, findings counts what read prints, and each form is harmless
// and shows no secret.
func TestFindingsEach(t *testing.T) {
	someCaptures(t, func(t *testing.T, _ int, name string) {
		lines, errs, status := output(t, "findings", smallTables, "-o", "json", name)
		read, _, readStatus := output(t, "read", smallTables, "-o", "json", name)
		if status != readStatus {
			t.Fatalf("exit status %d: %s", status, errs)
		}
		if diff := cmp.Diff(countFound(t, read), countFound(t, lines)); diff != "" {
			t.Errorf("read -, findings +\n%s", diff)
		}
		checkFrames(t, name, lines)
		page, _, _ := output(t, "findings", smallTables, "--utc", name)
		table, _, _ := output(t, "findings", smallTables, "-o", "csv", name)
		harmless(t, page)
		harmless(t, strings.ReplaceAll(table, "\r\n", "\n"))
		secretless(t, page+lines+table)
	}, "hostile")
}

// checkFrames: the frame and the time of a finding are of one packet of the capture.
func checkFrames(t *testing.T, name, lines string) {
	t.Helper()
	times := map[uint64]int64{}
	src, err := file.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for b := new(capture.Batch); err == nil; {
		err = src.Read(b)
		for i := range b.Packets {
			times[b.Packets[i].No] = b.Packets[i].Nanos
		}
	}
	for line := range strings.Lines(lines) {
		var x foundLine
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339Nano, x.Time)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := at.UnixNano(), times[x.Frame]; got != want {
			t.Errorf("%s at frame %d\ngot  %d\nwant %d", x.ID, x.Frame, got, want)
		}
	}
}

// TestFindingsJobs: the findings of all captures are the same with any number of goroutines,
// also where tables overflow, and none is lost.
func TestFindingsJobs(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"text", "json"} {
		args := append([]string{"findings", "--utc", "--memory", "16M", "-o", form}, captures(t)...)
		one, errs, status := output(t, append(args, "--jobs", "1")...)
		if status != exitOK {
			t.Fatalf("exit status %d: %s", status, errs)
		}
		if four, _, _ := output(t, append(args, "--jobs", "4")...); four != one {
			t.Errorf("%s: one goroutine -, four +\n%s", form, cmp.Diff(one, four))
		}
		if form == "json" && len(countFound(t, one)) < 50 {
			t.Errorf("only few kinds of findings in %s", one)
		}
	}
}
