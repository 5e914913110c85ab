package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExchangesEach: of each capture, exchanges has a line for each dialogue that follow has and that
// is not a lone finding, with the same members and the ids of all findings in it. The table and
// the lines for people have as many.
func TestExchangesEach(t *testing.T) {
	someCaptures(t, func(t *testing.T, _ int, name string) {
		lines, errs, status := output(t, "exchanges", smallTables, "-o", "json", name)
		dialogues, _, followed := output(t, "follow", smallTables, "-o", "json", name)
		if status != followed {
			t.Fatalf("exit status %d: %s", status, errs)
		}
		var want []map[string]any
		for line := range strings.Lines(dialogues) {
			if d := withIDs(t, line); d != nil {
				want = append(want, d)
			}
		}
		var got []map[string]any
		for line := range strings.Lines(lines) {
			d := decodeLine(t, line)
			sortedIDs(d["findings"].([]any))
			got = append(got, d)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("follow -, exchanges +\n%s", diff)
		}
		page, _, _ := output(t, "exchanges", "--utc", name)
		table, _, _ := output(t, "exchanges", "-o", "csv", name)
		if n := strings.Count(page, "\n"); n != len(want) || strings.Count(table, "\n") != n+1 {
			t.Errorf("%d dialogues, %d lines, table\n%s", len(want), n, table)
		}
		harmless(t, page)
		secretless(t, page+table+lines)
	}, "rcon", "a2s", "hostile")
}

func decodeLine(t *testing.T, line string) (d map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), &d); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return d
}

// withIDs returns a dialogue with the ids of its findings in place of its messages and records, or
// nil if it has no messages and is no connection.
func withIDs(t *testing.T, line string) map[string]any {
	d := decodeLine(t, line)
	messages, _ := d["messages"].([]any)
	records, _ := d["records"].([]any)
	if len(messages) == 0 && d["record"] != "connection" {
		return nil
	}
	ids := []any{}
	add := func(of any) {
		if id := of.(map[string]any)["id"]; !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	// Messages and records are two lists in follow, and in order of time in a line of
	// exchanges: their ids are compared as sets.
	for _, m := range messages {
		found, _ := m.(map[string]any)["findings"].([]any)
		if m.(map[string]any)["record"] == nil { // not joined from others
			for _, f := range found {
				add(f)
			}
		}
	}
	for _, r := range records {
		if r.(map[string]any)["record"] == "finding" {
			add(r)
		}
	}
	d["findings"] = sortedIDs(ids)
	delete(d, "messages")
	delete(d, "records")
	return d
}

func sortedIDs(ids []any) []any {
	slices.SortFunc(ids, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return ids
}

// TestExchangesJobs: the lines of all captures together, with little memory, are the same with
// any number of goroutines.
func TestExchangesJobs(t *testing.T) {
	t.Parallel()
	args := append([]string{"exchanges", "--utc", "--memory", "16M"}, captures(t)...)
	one, errs, status := output(t, append(args, "--jobs", "1")...)
	if status != exitOK || strings.Count(one, "\n") < 1000 {
		t.Fatalf("exit status %d: %s, %d bytes", status, errs, len(one))
	}
	if four, _, _ := output(t, append(args, "--jobs", "4")...); four != one {
		t.Errorf("one goroutine -, four +\n%s", cmp.Diff(one, four))
	}
}
