package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"qsniff/internal/tools/docgen"
)

// TestFilterExamples: each example of the page about filters is compiled and chooses
// something.
func TestFilterExamples(t *testing.T) {
	for _, x := range docgen.FilterExamples() {
		name := filepath.Join(pcapfiles, filepath.FromSlash(x.Capture))
		all, _, _ := output(t, "--utc", name)
		out, errs, status := output(t, "--utc", "-Y", x.Text, name)
		if status != exitOK || out == "" || strings.Count(out, "\n") > strings.Count(all, "\n") {
			t.Errorf("-Y %q: status %d, %d lines of %d: %s", x.Text, status, strings.Count(out, "\n"), strings.Count(all, "\n"), errs)
		}
	}
}

// TestFilterLate: in a file a late answer is an answer, to its request too.
func TestFilterLate(t *testing.T) {
	const late = pcapfiles + "/a2s/exchange-retry-and-late.pcap"
	for expr, want := range map[string]string{"exchange.rtt > 3s": "frame 4 5", "exchange && !exchange.answered": "frame"} {
		lines, errs, _ := output(t, "read", "-Y", expr, "-o", "csv", "-e", "frame", late)
		if got := strings.Join(strings.Fields(lines), " "); got != want {
			t.Errorf("%s: %q, want %q\n%s", expr, got, want, errs)
		}
	}
}

// TestCompleteFilter: fields, operators and values are proposed.
func TestCompleteFilter(t *testing.T) {
	for word, want := range map[string]string{
		"mess":            "message",
		"message == A2S_": "message == A2S_INFO",
		"exchange.answ":   "exchange.answered",
	} {
		got, _ := completeFilter(nil, nil, word)
		if !slices.Contains(got, cobra.Completion(want)) {
			t.Errorf("%s: %s is not in %q", word, want, got)
		}
	}
}

// TestFilteredLines: what a filter chooses is printed as without it, though less is found out
// about what it cannot choose; and it is the same that jq would choose.
func TestFilteredLines(t *testing.T) {
	someCaptures(t, func(t *testing.T, _ int, name string) {
		all, _, _ := output(t, "read", smallTables, "-o", "json", name)
		for text, holds := range map[string]func(line string) bool{
			"a2s": func(s string) bool {
				return strings.Contains(s, `"protocol":"a2s"`) && !strings.Contains(s, `"record"`)
			},
			"rcon": func(s string) bool {
				return strings.Contains(s, `"protocol":"rcon"`) && !strings.Contains(s, `"record":"incident"`)
			},
			"message == S2A_PLAYER": func(s string) bool { return strings.Contains(s, `"message":"S2A_PLAYER","direction"`) },
			"record == finding":     func(s string) bool { return strings.Contains(s, `"record":"finding"`) },
		} {
			var want strings.Builder
			for line := range strings.Lines(all) {
				if holds(line) {
					want.WriteString(line)
				}
			}
			if got, _, _ := output(t, "read", smallTables, "-o", "json", "-Y", text, name); got != want.String() {
				t.Errorf("-Y %q: want -, got +\n%s", text, cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(got, "\n")))
			}
		}
	}, "rcon", "goldsource")
}
