package fleettest

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// diskSize is that of the disk which is too small: for less than a minute of a sensor.
const diskSize = 128 << 10

// TestDiskFull: a sensor whose broker is away, and whose disk has no room for its spool, delivers what it
// made all the same, or counts it.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	spool := filepath.Join(dir, "host-000")
	if err := os.Mkdir(spool, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", spool, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("no disk of its own (it takes root): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(spool, 0); err != nil {
			t.Error(err)
		}
	})
	KeepClock(t)
	synctest.Test(t, func(t *testing.T) {
		c := newChain(t, dir, 2, 4<<20)
		c.at(time.Minute, func() { c.cut(c.Hosts[:1]) })
		var room uint64
		c.at(4*time.Minute, func() { room = roomIn(t, spool) })
		c.at(5*time.Minute, func() { c.mend(c.Hosts[:1]) })
		c.PlayDay(6 * time.Minute)
		c.run(6 * time.Minute)
		if room > 16<<10 {
			t.Errorf("%d of %d bytes of the disk are free: it was not full", room, diskSize)
		}
		made, lost, saved := c.checkLosses()
		t.Logf("%d messages, %d lost and counted, %d came only as they were published again", made, lost, saved)
		if v := c.view(); v.Counters.Messages != made-lost {
			t.Errorf("the hub took %d messages\nthe sensors made %d, of which %d were lost", v.Counters.Messages, made, lost)
		}
	})
}

// roomIn returns how many bytes are free where a folder is.
func roomIn(t *testing.T, dir string) uint64 {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return s.Bavail * uint64(s.Bsize)
}
