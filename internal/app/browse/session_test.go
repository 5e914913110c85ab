package browse

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture/file"
	"qsniff/dissect/protocols"
	"qsniff/internal/pipeline"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/text"
	"qsniff/internal/test/protos"
)

func options(t testing.TB, name string) Options {
	t.Helper()
	reg := protos.Registry(t)
	reg.KnowForeign(protocols.Foreign())
	return Options{Name: name, Text: text.Options{UTC: true}, Config: pipeline.Config{Registry: reg, Jobs: 1, Memory: 16 << 20, Seed: 1},
		Compile: func(s string) (*filter.Program, error) {
			return filter.Compile(s, reg, filter.Options{UTC: true})
		},
		Complete: func(s string) []string { return filter.Complete(s, reg, filter.Options{}) }}
}

// whole waits until an index is whole.
func whole(t testing.TB, x *index) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		x.mu.RLock()
		done := x.isDone
		x.mu.RUnlock()
		if done {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the capture is not read after 30 s")
		}
	}
}

// readLines returns the lines of qsniff read.
func readLines(t testing.TB, o Options, name string) []string {
	t.Helper()
	src, err := file.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var out bytes.Buffer
	cfg := o.Config
	cfg.Source, cfg.Out, cfg.Renderer = src, &out, text.NewLine(o.Text)
	_, _ = pipeline.Run(t.Context(), cfg) // damage of captures is for other tests
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// TestRows: the rows of a capture are the lines of qsniff read, also where they are fetched
// alone.
func TestRows(t *testing.T) {
	names, err := filepath.Glob("../../../pcapfiles/*/*.pcap*")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if ext := filepath.Ext(name); !strings.HasPrefix(ext, ".pcap") || testing.Short() && i%8 != 0 || strings.Contains(name, "floods") {
			continue
		}
		o := options(t, name)
		lines := readLines(t, o, name)
		s, err := open(t.Context(), o)
		if err != nil {
			continue
		}
		x := s.list(t.Context(), nil)
		whole(t, x)
		n := x.len()
		if n != len(lines) && lines[0] != "" {
			t.Errorf("%s: %d entries, want %d", name, n, len(lines))
			continue
		}
		for i := range n {
			if i%7 == 0 {
				s.fetch(t.Context(), x, s.missing(i, i+3, -1))
			} else if i%3 == 0 {
				s.prune(i, i)
				s.fetch(t.Context(), x, s.missing(i, i+1, -1))
			} else if s.row(i) == nil {
				s.fetch(t.Context(), x, s.missing(i, i+1, -1))
			}
			row := s.row(i)
			if row == nil {
				t.Fatalf("%s: row %d is not there", name, i)
			}
			got := row.Reading
			if row.Event != nil {
				got = row.Src + " > " + row.Dst + " " + row.Proto + " " + row.Reading
			}
			if want := strings.Join(strings.Fields(lines[i]), " "); !strings.HasSuffix(want, strings.Join(strings.Fields(got), " ")) {
				t.Fatalf("%s: row %d (-want +got):\n%s", name, i, cmp.Diff(want, got))
			}
		}
	}
}

// TestFilters: what a filter lists, also where it depends on what comes later.
func TestFilters(t *testing.T) {
	o := options(t, "../../../pcapfiles/a2s/unanswered.pcap")
	s, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"a2s": 3, "exchange && !exchange.answered": 3, "exchange.answered": 0, "frame.number == 1": 1} {
		p, err := o.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		x := s.list(t.Context(), p)
		whole(t, x)
		if x.len() != want || x.err != nil {
			t.Errorf("%s lists %d messages, want %d; error %v", text, x.len(), want, x.err)
		}
		s.fetch(t.Context(), x, s.missing(0, want, -1))
		if left := s.missing(0, want, -1); len(left) > 0 {
			t.Errorf("%s: rows %v are missing", text, left)
		}
	}
}

// TestChanged: rows of a file that was cut meanwhile say so, and are not read again and again.
func TestChanged(t *testing.T) {
	data, err := os.ReadFile("../../../pcapfiles/a2s/css-2007.pcap")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "a.pcap")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := open(t.Context(), options(t, name))
	if err != nil {
		t.Fatal(err)
	}
	x := s.list(t.Context(), nil)
	whole(t, x)
	if err := os.Truncate(name, 100); err != nil {
		t.Fatal(err)
	}
	s.fetch(t.Context(), x, []int{0, 7})
	if r := s.row(7); r == nil || r.Frame != 8 || !strings.Contains(r.Reading, "changed") {
		t.Errorf("row 7 is %+v", r)
	}
}
