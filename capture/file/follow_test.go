package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture"
)

// growing writes captures step by step: each call of wait is one step, and
// after the last one the capture ends.
type growing struct {
	t     *testing.T
	dir   string
	steps []func(g *growing)
	files map[string]*os.File
}

func (g *growing) wait() error {
	if len(g.steps) == 0 {
		return io.EOF
	}
	step := g.steps[0]
	g.steps = g.steps[1:]
	step(g)
	return nil
}

func (g *growing) path(name string) string { return filepath.Join(g.dir, name) }

// write appends to a file, which is made if it is not there or was renamed.
func (g *growing) write(name string, data []byte) {
	g.t.Helper()
	f := g.files[name]
	if f == nil {
		var err error
		if f, err = os.OpenFile(g.path(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
			g.t.Fatal(err)
		}
		g.files[name] = f
	}
	if _, err := f.Write(data); err != nil {
		g.t.Fatal(err)
	}
}

// follow reads what comes until the steps are done.
func (g *growing) follow(name string) (got string, gaps []capture.Gap, err error) {
	src, err := Follow(g.path(name), Wait(g.wait))
	if err != nil {
		return "", nil, err
	}
	defer src.Close()
	var all []string
	var b capture.Batch
	for err == nil {
		err = src.Read(&b)
		for _, p := range b.Packets {
			all = append(all, string(p.Data))
			if p.No != uint64(len(all)) {
				g.t.Errorf("got  packet number %d\nwant %d", p.No, len(all))
			}
		}
		for _, gap := range b.Gaps {
			gap.At += len(all) - len(b.Packets)
			gaps = append(gaps, gap)
		}
	}
	if src.Stats().Received != uint64(len(all)) {
		g.t.Errorf("got  %d packets received\nwant %d", src.Stats().Received, len(all))
	}
	return strings.Join(all, " "), gaps, err
}

// pieces of a capture whose packets begin at that second.
func header() []byte { return variants[0].header(4, 0, 1) }

func record(sec uint32, data string) []byte {
	n := uint32(len(data))
	return variants[0].record(nil, sec, 0, n, n, []byte(data))
}

func TestFollow(t *testing.T) {
	type steps = []func(g *growing)
	half := record(3, "later")
	tests := []struct {
		name  string
		first []byte
		steps steps
		want  string
		gaps  int
	}{
		{"nothing more", append(header(), record(1, "a")...), nil, "a", 0},
		{"packets that come later", append(header(), record(1, "a")...), steps{
			func(g *growing) { g.write("x", record(2, "b")) },
			func(g *growing) {},
			func(g *growing) { g.write("x", append(record(3, "c"), record(3, "d")...)) },
		}, "a b c d", 0},
		{"record in pieces", header(), steps{
			func(g *growing) { g.write("x", half[:3]) },
			func(g *growing) { g.write("x", half[3:18]) },
			func(g *growing) { g.write("x", half[18:]) },
		}, "later", 0},
		{"file header in pieces", nil, steps{
			func(g *growing) { g.write("x", header()[:2]) },
			func(g *growing) { g.write("x", header()[2:]) },
			func(g *growing) { g.write("x", record(1, "a")) },
		}, "a", 0},
		{"ends before there is a header", nil, steps{func(g *growing) {}}, "", 0},
		{"a record that never is complete", append(header(), record(1, "a")...), steps{
			func(g *growing) { g.write("x", half[:18]) },
		}, "a", 0},
		{"replaced by a new file", append(header(), record(1, "a")...), steps{
			func(g *growing) {
				g.write("x", record(2, "b"))
				os.Rename(g.path("x"), g.path("x.old"))
				g.write("x", record(3, "c")) // still to the old one
				delete(g.files, "x")
			},
			func(g *growing) {}, // not there for a moment
			func(g *growing) { g.write("x", append(header(), record(4, "d")...)) },
			func(g *growing) { g.write("x", record(5, "e")) },
		}, "a b c d e", 0},
		{"replaced in the middle of a record", append(header(), record(1, "a")...), steps{
			func(g *growing) {
				g.write("x", half[:18])
				os.Rename(g.path("x"), g.path("x.old"))
				delete(g.files, "x")
				g.write("x", append(header(), record(4, "d")...))
			},
		}, "a d", 1},
		{"made shorter", append(header(), append(record(1, "a"), record(2, "b")...)...), steps{
			func(g *growing) {
				os.Truncate(g.path("x"), 0)
				g.write("x", append(header(), record(3, "c")...))
			},
		}, "a b c", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := &growing{t: t, dir: t.TempDir(), steps: tt.steps, files: map[string]*os.File{}}
			g.write("x", tt.first)
			got, gaps, err := g.follow("x")
			if got != tt.want || len(gaps) != tt.gaps {
				t.Errorf("got  %s, %+v\nwant %s, %d gaps", got, gaps, tt.want, tt.gaps)
			}
			if tt.gaps == 0 && err != io.EOF || tt.gaps > 0 && !errors.Is(err, ErrGap) {
				t.Errorf("got  %v\nwant the end", err)
			}
		})
	}
}

