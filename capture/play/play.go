// Package play gives the packets of a capture at the times at which they were captured, faster,
// slower, or not at all for a while. It makes no time itself: the caller gives it a clock and a
// way to wait.
//
// Source has a position in the capture, in Unix nanoseconds of packets, which advances by the
// clock times the speed. Read delivers the packets up to it; where none is due it returns an
// empty batch, as an interface does. After the last packet the position stays where it is, and
// Read never returns io.EOF: who looks at the end of a capture looks at what is going on there.
package play

import (
	"errors"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"qsniff/capture"
)

// Max is the speed at which nothing waits.
var Max = math.Inf(1)

// Source plays another source. Read and Close are for one goroutine, the other methods for any.
type Source struct {
	src  capture.Source
	now  func() int64
	wait func(time.Duration)

	next  capture.Batch // packets that were read and are not due
	at    int           // index in next of the first one that was not delivered
	err   error         // of src, after next
	stats capture.Stats

	mu       sync.Mutex // guards the fields below
	position int64      // 0: before the first packet
	anchor   int64      // by now, when position was right
	speed    float64
	paused   bool
	target   int64 // up to here nothing waits
	first    int64
	atEnd    bool
	failed   error
}

// State is where a Source is.
type State struct {
	First, Position int64 // Unix nanoseconds; 0: there was no packet yet
	Speed           float64
	IsPaused        bool
	Target          int64 // where it is on the way to, as fast as can be; 0: nowhere
	IsAtEnd         bool  // all packets were delivered
	Err             error // why the capture ended before its end; nil: it did not
}

// New returns a source that plays src from its begin. now returns nanoseconds of a clock that is
// never set; wait waits, or returns early.
func New(src capture.Source, speed float64, now func() int64, wait func(time.Duration)) *Source {
	return &Source{src: src, now: now, wait: wait, speed: speed}
}

// State returns where the source is.
func (s *Source) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	x := State{First: s.first, Position: s.position, Speed: s.speed, IsPaused: s.paused, IsAtEnd: s.atEnd, Err: s.failed}
	if s.target > s.position && !s.atEnd {
		x.Target = s.target
	}
	return x
}

// Clock returns the position, which never goes back: the clock of a run.
func (s *Source) Clock() int64 { return s.State().Position }

// SetSpeed sets how much faster than in the capture time passes; Max: nothing waits.
func (s *Source) SetSpeed(speed float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	s.speed = speed
}

// SetPaused stops the time, or lets it go on.
func (s *Source) SetPaused(paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	s.paused = paused
}

// SkipTo delivers everything before a time, or with math.MaxInt64 all there is, at once. It does
// not go back: for that the capture has to be read anew.
func (s *Source) SkipTo(nanos int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = nanos
}

// advance moves the position to where it is by the clock. Where all packets up to it are not yet
// delivered, or nothing waits, Read moves it.
func (s *Source) advance() {
	now := s.now()
	passed := now - s.anchor
	s.anchor = now
	if s.position == 0 || s.paused || s.atEnd || s.speed == Max || s.target > s.position {
		return
	}
	s.position += int64(float64(passed) * s.speed)
}

// Read fills b with what is due.
func (s *Source) Read(b *capture.Batch) error {
	b.Reset()
	if s.at == len(s.next.Packets) && s.err == nil {
		if err := s.refill(); err != nil {
			return err
		}
	}
	if s.at == len(s.next.Packets) && s.err != nil {
		s.end()
		s.wait(pause)
		return nil
	}
	n := s.due()
	switch {
	case n == 0:
		s.wait(pause)
	case s.at == 0 && n == len(s.next.Packets):
		*b, s.next = s.next, *b
		s.next.Reset()
	default:
		s.deliver(b, n)
	}
	s.stats.Received += uint64(n)
	return nil
}

// refill reads the next packets.
func (s *Source) refill() error {
	s.at = 0
	s.err = s.src.Read(&s.next)
	if len(s.next.Packets) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.position == 0 {
		s.first = s.next.Packets[0].Nanos
		s.position, s.anchor = s.first, s.now()
	}
	return nil
}

// end notes that there are no more packets.
func (s *Source) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	s.atEnd = true
	if !errors.Is(s.err, io.EOF) {
		s.failed = s.err
	}
}

// due returns how many packets of next are due.
func (s *Source) due() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	rest := s.next.Packets[s.at:]
	all := s.speed == Max && !s.paused
	for n < len(rest) && (all || rest[n].Nanos <= max(s.position, s.target)) {
		n++
	}
	if n > 0 && (all || s.target > s.position) {
		s.position = max(s.position, rest[n-1].Nanos)
	}
	if n < len(rest) && s.target > s.position {
		s.position = s.target
	}
	return n
}

// deliver copies the next n packets to b, as the others stay.
func (s *Source) deliver(b *capture.Batch, n int) {
	size := 0
	for i := range n {
		size += len(s.next.Packets[s.at+i].Data)
	}
	b.Buf = slices.Grow(b.Buf[:0], size)
	for i := range n {
		p := s.next.Packets[s.at+i]
		from := len(b.Buf)
		b.Buf = append(b.Buf, p.Data...)
		p.Data = b.Buf[from:len(b.Buf):len(b.Buf)]
		b.Packets = append(b.Packets, p)
	}
	for _, g := range s.next.Gaps {
		if g.At -= s.at; g.At >= 0 && g.At < n {
			b.Gaps = append(b.Gaps, g)
		}
	}
	s.at += n
}

// Stats are those of the packets that were delivered.
func (s *Source) Stats() capture.Stats {
	x := s.src.Stats()
	x.Received = s.stats.Received
	return x
}

// Close closes the source.
func (s *Source) Close() error { return s.src.Close() }

// Interfaces returns those of the source, if it describes any.
func (s *Source) Interfaces() []capture.Interface {
	if d, ok := s.src.(capture.Describer); ok {
		return d.Interfaces()
	}
	return nil
}

// limit: pause is how long Read waits for what is due next. Chosen: a key acts within it.
const pause = 50 * time.Millisecond
