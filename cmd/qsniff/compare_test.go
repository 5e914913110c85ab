package main

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
)

// TestCompareCause compares two servers of which one works with a client and the other does not: the first line is
// the cause that the description of the capture names.
func TestCompareCause(t *testing.T) {
	const poll = "a2s/full-poll 198.18.0.36:27015"
	for _, tc := range [...]struct{ a, b, want string }{
		{poll, "a2s/challenge-loop 198.18.0.19:27015", "B answers none of 1 A2S_RULES; to the request that brings the challenge back a new challenge came"},
		{poll, "a2s/rules-answered-with-info 198.18.0.33:27015", "B sends S2A_INFO_SRC without an open request for it"},
		{poll, "a2s/players-never-sent 198.18.1.91:27015", "B answers none of 5 A2S_PLAYER; a challenge came, the client brought it back, and nothing came"},
		{poll, "a2s/refused-in-words 198.18.3.1:27015", "B has NET-11 (warn, fault: server), A has not: the server refused"},
		{poll, "a2s/the-ship 198.18.0.2:27015", "S2A_INFO_SRC of B has no edf"},
		{poll, "stories/wrong-opcode 198.18.3.26:27015", "S2A_RULES of B is malformed in 3 of 3, of A never: the letter 0x45 of S2A_RULES, and from byte 5 on four bytes"},
		{poll, "stories/three-replies 198.18.3.25:27015", "B sends S2A_PLAYER without an open request for it"},
		{poll, "stories/reply-2500-bytes 198.18.3.17:27016", "S2A_RULES of B came without all of its parts in 3 of 4"},
		{poll, "stories/players-unanswered 198.18.3.18:28017", "S2A_PLAYER of B came without all of its parts"},
		{poll, "stories/challenge-ignored 198.18.3.1:27015", "B answers 2 of 8 A2S_INFO; a challenge is all that came"},
		{poll, "stories/valid-retry-unanswered 198.18.3.5:27015", "B answers none of 7 A2S_INFO; a challenge came, the client brought it back, and nothing came"},
		{poll, "stories/rules-never-sent 198.18.3.40:27015", "B answers none of 6 A2S_RULES; a challenge came"},
		{poll, "stories/garbage-replies 198.18.3.28:27015", "B has A2S-S10"},
		{poll, "net/icmp-port-unreachable 198.18.0.218:27015", "B has NET-04"},
		{"stories/challenge-on-one-server 198.18.3.2:27015", "stories/challenge-on-one-server 198.18.5.2:27015", "B answers A2S_INFO only after a challenge; A answers at once"},
		{"a2s/players 198.18.0.21:27015", "a2s/players-cut 198.18.0.26:27015", "S2A_PLAYER of B is malformed in 2 of 2"},
		{"a2s/rules 198.18.0.28:27015", "a2s/rules-truncated 198.18.0.29:27015", "S2A_RULES of B is malformed"},
		{"split/source-two-parts 198.18.0.54:27015", "split/source-compressed-two-parts 198.18.0.57:27015", "A sends S2A_RULES in parts (source, with a size field), B in compressed parts (source, with a size field)"},
		{"split/goldsource-two-parts 198.18.0.53:27015", "split/source-two-parts 198.18.0.54:27015", "A sends S2A_RULES in parts (goldsource), B in parts (source, with a size field)"},
		{"goldsource/info-cstrike 198.18.0.37:27015", "a2s/css-2007 198.18.0.6:27015", "A sends S2A_INFO_DETAILED for A2S_INFO, B S2A_INFO_SRC"},
		{"rcon/squad 198.18.2.31:21114", "rcon/squad-wrong-password 198.18.2.32:21114", "B has RCN-15"},
		{"rcon/srcds-login-status 198.18.2.1:27015", "stories/rcon-no-mirror 198.18.4.60:27015", "A sends SERVERDATA_RESPONSE_VALUE, SERVERDATA_AUTH_RESPONSE for SERVERDATA_AUTH, B SERVERDATA_AUTH_RESPONSE"},
		{"rcon/srcds-login-status 198.18.2.1:27015", "rcon/ark-keep-alive 198.18.2.28:32330", "B sends SERVERDATA_RESPONSE_VALUE without a request for it (2 times)"},
		{"rcon/srcds-login-status 198.18.2.1:27015", "rcon/rust-type-4 198.18.2.26:28016", "B sends SERVERDATA_OTHER without a request for it (3 times)"},
		{"rcon/srcds-login-status 198.18.2.1:27015", "rcon/gap-before-answer 198.18.2.60:27015", "B has NET-06 (note, fault: capture)"},
		{"rcon/srcds-login-status 198.18.2.1:27015", "rcon/one-byte-segments 198.18.2.12:27015", ""},
		{poll, "a2s/players-odd-times 198.18.0.27:27015", "S2A_PLAYER has values of other kinds at A and at B: players[].duration (number, no value)"},
		{poll, "a2s/rules-none 198.18.0.32:27015", "S2A_RULES of B has an empty list, that of A 2 names"},
		{poll, "split/missing-first-part 198.18.0.81:27015", "All that came for A2S_RULES of B is a message without all of its parts"},
		{"a2s/rules-dayz 198.18.1.11:2305", "a2s/rules-dayz-snaplen 198.18.1.15:2305", "The capture has not all of S2A_RULES of B in 1 of 1"},
		{"ase/full-1364-bytes 198.18.0.244:23000", "ase/fragments-missing-last 198.18.0.241:23000", "EYE1 of B came without all of its parts"},
	} {
		fileA, serverA, _ := strings.Cut(tc.a, " ")
		fileB, serverB, _ := strings.Cut(tc.b, " ")
		args := []string{"compare", "-o", "json", serverA, serverB, capturePathOf(fileA)}
		if fileB != fileA {
			args = append(args, capturePathOf(fileB))
		}
		if got := firstContrast(t, compareOutput(t, args...)); !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s, %s: first is %q, want %q", tc.a, tc.b, got, tc.want)
		}
	}
}

