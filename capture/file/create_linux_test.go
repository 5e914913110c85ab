package file

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"qsniff/capture"
)

// create creates a file and writes n packets to it.
func create(t *testing.T, path string, n int) *Writer {
	t.Helper()
	w, err := Create(path, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	for i := range n {
		if err := w.Write(&capture.Packet{Nanos: int64(i), Data: []byte("data"), Wire: 4, Link: 1}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// packetsIn counts the packets of a file.
func packetsIn(t *testing.T, path string) int {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	packets, _ := readBack(t, b)
	return len(packets)
}

// TestCreateTwice: a file that is there is refused and stays as it is, replaced only if
// that is asked for, and not even then while another capture is writing it.
func TestCreateTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pcapng")
	first := create(t, path, 50)
	if err := first.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, replace := range []bool{false, true} {
		refused(t, path, replace, "another capture is writing this file")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	refused(t, path, false, "there is a file of this name")
	if n := packetsIn(t, path); n != 50 {
		t.Errorf("the first: %d packets, want 50", n)
	}
	linked := path + ".old"
	if err := os.Link(path, linked); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	w, err := Create(path, WriteOptions{Replace: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := packetsIn(t, path); n != 0 {
		t.Errorf("the second: %d packets, want none", n)
	}
	if n := packetsIn(t, linked); n != 50 {
		t.Errorf("another link to the first: %d packets, want 50", n)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the second can be read by others: %v, %v", info.Mode(), err)
	}
}

// refused wants Create to refuse a path at once and for that reason.
func refused(t *testing.T, path string, replace bool, reason string) {
	t.Helper()
	_, err := Create(path, WriteOptions{Replace: replace})
	var e *Error
	if !errors.As(err, &e) || e.Reason != reason || e.Hint == "" {
		t.Errorf("%s, replace %v:\ngot  %v\nwant %s", path, replace, err, reason)
	}
}

// TestCreateOnlyFiles: what is no regular file is neither followed nor waited for.
func TestCreateOnlyFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(at("secret"), []byte("keep me"), 0o600), os.Symlink(at("secret"), at("link")),
		os.Symlink(at("nowhere"), at("dangling")), syscall.Mkfifo(at("fifo"), 0o600), os.Mkdir(at("folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, replace := range []bool{false, true} {
		refused(t, at("link"), replace, "a symbolic link is in the way: packets could end up in any file")
		refused(t, at("dangling"), replace, "a symbolic link is in the way: packets could end up in any file")
		refused(t, at("fifo"), replace, "is a pipe, not a file")
		refused(t, at("folder"), replace, "is a directory")
		refused(t, os.DevNull, replace, "is a device or a socket, not a file")
	}
	if got, err := os.ReadFile(at("secret")); err != nil || string(got) != "keep me" {
		t.Errorf("what the link points to: %q, %v", got, err)
	}
	if _, err := os.Lstat(at("nowhere")); err == nil {
		t.Error("what the dangling link points to was made")
	}
}

// TestCreateForCaller: under sudo a file belongs to the user who called it, and without to root.
func TestCreateForCaller(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may give a file away")
	}
	for _, tc := range []struct {
		name, uid, gid string
		want           uint32
	}{{"none", "", "", 0}, {"user", "65534", "65534", 65534}, {"no-number", "me", "65534", 0}, {"no-group", "65534", "", 0}} {
		t.Setenv("SUDO_UID", tc.uid)
		t.Setenv("SUDO_GID", tc.gid)
		f, err := CreateFile(filepath.Join(t.TempDir(), tc.name), false)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Sys().(*syscall.Stat_t).Uid; got != tc.want {
			t.Errorf("%s\ngot  the file of %d\nwant %d", tc.name, got, tc.want)
		}
	}
}
