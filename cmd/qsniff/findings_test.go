package main

import (
	"encoding/json"
	"os"
	"path/filepath"
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

// TestFindingsSARIF: every result has its rule, its capture and its frames, and nothing from the network is dangerous where it is shown.
func TestFindingsSARIF(t *testing.T) {
	folders := []string{pcapfiles + "/stories", pcapfiles + "/hostile"}
	out, errs, status := output(t, append([]string{"findings", "-o", "sarif", smallTables}, folders...)...)
	if status != exitOK || errs != "" {
		t.Fatalf("status %d: %s", status, errs)
	}
	harmless(t, out)
	secretless(t, out)
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Rules []struct {
						ID               string
						ShortDescription struct{ Text string }
						Help             struct{ Text string }
					}
				}
			}
			Artifacts []struct{ Location struct{ URI string } }
			Results   []struct {
				RuleID          string
				RuleIndex       int
				Level           string
				Message         struct{ Text string }
				OccurrenceCount int
				Locations       []struct {
					PhysicalLocation struct {
						ArtifactLocation struct {
							URI   string
							Index int
						}
						Region struct{ StartLine int }
					}
					LogicalLocations []struct{ Name string }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &log); err != nil || log.Version != "2.1.0" || len(log.Runs) != 1 {
		t.Fatalf("%v: %d runs of version %s", err, len(log.Runs), log.Version)
	}
	run := log.Runs[0]
	levels := map[string]int{}
	for _, r := range run.Results {
		levels[r.Level]++
		rule, place := run.Tool.Driver.Rules[r.RuleIndex], r.Locations[0].PhysicalLocation
		if rule.ID != r.RuleID || rule.ShortDescription.Text == "" || rule.Help.Text == "" || r.Message.Text == "" || r.OccurrenceCount < 1 {
			t.Errorf("%+v has the rule %+v", r, rule)
		}
		if uri := place.ArtifactLocation.URI; run.Artifacts[place.ArtifactLocation.Index].Location.URI != uri || !strings.HasSuffix(uri, ".pcap") || place.Region.StartLine < 1 || len(r.Locations[0].LogicalLocations) == 0 {
			t.Errorf("%s: at %+v", r.RuleID, place)
		}
	}
	for _, level := range []string{"none", "note", "warning", "error"} {
		if levels[level] == 0 {
			t.Errorf("no result has the level %s: %v", level, levels)
		}
	}
}

// TestFindingsGitHub: a finding is a command of one line, and what a capture or its name has in it ends none.
func TestFindingsGitHub(t *testing.T) {
	out, errs, status := output(t, "findings", "-o", "github", "--fail-on", "error", smallTables, pcapfiles+"/stories", pcapfiles+"/hostile")
	if status != exitFailOnReached || errs != "" {
		t.Errorf("status %d: %s", status, errs)
	}
	harmless(t, out)
	secretless(t, out)
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "::debug::") && !strings.HasPrefix(line, "::notice file=") && !strings.HasPrefix(line, "::warning file=") && !strings.HasPrefix(line, "::error file=") {
			t.Errorf("%q is no command", line)
		}
	}
	name := editedCapture(t, pcapfiles+"/hostile/bzip2-not.pcap", func(_ int, frame []byte) [][]byte { return [][]byte{frame} })
	odd := filepath.Join(filepath.Dir(name), "a,b::c%\n::error::d.pcap")
	if err := os.Rename(name, odd); err != nil {
		t.Fatal(err)
	}
	out, _, _ = output(t, "findings", "-o", "github", "--severity", "error", smallTables, odd)
	if !strings.HasPrefix(out, "::error file=") || strings.Count(out, "\n") != 1 || !strings.Contains(out, "a%2Cb%3A%3Ac%25") {
		t.Errorf("got %q", out)
	}
}

// TestFindingsAnnotated: what cannot be annotated is refused, and a capture that cannot be read does not hide the findings of others.
func TestFindingsAnnotated(t *testing.T) {
	for _, form := range []string{"sarif", "github"} {
		if _, errs, status := output(t, "findings", "-o", form, "-"); status != exitUsage || !strings.Contains(errs, "hint: ") {
			t.Errorf("%s of standard input: status %d, %s", form, status, errs)
		}
		out, errs, status := output(t, "findings", "-o", form, smallTables, "nothing.pcap", pcapfiles+"/hostile/bzip2-not.pcap", "none.pcap")
		if status != exitFailed || !strings.Contains(errs, "nothing.pcap") || !strings.Contains(errs, "none.pcap") || !strings.Contains(out, "SPL-06") {
			t.Errorf("%s: status %d, %s: %s", form, status, errs, out)
		}
	}
}
