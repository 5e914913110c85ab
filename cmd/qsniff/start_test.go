package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/app/cli"
)

// TestStartPage: it has every command, in 20 lines that fit a terminal.
func TestStartPage(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(startPage, "\n"), "\n")
	if len(lines) > 20 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	root := newRoot(streams{io.Discard, io.Discard})
	_, list, _ := strings.Cut(startPage, "\nRead:")
	list, _, _ = strings.Cut(list, "\nExamples:")
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
			if !slices.Contains(strings.Fields(list), c.Name()) {
				t.Errorf("%s is missing", c.Name())
			}
		}
	}
	got, _, status := output(t)
	if got != startPage || status != exitOK {
		t.Errorf("qsniff alone: %d, %s", status, got)
	}
	seen := map[string]string{}
	for command, words := range topics {
		if !slices.Contains(names, command) {
			t.Errorf("topic of no command: %s", command)
		}
		for _, word := range strings.Fields(words) {
			if seen[word] != "" || slices.Contains(names, word) {
				t.Errorf("%s leads to %s and %s", word, command, seen[word])
			}
			seen[word] = command
		}
	}
}

// TestTopics: a word that people look for, or a misspelt command, leads to the command.
func TestTopics(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"help", "attack"}, "qsniff: help: no command is called \"attack\"\n  hint: did you mean qsniff help floods?\n"},
		{[]string{"help", "lvie"}, "did you mean qsniff help live?"},
		{[]string{"help", "nothing"}, "hint: qsniff --help lists the commands"},
		{[]string{"DDoS"}, "qsniff: DDoS: no such command, and no such file\n  hint: did you mean qsniff floods?\n"},
		{[]string{"lvie", "-i", "lo"}, "did you mean qsniff live?"},
	} {
		if _, errs, status := output(t, tc.args...); status != exitUsage || !strings.Contains(errs, tc.want) {
			t.Errorf("%q: status %d\ngot  %s\nwant %s", tc.args, status, errs, tc.want)
		}
	}
}

func TestVersionText(t *testing.T) {
	const revision = "0123456789abcdef0123456789abcdef01234567"
	for _, tc := range []struct {
		name string
		in   build
		want string
	}{
		{"release", build{Build: cli.Build{Version: "v1.2.3", Go: "go1.26", OS: "linux", Arch: "arm64"}, Readers: []string{"native", "gopacket"}, Gopacket: "pcapgo", Backends: []string{"afpacket"}, Schema: "1.4"},
			"qsniff v1.2.3\nbuilt by: go1.26 for linux/arm64\nreaders: native, gopacket (pcapgo)\nlive: afpacket\nlibpcap: none, this build is without cgo\noutput: version 1.4 of the schema\n"},
		{"from a checkout", build{Build: cli.Build{Version: "(devel)", Revision: revision, Time: "2026-01-02T03:04:05Z", Modified: true,
			Go: "go1.26", OS: "linux", Arch: "amd64"}, Readers: []string{"native", "gopacket"}, Gopacket: "libpcap", Backends: []string{"afpacket", "libpcap"}, Libpcap: "libpcap version 1.10.3", Schema: "1.4"},
			"qsniff 0123456789ab, changed since\nrevision: " + revision + " of 2026-01-02T03:04:05Z, changed since\n" +
				"built by: go1.26 for linux/amd64\nreaders: native, gopacket (libpcap)\nlive: afpacket, libpcap\nlibpcap: libpcap version 1.10.3\noutput: version 1.4 of the schema\n"},
		{"go build in a clone", build{Build: cli.Build{Version: "v0.0.0-20260102030405-0123456789ab", Revision: revision, Time: "2026-01-02T03:04:05Z",
			Go: "go1.26", OS: "linux", Arch: "amd64"}, Readers: []string{"native", "gopacket"}, Gopacket: "pcapgo", Backends: []string{"afpacket"}, Schema: "1.4"},
			"qsniff 0123456789ab\nrevision: " + revision + " of 2026-01-02T03:04:05Z\nbuilt by: go1.26 for linux/amd64\nreaders: native, gopacket (pcapgo)\nlive: afpacket\nlibpcap: none, this build is without cgo\noutput: version 1.4 of the schema\n"},
		{"nothing recorded", build{Build: cli.Build{Version: "(devel)", Go: "go1.26", OS: "linux", Arch: "arm64"}, Readers: []string{"native", "gopacket"}, Gopacket: "pcapgo", Backends: []string{"afpacket"}, Schema: "1.4"},
			"qsniff of an unknown revision\nrevision: not recorded: built with -buildvcs=false, or not from a git clone; there, make build records it\n" +
				"built by: go1.26 for linux/arm64\nreaders: native, gopacket (pcapgo)\nlive: afpacket\nlibpcap: none, this build is without cgo\noutput: version 1.4 of the schema\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, string(tc.in.append(nil, 80))); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
		})
	}
}
