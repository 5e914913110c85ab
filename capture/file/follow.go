package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"qsniff/capture"
)

// Follow reads a capture that is still being written, and goes on when there is
// more: at the end of the file it calls the function given with the option Wait
// and reads again. Without that option it ends there. It waits for the rest of an
// incomplete record, unless the file is over: replaced by another of that name,
// which is read next, or made shorter, after which it is read from its start.
//
// If name is a directory, its captures are read from the oldest on, by the time
// of their first packets. A capture is over once another one begins later; so a ring
// of files can be followed, whether old files are deleted or overwritten.
//
// A compressed file is read to its end, without waiting for more: compressors hold
// data back, so that its last packets would not be delivered.
//
// Packets are numbered over all files. An incomplete record at the end of a file is a
// gap. If a file is no capture, Read returns the error, since the file may not have a
// header yet.
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
		f.ring = &ringFinder{directory: name, known: make(map[string]fileState)}
	} else if info.Mode().IsRegular() {
		f.next = name
	} else {
		return Open(name, opts...) // a pipe has an end
	}
	return f, nil
}

// follower is the Source that Follow returns.
type follower struct {
	name string
	wait func() error
	ring *ringFinder // nil: one file

	reader      *Reader // nil: the next file is to be opened
	tail        *tail   // input of reader
	next        string  // file to read next, "" if that is to be found
	hasPackets  bool    // packets of the file have been read
	pastStats   capture.Stats
	firstDamage error // the first damage
	err         error // what Read returns from now on
}

// Read fills b with packets of one file.
func (f *follower) Read(b *capture.Batch) error {
	b.Reset()
	for f.err == nil {
		if f.reader == nil {
			if f.err = f.openNext(); f.err != nil {
				break
			}
		}
		err := f.reader.Read(b)
		for i := range b.Packets {
			b.Packets[i].No += f.pastStats.Received
		}
		if err == nil {
			if f.ring != nil && len(b.Packets) > 0 && !f.hasPackets {
				f.ring.current, f.hasPackets = datedCapture{f.tail.path, b.Packets[0].Nanos}, true
			}
			return nil
		}
		f.closeFile(b, err)
		if len(b.Gaps) > 0 {
			return nil
		}
	}
	return f.err
}

// openNext opens the next file and waits for its header.
func (f *follower) openNext() error {
	for {
		if f.next == "" {
			var err error
			if f.next, err = f.ring.findNext(""); err != nil {
				return err
			}
		}
		if f.next != "" {
			file, err := os.Open(f.next)
			if err == nil {
				f.tail = &tail{path: f.next, file: file, follower: f, isWhole: isPacked(file)}
				break
			}
			if !errors.Is(err, os.ErrNotExist) {
				return systemError(f.next, err)
			}
			if f.ring != nil {
				f.next = "" // it was finished and renamed meanwhile: find it again
			}
		}
		if err := f.wait(); err != nil { // not there yet
			return f.endError(err)
		}
	}
	r, err := NewReader(f.tail, f.next)
	f.next = ""
	if err != nil {
		f.tail.file.Close()
		if f.tail.stopped != nil {
			return f.endError(f.tail.stopped)
		}
		return err
	}
	f.reader, f.hasPackets = r, false
	return nil
}

// closeFile closes a file whose Read returned err: io.EOF, or damage after which nothing
// can be read, such as an incomplete last record. Of a file that is over the damage
// becomes a gap; but if wait ended the capture, an incomplete record is ignored, as it
// was still being written.
func (f *follower) closeFile(b *capture.Batch, err error) {
	r, t := f.reader, f.tail
	var damage *Error
	if t.isOver && errors.As(err, &damage) && !errors.Is(err, ErrGap) &&
		!(t.stopped != nil && errors.Is(err, io.ErrUnexpectedEOF)) {
		r.addGap(b, r.offset+int64(len(r.spare))-damage.Offset, damage)
	}
	if f.firstDamage == nil && r.firstDamage != nil {
		f.firstDamage = r.gapsError()
	}
	switch {
	case t.stopped != nil:
		f.err = f.endError(t.stopped)
	case !t.isOver, t.isWhole && f.ring == nil && err != io.EOF:
		f.err = err
	case t.isWhole && f.ring == nil:
		f.err = f.endError(io.EOF)
	}
	f.pastStats = f.Stats()
	f.next = t.next
	f.reader = nil
	t.file.Close()
}

