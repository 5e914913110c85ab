package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qsniff/capture/ring"
	"qsniff/internal/digits"
)

// TestForce: a file that is there is overwritten with --force only.
func TestForce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pcapng")
	if err := os.WriteFile(path, []byte("keep me"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&keepOptions{write: path}).open(nil, 0); err == nil || !strings.Contains(err.Error(), "there is a file of this name") {
		t.Errorf("without --force: %v", err)
	}
	k, err := (&keepOptions{write: path, force: true}).open(nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || strings.Contains(string(b), "keep me") {
		t.Errorf("with --force: %q, %v", b, err)
	}
}

// TestIncidentLimits: --on-incident writes so much and no more unless a flag of the ring
// says otherwise, and says so at the start.
func TestIncidentLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pcapng")
	for _, tc := range []struct {
		name string
		o    keepOptions
		most int64
	}{
		{"no limit given", keepOptions{write: path, onIncident: 5}, mostOfIncident},
		{"--ring-files 0", keepOptions{write: path, onIncident: 5, bounded: true}, 0},
		{"--ring-size", keepOptions{write: path, onIncident: 5, bounded: true, ringSize: 1 << 20}, 0},
	} {
		k, err := tc.o.open(nil, ring.MinTrigger)
		if err != nil {
			t.Fatal(err)
		}
		if k.trigger.Most != tc.most {
			t.Errorf("%s: %d bytes of an incident, want %d", tc.name, k.trigger.Most, tc.most)
		}
		if err := k.close(); err != nil {
			t.Error(err)
		}
		if told := strings.Contains(tc.o.gets(), digits.Bytes(mostOfIncident)+" at most"); told != (tc.most > 0) {
			t.Errorf("%s: the start says %q", tc.name, tc.o.gets())
		}
	}
	if long := newLive(streams{}).Long; !strings.Contains(strings.ReplaceAll(long, "\n", " "), "Of an incident 128 MiB are written, and the 16 newest files") ||
		mostOfIncident != 128<<20 || mostOfIncidents != 16 {
		t.Error("the help says other limits")
	}
}
