package file

import (
	"errors"
	"io"
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

// TestCreateTwice: a file that is being written is refused and stays as it is; one
// that was written is emptied.
func TestCreateTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pcapng")
	first := create(t, path, 50)
	if err := first.Flush(); err != nil {
		t.Fatal(err)
	}
	_, err := Create(path, WriteOptions{})
	var e *Error
	if !errors.As(err, &e) || err.Error() != path+": another capture is writing this file" || e.Hint == "" {
		t.Errorf("beside another: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if n := packetsIn(t, path); n != 50 {
		t.Errorf("the first: %d packets, want 50", n)
	}
	if err := create(t, path, 3).Close(); err != nil {
		t.Fatal(err)
	}
	if n := packetsIn(t, path); n != 3 {
		t.Errorf("the second: %d packets, want 3", n)
	}
}

// TestCreateDevices: what is no regular file is neither locked nor emptied.
func TestCreateDevices(t *testing.T) {
	a, b := create(t, os.DevNull, 10), create(t, os.DevNull, 10)
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Error(err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenFile(fifo, os.O_RDWR, 0) // does not wait for the other end
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a, b = create(t, fifo, 10), create(t, fifo, 0)
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	got := make([]byte, a.Stats().Bytes)
	if _, err := io.ReadFull(r, got); err != nil {
		t.Fatal(err)
	}
	if packets, _ := readBack(t, got); len(packets) != 10 {
		t.Errorf("through a pipe: %d packets, want 10", len(packets))
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
