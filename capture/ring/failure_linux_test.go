package ring

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"qsniff/capture/file"
	"qsniff/internal/test/child"
)

// small mounts a file system of so many bytes.
func small(t *testing.T, bytes string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount a small file system")
	}
	dir := t.TempDir()
	if err := syscall.Mount("qsniff-test", dir, "tmpfs", 0, "size="+bytes); err != nil {
		t.Skip("cannot mount a small file system: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestDiskFull: the disk fills up, is full for a while, and is emptied. There is
// one error, every packet is in a file or counted, no old file is lost for
// nothing, and writing goes on by itself.
func TestDiskFull(t *testing.T) {
	dir := small(t, "256k")
	ballast := filepath.Join(dir, "ballast")
	w := open(t, Options{Path: filepath.Join(dir, "a.pcapng"), Time: time.Minute, Files: 5})
	write(t, w, 0, 700) // two files, the second is being written
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	var errs []error
	for i := 700; i < 3000; i++ {
		p := packetAt(i)
		if err := w.Write(&p); err != nil {
			errs = append(errs, err)
		}
	}
	var e *file.Error
	if len(errs) != 1 || !errors.As(errs[0], &e) || e.Reason != "no space left on the disk" || e.Hint == "" {
		t.Fatalf("%d errors: %v", len(errs), errs)
	}
	if s := w.Stats(); s.Failing == nil || s.Lost == 0 || s.Errors < 5 || s.Removed != 0 {
		t.Errorf("while it is full: %+v", s)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	write(t, w, 3000, 4000)
	if s := w.Stats(); s.Failing != nil {
		t.Errorf("when there is room: %+v", s)
	}
	s := finish(t, w)
	got, _ := all(t, dir)
	if int(s.Packets) != len(got) || s.Packets+s.Lost != 4000 || !slices.IsSorted(got) {
		t.Errorf("%+v, %d packets read", s, len(got))
	}
	if n := len(got); got[0] != 0 || got[n-1] != 3999 || got[n-800] != 3200 {
		t.Errorf("from %d to %d", got[0], got[n-1])
	}
}

// TestDiskFullAgain: once the ring has recovered, a full disk is an error again.
func TestDiskFullAgain(t *testing.T) {
	dir := small(t, "256k")
	ballast := filepath.Join(dir, "ballast")
	w := open(t, Options{Path: filepath.Join(dir, "a.pcapng"), Time: time.Minute, Files: 5})
	for round, want := range []string{"", "no space", "", "no space"} {
		if want == "" {
			_ = os.Remove(ballast)
		} else {
			_ = os.WriteFile(ballast, make([]byte, 1<<20), 0o600)
		}
		errs := 0
		for i := round * 500; i < (round+1)*500; i++ {
			p := packetAt(i)
			if w.Write(&p) != nil {
				errs++
			}
		}
		if want == "" && errs != 0 || want != "" && errs != 1 {
			t.Errorf("round %d: %d errors", round, errs)
		}
	}
}

// TestReadOnly: a folder that cannot be written any more is one error; the file
// that was open gets its packets, and its name when the folder is back.
func TestReadOnly(t *testing.T) {
	dir := small(t, "1m")
	w := open(t, Options{Path: filepath.Join(dir, "a.pcapng"), Time: time.Minute, Files: 2})
	write(t, w, 0, 1300) // three files, of which the first is gone
	finish(t, w)
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skip("cannot make a file system read-only: ", err)
	}
	if _, err := Open(w.opt); err == nil || !strings.HasSuffix(err.Error(), ": read-only file system") {
		t.Errorf("opened: %v", err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT, "size=1m"); err != nil {
		t.Fatal(err)
	}
	w = open(t, w.opt)
	write(t, w, 1300, 1310)
	finished := w.Stats()
	if err := w.Rotate(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	errs := 0
	for i := 1310; i < 3000; i++ {
		p := packetAt(i)
		if w.Write(&p) != nil {
			errs++
		}
	}
	s := w.Stats()
	if errs != 1 || s.Lost != 1690 || s.Removed != finished.Removed {
		t.Errorf("%d errors, %+v", errs, s)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT, "size=1m"); err != nil {
		t.Fatal(err)
	}
	write(t, w, 3000, 3100) // some of it before the next file is tried
	if s := finish(t, w); s.Packets < 10 || s.Packets+s.Lost != 1800 || s.Failing != nil {
		t.Errorf("at the end: %+v", s)
	}
}

// TestFolderGone: the folder is deleted under the ring.
func TestFolderGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ring")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := open(t, Options{Path: filepath.Join(dir, "a.pcapng"), Time: time.Second})
	write(t, w, 0, 5)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	errs := 0
	for i := 5; i < 1000; i++ {
		p := packetAt(i)
		if w.Write(&p) != nil {
			errs++
		}
	}
	if s := w.Stats(); errs != 1 || s.Failing == nil || s.Packets+s.Lost != 1000 {
		t.Errorf("%d errors, %+v", errs, s)
	}
}

// killWriting kills a child that said line when it had written to the ring, which
// nobody else can open before.
func killWriting(t *testing.T, o Options, c *child.Process, line string) {
	t.Helper()
	if line != "written" {
		t.Fatal(line)
	}
	if _, err := Open(o); err == nil || !strings.HasSuffix(err.Error(), "another capture is writing this ring") {
		t.Errorf("beside a living one: %v", err)
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
}

// TestKilled: a process that is killed leaves one unfinished file, which holds
// everything up to the last flush; the next run gives it its name.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	o := Options{Path: filepath.Join(dir, "a.pcapng"), Time: 10 * time.Second, Files: 5}
	const n = 255 // ten a second: the last second began with packet 250
	c, line := child.Start(t, orders{Path: o.Path, Time: o.Time, Files: o.Files, Packets: n, Wait: true})
	killWriting(t, o, c, line)
	names := list(t, dir)
	parts := slices.DeleteFunc(slices.Clone(names), func(s string) bool { return !strings.HasSuffix(s, partSuffix) })
	if len(names) != 3 || len(parts) != 1 {
		t.Fatalf("%q", names)
	}
	got, _ := all(t, dir)
	if len(got) < n-10 || !slices.Equal(got, upTo(len(got))) {
		t.Errorf("%d packets of %d", len(got), n)
	}
	if _, err := exec.LookPath("tcpdump"); err == nil {
		out, err := exec.Command("tcpdump", "-nr", filepath.Join(dir, parts[0])).Output()
		if lines := strings.Count(string(out), "\n"); err != nil || lines < n-200-10 {
			t.Errorf("tcpdump: %v, %d lines", err, lines)
		}
	}
	w := open(t, o)
	write(t, w, n, n+5)
	finish(t, w)
	names = list(t, dir)
	if len(names) != 4 || slices.ContainsFunc(names, func(s string) bool { return strings.HasSuffix(s, partSuffix) }) {
		t.Errorf("after a restart: %q", names)
	}
}

// TestInSandbox: a ring goes on where nothing but its folder can be reached.
func TestInSandbox(t *testing.T) {
	dir := t.TempDir()
	_, line := child.Start(t, orders{Sandbox: true, Packets: 100,
		Path: filepath.Join(dir, "a.pcapng"), Time: time.Second, Files: 3})
	if line != "done 100 10 7 0" {
		t.Error(line)
	}
	if got, _ := all(t, dir); !slices.Equal(got, upTo(100)[70:]) {
		t.Errorf("%v", got)
	}
	if l := locks(t, dir); len(l) > 0 {
		t.Errorf("left over: %q", l)
	}
}
