package iptables

import (
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/floodtest"
	"qsniff/render"
	"qsniff/render/tally"
)

// TestAppendFloods compares the script for many incidents with a golden file.
func TestAppendFloods(t *testing.T) {
	floodtest.Golden(t, "testdata/floods.sh", AppendFloods(nil, floodtest.Report(t, 90*time.Minute)))
	for _, f := range []*render.Floods{{}, {Run: tally.Run{Interrupted: true, Packets: 7}}} {
		got := string(AppendFloods(nil, f))
		for line := range strings.Lines(got) {
			if !strings.HasPrefix(line, "#") {
				t.Errorf("without rules the script does something: %s", got)
			}
		}
		if f.Run.Interrupted != strings.Contains(got, "# Interrupted after 7 packets") {
			t.Errorf("of a run that was interrupted: %s", got)
		}
	}
}

// TestForever: without an expiry the rules have no time.
func TestForever(t *testing.T) {
	if got := string(AppendFloods(nil, floodtest.Report(t, 0))); strings.Contains(got, "datestop") || strings.Contains(got, "until=") {
		t.Error(got)
	}
}
