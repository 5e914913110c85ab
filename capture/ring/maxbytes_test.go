package ring

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

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
