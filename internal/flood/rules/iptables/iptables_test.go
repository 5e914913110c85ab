package iptables

import (
	"strings"
	"testing"
	"time"

	"qsniff/internal/flood/rules"
	"qsniff/internal/test/floodtest"
)

// TestAppendFloods compares the script for many incidents with a golden file.
func TestAppendFloods(t *testing.T) {
	floodtest.Golden(t, "testdata/floods.sh", AppendFloods(nil, floodtest.Report(t, 90*time.Minute)))
	for _, f := range []*rules.Input{{}, {Cut: "7 packets"}} {
		got := string(AppendFloods(nil, f))
		for line := range strings.Lines(got) {
			if !strings.HasPrefix(line, "#") {
				t.Errorf("without rules the script does something: %s", got)
			}
		}
		if (f.Cut != "") != strings.Contains(got, "# Interrupted after 7 packets") {
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

// TestNeeds: a script that takes another package says so, and ends where it is missing before
// it loads anything.
func TestNeeds(t *testing.T) {
	f := floodtest.Report(t, 0)
	f.Incidents = floodtest.Named(t, 10)
	got := string(AppendFloods(nil, f))
	says, check := strings.Index(got, "\n# needs:  ipset (Debian: apt install ipset)"), strings.Index(got, "\ncommand -v ipset >/dev/null || ")
	if says < 0 || check < says || check > strings.Index(got, "\nload iptables") {
		t.Errorf("nothing says early that it needs ipset:\n%s", got)
	}
	if got := string(AppendFloods(nil, floodtest.Report(t, 0))); strings.Contains(got, "ipset (") {
		t.Errorf("it asks for what it does not need:\n%s", got)
	}
}
