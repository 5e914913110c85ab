package clients

import (
	"bytes"
	"regexp"
	"slices"
	"testing"

	"qsniff/internal/test/binary"
)

// raised lists what qsniff finds in the recordings of real programs: the code with its
// severity, the tests in whose recordings it stands, and why it is true of their bytes. A
// recording that lacks a finding of its row fails, and so does one that raises another.
var raised = []struct {
	finding string
	in      *regexp.Regexp
	why     string
}{
	{"error A2S-C05", regexp.MustCompile(`^TestPrograms/source-server-query,`),
		"source-server-query 3.0.3 sends FF FF FF FF after the challenge that it brings back: 29 bytes become 33, and engines refuse them"},
	{"warn SPL-07", regexp.MustCompile(`,_140_players$|^TestReplay/All-Seeing_Eye$`),
		"MTA's list of 140 players is one datagram of 4,469 bytes: four fragments on any network but loopback"},
	{"warn RCN-01", regexp.MustCompile(`/wrong_password$`),
		"the password is wrong, and the server says so"},
	{"note RCN-02", regexp.MustCompile(`^TestRconClient/|^TestReplayRcon$`),
		"which packets answer a login differs between servers: both forms are recorded"},
	{"note NET-02", regexp.MustCompile(`^Test(Gamedig|Quakestat|Replay)/(Source($|,)|AppID)|,_(open_information|challenge_for_all)$`),
		"the replies name port 27015 or 28015, and come from the port that the system gave the test"},
	{"note A2S-C06", regexp.MustCompile(`^TestPrograms/(go-a2s|woozymasta|valve-server-query),`),
		"they ask for a challenge before each question on one socket, though the one before was accepted less than a second ago"},
	{"note A2S-C07", regexp.MustCompile(`asked_in_words$|,_words$`),
		"details, players and rules as words are what GoldSource servers before 2008 took"},
	{"chat A2S-S01", regexp.MustCompile(`^Test(Gamedig|Quakestat|Replay)/(Source|The_Ship|AppID|GoldSource($|,_rules|_through))|,_challenge_for_all$`),
		"the server of the test demands a challenge for information"},
}

// whereSlow are true of a recording, too, where the machine is busy: a program asks again, or
// is answered after it gave up.
var whereSlow = []string{"warn A2S-C09", "note NET-05"}

// checkFindings holds what qsniff finds in a recording against the list raised.
func checkFindings(t *testing.T, capture string) {
	t.Helper()
	got := map[string][]byte{}
	for line := range bytes.Lines(output(t, binary.Path(t), "findings", "-o", "json", capture)) {
		var f struct{ Record, ID, Severity string }
		if parse(t, line, &f); f.Record == "finding" {
			got[f.Severity+" "+f.ID] = line
		}
	}
	for _, r := range raised {
		_, isRaised := got[r.finding]
		delete(got, r.finding)
		if want := r.in.MatchString(t.Name()); isRaised != want {
			t.Errorf("%s raised: %v, want %v", r.finding, isRaised, want)
		}
	}
	for finding, line := range got {
		if !slices.Contains(whereSlow, finding) {
			t.Errorf("in no row of the list: %s: %s", finding, line)
		}
	}
}
