package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// replyLine is what a reply is, wherever it was decoded.
type replyLine struct {
	Protocol, Message, Status, Direction string
	Length                               int
	Fields                               any
}

// TestExtractEach: of each capture, every fixture decodes again to the JSON that it expects, which
// is what read prints of that reply; the .hex files hold the same bytes.
func TestExtractEach(t *testing.T) {
	someCaptures(t, func(t *testing.T, _ int, name string) {
		if strings.HasSuffix(name, "/merged-by-offload.pcap") {
			t.Skip("parts that offload merged are one frame there, and payloads of their own in a fixture")
		}
		dir := filepath.Join(t.TempDir(), "fixtures")
		_, errs, status := output(t, "extract", smallTables, "--as-captured", "--fixtures", dir, name)
		read, _, readStatus := output(t, "read", smallTables, "-o", "json", name)
		if status != readStatus {
			t.Fatalf("exit status %d: %s", status, errs)
		}
		folders, err := filepath.Glob(filepath.Join(dir, "*", "expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("wrote %s to", count(uint64(len(folders)), "exchange")); status == exitOK && !strings.Contains(errs, want) {
			t.Errorf("%q does not say %q", errs, want)
		}
		replies := map[string]bool{}
		for line := range strings.Lines(read) {
			if !strings.Contains(line, `"record":"incident"`) {
				replies[replyOf(t, line)] = true
			}
		}
		for _, expected := range folders {
			checkFixture(t, filepath.Dir(expected), replies)
		}
	}, "split")
}

// TestExtractModes: others cannot read what was extracted.
func TestExtractModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fixtures")
	if _, errs, status := output(t, "extract", "--fixtures", dir, pcapfiles+"/a2s/full-poll.pcap"); status != exitOK {
		t.Fatal(errs)
	}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err != nil || info.Mode()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// replyOf returns what a line says of a reply, in one form.
func replyOf(t *testing.T, line string) string {
	t.Helper()
	var x replyLine
	if err := json.Unmarshal([]byte(line), &x); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	b, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// checkFixture checks one folder of fixtures.
func checkFixture(t *testing.T, dir string, replies map[string]bool) {
	t.Helper()
	expected, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !replies[replyOf(t, string(expected))] {
		t.Errorf("%s: read prints no such reply: %s", dir, expected)
	}
	proto := strings.Split(filepath.Base(dir), "-")[1]
	for _, ending := range []string{".bin", ".hex"} {
		args := []string{"decode", "-o", "json", "--as", proto, filepath.Join(dir, "request"+ending)}
		if ending == ".bin" {
			args = append(args, "--raw")
		}
		for n := 1; ; n++ {
			part := filepath.Join(dir, fmt.Sprintf("reply-%d%s", n, ending))
			if _, err := os.Stat(part); err != nil {
				break
			}
			args = append(args, part)
		}
		out, errs, _ := output(t, args...)
		if !strings.Contains(out, string(expected)) {
			t.Errorf("%s %s: expected -, decoded +\n%s%s", dir, ending, cmp.Diff(string(expected), out), errs)
		}
	}
}

// TestExtractFilter: an exchange is taken as a whole if one of its messages matches, by what is in
// the capture, also where the copy has other names; and the words after the capture are a filter.
func TestExtractFilter(t *testing.T) {
	capture := filepath.Join(pcapfiles, "a2s", "full-poll.pcap")
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "001-a2s-A2S_INFO 002-a2s-A2S_PLAYER 003-a2s-A2S_RULES"},
		{[]string{"-Y", "map == de_dust2"}, "001-a2s-A2S_INFO"},
		{[]string{"--as-captured", "-Y", "map == de_dust2"}, "001-a2s-A2S_INFO"},
		{[]string{"message == A2S_RULES", "or", "a2s.player.players"}, "001-a2s-A2S_PLAYER 002-a2s-A2S_RULES"},
		{[]string{"-Y", "exchange.answered and frame.number > 7"}, "001-a2s-A2S_RULES"},
		{[]string{"-Y", "players == 250"}, ""},
	} {
		dir := filepath.Join(t.TempDir(), "fixtures")
		_, errs, status := output(t, append([]string{"extract", smallTables, "--fixtures", dir, capture}, tc.args...)...)
		folders, _ := filepath.Glob(filepath.Join(dir, "0*"))
		for i := range folders {
			folders[i] = filepath.Base(folders[i])
		}
		if got := strings.Join(folders, " "); status != exitOK || got != tc.want {
			t.Errorf("%q: status %d: %s\ngot  %s\nwant %s", tc.args, status, errs, got, tc.want)
		}
	}
}
