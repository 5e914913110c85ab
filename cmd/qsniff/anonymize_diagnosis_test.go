package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// otherDiagnosis are the captures that lead to another diagnosis when they are anonymised, and why.
var otherDiagnosis = map[string]string{
	"ase/game-port-one-sided":                "a datagram that could be a query, with nothing to confirm it, is left out",
	"ase/other-offset":                       "a datagram that could be a query, with nothing to confirm it, is left out",
	"stories/mta-game-port":                  "a datagram that could be a query, with nothing to confirm it, is left out",
	"floods/other-connect":                   "packets of no message are left out, and the flood is made of these",
	"floods/other-dns":                       "packets of no message are left out, and the flood is made of these",
	"floods/other-getstatus":                 "packets of no message are left out, and the flood is made of these",
	"net/echo":                               "echoes are no messages, and left out",
	"net/icmp-port-unreachable":              "ICMP errors are left out",
	"net/icmpv6-prohibited":                  "ICMP errors are left out",
	"net/other-traffic":                      "ICMP errors are left out",
	"split/conflicting-part":                 "a part that came twice is written once",
	"split/duplicate-part":                   "a part that came twice is written once",
	"goldsource/rcon-split-rewritten":        "a part that came twice is written once",
	"hostile/split-room-from-own-set":        "parts that nothing reads are left out",
	"hostile/rcon-holes":                     "segments that begin no message are left out",
	"hostile/rcon-lengths":                   "segments that begin no message are left out",
	"lookalike/mongodb":                      "segments that begin no message are left out",
	"lookalike/ports-of-ours":                "segments that begin no message are left out",
	"rcon/mid-stream":                        "segments that begin no message are left out",
	"rcon/banned-with-text":                  "a text before the answer to a login is overwritten whole",
	"split/source-old-compressed-randomised": "a block that nothing reads is overwritten, and then broken",
	"net/sflow":                              "the headers in samples are overwritten with all that is around them",
}

// TestAnonymizedDiagnosis: an anonymised capture leads to the same findings, exchanges and incidents.
func TestAnonymizedDiagnosis(t *testing.T) {
	someCaptures(t, func(t *testing.T, _ int, name string) {
		base := strings.TrimSuffix(filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name), ".pcap")
		out := filepath.Join(t.TempDir(), "out.pcapng")
		if _, errs, status := output(t, "anonymize", smallTables, "--key", "test", name, out); status != exitOK {
			t.Fatal(errs)
		}
		diff := cmp.Diff(diagnosisOf(t, name), diagnosisOf(t, out))
		switch {
		case diff != "" && otherDiagnosis[base] == "":
			t.Errorf("before -, after +\n%s", diff)
		case diff == "" && otherDiagnosis[base] != "":
			t.Errorf("%s is among those with another diagnosis (%s), and has the same", base, otherDiagnosis[base])
		}
	}, "goldsource", "ase", "rcon", "net")
}

// diagnosisOf lists what commands find in a capture, in any order, without what an anonymised one has otherwise: numbers
// of packets, addresses, and texts.
func diagnosisOf(t *testing.T, name string) (all []string) {
	t.Helper()
	for _, command := range []string{"findings", "exchanges", "floods"} {
		lines, _, _ := output(t, command, "-o", "json", smallTables, name)
		for line := range strings.Lines(lines) {
			var x struct {
				ID                               any    // of a finding; of others a number, or of the address
				Record, Severity, Fault          string // of a finding
				Message, Outcome                 string // of an exchange
				Requests, Challenges, Replies    uint64
				Client                           string `json:"client_name"`
				Findings                         []string
				Kind, Level, Protocol, Direction string // of an incident
				Count                            uint64
			}
			if err := json.Unmarshal([]byte(line), &x); err != nil {
				t.Fatal(err)
			}
			if command != "findings" {
				x.ID = nil
			}
			if x.Record == "other_traffic" {
				continue
			}
			slices.Sort(x.Findings)
			all = append(all, fmt.Sprint(command, x))
		}
	}
	slices.Sort(all)
	return all
}
