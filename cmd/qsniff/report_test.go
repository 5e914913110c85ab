package main

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// TestReport: of every group of captures, with hostile and damaged ones, a report is an object
// that reads back, within its size, shows no password and has nothing that could end an element
// of a page.
func TestReport(t *testing.T) {
	groups, err := filepath.Glob(filepath.Join(pcapfiles, "*", "*.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range foldersOf(groups) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			const most = 1 << 20
			out, errs, status := output(t, "report", "-o", "json", "--max-size", "1M", dir)
			if status > exitFailed {
				t.Fatalf("status %d: %s", status, errs)
			}
			secretless(t, out)
			var r struct {
				Stats     struct{ Packets int }
				Exchanges []struct {
					Messages []struct{ Layout []json.RawMessage }
				}
			}
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatal(err)
			}
			if len(out) > most || r.Stats.Packets == 0 || len(r.Exchanges) == 0 {
				t.Errorf("%d bytes, %d packets, %d exchanges", len(out), r.Stats.Packets, len(r.Exchanges))
			}
		})
	}
}

// TestReportJobs: a report does not depend on the number of goroutines, also where most
// exchanges are left out.
func TestReportJobs(t *testing.T) {
	name := filepath.Join(pcapfiles, "floods", "spoofed.pcap")
	one, _, _ := output(t, "report", "-o", "json", "--max-size", "300K", "--jobs", "1", name)
	four, _, _ := output(t, "report", "-o", "json", "--max-size", "300K", "--jobs", "4", name)
	if one != four {
		t.Error("the reports differ")
	}
}

// foldersOf returns the folders of files, each once.
func foldersOf(files []string) (dirs []string) {
	for _, name := range files {
		if dir := filepath.Dir(name); len(dirs) == 0 || dirs[len(dirs)-1] != dir {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
