package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// reportRow is a row of the table of reports: what names it, and what shows it.
	reportRow = regexp.MustCompile(`(?m)^\| [^|]+ \| [^|]+ \| ((?:[^|\\]|\\.)+) \| ([^|]+) \|$`)
	// reportCommand is a command, and words that it prints.
	reportCommand = regexp.MustCompile("`qsniff([^`]*)`: ([^;]+)")
	quotedWord    = regexp.MustCompile("`([^`]+)`")
	testFunc      = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
)

// TestReports: each reported case of the table is named by the findings, or by the words of the
// commands, that the table has beside it. A case that nothing names says so.
func TestReports(t *testing.T) {
	t.Parallel()
	_, table, found := strings.Cut(string(page(t, storiesPage)), "\n| reported in |")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := reportRow.FindAllStringSubmatch(table, -1)
	if n := strings.Count(table, "\n| "); !found || n != len(rows) {
		t.Fatalf("%d rows, of which %d can be checked", n, len(rows))
	}
	tests := testNames(t)
	for _, row := range rows {
		names, shown := row[1], quotedWord.FindAllStringSubmatch(row[2], -1)
		switch {
		case len(shown) == 0:
			if !strings.HasPrefix(names, "cannot be told: ") && !strings.HasPrefix(names, "not told: ") {
				t.Errorf("nothing shows it, and no reason is there: %s", row[0])
			}
		case strings.HasPrefix(shown[0][1], "Test"):
			if !tests[shown[0][1]] {
				t.Errorf("there is no %s: %s", shown[0][1], row[0])
			}
		default:
			checkReport(t, names, shown)
		}
	}
}

// checkReport holds what names a case against captures.
func checkReport(t *testing.T, names string, captures [][]string) {
	t.Helper()
	var paths []string
	for _, c := range captures {
		paths = append(paths, filepath.Join(module, "pcapfiles", filepath.FromSlash(c[1])+".pcap"))
	}
	links, commands := findingLink.FindAllStringSubmatch(names, -1), reportCommand.FindAllStringSubmatch(names, -1)
	if len(links)+len(commands) == 0 {
		t.Errorf("neither a finding nor a command with its words: %s", names)
	}
	for _, m := range links {
		if !strings.Contains(findingsOf(t, captures[0][1]), " "+m[1]+" ") {
			t.Errorf("%s is not raised by %s", m[1], captures[0][1])
		}
	}
	for _, m := range commands {
		out, errs, status := output(t, append(strings.Fields(m[1]), paths...)...)
		if text := strings.Join(strings.Fields(out), " "); status != exitOK || !strings.Contains(text, m[2]) {
			t.Errorf("qsniff%s of %s: exit status %d, no %q\n%s", m[1], captures[0][1], status, m[2], errs)
		}
	}
}

// testNames returns the names of all tests of the module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir(module, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != module) {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllSubmatch(b, -1) {
			all[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
