package shell

import (
	"os/exec"
	"strings"
	"testing"
)

// TestQuote: a shell takes the line apart into the same words, and the line is printable.
func TestQuote(t *testing.T) {
	words := []string{"capture.pcap", "my capture.pcap", "it's.pcap", "", "$(reboot)", "`id`", "a;b", "-", "*", "~", "#x", "ä b",
		"new\nline", "esc\x1b]0;x\a", "bad\xff'\\"}
	line := Quote(words...)
	for _, r := range line {
		if r < ' ' || r == 0x7f {
			t.Fatalf("%U in %q", r, line)
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	out, err := exec.Command(bash, "-c", `printf '%s\0' `+line).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if strings.Join(got, "|") != strings.Join(words, "|") {
		t.Errorf("of %s\ngot  %q\nwant %q", line, got, words)
	}
}

// TestPlain: what needs no quotes has none.
func TestPlain(t *testing.T) {
	if got := Quote("-r", "captures/eth0-1.pcap.gz"); got != "-r captures/eth0-1.pcap.gz" {
		t.Errorf("got %s", got)
	}
}
