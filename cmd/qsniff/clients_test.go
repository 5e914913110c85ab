package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestClients: programs are recognised by how they ask, and who asks almost so is not called so.
func TestClients(t *testing.T) {
	const gamedig = "gamedig or PHP-Source-Query"
	for name, want := range map[string]map[string]string{
		"programs": {
			"10.64.1.1": gamedig, "10.64.1.2": "source-server-query", "10.64.1.3": "GameQ", "10.64.1.4": "python-a2s or ValvePython steam or Steam's server list",
			"10.64.1.5": "quakestat (qstat)", "10.64.1.6": "quakestat (qstat)", "10.64.1.7": "gamedig", "10.64.1.8": "@fabricio-191/valve-server-query",
			"10.64.1.9": "go-a2s or woozymasta/a2s or a2s-rs", "10.64.1.10": "steam-server-query",
		},
		"scanners": {"10.64.1.1": "masscan or zmap", "10.64.1.2": "", "10.64.1.3": "gamedig or PHP-Source-Query", "10.64.1.4": ""},
		// Who keeps the challenge and waits a second is not quakestat; gamedig's caller may.
		"near-misses": {
			"10.64.1.1": "", "10.64.1.2": "", "10.64.1.3": "", "10.64.1.4": "", "10.64.1.5": gamedig, "10.64.1.6": "",
			"10.64.1.7": "", "10.64.1.8": "", "10.64.1.9": "", "10.64.1.10": "", "10.64.1.11": "",
		},
	} {
		object, errs, status := output(t, "stats", "-o", "json", "--top", "20", filepath.Join(pcapfiles, "clients", name+".pcap"))
		var s struct {
			Clients []struct{ Address, Name, Confidence string }
		}
		if err := json.Unmarshal([]byte(object), &s); err != nil || status != exitOK {
			t.Fatalf("exit status %d: %s (%v)", status, errs, err)
		}
		got := map[string]string{}
		for _, c := range s.Clients {
			got[c.Address] = ""
			if c.Confidence != "" {
				got[c.Address] = c.Name
			} else if isUnnamed := c.Name == ""; isUnnamed != (c.Address == "10.64.1.11") { // nobody answered that one
				t.Errorf("%s: %s is called %q", name, c.Address, c.Name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: want -, got +\n%s", name, diff)
		}
	}
}
