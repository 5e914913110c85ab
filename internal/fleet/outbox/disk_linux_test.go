package outbox

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"qsniff/internal/test/natstest"
	"qsniff/internal/test/timing"
)

// smallDisk mounts a disk of some size.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("qsniff-test", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	return dir
}

// fill takes what room a disk has.
func fill(t *testing.T, dir string) (ballast string) {
	t.Helper()
	ballast = filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for b := make([]byte, 4096); ; {
		if _, err := f.Write(b); err != nil {
			return ballast
		}
	}
}

// TestDiskFull: a disk that is full leaves messages in memory; once there is room they are written, and
// all come in order.
func TestDiskFull(t *testing.T) {
	b := natstest.Start(t, nil)
	makeStream(t, b.Connect())
	b.Stop()
	dir := smallDisk(t, "1m")
	opt := Options{URLs: b.URL(), Spool: filepath.Join(dir, "spool"), Size: LeastSpool}
	o := run(t, opt)
	o.put("a", 1, 100)
	timing.Await(t, "a file", func() bool { all, _ := filepath.Glob(filepath.Join(opt.Spool, "*.qsniff")); return len(all) == 1 })
	ballast := fill(t, dir)
	o.put("a", 101, 2000)
	o.awaitLog("the spool " + opt.Spool + ": no space left on device; messages stay in memory")
	if c := o.Counts(); c.Waiting != 2000 || c.Dropped != 0 {
		t.Errorf("%+v", c)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	o.awaitLog("the spool " + opt.Spool + ": works again")
	o.put("a", 2001, 2100)
	timing.Await(t, "the messages", func() bool { return o.Counts().Waiting == 2100 })
	o.kill() // memory has nothing that the disk has not
	b.Restart()
	o = run(t, opt)
	o.awaitSent(2100)
	if c := o.finish(); c != (Counts{Sent: 2100}) {
		t.Errorf("%+v", c)
	}
	checkStream(t, numbers(t, b.Connect()), "a 1 2100")
}

// TestSpoolIsFull: of what the spool has no room for the oldest goes, and is counted; a start with a
// smaller spool has no more than that. What is left is sent in order.
func TestSpoolIsFull(t *testing.T) {
	b := natstest.Start(t, nil)
	makeStream(t, b.Connect())
	b.Stop()
	opt := Options{URLs: b.URL(), Spool: filepath.Join(t.TempDir(), "spool"), Size: LeastSpool}
	o := run(t, opt)
	const all = 300
	for no := 1; no <= all; no++ { // 32 KiB each: 9.4 MiB
		m := message("a", no)
		m.Line = append(m.Line, strings.Repeat(" ", 32<<10)...)
		o.Put(m)
		timing.Await(t, "the spool", func() bool {
			o.mu.Lock()
			defer o.mu.Unlock()
			return o.bytes == 0 && o.counts.Waiting+int(o.counts.Dropped) == no
		})
	}
	o.awaitLog("no room: the oldest messages that the broker has not taken are dropped")
	c := o.finish()
	if used := spoolSize(t, opt.Spool); used > LeastSpool || used < LeastSpool/2 {
		t.Errorf("the spool has %d bytes", used)
	}
	if c.Waiting+int(c.Dropped) != all || c.Dropped < 150 {
		t.Errorf("%+v", c)
	}
	b.Restart()
	o = run(t, opt)
	o.awaitSent(uint64(c.Waiting))
	o.finish()
	got := numbers(t, b.Connect())
	if len(got) != c.Waiting || got[0] != message("a", all-len(got)+1).ID || got[len(got)-1] != message("a", all).ID {
		t.Errorf("%d messages, of %d, from %v on", len(got), c.Waiting, got[:1])
	}
}

// spoolSize returns how many bytes the files of a spool have.
func spoolSize(t *testing.T, dir string) (n int64) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// TestSpoolIsTorn: torn, changed and foreign records, and files that are none, cost what they are and
// nothing else, and are counted.
func TestSpoolIsTorn(t *testing.T) {
	b := natstest.Start(t, nil)
	makeStream(t, b.Connect())
	dir := t.TempDir()
	put := func(name string, file []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	records := func(all ...*Message) []byte {
		file := []byte(magic)
		for _, m := range all {
			file = appendRecord(file, m)
		}
		return file
	}
	torn := records(message("a", 1), message("a", 2))
	put("0000000000000001.qsniff", torn[:len(torn)-3])
	flipped := records(message("a", 3), message("a", 4), message("a", 5))
	flipped[len(flipped)/2] ^= 1
	put("0000000000000002.qsniff", flipped)
	put("0000000000000003.qsniff", append(records(message("a", 6)), make([]byte, 4096)...)) // as after a loss of power
	put("0000000000000004.qsniff", []byte("something else"))
	put("0000000000000005.qsniff", nil)
	other := message("b", 1)
	other.ID = "web-2/b/1"
	done := records(message("a", 7), other, message("a", 8))
	done[len(magic)] = stateDone
	put("0000000000000006.qsniff", done)
	put("notes.txt", []byte("not of the spool"))
	o := run(t, Options{URLs: b.URL(), Spool: dir, Size: LeastSpool})
	o.put("c", 1, 1)
	o.awaitSent(5)
	c := o.finish()
	if c != (Counts{Sent: 5, Dropped: 4, Refused: 1}) {
		t.Errorf("%+v", c)
	}
	if log := o.said(); !strings.Contains(log, "4 files in it end within a record") || !strings.Contains(log, "1 messages in it were of another sensor") {
		t.Errorf("%s", log)
	}
	checkStream(t, numbers(t, b.Connect()), "a 1 1", "a 3 3", "a 6 6", "a 8 8", "c 1 1")
	checkFolder(t, dir, 0)
	if _, err := os.Stat(filepath.Join(dir, "notes.txt")); err != nil {
		t.Error(err)
	}
}

// TestSpoolIsUsed: one spool has one user.
func TestSpoolIsUsed(t *testing.T) {
	t.Parallel()
	opt := Options{URLs: "nats://127.0.0.1:1", Spool: t.TempDir(), Size: LeastSpool}
	o := run(t, opt)
	if err := Check(opt); err != nil {
		t.Errorf("a check while it is used: %v", err)
	}
	if _, err := Open(opt); err == nil || !strings.Contains(err.Error(), "another qsniff uses it") {
		t.Errorf("got %v", err)
	}
	o.kill()
	second, err := Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	second.Discard()
}
