package messenger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"qsniff/capture/file"
	"qsniff/internal/monitor/notify"
)

// fileSink appends notes as lines to a file. It follows no symbolic links and writes to nothing
// but a regular file. It works in the folder through a handle.
type fileSink struct {
	path  string
	base  string
	root  *os.Root
	most  int64 // bytes after which another file begins; 0: no limit
	old   int   // files that stay beside it
	f     *os.File
	size  int64
	isCut bool          // part of a line could be neither finished nor taken back
	reset chan struct{} // reopen was called
}

// openFile opens the file of a configuration. Errors are of type *file.Error.
func openFile(c *notify.Config) (*fileSink, error) {
	s := &fileSink{path: c.File, base: filepath.Base(c.File), most: c.FileSize, old: c.FileCount, reset: make(chan struct{}, 1)}
	var err error
	if s.root, err = os.OpenRoot(filepath.Dir(c.File)); err != nil {
		return nil, file.WriteError(c.File, err)
	}
	if err = s.open(); err != nil {
		s.root.Close()
		return nil, err
	}
	return s, nil
}

func (s *fileSink) name() string { return "file " + s.path }

// errNoFile is that something else than a file has the name.
var errNoFile = errors.New("is no regular file: a symbolic link, a folder, a pipe or a device is in the way")

// open opens the file that has the name, or makes it.
func (s *fileSink) open() error {
	f, err := s.root.OpenFile(s.base, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, fileMode)
	if errors.Is(err, fs.ErrExist) {
		var info, opened fs.FileInfo
		if info, err = s.root.Lstat(s.base); err == nil && !info.Mode().IsRegular() {
			return &file.Error{File: s.path, Offset: -1, Err: errNoFile, Reason: errNoFile.Error(), Hint: "name a file of its own"}
		}
		if err == nil {
			f, err = s.root.OpenFile(s.base, os.O_WRONLY|os.O_APPEND|openSame, 0)
		}
		if err == nil {
			if opened, err = f.Stat(); err == nil && !os.SameFile(info, opened) {
				f.Close()
				err = errNoFile
			}
		}
	}
	if err != nil {
		return file.WriteError(s.path, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return file.WriteError(s.path, err)
	}
	s.f, s.size = f, info.Size()
	return nil
}

// reopen has the file opened by its name before the next line, for those who have renamed it.
func (s *fileSink) reopen() {
	select {
	case s.reset <- struct{}{}:
	default:
	}
}

// send appends a note. A line that could be written in part only is taken back.
func (s *fileSink) send(_ context.Context, n *notify.Note, lost uint64) error {
	line := append(append([]byte(nil), n.Line...), '\n')
	if lost > 0 {
		line = append(fmt.Appendf(nil, `{"schema":1,"record":"lost","count":%d}`+"\n", lost), line...)
	}
	if err := s.prepare(int64(len(line))); err != nil {
		return withoutName(err)
	}
	if s.isCut {
		line = append([]byte{'\n'}, line...)
	}
	if n, err := s.f.Write(line); err != nil {
		s.isCut = n > 0 && s.f.Truncate(s.size) != nil
		return withoutName(file.WriteError(s.path, err))
	}
	s.isCut = false
	s.size += int64(len(line))
	return nil
}

// withoutName returns an error about the file without its name, which the name of the sink has.
func withoutName(err error) error {
	var e *file.Error
	if errors.As(err, &e) {
		return errors.New(e.Reason)
	}
	return err
}

// prepare makes the file that has the name the one that is written, with room for so many bytes.
func (s *fileSink) prepare(length int64) error {
	select {
	case <-s.reset:
		s.closeFile()
	default:
	}
	if s.f != nil { // it may have been renamed or removed by others
		now, err := s.root.Lstat(s.base)
		mine, errMine := s.f.Stat()
		if err != nil || errMine != nil || !os.SameFile(now, mine) {
			s.closeFile()
		}
	}
	if s.f == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	if s.most > 0 && s.size > 0 && s.size+length > s.most {
		return s.rotate()
	}
	return nil
}

// rotate renames the file to NAME.1, that one to NAME.2 and so on, and begins another.
func (s *fileSink) rotate() error {
	s.closeFile()
	var err error
	if s.old == 0 {
		err = s.root.Remove(s.base)
	}
	for i := s.old; i > 0; i-- {
		from := s.base
		if i > 1 {
			from += "." + strconv.Itoa(i-1)
		}
		if e := s.root.Rename(from, s.base+"."+strconv.Itoa(i)); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = e
		}
	}
	if err != nil {
		return file.WriteError(s.path, err)
	}
	return s.open()
}

func (s *fileSink) closeFile() {
	if s.f != nil {
		s.f.Close()
		s.f = nil
	}
}

func (s *fileSink) close() error {
	s.closeFile()
	return s.root.Close()
}

// fileMode lets only their owner read new files: they have addresses.
const fileMode = 0o600
