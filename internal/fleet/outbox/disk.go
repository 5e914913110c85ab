package outbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"qsniff/internal/base/flock"
)

// disk is the part of the spool on disk: files that are written one after the other, each a 64th of the
// spool. It works in the folder through a handle. It is not safe for concurrent use.
type disk struct {
	root     *os.Root
	lock     *os.File
	limit    int64 // bytes
	most     int64 // bytes of a segment
	size     int64 // of all segments
	segments []*segment
	writing  *segment // the last of segments; nil: the next record begins another
	named    uint64   // the number in the newest name
	buffer   []byte
}

// segment is a file of the spool.
type segment struct {
	name   string
	file   *os.File
	size   int64 // where the next record is written
	head   int64 // before it all is done
	read   int64 // before it all has been handed out
	left   int   // records that are not done
	handed int   // of them, those that have been handed out
	isGone bool
}

// nameForm is how segments are called.
var nameForm = regexp.MustCompile(`^[0-9a-f]{16}\.qsniff$`)

const lockName = "lock"

// openDisk opens the spool in a folder, which it makes if only its last element is missing. It
// waits for another process that has the spool. isOurs reports which messages may stay.
func openDisk(dir string, limit int64, isOurs func(*Message) bool) (d *disk, found loaded, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, found, err
	}
	d = &disk{limit: limit, most: max(segmentSize, limit/segments)}
	if d.root, err = os.OpenRoot(dir); err != nil {
		return nil, found, err
	}
	if err = d.takeLock(); err == nil {
		err = d.load(isOurs, &found)
	}
	if err != nil {
		d.close()
		return nil, found, err
	}
	return d, found, nil
}

// takeLock waits until no other process has the spool.
func (d *disk) takeLock() (err error) {
	if d.lock, err = d.root.OpenFile(lockName, os.O_CREATE|os.O_RDWR, fileMode); err != nil {
		return err
	}
	for until := time.Now().Add(lockTime); !flock.TryLock(d.lock); {
		if time.Now().After(until) {
			return errors.New("another qsniff uses it")
		}
		time.Sleep(lockTime / 100)
	}
	return nil
}

// fileMode lets only their owner read new files.
const fileMode = 0o600

// loaded is what a start found.
type loaded struct {
	torn    int // files that do not end with a record
	foreign int // messages of other sensors, or of no kind, which are dropped
	dropped int // messages that a smaller spool has no room for
}

// load reads the segments that are there.
func (d *disk) load(isOurs func(*Message) bool, found *loaded) error {
	all, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, f := range all { // sorted by their names, which is the order in which they were written
		if !nameForm.MatchString(f.Name()) || !f.Type().IsRegular() {
			continue
		}
		if _, err := fmt.Sscanf(f.Name(), "%x.", &d.named); err != nil {
			return err
		}
		if err := d.loadSegment(f.Name(), isOurs, found); err != nil {
			return err
		}
	}
	for d.size > d.limit {
		found.dropped += d.dropOldest()
	}
	return nil
}

// loadSegment reads a segment, and removes it if nothing in it waits.
func (d *disk) loadSegment(name string, isOurs func(*Message) bool, found *loaded) error {
	s := &segment{name: name}
	var err error
	if s.file, err = d.root.OpenFile(name, os.O_RDWR, 0); err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(s.file, MostSpool/segments+maxRecord))
	if err != nil {
		s.file.Close()
		return err
	}
	end, err := scan(text, func(m *Message, state byte, at, length int) {
		switch {
		case state == stateDone:
		case !isOurs(m):
			found.foreign++
			s.mark(int64(at))
		default:
			if s.left == 0 {
				s.head = int64(at)
			}
			s.left++
		}
	})
	if err != nil && len(text) > 0 { // an empty one is of a process that was killed
		found.torn++
	}
	s.size, s.read = int64(end), s.head
	d.segments, d.size = append(d.segments, s), d.size+s.size
	if s.left == 0 {
		d.remove(s)
	}
	return nil
}

// mark writes that the record at a place is done. If that fails it is sent again after a restart.
func (s *segment) mark(at int64) { _, _ = s.file.WriteAt([]byte{stateDone}, at) }

