package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