// TestCompareItself compares servers with what they themselves said: nothing differs.
func TestCompareItself(t *testing.T) {
	for _, name := range []string{"a2s/full-poll", "split/source-compressed-two-parts", "rcon/srcds-login-status", "stories/three-replies"} {
		whole := compareOutput(t, "exchanges", "-o", "json", capturePathOf(name))
		var x struct{ Client string }
		if err := json.Unmarshal([]byte(strings.SplitN(whole, "\n", 2)[0]), &x); err != nil {
			t.Fatal(err)
		}
		client, err := netip.ParseAddrPort(x.Client)
		if err != nil {
			t.Fatal(err)
		}
		b, a := netip.MustParseAddr("192.0.2.1").As4(), client.Addr().As4()
		copied := editedCapture(t, capturePathOf(name), func(_ int, frame []byte) [][]byte { return [][]byte{bytes.ReplaceAll(frame, a[:], b[:])} })
		out := compareOutput(t, "compare", "-o", "json", "--clients", client.Addr().String(), "192.0.2.1", capturePathOf(name), copied)
		if got := firstContrast(t, out); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func capturePathOf(name string) string { return pcapfiles + "/" + name + ".pcap" }

// compareOutput returns what a run that goes well prints.
func compareOutput(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, status := output(t, append(args, smallTables)...)
	if status != 0 {
		t.Fatalf("%v: status %d, %s", args, status, errs)
	}
	return out
}

// firstContrast returns the sentence of the first difference.
func firstContrast(t *testing.T, out string) string {
	t.Helper()
	for line := range strings.Lines(out) {
		var x struct{ Record, Text string }
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		if x.Record == "contrast" {
			return x.Text
		}
	}
	return ""
}
