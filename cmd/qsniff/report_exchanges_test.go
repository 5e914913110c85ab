package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestReportExchanges: each exchange in a report is the one that qsniff exchanges lists, with the
// same outcome, times and numbers, and both have as many: of all stories, and of a capture with
// more exchanges at a time than the report can show.
func TestReportExchanges(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(pcapfiles, "stories", "*.pcap"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d stories: %v", len(names), err)
	}
	crowd := filepath.Join(t.TempDir(), "crowd.pcap")
	if err := os.WriteFile(crowd, strangers(t, 4000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, crowd) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			compareExchanges(t, name)
		})
	}
}

// compareExchanges compares the report of a capture with its exchanges.
func compareExchanges(t *testing.T, name string) {
	t.Helper()
	lines, _, _ := output(t, "exchanges", "-o", "json", name)
	listed := map[any][]map[string]any{}
	for line := range strings.Lines(lines) {
		x := readObject(t, line)
		listed[x["id"]] = append(listed[x["id"]], x)
	}
	out, _, _ := output(t, "report", "-o", "json", name)
	r := readObject(t, out)
	all := r["exchanges"].([]any)
	left := r["left_out"].(map[string]any)["exchanges"].(float64)
	if n := strings.Count(lines, "\n"); len(all)+int(left) != n || len(all) == 0 {
		t.Errorf("%d exchanges in the report, %v left out\nwant %d", len(all), left, n)
	}
	for _, x := range all {
		x := x.(map[string]any)
		messages := float64(len(x["messages"].([]any)))
		if omitted, ok := x["omitted_messages"].(float64); ok {
			messages += omitted
		}
		counts := 0.
		for _, member := range []string{"requests", "challenges", "replies"} {
			if n, ok := x[member].(float64); ok {
				counts += n
			}
		}
		if messages != counts {
			t.Errorf("exchange %v has %v messages of %v", x["id"], messages, counts)
		}
		if !isListed(listed[x["id"]], x) {
			t.Errorf("exchange %v\ngot  %v %v\nwant one of %v", x["id"], x["outcome"], x["rtt_ms"], listed[x["id"]])
		}
	}
}

// isListed reports whether one of lines is about the same exchange, and has the same to report.
func isListed(lines []map[string]any, x map[string]any) bool {
	for _, line := range lines {
		isSame := true
		for member, want := range line {
			isSame = isSame && (member == "findings" || reflect.DeepEqual(x[member], want))
		}
		if isSame {
			return true
		}
	}
	return false
}

func readObject(t *testing.T, text string) (x map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		t.Fatalf("%v in %.100q", err, text)
	}
	return x
}
