package ring

import (
	"errors"
	"io/fs"
	"os"

	"qsniff/capture/file"
	"qsniff/internal/base/flock"
)

// lock locks the ring until unlock, or returns an error if another run holds it.
// Files that are being written are locked themselves, but between two of them there
// may be none for long; so a hidden file beside them is locked. One that a killed
// run left there is not locked, and is used again.
//
// The lock file is opened for reading, so that the file system can be made
// read-only meanwhile. NFS locks files only if they are open for writing; there the
// ring has only the locks of its files.
func (w *Writer) lock() error {
	name := w.names.lockName()
	for range lockTries {
		f, err := w.root.OpenFile(name, os.O_CREATE|os.O_RDONLY, fileMode)
		if errors.Is(err, fs.ErrPermission) && w.exists(name) {
			return nil // of another user, who may have been killed long ago
		}
		if err != nil {
			return file.WriteError(w.names.pathOf("."), err)
		}
		if !flock.TryLock(f) {
			f.Close()
			return busyError(w.names.pathOf(w.names.prefix + w.names.ext))
		}
		w.lockFile = f
		if w.ownsLock(name) {
			return nil
		}
		w.lockFile = nil // it was removed before it was locked
		f.Close()
	}
	return nil
}

// unlock removes the lock file and releases the ring.
func (w *Writer) unlock() {
	if w.lockFile == nil {
		return
	}
	if name := w.names.lockName(); w.ownsLock(name) {
		_ = w.root.Remove(name) // else it is left over
	}
	w.lockFile.Close()
	w.lockFile = nil
}

// ownsLock reports whether the file of that name is the one that this run locked.
func (w *Writer) ownsLock(name string) bool {
	mine, err := w.lockFile.Stat()
	if err != nil {
		return false
	}
	now, err := w.root.Stat(name)
	return err == nil && os.SameFile(mine, now)
}

// exists reports whether there is a file of that name in the folder.
func (w *Writer) exists(name string) bool {
	_, err := w.root.Lstat(name)
	return err == nil
}

func busyError(path string) error {
	return &file.Error{File: path, Offset: -1, Err: fs.ErrExist,
		Reason: "another capture is writing this ring", Hint: "end it, or choose another name"}
}
