package outbox

import (
	"errors"
	"syscall"
	"time"
)

// spool has the messages that the broker has not acknowledged: the older ones on disk, the newer ones
// in memory. It is for the goroutine of Run.
type spool struct {
	disk     *disk // nil: none
	memory   []*record
	bytes    int // of memory
	handed   int // of memory, so many have been handed out
	isOnline bool
	failed   time.Time // when the disk failed last; zero: it works
	trouble  error     // why
	now      func() time.Time
	dropped  uint64 // messages that had no room, or cannot be read any more
}

// record is a message in the spool.
type record struct {
	Message
	seg        *segment // nil: it is in memory
	at, length int64
	isGone     bool // it was dropped from memory
}

// put adds a message as the newest one.
func (s *spool) put(m *Message) {
	s.memory = append(s.memory, &record{Message: *m})
	s.bytes += m.cost()
	if !s.isOnline || s.bytes > memorySize || s.disk != nil && len(s.disk.segments) > 0 {
		s.save()
	}
	s.shed()
}

// save writes what is in memory to the disk, unless that has failed a moment ago. Where neither has
// room, the oldest messages go, which are on disk.
func (s *spool) save() {
	if s.disk == nil || !s.failed.IsZero() && s.now().Sub(s.failed) < diskWait {
		return
	}
	for hasDropped := false; len(s.memory) > 0; {
		r := s.memory[0]
		seg, at, length, dropped, err := s.disk.append(&r.Message)
		s.dropped += uint64(dropped)
		if errors.Is(err, syscall.ENOSPC) && s.bytes > memorySize && len(s.disk.segments) > 0 && !hasDropped {
			hasDropped = true
			s.dropped += uint64(s.disk.dropOldest())
			continue
		}
		if err != nil {
			s.failed, s.trouble = s.now(), err
			return
		}
		if s.handed > 0 { // all that is on disk was handed out before
			s.handed--
			seg.read, seg.handed = seg.size, seg.handed+1
		}
		s.bytes -= r.cost()
		r.seg, r.at, r.length, r.Message = seg, at, length, Message{}
		s.memory = s.memory[1:]
	}
	s.failed, s.trouble = time.Time{}, nil
}

// shed drops the oldest messages in memory that it has no room for.
func (s *spool) shed() {
	for s.bytes > memorySize {
		r := s.memory[0]
		r.isGone = true
		s.bytes -= r.cost()
		s.memory, s.handed = s.memory[1:], max(0, s.handed-1)
		s.dropped++
	}
}

// next returns the oldest message that has not been handed out, nil if there is none.
func (s *spool) next() *record {
	if s.disk != nil {
		m, seg, at, length, lost := s.disk.next()
		s.dropped += uint64(lost)
		if seg != nil {
			return &record{Message: m, seg: seg, at: at, length: length}
		}
	}
	if s.handed == len(s.memory) {
		return nil
	}
	s.handed++
	return s.memory[s.handed-1]
}

// done removes a message, the oldest of those that were handed out.
func (s *spool) done(r *record) {
	switch {
	case r.isGone:
	case r.seg != nil:
		s.disk.done(r.seg, r.at, r.length)
	default:
		s.bytes -= r.cost()
		s.memory, s.handed = s.memory[1:], s.handed-1
	}
}

// setOnline notes whether there is a connection. Without one all messages are to be handed out again.
func (s *spool) setOnline(is bool) {
	s.isOnline = is
	if !is {
		s.handed = 0
		if s.disk != nil {
			s.disk.rewind()
		}
		s.save()
	}
}

// isSafe reports whether the disk has what a restart is to find.
func (s *spool) isSafe() bool { return s.disk != nil && s.failed.IsZero() }

// waiting returns how many messages there are.
func (s *spool) waiting() int {
	n := len(s.memory)
	if s.disk != nil {
		n += s.disk.waiting()
	}
	return n
}

// close leaves to a restart what it can, and drops the rest.
func (s *spool) close() {
	s.failed = time.Time{}
	s.setOnline(false)
	s.dropped += uint64(len(s.memory))
	s.memory, s.bytes = nil, 0
	if s.disk != nil {
		s.disk.close()
	}
}
