package main

import (
	"strings"
	"testing"

	"qsniff/capture/keep"
	"qsniff/internal/base/digits"
)

// TestForce: a file that is there is overwritten with --force only.
func TestForce(t *testing.T) {
	for _, force := range []bool{false, true} {
		if got := (&keepOptions{write: "a", force: force}).options().Replace; got != force {
			t.Errorf("--force %t: overwritten: %t", force, got)
		}
	}
}

// TestIncidentLimits: the start and the help say how much --on-incident writes, unless a
// flag of the ring says otherwise.
func TestIncidentLimits(t *testing.T) {
	for _, tc := range []struct {
		name    string
		o       keepOptions
		limited bool
	}{
		{"no limit given", keepOptions{write: "a", onIncident: 5}, true},
		{"--ring-files 0", keepOptions{write: "a", onIncident: 5, isBounded: true}, false},
		{"--ring-size", keepOptions{write: "a", onIncident: 5, isBounded: true, ringSize: 1 << 20}, false},
	} {
		if told := strings.Contains(tc.o.describe(), digits.Bytes(keep.MostOfIncident)+" at most"); told != tc.limited {
			t.Errorf("%s: the start says %q", tc.name, tc.o.describe())
		}
	}
	if long := newLive(streams{}).Long; !strings.Contains(strings.ReplaceAll(long, "\n", " "), "Of an incident 128 MiB are written, and the 16 newest files") ||
		keep.MostOfIncident != 128<<20 || keep.MostOfIncidents != 16 {
		t.Error("the help says other limits")
	}
}

// TestCompressedName: who wants a compressed file is told how to get one.
func TestCompressedName(t *testing.T) {
	for _, args := range [][]string{{"read", "-w", "few.pcap.zst", "in.pcap"}, {"anonymize", "in.pcap", "few.pcap.zst"}} {
		if _, errs, status := output(t, args...); status != exitUsage || !strings.Contains(errs, "| zstd > few.pcap.zst\n") {
			t.Errorf("%q: status %d: %s", args, status, errs)
		}
	}
}
