package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the .txt and .jsonl files beside the captures")

const pcapfiles = "../../pcapfiles"

// captures lists the captures of this repository.
func captures(t testing.TB) []string {
	t.Helper()
	var names []string
	for _, ext := range []string{"*.pcap"} {
		found, err := filepath.Glob(filepath.Join(pcapfiles, "*", ext))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	if len(names) < 100 {
		t.Fatalf("only %d captures found", len(names))
	}
	return names
}

// output runs qsniff and returns what it printed on both streams and its status.
func output(t testing.TB, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	t.Setenv("COLUMNS", "")
	var out, err bytes.Buffer
	status = run(context.Background(), args, streams{&out, &err})
	return out.String(), err.String(), status
}

// TestGolden compares what qsniff makes of every capture with the files beside
// it: NAME.txt holds a line a message, then the tree; NAME.jsonl the JSON.
func TestGolden(t *testing.T) {
	for _, name := range captures(t) {
		base := strings.TrimSuffix(name, ".pcap")
		t.Run(strings.TrimPrefix(base, pcapfiles+"/"), func(t *testing.T) {
			text, remarks, status := output(t, "read", "--utc", name)
			tree, _, _ := output(t, "read", "--utc", "-o", "tree", name)
			jsonl, _, _ := output(t, "read", "-o", "json", "--layout", name)
			if status != exitOK {
				t.Errorf("exit status %d: %s", status, remarks)
			}
			// the folder differs between machines; nothing else does
			golden(t, base+".txt", strings.ReplaceAll(remarks, name, filepath.Base(name))+text+"\n"+tree)
			golden(t, base+".jsonl", jsonl)
			harmless(t, text+tree+jsonl)
			secretless(t, text+tree+jsonl)
			for line := range strings.Lines(jsonl) {
				coverage(t, line)
			}
		})
	}
}

// keep is the longest output that is kept as it is; of a longer one, which nobody
// reviews, its length and digest.
const keep = 256 << 10

func golden(t *testing.T, file, got string) {
	t.Helper()
	if len(got) > keep {
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
// the bytes of it: all begin with Secret or are the German word for it.
func secretless(t *testing.T, out string) {
	t.Helper()
	for _, word := range []string{"Secret", "geheim", "open sesame"} {
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
