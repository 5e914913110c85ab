package outbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"qsniff/internal/base/flock"
	"qsniff/internal/fleet"
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

// Message is one on its way to the broker.
type Message struct {
	Kind fleet.Kind
	ID   string // by fleet.Head.MessageID
	Line []byte // by fleet.Encode
}

// check returns an error if m cannot be of that sensor.
func (m *Message) check(sensor string) error {
	words := strings.Split(m.ID, "/")
	if len(words) != 3 || len(m.ID) > maxWord || words[1] == "" {
		return errors.New("a message without a number")
	}
	seq, err := strconv.ParseUint(words[2], 10, 64)
	switch {
	case err != nil || seq == 0:
		return errors.New("a message without a number")
	case words[0] != sensor:
		return fmt.Errorf("a message of %.100q", words[0])
	case !slices.Contains(fleet.Kinds, m.Kind):
		return fmt.Errorf("a message of the kind %.32q", m.Kind)
	case len(m.Line) == 0 || len(m.Line) > fleet.MaxMessage:
		return fmt.Errorf("a message of %d bytes", len(m.Line))
	}
	return nil
}

// cost returns how many bytes m takes in memory.
func (m *Message) cost() int { return recordCost + len(m.ID) + len(m.Line) }

// A file of the spool is its magic and records: a byte of state, the length and the CRC-32C of what
// follows, in little endian, then the kind and the number, each after a byte with its length, and
// the line. The state is changed in place, so that a disk that is full can take it.
const (
	magic      = "qsniffq1"
	recordHead = 9

	stateWaiting = 1
	stateDone    = 2 // acknowledged, or dropped
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRecord appends m as a record that waits.
func appendRecord(b []byte, m *Message) []byte {
	at := len(b)
	b = append(b, stateWaiting, 0, 0, 0, 0, 0, 0, 0, 0)
	b = append(append(b, byte(len(m.Kind))), m.Kind...)
	b = append(append(b, byte(len(m.ID))), m.ID...)
	b = append(b, m.Line...)
	body := b[at+recordHead:]
	binary.LittleEndian.PutUint32(b[at+1:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[at+5:], crc32.Checksum(body, castagnoli))
	return b
}

// errNoRecord is that a file does not go on with a record.
var errNoRecord = errors.New("no record")

// recordLength returns the length of the record that begins with head, which has recordHead bytes.
func recordLength(head []byte) (int, error) {
	n := int64(binary.LittleEndian.Uint32(head[1:])) + recordHead
	if state := head[0]; n > maxRecord || state != stateWaiting && state != stateDone {
		return 0, errNoRecord
	}
	return int(n), nil
}

// parseRecord reads the record that b begins with. The message is a part of b.
func parseRecord(b []byte) (m Message, state byte, length int, err error) {
	if len(b) < recordHead {
		return m, 0, 0, errNoRecord
	}
	length, err = recordLength(b)
	if err != nil || length > len(b) {
		return m, 0, 0, errNoRecord
	}
	body := b[recordHead:length]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[5:]) {
		return m, 0, 0, errNoRecord
	}
	kind, body, isKind := cutWord(body)
	id, line, isID := cutWord(body)
	if !isKind || !isID {
		return m, 0, 0, errNoRecord
	}
	return Message{fleet.Kind(kind), string(id), line}, b[0], length, nil
}

// cutWord returns the word that b begins with, after its length, and what follows it.
func cutWord(b []byte) (word, rest []byte, ok bool) {
	if len(b) == 0 || len(b) <= int(b[0]) {
		return nil, nil, false
	}
	return b[1 : 1+b[0]], b[1+b[0]:], true
}

// scan calls visit with each record of a file and where it begins. It returns where the last one ends,
// and errNoRecord if something else follows.
func scan(file []byte, visit func(m *Message, state byte, at, length int)) (end int, err error) {
	if !strings.HasPrefix(string(file[:min(len(file), len(magic))]), magic) {
		return 0, errNoRecord
	}
	for end = len(magic); end < len(file); {
		m, state, length, err := parseRecord(file[end:])
		if err != nil {
			return end, err
		}
		visit(&m, state, end, length)
		end += length
	}
	return end, nil
}
