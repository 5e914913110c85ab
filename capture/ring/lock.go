package ring

import (
	"errors"
	"io/fs"
	"os"

	"qsniff/capture/file"
	"qsniff/internal/flock"
)

// lock takes the ring, until unlock: files that are being written say that they
// are, but there may be none for long. For that there is a file beside them, hidden
// so that nobody takes it for one of them. One that is left over is not locked,
// and is used again.
//
// It is opened for reading, so that it does not keep anybody from making the file
// system read-only. NFS wants files for writing, and is left with the locks of the
// ring's files.
func (w *Writer) lock() error {
	name := w.names.lock()
	for range lockTries {
		f, err := w.root.OpenFile(name, os.O_CREATE|os.O_RDONLY, mode)
		if errors.Is(err, fs.ErrPermission) && w.exists(name) {
			return nil // of another user, who may have been killed long ago
		}
		if err != nil {
			return file.WriteError(w.names.path("."), err)
		}
		if !flock.Take(f) {
			f.Close()
			return busy(w.names.path(w.names.prefix + w.names.ext))
		}
		w.locked = f
		if w.holds(name) {
			return nil
		}
		w.locked = nil // it was removed before it was locked
		f.Close()
	}
	return nil
}

// unlock gives the ring back.
func (w *Writer) unlock() {
	if w.locked == nil {
		return
	}
	if name := w.names.lock(); w.holds(name) {
		_ = w.root.Remove(name) // else it is left over
	}
	w.locked.Close()
	w.locked = nil
}

// holds says that the file of that name is the one that is locked.
func (w *Writer) holds(name string) bool {
	mine, err := w.locked.Stat()
	if err != nil {
		return false
	}
	now, err := w.root.Stat(name)
	return err == nil && os.SameFile(mine, now)
}

func (w *Writer) exists(name string) bool {
	_, err := w.root.Lstat(name)
	return err == nil
}

func busy(path string) error {
	return &file.Error{File: path, Offset: -1, Err: fs.ErrExist,
		Reason: "another capture is writing this ring", Hint: "end it, or choose another name"}
}
