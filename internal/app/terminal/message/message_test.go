package message

import (
	"encoding/hex"
	"io"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"qsniff/capture/file"
	"qsniff/dissect"
	"qsniff/internal/app/terminal"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
	"qsniff/internal/render/text"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/screentest"
)

// keeper is a renderer that keeps copies of events.
type keeper struct{ events []*render.Event }

func (k *keeper) Append(dst []byte, e *render.Event) []byte {
	k.events = append(k.events, e.Clone())
	return dst
}
func (k *keeper) AppendRecord(dst []byte, _ *render.Record) []byte { return dst }

// readEvents returns the messages of a capture of pcapfiles.
func readEvents(t testing.TB, name string) []*render.Event {
	t.Helper()
	reg := protos.Registry(t)
	src, err := file.Open(filepath.Join("../../../../pcapfiles", name))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var k keeper
	if _, err := pipeline.Run(t.Context(), pipeline.Config{Source: src, Registry: reg, Renderer: &k, Out: &strings.Builder{}, Jobs: 1, Memory: 16 << 20}); err != nil {
		t.Fatal(err)
	}
	return k.events
}

// screen is a view with the tree above the bytes.
type screen struct {
	*Panes
	bytesBeside bool
}

func (s screen) View() tea.View {
	if s.bytesBeside {
		tree, rows := strings.Split(s.TreeView(), "\n"), strings.Split(s.BytesView(), "\n")
		for i := range tree {
			tree[i] += "│" + rows[i]
		}
		return tea.NewView(strings.Join(tree, "\n"))
	}
	return tea.NewView(s.TreeView() + "\n" + strings.Repeat("─", s.width) + "\n" + s.BytesView())
}

func press(v *Panes, keys ...string) {
	for _, k := range keys {
		v.Update(screentest.Key(k))
	}
}

func TestScreens(t *testing.T) {
	players := readEvents(t, "a2s/players.pcap")
	rules := readEvents(t, "goldsource/rules-93.pcap")
	secrets := readEvents(t, "rcon/secret-commands.pcap")
	for name, x := range map[string]struct {
		e    *render.Event
		wide bool
		pane Pane
		keys []string
	}{
		"players-80":       {e: players[len(players)-1], pane: Tree, keys: []string{"down", "down", "down", "down", "down"}},
		"players-120":      {e: players[len(players)-1], wide: true, pane: Tree, keys: []string{"G"}},
		"players-folded":   {e: players[len(players)-1], pane: Tree, keys: []string{"G", "left", "left", "left"}},
		"players-in-bytes": {e: players[len(players)-1], wide: true, pane: Bytes, keys: []string{"down", "right", "right"}},
		"rules-120":        {e: rules[len(rules)-1], wide: true, pane: Tree, keys: []string{"pgdown", "pgdown"}},
		"secret-80":        {e: secrets[0], pane: Tree, keys: []string{"G"}},
	} {
		v := New(text.Options{UTC: true})
		if x.wide {
			v.SetSize(78, 20, 41, 20)
		} else {
			v.SetSize(80, 12, 80, 6)
		}
		v.SetPane(x.pane)
		v.SetEvent(x.e)
		press(v, x.keys...)
		screentest.Check(t, name, screen{v, x.wide})
	}
}

// secretWords are the passwords in captures, as in the tests of cmd/qsniff.
var secretWords = []string{"Secret", "geheim", "open sesame", "s3cr3t"}

// TestAllCaptures: whatever is in a capture, lines have the width that they should, nothing
// acts on the terminal, no place is outside, and secrets are hidden.
func TestAllCaptures(t *testing.T) {
	names, err := filepath.Glob("../../../../pcapfiles/*/*.pcap")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		folder := filepath.Base(filepath.Dir(name))
		if testing.Short() && i%9 != 0 && (i%3 != 0 || folder != "hostile" && folder != "rcon") || folder == "floods" || folder == "stories" {
			continue
		}
		seen := map[*dissect.Type]int{}
		for _, e := range readEvents(t, filepath.Join(folder, filepath.Base(name))) {
			if seen[e.Msg.Type]++; seen[e.Msg.Type] > 1 {
				continue
			}
			v := New(text.Options{UTC: true})
			v.SetSize(57, 9, 41, 5)
			v.SetEvent(e)
			for _, k := range []string{"", "left", "pgdown", "right", "G"} {
				for _, p := range []Pane{Tree, Bytes} {
					v.SetPane(p)
					if k != "" {
						press(v, k)
					}
					copied, _ := v.Copied()
					checkLines(t, name, v.TreeView(), 57, 9)
					checkLines(t, name, v.BytesView(), 41, 5)
					checkSecrets(t, name, v.TreeView()+v.BytesView()+copied)
				}
			}
		}
	}
}

func checkLines(t *testing.T, name, s string, width, height int) {
	t.Helper()
	lines := strings.Split(s, "\n")
	if len(lines) != height {
		t.Fatalf("%s: %d lines, want %d", name, len(lines), height)
	}
	for _, l := range lines {
		plain := ansi.Strip(l)
		if w := ansi.StringWidth(l); w != width {
			t.Fatalf("%s: %d cells, want %d: %q", name, w, width, plain)
		}
		if plain != terminal.Clean(plain) {
			t.Fatalf("%s: a line that acts on the terminal: %q", name, l)
		}
	}
}

func checkSecrets(t *testing.T, name, s string) {
	t.Helper()
	for _, word := range secretWords {
		if strings.Contains(s, word) || strings.Contains(strings.ReplaceAll(s, " ", ""), hex.EncodeToString([]byte(word))) {
			t.Fatalf("%s: a secret is shown:\n%s", name, s)
		}
	}
}

// FuzzPanes: whatever a payload is, it is shown in lines of the right width that do nothing to
// the terminal.
func FuzzPanes(f *testing.F) {
	for _, seed := range []string{"\xff\xff\xff\xffI\x11\x1b[2J\x00map\x00", "\xff\xff\xff\xffD\x01\x00\xe2\x80\xae\xff\x00", "\xff\xff\xff\xffE\x01\x00a\nb\x00\x9b31m\x00"} {
		f.Add([]byte(seed), uint8(80))
	}
	reg := protos.Registry(f)
	f.Fuzz(func(t *testing.T, payload []byte, width uint8) {
		var src pipeline.PayloadSource
		src.AddDatagram(1, netip.MustParseAddrPort("198.18.0.1:27015"), netip.MustParseAddrPort("10.0.0.1:40000"), payload)
		var k keeper
		if _, err := pipeline.Run(t.Context(), pipeline.Config{Source: &src, Registry: reg, Renderer: &k, Out: io.Discard, Jobs: 1, Memory: 16 << 20}); err != nil {
			t.Fatal(err)
		}
		for _, e := range k.events {
			v := New(text.Options{UTC: true})
			v.SetSize(40+int(width), 12, 40+int(width), 6)
			v.SetEvent(e)
			for _, p := range []Pane{Tree, Bytes} {
				v.SetPane(p)
				press(v, "pgdown", "left", "G", "right")
				checkLines(t, "tree", v.TreeView(), 40+int(width), 12)
				checkLines(t, "bytes", v.BytesView(), 40+int(width), 6)
				v.Copied()
			}
		}
	})
}
