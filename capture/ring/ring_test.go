package ring

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/internal/test/race"
)

func open(t *testing.T, o Options) *Writer {
	t.Helper()
	w, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// write writes packets from to before end, and wants no error.
func write(t *testing.T, w interface{ Write(*capture.Packet) error }, from, end int) {
	t.Helper()
	for i := from; i < end; i++ {
		p := packetAt(i)
		if err := w.Write(&p); err != nil {
			t.Fatal(err)
		}
	}
}

func finish(t *testing.T, w *Writer) Stats {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.Stats()
}

// list is the folder's files by name, but for the hidden ones.
func list(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// numbers reads a file and returns the numbers i of its packets; the file may be
// cut.
func numbers(t *testing.T, path string) []int {
	t.Helper()
	return numbersOf(t, path, 0)
}

// numbersOf is numbers where the clock was ahead for some packets.
func numbersOf(t *testing.T, path string, ahead int64) []int {
	t.Helper()
	r, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []int
	var b capture.Batch
	for {
		err := r.Read(&b)
		for _, p := range b.Packets {
			i := -1
			_, _ = fmt.Sscanf(string(p.Data), "packet %d", &i)
			want := packetAt(i)
			if !bytes.Equal(p.Data, want.Data) || p.Nanos != want.Nanos && p.Nanos != want.Nanos+ahead || p.Wire != want.Wire || p.Link != want.Link {
				t.Errorf("%s: packet %+v is not as written", path, p)
			}
			got = append(got, i)
		}
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// all reads all files of a folder in the order of their names.
func all(t *testing.T, folder string) (got []int, perFile []int) {
	t.Helper()
	for _, name := range list(t, folder) {
		n := numbers(t, filepath.Join(folder, name))
		got = append(got, n...)
		perFile = append(perFile, len(n))
	}
	return got, perFile
}

func upTo(n int) []int {
	var l []int
	for i := range n {
		l = append(l, i)
	}
	return l
}

func TestByTime(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Path: filepath.Join(dir, "qsniff.pcapng"), Time: 3 * time.Second})
	write(t, w, 0, 65)
	if names := list(t, dir); names[len(names)-1] != "qsniff_20231114T221326Z_00003.pcapng.part" {
		t.Errorf("before the end: %q", names)
	}
	s := finish(t, w)
	want := []string{"qsniff_20231114T221320Z_00001.pcapng", "qsniff_20231114T221323Z_00002.pcapng", "qsniff_20231114T221326Z_00003.pcapng"}
	if diff := cmp.Diff(want, list(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, perFile := all(t, dir)
	if !slices.Equal(got, upTo(65)) || !slices.Equal(perFile, []int{30, 30, 5}) {
		t.Errorf("%v, %v", perFile, got)
	}
	if diff := cmp.Diff(Stats{Packets: 65, Files: 3, Present: 3, PresentBytes: sizeOf(t, dir)}, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBySize(t *testing.T) {
	for _, ext := range []string{".pcapng", ".pcap"} {
		dir := t.TempDir()
		const size = 1000
		w := open(t, Options{Path: filepath.Join(dir, "a"+ext), Size: size})
		write(t, w, 0, 100)
		s := finish(t, w)
		got, _ := all(t, dir)
		if !slices.Equal(got, upTo(100)) || s.Files < 4 {
			t.Errorf("%s: %+v, %v", ext, s, got)
		}
		for i, name := range list(t, dir) {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() > size || info.Size() < size-100 && i < int(s.Files)-1 || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %d bytes, mode %v", name, info.Size(), info.Mode())
			}
		}
	}
}

// TestLargePacket: a packet longer than a file may be is written all the same.
func TestLargePacket(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Path: filepath.Join(dir, "a.pcapng"), Size: 1000})
	p := capture.Packet{Nanos: second, Data: make([]byte, 5000), Link: 1}
	for range 3 {
		if err := w.Write(&p); err != nil {
			t.Fatal(err)
		}
	}
	if s := finish(t, w); s.Packets != 3 || s.Files != 3 {
		t.Errorf("%+v", s)
	}
}

func TestByNumber(t *testing.T) {
	dir := t.TempDir()
	foreign := []string{"qsniff.pcapng", "qsniff_20231114T221320Z_1.pcapng", "qsniff_20231114T221320Z_00000.pcap", "qsniff_2023_00000.pcapng",
		"other_20231114T221320Z_00000.pcapng"}
	for _, name := range foreign {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := open(t, Options{Path: filepath.Join(dir, "qsniff.pcapng"), Time: time.Second, Files: 3})
	for i := range 95 {
		write(t, w, i, i+1)
		if n := len(list(t, dir)) - len(foreign); n > 3 {
			t.Fatalf("%d files after %d packets", n, i)
		}
	}
	s := finish(t, w)
	for _, name := range foreign {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Errorf("a file of others: %v", err)
		}
	}
	got, perFile := all(t, dir)
	if !slices.Equal(got, upTo(95)[70:]) || !slices.Equal(perFile, []int{10, 10, 5}) || s.Removed != 7 || s.Files != 10 {
		t.Errorf("%+v, %v, %v", s, perFile, got)
	}
}

// TestRestart: the files of an earlier run count, their numbers go on, even if the
// clock was set back.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	o := Options{Path: filepath.Join(dir, "a.pcapng"), Time: time.Second, Files: 3}
	w := open(t, o)
	write(t, w, 100, 130)
	finish(t, w)
	w = open(t, o)
	write(t, w, 0, 15)
	finish(t, w)
	want := []string{"a_20231114T221320Z_00004.pcapng", "a_20231114T221321Z_00005.pcapng", "a_20231114T221332Z_00003.pcapng"}
	if diff := cmp.Diff(want, list(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLeftOver: what an earlier run did not finish gets its name if it may hold
// packets, and is removed if it holds none.
func TestLeftOver(t *testing.T) {
	for _, ext := range []string{".pcapng", ".pcap"} {
		other := t.TempDir()
		w := open(t, Options{Path: filepath.Join(other, "a"+ext)})
		write(t, w, 0, 1)
		part := filepath.Join(other, list(t, other)[0])
		header := read(t, part)
		write(t, w, 1, 20)
		finish(t, w)
		whole := read(t, strings.TrimSuffix(part, partSuffix))
		damaged := append(bytes.Clone(header), make([]byte, 100)...)
		for _, tc := range []struct {
			name string
			file []byte
			kept bool
		}{
			{"nothing", nil, false},
			{"a header", header, false},
			{"half a header", header[:10], true},
			{"half a packet", whole[:len(header)+20], true},
			{"half a file", whole[:len(whole)/2], true},
			{"zeros", damaged, true},
			{"something else", []byte("something else"), true},
		} {
			dir := t.TempDir()
			name := "a_20231114T221320Z_00007" + ext
			if err := os.WriteFile(filepath.Join(dir, name+partSuffix), tc.file, 0o600); err != nil {
				t.Fatal(err)
			}
			finish(t, open(t, Options{Path: filepath.Join(dir, "a"+ext)}))
			var want []string
			if tc.kept {
				want = []string{name}
			}
			if diff := cmp.Diff(want, list(t, dir)); diff != "" {
				t.Errorf("%s with %s (-want +got):\n%s", ext, tc.name, diff)
			} else if tc.kept && !bytes.Equal(read(t, filepath.Join(dir, name)), tc.file) {
				t.Errorf("%s with %s was changed", ext, tc.name)
			}
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestClockSteps: time that is set back neither ends a file nor makes it endless.
func TestClockSteps(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Path: filepath.Join(dir, "a.pcapng"), Time: 3 * time.Second})
	for i := range 80 {
		p := packetAt(i)
		if i >= 20 {
			p.Nanos -= 3600 * second
		}
		if i%2 == 1 {
			p.Nanos -= second / 20 // out of order, as from two interfaces
		}
		if err := w.Write(&p); err != nil {
			t.Fatal(err)
		}
	}
	if s := finish(t, w); s.Files != 3 || s.Packets != 80 {
		t.Errorf("%+v", s)
	}
}

// TestClockForwardAndBack: while the clock is an hour ahead for a time, every packet is in a file, files are complete and
// of the length that they have otherwise, their numbers are in the order in which packets came, and of those that Files
// leaves the newest are there.
func TestClockForwardAndBack(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Path: filepath.Join(dir, "a.pcapng"), Time: 3 * time.Second, Files: 5, Age: 2 * time.Hour})
	for i := range 300 {
		p := packetAt(i)
		if i >= 100 && i < 200 {
			p.Nanos += 3600 * second
		}
		if err := errors.Join(w.Write(&p), w.Expire(p.Nanos)); err != nil {
			t.Fatal(err)
		}
	}
	s := finish(t, w)
	if s.Packets != 300 || s.Lost != 0 || s.Files < 10 || s.Files > 12 || s.Expired != 0 {
		t.Errorf("%+v", s)
	}
	names := list(t, dir)
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(a[strings.LastIndex(a, "_"):], b[strings.LastIndex(b, "_"):])
	})
	var got []int
	for _, name := range names {
		got = append(got, numbersOf(t, filepath.Join(dir, name), 3600*second)...)
	}
	if len(names) != 5 || !slices.Equal(got, upTo(300)[300-len(got):]) || len(got) < 110 {
		t.Errorf("%v have %v", names, got)
	}
}

// TestTick: without packets, files are flushed and finished when it is time.
func TestTick(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Path: filepath.Join(dir, "a.pcapng"), Time: 3 * time.Second})
	write(t, w, 0, 5)
	part := filepath.Join(dir, "a_20231114T221320Z_00001.pcapng.part")
	if got := numbers(t, part); len(got) != 0 {
		t.Errorf("before a tick: %d packets", len(got))
	}
	at := packetAt(0).Nanos
	if err := w.Tick(at + second); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, part); len(got) != 5 {
		t.Errorf("after a tick: %d packets", len(got))
	}
	if err := w.Tick(at + 3*second); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, strings.TrimSuffix(part, partSuffix)); len(got) != 5 {
		t.Errorf("finished: %d packets", len(got))
	}
	if err := w.Tick(at + 30*second); err != nil || len(list(t, dir)) != 1 {
		t.Errorf("%v, %q", err, list(t, dir))
	}
}

