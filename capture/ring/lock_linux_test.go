package ring

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture/file"
	"qsniff/internal/test/child"
)

// locks are the names of the folder's hidden files.
func locks(t *testing.T, folder string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, ".*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	return found
}

// TestLocked: a ring is taken from Open to Close, whether it has a file or not;
// other rings in the folder are free.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.pcapng")
	first := open(t, Options{Path: path})
	taken := func(when string) {
		t.Helper()
		for _, name := range []string{path, filepath.Join(dir, "a")} {
			w, err := Open(Options{Path: name})
			if err == nil {
				w.Close()
			}
			var e *file.Error
			if !errors.As(err, &e) || err.Error() != path+": another capture is writing this ring" || e.Hint == "" {
				t.Errorf("%s: opened %s again: %v", when, name, err)
			}
		}
	}
	taken("before packets")
	write(t, first, 0, 5)
	taken("with a file")
	if err := first.Rotate(); err != nil {
		t.Fatal(err)
	}
	taken("between files")
	others := []*Writer{open(t, Options{Path: filepath.Join(dir, "a.pcap")}), open(t, Options{Path: filepath.Join(dir, "b.pcapng")}),
		open(t, Options{Path: filepath.Join(dir, "a_b.pcapng")})}
	if diff := cmp.Diff([]string{".a.pcap.lock", ".a.pcapng.lock", ".a_b.pcapng.lock", ".b.pcapng.lock"}, locks(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, w := range append(others, first) {
		write(t, w, 10, 15)
		finish(t, w)
	}
	if l := locks(t, dir); len(l) > 0 {
		t.Errorf("left over: %q", l)
	}
	write(t, open(t, Options{Path: path}), 20, 25)
}

// TestLockRemoved: somebody tidies up under a ring, and another begins there. The
// first does not take the lock of the second away.
func TestLockRemoved(t *testing.T) {
	o := Options{Path: filepath.Join(t.TempDir(), "a.pcapng")}
	first := open(t, o)
	if err := os.Remove(filepath.Join(filepath.Dir(o.Path), first.names.lockName())); err != nil {
		t.Fatal(err)
	}
	open(t, o)
	finish(t, first)
	if _, err := Open(o); err == nil {
		t.Error("opened beside the second")
	}
}

// TestLockForeign: a lock that is another user's, or cannot be opened at all, does
// not keep a capture from being written.
func TestLockForeign(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may open everything")
	}
	o := Options{Path: filepath.Join(t.TempDir(), "a.pcapng")}
	if err := os.WriteFile(filepath.Join(filepath.Dir(o.Path), ".a.pcapng.lock"), nil, 0); err != nil {
		t.Fatal(err)
	}
	w := open(t, o)
	write(t, w, 0, 5)
	finish(t, w)
}

// TestLockUnseen: who reads the folder does not see the lock.
func TestLockUnseen(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Path: filepath.Join(dir, "a.pcapng")})
	if l, err := file.List(dir); err != nil || len(l.Captures)+len(l.Skipped) > 0 {
		t.Errorf("without packets: %+v, %v", l, err)
	}
	write(t, w, 0, 15)
	finish(t, w)
	defer finish(t, open(t, w.opt)) // which holds the lock
	if l, err := file.List(dir); err != nil || len(l.Captures) != 1 || len(l.Skipped) > 0 {
		t.Errorf("with packets: %+v, %v", l, err)
	}
	if src, err := file.Follow(dir, file.Wait(func() error { return io.EOF })); err != nil {
		t.Error(err)
	} else {
		defer src.Close()
		if got := follow(t, src); len(got) != 15 {
			t.Errorf("followed: %v", got)
		}
	}
}

// TestKilledEarly: a run that is killed before it flushed a packet leaves a capture
// without packets and its lock. Neither is in the way of the next one.
func TestKilledEarly(t *testing.T) {
	dir := t.TempDir()
	o := Options{Path: filepath.Join(dir, "a.pcapng"), Time: 10 * time.Second}
	for packets := range 2 {
		c, line := child.Start(t, orders{Path: o.Path, Time: o.Time, Packets: packets, Wait: true})
		killWriting(t, o, c, line)
		if names := list(t, dir); len(names) != packets || len(locks(t, dir)) != 1 {
			t.Fatalf("%q, %q", names, locks(t, dir))
		}
		if got, _ := all(t, dir); len(got) > 0 {
			t.Errorf("not flushed, but there: %v", got)
		}
		finish(t, open(t, o))
		if names := append(list(t, dir), locks(t, dir)...); len(names) > 0 {
			t.Errorf("after a restart: %q", names)
		}
	}
}