// endError returns what Read returns after wait has returned err: at the end of the
// capture the first damage, if there was any.
func (f *follower) endError(err error) error {
	if err == io.EOF && f.firstDamage != nil {
		return f.firstDamage
	}
	return err
}

// Stats adds up those of all files so far. Size is not known.
func (f *follower) Stats() capture.Stats {
	sum := f.pastStats
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
	path      string
	file      *os.File
	follower  *follower
	bytesRead int64
	isOver    bool   // nothing will be appended any more
	isWhole   bool   // the file is compressed: it is read to its end only
	next      string // the file that follows, once isOver; "" if that is to be found
	stopped   error  // error by which wait ended the capture
}

// Read reads what has been written, or waits for more.
func (t *tail) Read(b []byte) (int, error) {
	for {
		n, err := t.file.Read(b)
		t.bytesRead += int64(n)
		if n > 0 || err != nil && err != io.EOF || t.isOver {
			return n, err
		}
		if t.isWhole {
			t.isOver = true
			return 0, io.EOF
		}
		if t.next, t.isOver, err = t.findSuccessor(); err != nil {
			return 0, err
		}
		if t.isOver {
			continue // read what was written before it was replaced
		}
		if t.stopped = t.follower.wait(); t.stopped != nil {
			t.isOver = true
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

// findSuccessor reports whether the file is over, and returns the one that follows; ""
// means that it is to be found in the ring.
func (t *tail) findSuccessor() (next string, over bool, err error) {
	mine, err := t.file.Stat()
	if err != nil {
		return "", false, err
	}
	now, err := os.Stat(t.path)
	switch {
	case err == nil && os.SameFile(mine, now):
		if now.Size() < t.bytesRead {
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
		next, err = t.follower.ring.findNext("") // it may be this name again
	} else {
		next, err = t.follower.ring.findNext(t.path)
	}
	return next, next != "", err
}

// ringFinder finds the next file of a directory to which a capturing program adds
// files, or in which it overwrites the oldest.
type ringFinder struct {
	directory string
	current   datedCapture // the capture that packets were read from last
	known     map[string]fileState
	peek      peeker
}

// fileState is a file as it was when its first packet was read.
type fileState struct {
	size     int64
	modified time.Time
	start    int64
}

// findNext returns the capture that begins next after the current one, "" if there is
// none yet. It never returns except, the file that is being read, which may have got its
// first packet just now.
func (r *ringFinder) findNext(except string) (string, error) {
	entries, err := regularFiles(r.directory)
	if err != nil {
		return "", err
	}
	next := datedCapture{start: noStart}
	known := make(map[string]fileState, len(entries)) // without files that were deleted
	for _, e := range entries {
		path := filepath.Join(r.directory, e.Name())
		info, err := e.Info()
		if err != nil {
			continue // deleted in between
		}
		s := r.inspect(path, info)
		known[path] = s
		one := datedCapture{path, s.start}
		if path != except && r.current.compare(one) < 0 && one.compare(next) < 0 {
			next = one
		}
	}
	r.known = known
	return next.path, nil
}

// inspect returns the state of a file. It reads the first packet again whenever the file
// has changed: a file that has grown may have been overwritten by a longer one.
func (r *ringFinder) inspect(path string, info fs.FileInfo) fileState {
	s, ok := r.known[path]
	if ok && s.size == info.Size() && s.modified.Equal(info.ModTime()) {
		return s
	}
	start, err := r.peek.firstTime(path)
	if err != nil {
		start = noStart
	}
	return fileState{size: info.Size(), modified: info.ModTime(), start: start}
}
