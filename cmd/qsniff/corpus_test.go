package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCorpus holds qsniff against recorded packets, which are not part of this
// repository: QSNIFF_CORPUS names the folder with corpus.pcap, expected.json and
// check.py.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("QSNIFF_CORPUS")
	if dir == "" {
		t.Skip("QSNIFF_CORPUS is not set")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	bin, err := exec.LookPath("qsniff") // TestMain has put it there
	if err != nil {
		t.Fatal(err)
	}
	check := exec.Command(python, filepath.Join(dir, "check.py"), bin, filepath.Join(dir, "corpus.pcap"),
		filepath.Join(dir, "expected.json"))
	out, err := check.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// corpusFindings are the findings in recorded packets: how many, and why they are true of
// their bytes. The addresses are invented: 198.18.0.0/15 counts as public.
var corpusFindings = []struct {
	finding string
	count   int
	why     string
}{
	{"warn SPL-07", 11, "lists of players of 1,459 to 2,154 bytes in a datagram, and MTA's of 4,684; nine in fragments"},
	{"warn A2S-S12", 1, "a Rust server with 86 of 63, whose keywords say 547 of 575"},
	{"note A2S-S12", 6, "7 of 6 to 112 of 80 players, of games that count who waits or holds a reserved slot"},
	{"warn RCN-08", 2, "a login in clear text at 198.18.0.178 and .179"},
	{"note A2S-C06", 1, "a challenge asked for 1.5 ms after one was accepted"},
	{"note A2S-C07", 4, "details, players and rules as words"},
	{"note A2S-S07", 1, "a list that is two players short of its count, as while somebody joins"},
	{"note A2S-S11", 8, "binary rules of Arma 3 and DayZ"},
	{"note NET-02", 1, "port 27015 answers, and names 2502 for the game"},
	{"note RCN-02", 2, "logins with and without the empty packet"},
	{"chat MST-03", 1, "a page of the master's list that is not the last"},
}

// TestCorpusFindings: recorded packets of real servers and clients raise no other findings
// than those that were looked at, byte for byte. Packets of other protocols raise none.
func TestCorpusFindings(t *testing.T) {
	dir := os.Getenv("QSNIFF_CORPUS")
	if dir == "" {
		t.Skip("QSNIFF_CORPUS is not set")
	}
	want := map[string]int{}
	for _, f := range corpusFindings {
		want[f.finding] = f.count
	}
	if got := findingCounts(t, filepath.Join(dir, "corpus.pcap")); !maps.Equal(got, want) {
		t.Errorf("findings\ngot  %v\nwant %v", got, want)
	}
	others, err := filepath.Glob(filepath.Join(dir, "pcaps", "*"))
	if err != nil || len(others) == 0 {
		t.Fatalf("no captures beside the corpus (error: %v)", err)
	}
	for _, name := range others {
		if got := findingCounts(t, name); len(got) > 0 {
			t.Errorf("%s: findings %v", filepath.Base(name), got)
		}
	}
}

// findingCounts counts the findings in a capture, by severity and code.
func findingCounts(t *testing.T, capture string) map[string]int {
	t.Helper()
	out, errs, status := output(t, "findings", "-o", "json", capture)
	if status != exitOK {
		t.Fatalf("%s: exit status %d: %s", capture, status, errs)
	}
	counts := map[string]int{}
	for line := range strings.Lines(out) {
		var f struct {
			Record, ID, Severity string
			Count                int
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		if f.Record == "finding" {
			counts[f.Severity+" "+f.ID] += f.Count
		}
	}
	return counts
}
