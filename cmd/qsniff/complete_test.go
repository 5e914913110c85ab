package main

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture/live"
	"qsniff/dissect"
	"qsniff/dissect/protocols"
)

// TestCompletion asks as the scripts of the shells do: what is proposed for the
// last word, and what the shell is to do with it.
func TestCompletion(t *testing.T) {
	captures := []string{"pcap", "pcapng", "cap", "gz", "zst", "lz4", "bz2", "xz"}
	const noFiles, byExtension = ":4", ":8"
	for _, tc := range []struct {
		name   string
		words  []string
		want   []string
		action string
	}{
		{"commands", []string{"ex"}, []string{"exchanges", "explain", "extract"}, noFiles},
		{"files of the root", []string{"tues"}, captures, byExtension},
		{"second file of the root", []string{"a.pcap", ""}, captures, byExtension},
		{"files of read", []string{"read", ""}, captures, byExtension},
		{"output", []string{"read", "-o", ""}, []string{"text", "tree", "hex", "json", "csv", "none"}, noFiles},
		{"output of the root", []string{"-o", "t"}, []string{"text", "tree"}, noFiles},
		{"output with =", []string{"read", "--output=h"}, []string{"hex"}, noFiles},
		{"severities", []string{"findings", "--severity", ""}, []string{"chat", "note", "warn", "error"}, noFiles},
		{"severities to fail on", []string{"findings", "--fail-on", ""}, []string{"note", "warn", "error"}, noFiles},
		{"output of reference", []string{"explain", "-o", ""}, []string{"text", "json"}, noFiles},
		{"colour", []string{"--color", ""}, []string{"auto", "always", "never"}, noFiles},
		{"reader", []string{"read", "--reader", ""}, []string{"native", "gopacket"}, noFiles},
		{"memory", []string{"read", "--memory", "2"}, []string{"256M"}, noFiles},
		{"no files for a number", []string{"read", "-c", ""}, nil, noFiles},
		{"protocol of a port", []string{"-d", "udp.port==4711,a"}, overUDP(t, "udp.port==4711,", "a"), noFiles},
		{"a port of one's own", []string{"-d", "udp.port==4711"}, overUDP(t, "udp.port==4711,", ""), noFiles},
		{"no such rule", []string{"-d", "sctp.port==1,"}, nil, noFiles},
		{"fields", []string{"fields", "a2s.info.ma"}, []string{"a2s.info.map", "a2s.info.max_players"}, noFiles},
		{"messages", []string{"fields", "--messages", "S2C"}, []string{"S2C_CHALLENGE"}, noFiles},
		{"one field only", []string{"fields", "a2s.info.map", "a2s.info.ma"}, nil, noFiles},
		{"ids of incidents", []string{"explain", "DOS-F"}, []string{"DOS-F02", "DOS-F01", "DOS-F03", "DOS-F04"}, noFiles},
		{"findings", []string{"explain", "SPL-0"}, []string{"SPL-01", "SPL-02", "SPL-03", "SPL-04", "SPL-05", "SPL-06", "SPL-07", "SPL-08", "SPL-09"}, noFiles},
		{"shells", []string{"completion", ""}, []string{"bash", "zsh", "fish"}, noFiles},
		{"records", []string{"schema", "in"}, []string{"incident", "interface_row", "interrupted"}, noFiles},
		{"help", []string{"help", "fi"}, []string{"fields", "findings"}, noFiles},
		{"one folder for mcp", []string{"mcp", "a", ""}, nil, noFiles},
		{"folders for mcp", []string{"mcp", ""}, nil, ":16"},
		{"nothing for version", []string{"version", ""}, nil, noFiles},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, action := propositions(t, tc.words)
			if action != tc.action {
				t.Errorf("got action %s, want %s", action, tc.action)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
		})
	}
}

// TestCompletionOfInterfaces: no name that a shell or a terminal would act on is proposed.
func TestCompletionOfInterfaces(t *testing.T) {
	var all []live.Device
	for _, name := range []string{"eth0", "$(id)", "a`id`", "a;id", "a\x1b[31m", "eth0.5@if7", "a\u202eb", "a'b", "a\xff", "-i", "br-1_2"} {
		all = append(all, live.Device{Name: name, Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}})
	}
	got := proposeInterfaces(all, "")
	want := []string{"eth0\t192.0.2.1/24", "eth0.5@if7\t192.0.2.1/24", "-i\t192.0.2.1/24", "br-1_2\t192.0.2.1/24"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if got := proposeInterfaces(all, "$"); got != nil {
		t.Errorf("got  %q\nwant nothing", got)
	}
}

// overUDP lists the protocols over UDP whose names begin with begin, after rule.
func overUDP(t *testing.T, rule, begin string) (all []string) {
	t.Helper()
	for _, p := range protocols.All() {
		if _, ok := p.(dissect.Dissector); ok && strings.HasPrefix(p.Proto().Name, begin) {
			all = append(all, rule+p.Proto().Name)
		}
	}
	if len(all) < 2 {
		t.Fatalf("only %q", all)
	}
	return all
}

// TestCompletionOfPorts: before a port is named, each protocol is proposed at one
// of its own.
func TestCompletionOfPorts(t *testing.T) {
	reg := protocols.NewRegistry()
	got, _ := propositions(t, []string{"read", "-d", ""})
	for _, p := range reg.Protos() {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, ","+p.Name) }) {
			t.Errorf("%s is not proposed in %v", p.Name, got)
		}
	}
	if _, err := parseDecodeAs(got, reg); err != nil {
		t.Errorf("what is proposed is not taken: %v", err)
	}
}

// propositions returns what is proposed, without descriptions, and the action. Like
// the shells it keeps what begins with the last word, unless a list of extensions.
func propositions(t *testing.T, words []string) (proposed []string, action string) {
	t.Helper()
	out, errs, status := output(t, append([]string{"__complete"}, words...)...)
	if status != exitOK {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	begun := words[len(words)-1]
	if _, value, ok := strings.Cut(begun, "="); ok && strings.HasPrefix(begun, "--") {
		begun = value
	}
	byExtension := strings.HasSuffix(strings.TrimSpace(out), "\n:8")
	for line := range strings.Lines(out) {
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(word, ":") {
			return proposed, word
		}
		if byExtension || strings.HasPrefix(word, begun) {
			proposed = append(proposed, word)
		}
	}
	t.Fatalf("no action in %q", out)
	return nil, ""
}
