package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/dissect/protocols"
)

var update = flag.Bool("update", false, "rewrite the files that are compared: goldens of captures, manual, pictures")

// whole, a folder, is for reading what a change does beyond the heads that goldens keep.
var whole = flag.String("whole", "", "write what goldens keep the head of whole into `folder`, and compare nothing")

// TestGolden compares what qsniff makes of every capture with the files beside it: NAME.txt holds
// a line a message, then the tree, then the bytes in rows, then the table; NAME.jsonl the JSON. A
// long form is there with its head and the digest of its rest. The rows and the table are there for the
// captures of inRows, and for the others with their digest: what is in them is in the JSON, and agree
// compares the two.
func TestGolden(t *testing.T) {
	eachCapture(t, func(t *testing.T, _ int, name string) {
		base := strings.TrimSuffix(name, ".pcap")
		p := printedOf(t, name)
		if p.status != exitOK {
			t.Errorf("exit status %d: %s", p.status, p.remarks)
		}
		text, tree, dump, jsonl := p.forms["text"], p.forms["tree"], p.forms["hex"], p.forms["json"]
		table, wide := strings.ReplaceAll(p.forms["csv"], "\r\n", "\n"), strings.ReplaceAll(p.forms["wide"], "\r\n", "\n")
		id := strings.TrimPrefix(base, pcapfiles+"/")
		inRows := maxGolden
		if !slices.Contains(captureInRows, id) {
			inRows = 0
		}
		// the folder differs between machines; nothing else does
		golden(t, base+".txt",
			form{"text", strings.ReplaceAll(p.remarks, name, filepath.Base(name)) + text + "\n", maxGolden},
			form{"tree", tree, maxGolden},
			form{"hex", dump, inRows},
			form{"csv", table, inRows})
		golden(t, base+".jsonl", form{"json", jsonl, maxGolden})
		shown := text + tree + dump + jsonl + table + wide
		harmless(t, shown)
		secretless(t, shown+undumped(dump))
		var lines []jsonLine
		for line := range strings.Lines(jsonl) {
			lines = append(lines, coverage(t, line))
		}
		agree(t, lines, dump, table, wide)
	})
}

// everyColumn is the names of all columns of fields that a table can have, after what a line is about.
func everyColumn() string {
	names := "frame,record"
	for _, d := range protocols.All() {
		for _, d := range d.Proto().Defs {
			if d.Kind != dissect.Group && d.Kind != dissect.List {
				names += "," + d.Name
			}
		}
	}
	for _, d := range dissect.Shared {
		names += "," + d.Name
	}
	return names
}

// row matches a row of -o hex: its offset, its bytes, and the characters of them.
var row = regexp.MustCompile(`(?m)^ *(?:\d+ +)?(\d+) ((?:[ |](?:[0-9a-f]{2}|\*\*))+) +(.*)$`)

// joinDigits removes what stands between the digits of a row. It is made once: making it
// for each row took more time than its use.
var joinDigits = strings.NewReplacer(" ", "", "|", "")

// undumped joins what stands in rows: a password may lie across two of them.
func undumped(dump string) string {
	var bytes, text strings.Builder
	for _, m := range row.FindAllStringSubmatch(dump, -1) {
		digits := joinDigits.Replace(m[2])
		bytes.WriteString(digits)
		chars := []rune(m[3])
		text.WriteString(string(chars[:min(len(chars), len(digits)/2)]))
	}
	return bytes.String() + "\n" + text.String()
}

// maxGolden is how much of a form is kept as it is. Chosen: about 150 lines of a tree, more than is read
// in a review; three of five captures are whole. With 16 KiB all goldens take 0.9 MB more.
const maxGolden = 12 << 10

// form is one form of a golden, of which the first bytes are kept.
type form struct {
	name, text string
	head       int
}

// kept returns the lines of f that lie in its head, and instead of what follows them a line with its
// digest: it differs as soon as one byte does.
func (f form) kept() string {
	if len(f.text) <= f.head {
		return f.text
	}
	n := strings.LastIndexByte(f.text[:f.head], '\n') + 1
	rest := f.text[n:]
	return fmt.Sprintf("%s[%s: %d more lines, %d bytes, SHA-256 %x]\n",
		f.text[:n], f.name, strings.Count(rest, "\n"), len(rest), sha256.Sum256([]byte(rest)))
}

