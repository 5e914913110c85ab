package messenger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"qsniff/internal/monitor/notify"
	"syscall"
	"testing"
	"time"
)

// TestFileDiskFull: a disk that is full for a while costs no line that fits the queue, and no line
// is cut.
func TestFileDiskFull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount a small file system")
	}
	dir := t.TempDir()
	if err := syscall.Mount("qsniff-test", dir, "tmpfs", 0, "size=16k"); err != nil {
		t.Skip("cannot mount a small file system: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	path, ballast := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "ballast")
	var log notebook
	c := &emptiesDisk{fakeClock: newFakeClock(), ballast: ballast, after: 20}
	p := newPost(openTestFile(t, notify.Config{File: path}), c, log.add, 1)
	var notes []*notify.Note
	for i := range 100 { // 7,600 bytes: the disk is full in the midst of a line
		notes = append(notes, note(100+i, notify.Begins))
	}
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := os.Truncate(ballast, 12<<10); err != nil {
		t.Fatal(err)
	}
	tellAll(t, p, notes...)
	checkRun(t, "lines", idsIn(t, path), 100, 100)
	if n := p.sinkCounts(); n.Sent != 100 || n.Retried != 20 || n.Refused != 0 {
		t.Errorf("%+v", n)
	}
	if want := "file " + path + ": no space left on the disk"; log.String() != want {
		t.Errorf("logged\ngot  %s\nwant %s, once", &log, want)
	}
}

// emptiesDisk is a clock by which the disk is emptied after so many waits.
type emptiesDisk struct {
	*fakeClock
	ballast string
	after   int
}

func (c *emptiesDisk) sleep(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		if c.after--; c.after == 0 {
			os.Remove(c.ballast)
		}
	}
	return c.fakeClock.sleep(ctx, d)
}
