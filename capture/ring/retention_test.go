package ring

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sizeOf returns the bytes of the captures in a folder.
func sizeOf(t *testing.T, dir string) (n int64) {
	t.Helper()
	for _, name := range list(t, dir) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && !strings.HasSuffix(name, ".html") {
			n += info.Size()
		}
	}
	return n
}

// TestTotal: all files together, with those of earlier runs and the one being written, are no longer
// than the limit, and the newest packets are there.
func TestTotal(t *testing.T) {
	for _, size := range []int64{0, 3000, 1 << 30} {
		dir := t.TempDir()
		const total = 32 << 10
		for run := range 3 {
			w := open(t, Options{Path: filepath.Join(dir, "a.pcapng"), Size: size, Total: total})
			for i := 1000 * run; i < 1000*(run+1); i++ {
				p := packetAt(i)
				if err := w.Write(&p); err != nil {
					t.Fatal(err)
				}
				if i%50 == 0 {
					if n := sizeOf(t, dir); n > total {
						t.Fatalf("files of %d: %d bytes after packet %d", size, n, i)
					}
				}
			}
			finish(t, w)
		}
		got, _ := all(t, dir)
		if n := sizeOf(t, dir); n > total || n < total/3 {
			t.Errorf("files of %d: %d bytes", size, n)
		}
		if len(got) < 100 || !slices.Equal(got, upTo(3000)[3000-len(got):]) {
			t.Errorf("files of %d: %d packets, not the newest: %v", size, len(got), got)
		}
	}
}

// TestAge: a file is removed when its last packet is so long ago, also one of an earlier run, and
// with it what was made of it. The newest stays.
func TestAge(t *testing.T) {
	dir := t.TempDir()
	o := Options{Path: filepath.Join(dir, "a.pcapng"), Time: 10 * time.Second, Age: 35 * time.Second, Beside: ".html"}
	var finished []string
	o.Finished = func(path string) {
		finished = append(finished, path)
		if err := os.WriteFile(path+".html", nil, 0o600); err != nil {
			t.Error(err)
		}
	}
	w := open(t, o)
	write(t, w, 0, 1000) // ten a second
	finish(t, w)
	if len(finished) != 10 || len(list(t, dir)) != 20 {
		t.Errorf("finished %q, %d files", finished, len(list(t, dir)))
	}
	if err := os.WriteFile(filepath.Join(dir, "other.pcapng.html"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, path := range finished { // as if they were of that time
		at := time.Unix(0, packetAt(100*i+99).Nanos)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	w = open(t, o)
	write(t, w, 1000, 1010)
	if err := w.Expire(packetAt(1009).Nanos); err != nil {
		t.Fatal(err)
	}
	if got := numbersIn(t, dir); got != "7 7.html 8 8.html 9 9.html 10 10.html" { // the 7th ended 31 s before
		t.Errorf("files %s", got)
	}
	if s := w.Stats(); s.Removed != 6 || s.Expired != 6 || s.Present != 4 || s.PresentBytes < 4*100*12 {
		t.Errorf("%+v", s)
	}
	if err := w.Expire(packetAt(100_000).Nanos); err != nil {
		t.Fatal(err)
	}
	finish(t, w)
	if got := numbersIn(t, dir); got != "10 10.html 11 11.html" || !slices.Contains(list(t, dir), "other.pcapng.html") {
		t.Errorf("files %s", got)
	}
}

// numbersIn returns the numbers of the files of the ring, and of what was made of them.
func numbersIn(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	for _, name := range list(t, dir) {
		if rest, ok := strings.CutPrefix(name, "a_"); ok && !strings.HasSuffix(name, partSuffix) {
			all = append(all, strings.TrimLeft(strings.Replace(rest[strings.IndexByte(rest, '_')+1:], ".pcapng", "", 1), "0"))
		}
	}
	return strings.Join(all, " ")
}

// TestAgeBesideOwnOnly: a bound in number that nobody asked for leaves files of earlier runs alone,
// and one in age does not.
func TestAgeBesideOwnOnly(t *testing.T) {
	dir := t.TempDir()
	o := Options{Path: filepath.Join(dir, "a.pcapng"), Time: time.Second, Files: 2, OwnOnly: true, Age: time.Hour}
	for run := range 3 {
		w := open(t, o)
		write(t, w, 100*run, 100*run+50)
		finish(t, w)
	}
	if n := len(list(t, dir)); n != 6 {
		t.Errorf("%d files, want 2 of each run", n)
	}
	w := open(t, o)
	if err := w.Expire(time.Now().Add(2 * time.Hour).UnixNano()); err != nil {
		t.Fatal(err)
	}
	if n := len(list(t, dir)); n != 1 {
		t.Errorf("%d files, want the newest", n)
	}
	write(t, w, 1000, 1050)
	finish(t, w)
	if n := len(list(t, dir)); n != 3 {
		t.Errorf("%d files, want that and 2 of this run", n)
	}
}

// TestTriggerMaxBytes: of an incident so much is written, the file is finished then, and the
// rest counted; a new incident, though the first goes on, is written again.
func TestTriggerMaxBytes(t *testing.T) {
	s := &sink{t: t}
	tr := newTrigger(t, s, 3*time.Second, MinTrigger)
	for i := range 40 {
		tr.MaxBytes += int64(len(packetAt(70 + i).Data))
	}
	write(t, tr, 0, 101)
	tr.Fire(packetAt(100).Nanos, packetAt(150).Nanos)
	write(t, tr, 101, 130)
	want := append(between(70, 110), -1)
	if diff := cmp.Diff(want, s.got); diff != "" {
		t.Errorf("the first (-want +got):\n%s", diff)
	}
	if n := tr.Stats().Over; n != 20 {
		t.Errorf("%d packets beyond, want 20", n)
	}
	tr.Renew()
	tr.Fire(packetAt(100).Nanos, packetAt(150).Nanos)
	write(t, tr, 130, 135)
	tr.Renew() // one more: this file is not full
	write(t, tr, 135, 140)
	want = append(want, between(130, 140)...)
	if diff := cmp.Diff(want, s.got); diff != "" {
		t.Errorf("the second (-want +got):\n%s", diff)
	}
}

// TestOwn: the bound of a run does not remove what earlier ones left.
func TestOwn(t *testing.T) {
	dir := t.TempDir()
	o := Options{Path: filepath.Join(dir, "a.pcapng"), Time: time.Second}
	kept := func(files int, own bool) int {
		o.Files, o.OwnOnly = files, own
		w := open(t, o)
		give := func(i int) {
			p := packetAt(i)
			if err := w.Write(&p); err != nil {
				t.Fatal(err)
			}
		}
		for i := 0; i < 50; i += 10 {
			give(i)
		}
		finish(t, w)
		names, err := filepath.Glob(filepath.Join(dir, "a_*.pcapng"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	if n := kept(0, false); n != 5 {
		t.Errorf("without a bound: %d files, want 5", n)
	}
	if n := kept(2, true); n != 5+2 {
		t.Errorf("own ones: %d files, want 7", n)
	}
	if n := kept(2, false); n != 2 {
		t.Errorf("of all runs: %d files, want 2", n)
	}
}