// golden compares forms with a file, or writes it.
func golden(t *testing.T, file string, forms ...form) {
	t.Helper()
	var got, all string
	for _, f := range forms {
		got += f.kept()
		all += f.text
	}
	if *whole != "" {
		writeWhole(t, *whole, file, all)
		return
	}
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (make golden writes it)", err)
	}
	diff := cmp.Diff(string(want), got)
	if diff == "" {
		return
	}
	t.Errorf("%s: want -, got +\n%s", filepath.Base(file), diff)
	if got != all {
		dir, err := wholeDir()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf(`%s is the whole of it; to see what changed after the head:
	git stash   # or a worktree of the commit before
	go test ./cmd/qsniff -run '^%s$' -whole /tmp/before
	git stash pop
	diff -r /tmp/before %s`, writeWhole(t, dir, file, all), t.Name(), dir)
	}
}

// wholeDir returns a folder for the whole outputs that differ. It outlives the test.
var wholeDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "qsniff-golden-") })

// writeWhole writes an output into dir, by the name of its golden, and returns where it is.
func writeWhole(t *testing.T, dir, golden, text string) string {
	t.Helper()
	name := filepath.Join(dir, strings.TrimPrefix(golden, pcapfiles))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// harmless fails t where output for people or programs holds a control character.
func harmless(t *testing.T, out string) {
	t.Helper()
	for _, r := range out {
		if r < 0x20 && r != '\n' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			t.Errorf("%U in the output", r)
			return
		}
	}
}

// secretless fails t where output shows a password of the captures, as text or as
// the bytes of it.
func secretless(t *testing.T, out string) {
	t.Helper()
	for _, word := range secretWords {
		for _, shown := range []string{word, hex.EncodeToString([]byte(word)), fmt.Sprintf("% x", word)} {
			if i := strings.Index(out, shown); i >= 0 {
				t.Errorf("a secret is shown: ...%s", out[max(0, i-60):i+len(shown)])
			}
		}
	}
}

// jsonLine is what a line of JSON has in common with a message in rows and a row of a table.
type jsonLine struct {
	Record, Time, Src, Dst, Server         string
	Transport, Protocol, Direction, Status string
	Message                                *string
	Frame, Length                          int
	Frames                                 []int
	Captured                               *int
	ID, Client                             any
	Exchange                               struct {
		ID  int
		RTT json.Number `json:"rtt_ms"`
	}
	Findings []struct{ ID string }
	Layout   []layoutPart
}

// layoutPart is a field, with its bytes.
type layoutPart struct {
	Name           string
	Offset, Length int
	Hex            string
	Value          any
	Aux            bool
}

// coverage checks that the layout of a message has every byte once, and that the
// line reads back as JSON.
func coverage(t *testing.T, line string) (m jsonLine) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	next := 0
	for _, l := range m.Layout {
		if l.Aux {
			continue
		}
		if l.Offset != next || l.Length == 0 || len(l.Hex) != 2*l.Length {
			t.Fatalf("%s at %d, length %d, %d hex digits; the byte before it is %d", l.Name, l.Offset, l.Length, len(l.Hex), next)
		}
		next += l.Length
	}
	want := m.Length
	if m.Captured != nil {
		want = *m.Captured
	}
	if next != want {
		t.Fatalf("layout covers %d of %d bytes in %s", next, want, line)
	}
	return m
}

// TestShowSecrets: what secretless looks for is found where secrets are shown, so
// that its silence says something.
func TestShowSecrets(t *testing.T) {
	const name = pcapfiles + "/goldsource/log-rcon.pcap"
	for _, args := range [][]string{{"-o", "text"}, {"-o", "tree"}, {"-o", "hex"}, {"-o", "json"}, {"-o", "csv", "-e", "goldsource.log.line"}} {
		out, _, _ := output(t, append([]string{"read", "--show-secrets", name}, args...)...)
		if args[1] == "hex" {
			out = undumped(out)
		}
		if !strings.Contains(out, "Secret4") {
			t.Errorf("%v: no secret in\n%s", args, out)
		}
	}
}
