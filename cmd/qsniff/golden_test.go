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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/dissect/protocols"
)

var update = flag.Bool("update", false, "rewrite the files that are compared: goldens of captures, manual, pictures")

// TestGolden compares what qsniff makes of every capture with the files beside
// it: NAME.txt holds a line a message, then the tree, then the bytes in rows, then
// the table; NAME.jsonl the JSON.
func TestGolden(t *testing.T) {
	eachCapture(t, func(t *testing.T, _ int, name string) {
		base := strings.TrimSuffix(name, ".pcap")
		p := printedOf(t, name)
		if p.status != exitOK {
			t.Errorf("exit status %d: %s", p.status, p.remarks)
		}
		text, tree, dump, jsonl := p.forms["text"], p.forms["tree"], p.forms["hex"], p.forms["json"]
		table, wide := strings.ReplaceAll(p.forms["csv"], "\r\n", "\n"), strings.ReplaceAll(p.forms["wide"], "\r\n", "\n")
		// the folder differs between machines; nothing else does
		golden(t, base+".txt", strings.ReplaceAll(p.remarks, name, filepath.Base(name))+text+"\n"+tree+dump+table)
		golden(t, base+".jsonl", jsonl)
		shown := text + tree + dump + jsonl + table + wide
		harmless(t, shown)
		secretless(t, shown+undumped(dump))
		for line := range strings.Lines(jsonl) {
			coverage(t, line)
		}
	})
}

// everyColumn is the names of all columns that a table can have.
func everyColumn() string {
	names := "frame"
	for _, d := range protocols.All() {
		for _, d := range d.Proto().Defs {
			if d.Kind != dissect.Group && d.Kind != dissect.List {
				names += "," + d.Name
			}
		}
	}
	return names
}

// row matches a row of -o hex: its bytes, and the characters of them.
var row = regexp.MustCompile(`(?m)^ *(?:\d+ +)?\d+ ((?:[ |](?:[0-9a-f]{2}|\*\*))+) +(.*)$`)

// joinDigits removes what stands between the digits of a row. It is made once: making it
// for each row took more time than its use.
var joinDigits = strings.NewReplacer(" ", "", "|", "")

// undumped joins what stands in rows: a password may lie across two of them.
func undumped(dump string) string {
	var bytes, text strings.Builder
	for _, m := range row.FindAllStringSubmatch(dump, -1) {
		digits := joinDigits.Replace(m[1])
		bytes.WriteString(digits)
		chars := []rune(m[2])
		text.WriteString(string(chars[:min(len(chars), len(digits)/2)]))
	}
	return bytes.String() + "\n" + text.String()
}

// maxGolden is the longest output that is kept as it is; of a longer one, which nobody
// reviews, its length and digest.
const maxGolden = 256 << 10

func golden(t *testing.T, file, got string) {
	t.Helper()
	if len(got) > maxGolden {
		got = fmt.Sprintf("%d bytes, SHA-256 %x\n", len(got), sha256.Sum256([]byte(got)))
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
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: want -, got +\n%s", filepath.Base(file), diff)
	}
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

// coverage checks that the layout of a message has every byte once, and that the
// line reads back as JSON.
func coverage(t *testing.T, line string) {
	t.Helper()
	var m struct {
		Length   int
		Captured *int
		Status   string
		Message  *string
		Layout   []struct {
			Name           string
			Offset, Length int
			Hex            string
			Aux            bool
		}
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
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
