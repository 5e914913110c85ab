package text

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/internal/render"
	"qsniff/internal/test/hextest"
	"qsniff/reassembly/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

type example struct {
	name string
	e    *render.Event
}

// examples are the messages of the golden files: each form of the tree, each
// way to be incomplete.
func examples(t testing.TB) []example {
	whole := func(text string) *render.Event {
		b := hextest.Bytes(t, text)
		return event(t, b, len(b), wire.None)
	}
	rules := hextest.Bytes(t, hexRules)
	cut := event(t, rules[:33], 57, wire.Source)
	cut.Frames = []uint64{7, 8, 12}
	cut.Split = &render.Split{Engine: wire.Source, ID: 343, Total: 3, Received: 3, Size: 1248, Compressed: true}
	short := event(t, rules[:33], 33, wire.None)
	short.Frames = []uint64{9, 12}
	fragment := event(t, rules[:23:23], 23, wire.GoldSource)
	fragment.Msg.Status = dissect.Fragment
	fragment.Msg.Data = append(fragment.Msg.Data, "yte\x001\x00sv_cheats"...)
	fragment.Msg.Wire = len(fragment.Msg.Data)
	fragment.Msg.Append(&dissect.Part, 23, uint32(fragment.Msg.Wire-23), "part 5")
	fragment.Frames = []uint64{7, 8, 10, 12}
	fragment.Pieces = []render.Piece{{Frame: 7, Off: 0, Len: 13}, {Frame: 8, Off: 13, Len: 10}, {Frame: 10, Off: 23, Len: 12}}
	fragment.Split = &render.Split{Engine: wire.GoldSource, ID: 7, Total: 6, Received: 4}
	return []example{
		{"info", whole(hexInfo)},
		{"info-the-ship", whole(hexShip)},
		{"players-the-ship", whole(hexShipPlayers)},
		{"rules", whole(hexRules)},
		{"hltv", whole(hexHLTV)},
		{"request-padded", whole(hexPadded)},
		{"info-hostile", whole(hexHostile)},
		{"rules-cut-by-capture", cut},
		{"rules-cut-by-sender", short},
		{"rules-fragment", fragment},
	}
}

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestTree(t *testing.T) {
	for _, width := range []int{80, 160} {
		pages(t, "tree", width, NewTree(Options{Width: width, UTC: true}))
	}
}

func TestHex(t *testing.T) {
	for _, width := range []int{80, 160} {
		pages(t, "hex", width, NewHex(Options{Width: width, UTC: true}))
	}
}

// pages holds what r makes of the examples against a golden file.
func pages(t *testing.T, kind string, width int, r render.Renderer) {
	t.Helper()
	var all []byte
	for _, x := range examples(t) {
		all = append(append(append(all, "== "...), x.name...), '\n')
		lo := len(all)
		all = r.Append(all, x.e)
		checkWidth(t, x.name, all[lo:], width)
	}
	// The characters at the end of a row may be spaces.
	if i := bytes.Index(all, []byte(" \n")); i >= 0 && kind != "hex" {
		t.Errorf("%s: a line ends in spaces: %q", kind, all[max(0, i-width):i+1])
	}
	golden(t, kind+"-"+strconv.Itoa(width)+".txt", all)
}

func TestLine(t *testing.T) {
	r := NewLine(Options{UTC: true})
	var all []byte
	for _, x := range examples(t) {
		lo := len(all)
		all = r.Append(all, x.e)
		if n := bytes.Count(all[lo:], []byte("\n")); n != 1 {
			t.Errorf("%s: got %d lines, want 1", x.name, n)
		}
	}
	golden(t, "line.txt", all)
}

// sequence matches what a Palette writes.
var sequence = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestColourChangesNothingElse(t *testing.T) {
	on := NewPalette(true)
	for _, x := range examples(t) {
		for name, make := range map[string]func(Options) render.Renderer{
			"tree": func(o Options) render.Renderer { return NewTree(o) },
			"line": func(o Options) render.Renderer { return NewLine(o) },
			"hex":  func(o Options) render.Renderer { return NewHex(o) },
		} {
			plain := make(Options{UTC: true}).Append(nil, x.e)
			coloured := make(Options{UTC: true, Palette: on}).Append(nil, x.e)
			if !sequence.Match(coloured) {
				t.Errorf("%s %s: no colour", name, x.name)
			}
			if diff := cmp.Diff(string(plain), string(sequence.ReplaceAll(coloured, nil))); diff != "" {
				t.Errorf("%s %s (-plain +coloured):\n%s", name, x.name, diff)
			}
		}
	}
}

func TestPalette(t *testing.T) {
	p := NewPalette(true)
	tests := []struct {
		name string
		in   style
		want style
	}{
		{"headline is bold", p.head, style{"\x1b[1m", "\x1b[22m"}},
		{"bytes are dim", p.dim, style{"\x1b[2m", "\x1b[22m"}},
		{"names are cyan", p.name, style{"\x1b[36m", "\x1b[0m"}},
		{"values are the terminal's", p.value, style{}},
		{"meanings are green", p.meaning, style{"\x1b[32m", "\x1b[0m"}},
		{"warnings are dark yellow", p.severity[2], style{"\x1b[33m", "\x1b[0m"}},
		{"complete is not marked", p.status[dissect.Complete], style{}},
		{"off is empty", NewPalette(false).head, style{}},
	}
	for _, tt := range tests {
		if tt.in != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, tt.in, tt.want)
		}
	}
}