// A ring goes on with the file that begins next, however its files are named.
func TestFollowRing(t *testing.T) {
	type steps = []func(g *growing)
	file := func(sec uint32, data string) []byte { return append(header(), record(sec, data)...) }
	tests := []struct {
		name  string
		first map[string][]byte
		steps steps
		want  string
	}{
		{"oldest first", map[string][]byte{"b": file(1, "1"), "a": file(3, "3"), "c": file(2, "2"), "notes": []byte("text"), ".d": file(0, "0")},
			nil, "1 2 3"},
		{"a new file", map[string][]byte{"x1": file(1, "1")}, steps{
			func(g *growing) { g.write("x1", record(2, "2")) },
			func(g *growing) { g.write("x2", header()) }, // without a packet yet
			func(g *growing) { g.write("x1", record(3, "3")); g.write("x2", record(4, "4")) },
			func(g *growing) { g.write("x2", record(5, "5")) },
		}, "1 2 3 4 5"},
		{"the oldest is deleted", map[string][]byte{"x1": file(1, "1"), "x2": file(2, "2")}, steps{
			func(g *growing) { os.Remove(g.path("x1")); g.write("x3", file(3, "3")) },
			func(g *growing) { os.Remove(g.path("x2")); g.write("x4", file(4, "4")) },
		}, "1 2 3 4"},
		{"the oldest is overwritten", map[string][]byte{"x0": file(1, "1"), "x1": file(2, "2")}, steps{
			func(g *growing) {
				os.Truncate(g.path("x0"), 0)
				g.write("x0", file(3, "3"))
			},
			func(g *growing) {
				os.Truncate(g.path("x1"), 0)
				g.write("x1", file(4, "4"))
			},
			func(g *growing) { g.write("x1", record(5, "5")) },
		}, "1 2 3 4 5"},
		{"empty at first", nil, steps{
			func(g *growing) {},
			func(g *growing) { g.write("x0", file(1, "1")) },
		}, "1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := &growing{t: t, dir: t.TempDir(), steps: tt.steps, files: map[string]*os.File{}}
			for name, data := range tt.first {
				g.write(name, data)
			}
			got, gaps, err := g.follow("")
			if got != tt.want || err != io.EOF || len(gaps) > 0 {
				t.Errorf("got  %s, %v, %v\nwant %s", got, err, gaps, tt.want)
			}
		})
	}
}

func TestFollowErrors(t *testing.T) {
	g := &growing{t: t, dir: t.TempDir(), files: map[string]*os.File{}}
	if _, _, err := g.follow("missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got  %v\nwant %v", err, os.ErrNotExist)
	}
	g.write("text", []byte(strings.Repeat("this is no capture\n", 10)))
	if _, _, err := g.follow("text"); !errors.Is(err, ErrFormat) {
		t.Errorf("got  %v\nwant %v", err, ErrFormat)
	}
	stop := errors.New("stop")
	g.write("x", header())
	g.steps = []func(*growing){func(*growing) {}}
	src, err := Follow(g.path("x"), Wait(func() error { return stop }))
	if err != nil {
		t.Fatal(err)
	}
	var b capture.Batch
	for range 2 {
		if err := src.Read(&b); err != stop {
			t.Errorf("got  %v\nwant %v", err, stop)
		}
	}
	src.Close()
	if src, err = Follow(g.path("x")); err != nil { // without a wait it ends
		t.Fatal(err)
	}
	if err := src.Read(&b); err != io.EOF {
		t.Errorf("got  %v\nwant EOF", err)
	}
}

func TestExpand(t *testing.T) {
	g := &growing{t: t, dir: t.TempDir(), files: map[string]*os.File{}}
	file := func(sec uint32) []byte { return append(header(), record(sec, "x")...) }
	g.write("late.pcap", file(3))
	g.write("early.cap", compressed(t, compressors[1].open, file(1)))
	g.write("between", file(2))
	g.write("no packets.pcap", header())
	g.write("notes.txt", []byte("text"))
	g.write("empty.pcap", nil)
	g.write(".hidden.pcap", file(0))
	if err := os.Mkdir(g.path("below"), 0o700); err != nil {
		t.Fatal(err)
	}
	paths := func(names ...string) (out []string) {
		for _, n := range names {
			out = append(out, g.path(n))
		}
		return out
	}
	l, err := List(g.dir)
	want := Listing{paths("early.cap", "between", "late.pcap", "no packets.pcap"), paths("empty.pcap", "notes.txt")}
	if diff := cmp.Diff(want, l); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	got, err := Expand([]string{"-", g.dir, "missing"})
	all := append(append([]string{"-"}, want.Captures...), "missing")
	if diff := cmp.Diff(all, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if _, err := Expand([]string{g.path("below")}); err == nil || !strings.HasSuffix(err.Error(), "/below: no captures in this directory") {
		t.Errorf("got  %v\nwant no captures", err)
	}
}

// Several files are read by time, and opened when it is their turn.
func TestOpenAll(t *testing.T) {
	g := &growing{t: t, dir: t.TempDir(), files: map[string]*os.File{}}
	var names []string
	for i := range uint32(5) {
		name := fmt.Sprint("x", i)
		g.write(name, append(header(), append(record(10-i, fmt.Sprint(10-i)), record(20+i, fmt.Sprint(20+i))...)...))
		names = append(names, g.path(name))
	}
	g.write("text", []byte("text"))
	names = slices.Insert(names, 2, g.path("text"))
	sources, err := OpenAll(names)
	if err != nil {
		t.Fatal(err)
	}
	m := capture.Merge(sources...)
	defer m.Close()
	if got, want := m.Stats().Size, int64(5*24+10*16+4*1+2+5*2)+1; got != want {
		t.Errorf("got  size %d\nwant %d", got, want)
	}
	var got []string
	var b capture.Batch
	for err == nil {
		err = m.Read(&b)
		for _, p := range b.Packets {
			got = append(got, fmt.Sprint(string(p.Data), " of ", p.File))
		}
	}
	want := []string{"6 of 5", "7 of 4", "8 of 3", "9 of 1", "10 of 0", "20 of 0", "21 of 1", "22 of 3", "23 of 4", "24 of 5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !errors.Is(err, ErrFormat) {
		t.Errorf("after the last packet\ngot  %v\nwant %v", err, ErrFormat)
	}
	if _, err := OpenAll(append(names, g.path("missing"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got  %v\nwant %v", err, fs.ErrNotExist)
	}
}