// append writes a message, and returns the number of those that were dropped for it. After an error
// nothing has changed.
func (d *disk) append(m *Message) (s *segment, at int64, length int64, dropped int, err error) {
	d.buffer = appendRecord(d.buffer[:0], m)
	length = int64(len(d.buffer))
	if d.writing != nil && d.writing.size+length > d.most {
		d.writing = nil
	}
	for d.size+length > d.limit && len(d.segments) > 0 {
		dropped += d.dropOldest()
	}
	if d.writing == nil {
		if err = d.begin(); err != nil {
			return nil, 0, 0, dropped, err
		}
	}
	s = d.writing
	if _, err = s.file.WriteAt(d.buffer, s.size); err != nil {
		_ = s.file.Truncate(s.size)
		if s.left == 0 {
			d.remove(s)
		}
		return nil, 0, 0, dropped, withoutPath(err)
	}
	at = s.size
	s.size, d.size, s.left = s.size+length, d.size+length, s.left+1
	return s, at, length, dropped, nil
}

// begin begins another segment.
func (d *disk) begin() error {
	name := fmt.Sprintf("%016x.qsniff", d.named+1)
	f, err := d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, fileMode)
	if err == nil {
		if _, err = f.WriteAt([]byte(magic), 0); err != nil {
			f.Close()
			_ = d.root.Remove(name)
		}
	}
	if err != nil {
		return withoutPath(err)
	}
	d.named++
	const size = int64(len(magic))
	d.writing = &segment{name: name, file: f, size: size, head: size, read: size}
	d.segments, d.size = append(d.segments, d.writing), d.size+size
	return nil
}

// next returns the oldest message that has not been handed out; no segment if there is none. lost
// counts those that could not be read any more, which are dropped.
func (d *disk) next() (m Message, s *segment, at, length int64, lost int) {
	for i := 0; i < len(d.segments); i++ {
		s = d.segments[i]
		for s.read < s.size {
			m, state, length, err := s.readRecord()
			if err != nil {
				lost += d.cut(s)
				break
			}
			at = s.read
			s.read += length
			if state == stateWaiting {
				s.handed++
				return m, s, at, length, lost
			}
		}
		if s.isGone {
			i--
		}
	}
	return m, nil, 0, 0, lost
}

// readRecord reads the record at s.read.
func (s *segment) readRecord() (m Message, state byte, length int64, err error) {
	b := make([]byte, recordHead)
	if _, err = s.file.ReadAt(b, s.read); err != nil {
		return m, 0, 0, err
	}
	n, err := recordLength(b)
	if err != nil {
		return m, 0, 0, err
	}
	b = make([]byte, n)
	if _, err = s.file.ReadAt(b, s.read); err != nil {
		return m, 0, 0, err
	}
	m, state, n, err = parseRecord(b)
	return m, state, int64(n), err
}

// cut drops what follows s.read, and returns how many messages that was.
func (d *disk) cut(s *segment) int {
	lost := s.left - s.handed
	d.size -= s.size - s.read
	s.size, s.left = s.read, s.handed
	if d.writing == s {
		d.writing = nil
	}
	if s.left == 0 {
		d.remove(s)
	}
	return lost
}

// done notes that a message, the oldest of those handed out, has left the spool.
func (d *disk) done(s *segment, at, length int64) {
	if s.isGone {
		return
	}
	s.head = at + length
	s.left--
	s.handed--
	if s.left == 0 {
		d.remove(s)
		return
	}
	s.mark(at)
}

// rewind has all that is not done handed out again.
func (d *disk) rewind() {
	for _, s := range d.segments {
		s.read, s.handed = s.head, 0
	}
}

// dropOldest removes the oldest segment, and returns how many messages were in it.
func (d *disk) dropOldest() int {
	n := d.segments[0].left
	d.remove(d.segments[0])
	return n
}

// remove removes a segment.
func (d *disk) remove(s *segment) {
	s.file.Close()
	_ = d.root.Remove(s.name)
	s.isGone = true
	d.size -= s.size
	d.segments = slices.DeleteFunc(d.segments, func(x *segment) bool { return x == s })
	if d.writing == s {
		d.writing = nil
	}
}

// waiting returns how many messages are on disk.
func (d *disk) waiting() (n int) {
	for _, s := range d.segments {
		n += s.left
	}
	return n
}

// close closes all files, and lets other processes have the spool.
func (d *disk) close() {
	for _, s := range d.segments {
		s.file.Close()
	}
	if d.lock != nil {
		d.lock.Close()
	}
	d.root.Close()
}

// withoutPath returns an error about a file without its name, which means nothing to people.
func withoutPath(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// checkDisk returns an error if a spool cannot be in a folder.
func checkDisk(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		dir = filepath.Dir(dir)
		info, err = os.Stat(dir)
	}
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", dir)
	}
	f, err := os.CreateTemp(dir, ".qsniff-*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}