// TestFollow: our own reader follows the ring while it is written and renamed, and
// sees each packet once.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Path: filepath.Join(dir, "a.pcapng"), Time: time.Second, Files: 4})
	next := 0
	step := func() error {
		if next == 300 {
			return io.EOF
		}
		n := min(300, next+7)
		write(t, w, next, n)
		next = n
		return nil
	}
	if err := step(); err != nil {
		t.Fatal(err)
	}
	src, err := file.Follow(dir, file.Wait(step))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	got := follow(t, src)
	// What was not flushed when the writing stopped is not there yet.
	if len(got) < 285 || !slices.Equal(got, upTo(len(got))) {
		t.Errorf("%d packets: %v", len(got), got)
	}
}

// follow reads a source to its end and returns the numbers of its packets.
func follow(t *testing.T, src capture.Source) (got []int) {
	t.Helper()
	var b capture.Batch
	for {
		err := src.Read(&b)
		for _, p := range b.Packets {
			i := 0
			_, _ = fmt.Sscanf(string(p.Data), "packet %d", &i)
			got = append(got, i)
		}
		if len(b.Gaps) > 0 {
			t.Errorf("gap: %v", b.Gaps[0].String())
		}
		if err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			return got
		}
	}
}

// TestRefusedOnce: a packet that the format cannot hold is an error once and
// counted from then on.
func TestRefusedOnce(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Path: filepath.Join(dir, "a.pcap")})
	write(t, w, 0, 1)
	other := packetAt(1)
	other.Link = 1
	if err := w.Write(&other); !errors.Is(err, file.ErrRefused) {
		t.Errorf("got %v", err)
	}
	if err := w.Write(&other); err != nil {
		t.Errorf("again: %v", err)
	}
	write(t, w, 2, 5)
	s := finish(t, w)
	if diff := cmp.Diff(Stats{Packets: 4, Refused: 2, Files: 1, Present: 1, PresentBytes: sizeOf(t, dir)}, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir + "/":            dir + "/: no name for the files of a ring",
		dir + "/.pcapng":     dir + "/.pcapng: no name for the files of a ring",
		dir + "/no/a.pcapng": dir + "/no: no such folder",
		dir + "/a.pcap.gz":   "a.pcap.gz: captures are written without compression",
	} {
		w, err := Open(Options{Path: path})
		if err == nil {
			w.Close()
			t.Errorf("%s: opened", path)
			continue
		}
		var e *file.Error
		if !errors.As(err, &e) || err.Error() != want || e.Hint == "" {
			t.Errorf("%s:\n got %v, hint %q\nwant %s", path, err, e.Hint, want)
		}
	}
	if _, err := Open(Options{Path: dir + "/a.pcapng", Files: maxKept + 1}); err == nil {
		t.Error("too many files: opened")
	}
}

func TestWriteAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	w := open(t, Options{Path: filepath.Join(t.TempDir(), "a.pcapng"), Size: 1 << 40, Time: 1000 * time.Hour, Files: 3})
	p := packetAt(0)
	p.Data = make([]byte, 1000)
	n := testing.AllocsPerRun(50, func() {
		for range 100 {
			p.Nanos += second / 10
			if err := w.Write(&p); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n != 0 {
		t.Errorf("%v allocations in 100 packets", n)
	}
}

// BenchmarkWrite is what a packet costs on its way to a ring, the kernel's part
// included.
func BenchmarkWrite(b *testing.B) {
	w, err := Open(Options{Path: filepath.Join(b.TempDir(), "a.pcapng"), Size: 64 << 20, Files: 2})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	p := packetAt(0)
	p.Data = make([]byte, 150)
	b.ReportAllocs()
	for b.Loop() {
		p.Nanos += 1000
		if err := w.Write(&p); err != nil {
			b.Fatal(err)
		}
	}
}
