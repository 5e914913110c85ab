// Package recount counts what reports on floods say a second time: every number in the lines of
// qsniff floods -o json, and on the page of the same capture, is held against what tshark has,
// summed up here by short rules of its own. It uses none of qsniff's code.
//
// A report that states an exact number must have tshark's. Where it states an estimate or a
// bound, the rule of the value names it (rules_test.go). A value without a rule fails the test,
// and so does a sentence or a number on the page that no pattern knows: a number that is new in
// reports is counted here first.
package recount

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"qsniff/internal/test/binary"
	"slices"
	"testing"
)

// root is the folder of the module.
const root = binary.Root

func TestMain(m *testing.M) { os.Exit(binary.Main(m)) }

// run returns what the program prints, in lines of any width.
func run(t *testing.T, bin string, args ...string) []byte {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.Command(bin, args...)
	cmd.Env = append(os.Environ(), "COLUMNS=2000", "TZ=UTC")
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	return out
}

// TestReports: every number of the reports on all scenes is tshark's.
func TestReports(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark, which counts a second time, is not installed")
	}
	bin := binary.Path(t)
	met := map[string]bool{}
	for _, s := range scenes {
		if s.build != nil && testing.Short() { // those of pcapfiles show whether it works at all
			continue
		}
		t.Run(s.name, func(t *testing.T) { checkReport(t, bin, s, met) })
	}
	for _, rules := range []map[string]rule{incidentRules, otherRules} {
		for path := range rules {
			if !met[path] && !t.Failed() && !testing.Short() {
				t.Errorf("no report has %s: a scene for it is missing", path)
			}
		}
	}
}

// checkReport holds the report on one scene against tshark's counts, and adds the values that it
// has to met.
func checkReport(t *testing.T, bin string, s scene, met map[string]bool) {
	path := filepath.Join(root, "pcapfiles", "floods", s.name+".pcap")
	t.Helper()
	if s.build != nil {
		path = filepath.Join(t.TempDir(), s.name+".pcap")
		w := newWorld()
		s.build(w)
		w.write(t, path)
	}
	c := newCapture(readRows(t, path))
	var kinds []string
	p := &page{t: t, c: c}
	for line := range bytes.Lines(run(t, bin, "floods", "-o", "json", path)) {
		var head struct{ Record, Kind string }
		if err := json.Unmarshal(line, &head); err != nil {
			t.Fatal(err)
		}
		switch head.Record {
		case "incident":
			kinds = append(kinds, head.Kind)
			x := newIncident(t, c, line)
			x.checkLine(line, incidentRules, met)
			p.all = append(p.all, x)
		case "other_traffic":
			x := &incident{t: t, c: c, Kind: head.Record, before: kinds}
			x.checkLine(line, otherRules, met)
		default:
			t.Errorf("no rules for a line with record %q", head.Record)
		}
	}
	p.checkPage(string(run(t, bin, "floods", "-v", "--utc", path)))
	if !slices.Equal(kinds, s.kinds) {
		t.Errorf("incidents %q, want %q", kinds, s.kinds)
	}
}
