package file

import (
	"errors"
	"io"
	"os"
	"syscall"

	"qsniff/capture"
)

// Follow reads a capture that is still being written, and goes on when there is
// more: at the end of the file it calls the function given with the option Wait
// and looks again. Without that option it ends there. A record that is not
// complete is not there yet, unless the file is over: replaced by another of
// that name, which is read next, or made shorter, after which it is read from
// its start.
//
// If name is a directory, its captures are read from the oldest on, by the time
// of their first packets, and the end of one is the end once another begins
// later; so a ring of files can be followed, whether it deletes old files or
// overwrites them.
//
// A compressed file is whole: a compressor holds back what it has, so that waiting
// for more would hold back packets that are there.
//
// Packets are numbered through. What a file lost by being cut off is a gap. That
// a file is no capture is told by Read, since it may not have a header yet.
func Follow(name string, opts ...Option) (capture.Source, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, systemError(name, err)
	}
	f := &follower{name: name, wait: optionsOf(opts).wait}
	if f.wait == nil {
		f.wait = func() error { return io.EOF }
	}
	if info.IsDir() {
		f.ring = &ring{directory: name, known: make(map[string]seen)}
	} else if info.Mode().IsRegular() {
		f.next = name
	} else {
		return Open(name, opts...) // a pipe tells its end itself
	}
	return f, nil
}

// follower is the Source that Follow returns.
type follower struct {
	name string
	wait func() error
	ring *ring // nil: one file

	reader *Reader // nil: the next file is to be opened
	tail   *tail   // its input
	next   string  // file to read next, "" if that is to be found
	begun  bool    // packets of the file have been read
	past   capture.Stats
	first  error // the first damage
	err    error // what Read returns from now on
}

// Read fills b with packets of one file.
func (f *follower) Read(b *capture.Batch) error {
	b.Reset()
	for f.err == nil {
		if f.reader == nil {
			if f.err = f.open(); f.err != nil {
				break
			}
		}
		err := f.reader.Read(b)
		for i := range b.Packets {
			b.Packets[i].No += f.past.Received
		}
		if err == nil {
			if f.ring != nil && len(b.Packets) > 0 && !f.begun {
				f.ring.current, f.begun = begun{f.tail.path, b.Packets[0].Nanos}, true
			}
			return nil
		}
		f.close(b, err)
		if len(b.Gaps) > 0 {
			return nil
		}
	}
	return f.err
}

// open opens the next file and waits for its header.
func (f *follower) open() error {
	for {
		if f.next == "" {
			var err error
			if f.next, err = f.ring.newer(""); err != nil {
				return err
			}
		}
		if f.next != "" {
			file, err := os.Open(f.next)
			if err == nil {
				f.tail = &tail{path: f.next, file: file, follower: f, whole: isPacked(file)}
				break
			}
			if !errors.Is(err, os.ErrNotExist) {
				return systemError(f.next, err)
			}
			if f.ring != nil {
				f.next = "" // finished in between, and renamed: to be found again
			}
		}
		if err := f.wait(); err != nil { // not there yet
			return f.ended(err)
		}
	}
	r, err := NewReader(f.tail, f.next)
	f.next = ""
	if err != nil {
		f.tail.file.Close()
		if f.tail.stopped != nil {
			return f.ended(f.tail.stopped)
		}
		return err
	}
	f.reader, f.begun = r, false
	return nil
}

// close ends a file that ended with err: with io.EOF, in its last record, or
// because it cannot be read on. Once wait has ended the capture, a last record
// that is not complete is not there yet.
func (f *follower) close(b *capture.Batch, err error) {
	r, t := f.reader, f.tail
	var damage *Error
	if t.over && errors.As(err, &damage) && !errors.Is(err, ErrGap) &&
		!(t.stopped != nil && errors.Is(err, io.ErrUnexpectedEOF)) {
		r.addGap(b, r.offset+int64(len(r.spare))-damage.Offset, damage)
	}
	if f.first == nil && r.first != nil {
		f.first = r.gapsError()
	}
	switch {
	case t.stopped != nil:
		f.err = f.ended(t.stopped)
	case !t.over, t.whole && f.ring == nil && err != io.EOF:
		f.err = err
	case t.whole && f.ring == nil:
		f.err = f.ended(io.EOF)
	}
	f.past = f.Stats()
	f.next = t.next
	f.reader = nil
	t.file.Close()
}

// ended is what Read returns after wait has returned err.
func (f *follower) ended(err error) error {
	if err == io.EOF && f.first != nil {
		return f.first
	}
	return err
}

// Stats adds up those of all files so far. Size is not known.
func (f *follower) Stats() capture.Stats {
	sum := f.past
	if f.reader != nil {
		s := f.reader.Stats()
		sum.Received += s.Received
		sum.Dropped += s.Dropped
		sum.Bytes += s.Bytes
		sum.Gaps += s.Gaps
		sum.Skipped += s.Skipped
	}
	return sum
}

// Interfaces are those of the file that is being read.
func (f *follower) Interfaces() []capture.Interface {
	if f.reader == nil {
		return nil
	}
	return f.reader.Interfaces()
}

// Close closes the file that is being read.
func (f *follower) Close() error {
	if f.err == nil {
		f.err = os.ErrClosed
	}
	if f.reader == nil {
		return nil
	}
	f.reader = nil
	return f.tail.file.Close()
}

// tail is a file that has no end while it may grow.
type tail struct {
	path     string
	file     *os.File
	follower *follower
	read     int64  // bytes
	over     bool   // there is nothing more to come
	whole    bool   // a compressed file: it was written at once and does not grow
	next     string // the file that follows
	stopped  error  // what wait returned
}

// Read reads what there is, or waits for more.
func (t *tail) Read(b []byte) (int, error) {
	for {
		n, err := t.file.Read(b)
		t.read += int64(n)
		if n > 0 || err != nil && err != io.EOF || t.over {
			return n, err
		}
		if t.whole {
			t.over = true
			return 0, io.EOF
		}
		if t.next, t.over, err = t.successor(); err != nil {
			return 0, err
		}
		if t.over {
			continue // what was written before it was replaced
		}
		if t.stopped = t.follower.wait(); t.stopped != nil {
			t.over = true
			return 0, io.EOF
		}
	}
}

// isPacked reports whether a file is compressed.
func isPacked(f *os.File) bool {
	var b [16]byte
	n, _ := f.ReadAt(b[:], 0)
	return packingOf(b[:n]) != nil
}

// successor says whether the file is over, and which one follows; of a ring, ""
// means that it is still to be found.
func (t *tail) successor() (next string, over bool, err error) {
	mine, err := t.file.Stat()
	if err != nil {
		return "", false, err
	}
	now, err := os.Stat(t.path)
	switch {
	case err == nil && os.SameFile(mine, now):
		if now.Size() < t.read {
			return t.path, true, nil
		}
	case err == nil && t.follower.ring == nil:
		return t.path, true, nil
	case err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
		return "", false, err
	}
	if t.follower.ring == nil {
		return "", false, nil
	}
	if err == nil && !os.SameFile(mine, now) {
		next, err = t.follower.ring.newer("") // it may be this name again
	} else {
		next, err = t.follower.ring.newer(t.path)
	}
	return next, next != "", err
}
