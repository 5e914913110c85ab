package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"qsniff/internal/app/cli"
	"qsniff/internal/base/display"
)

// hostileNames are file names that somebody may plant: each would act on a terminal,
// turn or hide what follows it, or put a line there that looks like one of ours.
var hostileNames = []string{
	"a\x1b[2J\x1b]0;owned\x07.pcap",
	"a\nqsniff: no floods; all is well\n  hint: go back to bed",
	"a\r\x1b[Kqsniff: fine.pcap",
	"a\u202egnp.pcap",
	"a\u009b31m.pcap",
	"a\U000e0041\u00ad\u200b.pcap",
	"a\xff\xfe\x9b31m.pcap",
}

// oneLine reports what of b could act on a terminal or begins no line of ours; nil: nothing.
func oneLine(b []byte) error {
	if !utf8.Valid(b) {
		return errors.New("not UTF-8")
	}
	for _, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		if line != "" && !strings.HasPrefix(line, "qsniff: ") && !strings.HasPrefix(line, "  hint: ") {
			return errors.New("forged: " + strconv.Quote(line))
		}
		if strings.HasPrefix(line, "qsniff: no floods") || strings.HasPrefix(line, "  hint: go back") {
			return errors.New("forged: " + strconv.Quote(line))
		}
		for _, r := range line {
			if r < ' ' || r == 0x7f || r >= 0x80 && !display.Visible(r) {
				return errors.New("raw: " + strconv.Quote(line))
			}
		}
	}
	return nil
}

// TestHostileNames: whatever a file, an interface or a value is called, each command
// says what is wrong in lines of its own, on which nothing of the name acts.
func TestHostileNames(t *testing.T) {
	ping, err := os.ReadFile(filepath.Join(pcapfiles, "a2s", "ping.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	commands := [][]string{{"NAME"}, {"read", "NAME"}, {"read", "--follow", "NAME"}, {"read", "--reader", "gopacket", "NAME"},
		{"follow", "NAME"}, {"stats", "NAME"}, {"floods", "NAME"}, {"floods", "--limits", "source", "NAME"}, {"floods", "--limits", "NAME", "x"},
		{"floods", "--thresholds", "NAME", "x"}, {"proven", "NAME"}, {"decode", "NAME"}, {"decode", "--as", "NAME", "ff"},
		{"-e", "NAME", "-o", "csv", "x"}, {"-d", "NAME", "x"}, {"-t", "NAME", "x"}, {"--NAME", "x"}, {"--servers", "NAME", "x"},
		{"--memory", "NAME", "x"}, {"live", "-i", "NAME"}, {"live", "-i", "lo", "NAME"}, {"live", "-i", "lo", "-w", "NAME/x.pcap"},
		{"live", "-i", "lo", "-f", "NAME"}, {"live", "-i", "lo", "--servers", "NAME"}, {"fields", "NAME"}, {"explain", "NAME"},
		{"help", "NAME"}, {"completion", "NAME"}, {"version", "NAME"}, {"interfaces", "NAME"}}
	for i, name := range hostileNames {
		dir := t.TempDir()
		for file, content := range map[string][]byte{"cut": ping[:len(ping)-9], "text": []byte("This is no capture.")} {
			folder := filepath.Join(dir, file)
			if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, strings.ReplaceAll(name, "/", "_")), content, 0o600)); err != nil {
				t.Fatal(err)
			}
			expectOwnLines(t, i, []string{"read", "-o", "json", folder})
			expectOwnLines(t, i, []string{"read", filepath.Join(folder, name)})
		}
		for _, args := range commands {
			with := make([]string, len(args))
			for i, a := range args {
				with[i] = strings.ReplaceAll(a, "NAME", name)
			}
			expectOwnLines(t, i, with)
		}
	}
}

// expectOwnLines runs a command that fails, and looks at what it says.
func expectOwnLines(t *testing.T, name int, args []string) {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(context.Background(), args, streams{&out, &errs}); status == exitOK {
		t.Errorf("name %d: %q succeeds: %s", name, args, &errs)
	}
	if err := oneLine(errs.Bytes()); err != nil {
		t.Errorf("name %d: %q: %v", name, args, err)
	}
	if errs.Len() == 0 {
		t.Errorf("name %d: %q says nothing", name, args)
	}
}

// FuzzErrLines: whatever is written is one line of visible characters.
func FuzzErrLines(f *testing.F) {
	for _, name := range hostileNames {
		f.Add([]byte("qsniff: " + name + ": no such file\n"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var out bytes.Buffer
		if n, err := (cli.Lines{To: &out}).Write(b); n != len(b) || err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
		want := 0
		if bytes.HasSuffix(b, []byte("\n")) {
			want = 1
		}
		got := out.String()
		if strings.Count(got, "\n") != want || want == 1 && !strings.HasSuffix(got, "\n") {
			t.Fatalf("%q: not one line", got)
		}
		for _, r := range strings.TrimSuffix(got, "\n") {
			if r < ' ' || r == 0x7f || r >= 0x80 && !display.Visible(r) {
				t.Fatalf("%U in %q", r, got)
			}
		}
	})
}
