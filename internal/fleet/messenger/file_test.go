package messenger

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"qsniff/internal/monitor/notify"
)

// openTestFile opens a file sink, which the test closes.
func openTestFile(t *testing.T, c notify.Config) *fileSink {
	t.Helper()
	s, err := openFile(&c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close() })
	return s
}

func sendAll(t *testing.T, s sink, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := s.send(context.Background(), note(i, notify.Begins), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// idsIn returns the ids in the lines of files, in their order. Each line has to be whole.
func idsIn(t *testing.T, names ...string) (ids []int) {
	t.Helper()
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for in := bufio.NewScanner(f); in.Scan(); {
			var line struct {
				Record string
				ID     int
			}
			if err := json.Unmarshal(in.Bytes(), &line); err != nil {
				t.Errorf("%s: %v in %q", name, err, in.Text())
			}
			if line.Record == "incident" {
				ids = append(ids, line.ID)
			}
		}
		f.Close()
	}
	return ids
}

// checkRun wants the ids from first on without a gap.
func checkRun(t *testing.T, what string, ids []int, first, n int) {
	t.Helper()
	if len(ids) != n {
		t.Fatalf("%s: %d lines, want %d: %v", what, len(ids), n, ids)
	}
	for i, id := range ids {
		if id != first+i {
			t.Fatalf("%s: line %d is %d, want %d", what, i, id, first+i)
		}
	}
}

// TestFileRotates: files are no longer than the limit, the newest old ones stay, and no line is
// lost between them.
func TestFileRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	s := openTestFile(t, notify.Config{File: path, FileSize: 1000, FileCount: 2})
	sendAll(t, s, 100, 150) // 13 lines of 76 bytes in each
	checkRun(t, "all", idsIn(t, path+".2", path+".1", path), 113, 37)
	for _, name := range []string{path, path + ".1", path + ".2"} {
		if info, err := os.Stat(name); err != nil || info.Size() > 1000 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if _, err := os.Stat(path + ".3"); err == nil {
		t.Error("a third old file stays")
	}
	s = openTestFile(t, notify.Config{File: path, FileSize: 1000}) // no old files
	sendAll(t, s, 150, 170)
	if n := len(idsIn(t, path)); n == 0 || n > 13 {
		t.Errorf("without old files: %d lines", n)
	}
}

// TestFileAppends: what earlier runs wrote stays, and counts.
func TestFileAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	for i := range 3 {
		s := openTestFile(t, notify.Config{File: path, FileSize: 1000, FileCount: 1})
		sendAll(t, s, 100+5*i, 105+5*i)
		s.close()
	}
	checkRun(t, "old", idsIn(t, path+".1"), 100, 13)
	checkRun(t, "new", idsIn(t, path), 113, 2)
}

// TestFileRenamed: whoever rotates files by renaming finds the next line in a new file, with and
// without being asked to open it anew.
func TestFileRenamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	s := openTestFile(t, notify.Config{File: path})
	for round, asks := range []bool{true, false} {
		sendAll(t, s, 10*round, 10*round+3)
		old := path + ".moved"
		if err := os.Rename(path, old); err != nil {
			t.Fatal(err)
		}
		if asks {
			s.reopen()
		}
		sendAll(t, s, 10*round+3, 10*round+5)
		checkRun(t, "moved", idsIn(t, old), 10*round, 3)
		checkRun(t, "new", idsIn(t, path), 10*round+3, 2)
		if err := os.Remove(path); err != nil { // in the second round it is removed
			t.Fatal(err)
		}
	}
}

// TestReopenWhileRotating: SIGHUP may come in the midst of rotations.
func TestReopenWhileRotating(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	s := openTestFile(t, notify.Config{File: path, FileSize: 400, FileCount: 200})
	stop := make(chan struct{})
	var hangup sync.WaitGroup
	hangup.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				s.reopen()
			}
		}
	})
	sendAll(t, s, 1000, 1500)
	close(stop)
	hangup.Wait()
	seen := map[int]int{}
	names, _ := filepath.Glob(path + "*")
	for _, id := range idsIn(t, names...) {
		seen[id]++
	}
	if len(seen) != 500 || len(names) < 50 {
		t.Errorf("%d lines in %d files, want 500 in a hundred", len(seen), len(names))
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%d is there %d times", id, n)
		}
	}
}

// TestFileOnlyFiles: what is no regular file is neither followed nor waited for, at the start and
// when the file is opened anew.
func TestFileOnlyFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(at("secret"), []byte("keep me"), 0o600), os.Symlink("secret", at("link")),
		os.Symlink("nowhere", at("dangling")), syscall.Mkfifo(at("fifo"), 0o600), os.Mkdir(at("folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "dangling", "fifo", "folder"} {
		if _, err := openFile(&notify.Config{File: at(name)}); err == nil || !strings.Contains(err.Error(), "is no regular file") {
			t.Errorf("%s: %v", name, err)
		}
		s := openTestFile(t, notify.Config{File: at("a.jsonl")})
		sendAll(t, s, 1, 2)
		if err := errors.Join(os.Remove(at("a.jsonl")), os.Rename(at(name), at("a.jsonl"))); err != nil {
			t.Fatal(err)
		}
		if err := s.send(context.Background(), note(2, notify.Begins), 0); err == nil || !strings.Contains(err.Error(), "is no regular file") {
			t.Errorf("%s in the way: %v", name, err)
		}
		if err := os.Rename(at("a.jsonl"), at(name)); err != nil {
			t.Fatal(err)
		}
		sendAll(t, s, 2, 3)
		checkRun(t, "when it is gone", idsIn(t, at("a.jsonl")), 2, 1)
		os.Remove(at("a.jsonl"))
	}
	if b, err := os.ReadFile(at("secret")); err != nil || string(b) != "keep me" {
		t.Errorf("what the link points to: %q, %v", b, err)
	}
	if _, err := os.Lstat(at("nowhere")); err == nil {
		t.Error("what the dangling link points to was made")
	}
}
