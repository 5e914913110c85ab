package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"qsniff/internal/base/flock"
)

// Create creates the capture file of that name, in the format of FormatOf; "-" is
// standard output, which gets pcapng. It overwrites nothing unless o.Replace is set, and
// then only a regular file that no other capture is writing: a new one takes its place,
// so that links to the old one, and programs that have it open, keep the old content.
// Only its owner can read the file: captures hold passwords. Errors are of type *Error.
// If there is no room for the header, Write returns the error, as for packets.
func Create(name string, o WriteOptions) (*Writer, error) {
	if name == stdinArg {
		return NewWriter(os.Stdout, "standard output", o), nil
	}
	format, err := FormatOf(name)
	if err != nil {
		return nil, err
	}
	if !o.HasFormat {
		o.Format = format
	}
	f, err := CreateFile(name, o.Replace)
	if err != nil {
		return nil, err
	}
	flock.TryLock(f) // so that no other capture replaces it
	w := NewWriter(f, name, o)
	w.closer = f
	w.writeEarlyHeader()
	return w, nil
}

// CreateFile creates a file of any kind. It replaces a regular file of the same name if replace
// is set, and never what is no regular file.
func CreateFile(name string, replace bool) (*os.File, error) {
	f, err := createNew(name)
	if errors.Is(err, fs.ErrExist) {
		if err := makeRoom(name, replace); err != nil {
			return nil, err
		}
		f, err = createNew(name)
	}
	if err != nil {
		return nil, WriteError(name, err)
	}
	return f, nil
}

// createNew creates a file where nothing has that name, not even a symbolic link.
func createNew(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		giveToCaller(f)
	}
	return f, err
}

// giveToCaller gives a new file to the user who called sudo: who captures as root reads the capture as that user. Where
// that fails the file stays root's.
func giveToCaller(f *os.File) {
	uid, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 31)
	gid, wrong := strconv.ParseUint(os.Getenv("SUDO_GID"), 10, 31)
	if err == nil && wrong == nil && os.Geteuid() == 0 {
		_ = f.Chown(int(uid), int(gid)) // some file systems have no owners
	}
}

// CheckCreate returns the error with which CreateFile would fail, and leaves everything as it was.
func CheckCreate(name string, replace bool) error {
	if _, err := os.Lstat(name); err == nil {
		if err := checkOld(name, replace); err != nil {
			return err
		}
	}
	return CheckFolder(filepath.Dir(name))
}

// CheckFolder returns an error if no file can be created in a folder: it creates one, and removes
// it.
func CheckFolder(folder string) error {
	f, err := os.CreateTemp(folder, ".qsniff-check-*")
	if err != nil {
		return WriteError(filepath.Join(folder, "."), err)
	}
	f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return WriteError(f.Name(), err)
	}
	return nil
}

// makeRoom removes the file that has the name of a new one, if it may be replaced.
func makeRoom(name string, replace bool) error {
	if err := checkOld(name, replace); err != nil {
		return err
	}
	if err := os.Remove(name); err != nil {
		return WriteError(name, err)
	}
	return nil
}

// checkOld returns an error that names what has the name of a new file, unless it may be replaced: a
// regular file that no capture is writing, and replace is set.
func checkOld(name string, replace bool) error {
	refuse := func(reason, hint string) error {
		return &Error{File: name, Offset: wholeFile, Err: fs.ErrExist, Reason: reason, Hint: hint}
	}
	info, err := os.Lstat(name)
	if err != nil {
		return WriteError(name, err)
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return refuse("a symbolic link is in the way: packets could end up in any file", "name the file itself, or remove the link")
	case mode.IsDir():
		return refuse("is a directory", "name a file in it")
	case mode&fs.ModeNamedPipe != 0:
		return refuse("is a pipe, not a file", "tcpdump -U -w - writes packets to a pipe; qsniff reads them as -")
	case !mode.IsRegular():
		return refuse("is a device or a socket, not a file", "name a file; without -w nothing is written")
	}
	old, err := os.OpenFile(name, os.O_RDONLY|openSame, 0)
	if err != nil && replace {
		return WriteError(name, err)
	}
	if err == nil {
		defer old.Close()
		if !flock.TryLock(old) {
			return refuse("another capture is writing this file", "end it, or choose another name")
		}
	}
	if !replace {
		return refuse("there is a file of this name", "choose another name, or overwrite it with --force")
	}
	return nil
}
