package dissect

import (
	"math/bits"
	"slices"

	"qsniff/dissect/finding"
)

// Claim is what a registry makes of the bytes where a message may begin in a
// connection that no protocol has claimed yet.
type Claim struct {
	Dissector StreamDissector // nil if no protocol claims them
	Record
}

// PickStream asks every protocol over TCP about b and takes the most confident,
// the first of equals.
func (r *Registry) PickStream(c *Context, b []byte) Claim {
	var v Claim
	for _, d := range r.streams {
		if rec := d.Frame(c, b); rec.Conf > v.Conf {
			v = Claim{d, rec}
		}
	}
	return v
}

// Seek is Resync for a connection that no protocol has claimed yet: it returns the
// first place where one of the protocols may have a message.
func (r *Registry) Seek(c *Context, b []byte) (skip, need int) {
	skip = len(b)
	for _, d := range r.streams {
		if s, n := d.Resync(c, b, false); s < skip {
			skip, need = s, n
		}
	}
	return skip, need
}

// OnPort reports whether servers of d are usually met at a port.
func (r *Registry) OnPort(d StreamDissector, port uint16) bool {
	for i := range r.streams {
		if r.streams[i] == d {
			return r.tcp.at(port).has(i)
		}
	}
	return false
}

// StreamAt returns the first protocol over TCP whose servers are usually met at a port, nil if there is none.
func (r *Registry) StreamAt(port uint16) *Proto {
	for i, d := range r.streams {
		if r.tcp.at(port).has(i) {
			return d.Proto()
		}
	}
	return nil
}

// OnStreamPort reports whether servers of any protocol over TCP are usually met at a port.
func (r *Registry) OnStreamPort(port uint16) bool { return r.tcp.at(port) != 0 }

// ServerSide guesses from the ports of a connection which of its two ends is the
// server's: the one with a protocol's port, or the lower one, because clients
// take theirs from the upper range.
func (r *Registry) ServerSide(ports [2]uint16) int {
	known := [2]bool{r.tcp.at(ports[0]) != 0, r.tcp.at(ports[1]) != 0}
	switch {
	case known[0] != known[1] && known[0], known[0] == known[1] && ports[0] < ports[1]:
		return 0
	}
	return 1
}

// IsStream reports whether p is spoken over TCP only.
func (r *Registry) IsStream(p *Proto) bool {
	return r.StreamOf(p) != nil && !slices.ContainsFunc(r.all, func(d Dissector) bool { return d.Proto() == p })
}

// StreamOf returns the dissector of p, or nil if p is not spoken over TCP.
func (r *Registry) StreamOf(p *Proto) StreamDissector {
	for _, d := range r.streams {
		if d.Proto() == p {
			return d
		}
	}
	return nil
}

// Direction is which end of a connection sent a piece of a stream.
type Direction uint8

// The directions.
const (
	Unsure   Direction = iota // the start of the connection was not captured
	ToServer                  // from who opened the connection
	ToClient
)

// Stream is what a StreamDissector may know of a connection besides the bytes.
type Stream struct {
	Dir     Direction
	Session Session // nil while nothing is known of the connection
	Frame   uint64  // the packet that completed the message
	Nanos   int64   // and its time
	// Opened is set where the capture has both ends' first packets. Without them a
	// message that was not seen may have been sent all the same.
	Opened bool
	// Gap is set where the bytes just before the message, or at the call of Finish the
	// last bytes of the connection, are not in the capture.
	Gap bool
	// OtherMissing is set where bytes of the other direction are missing so far: a message
	// that it sent before this one may not have been seen.
	OtherMissing bool
	// Last is set for Frame where no byte will follow b. A message that needs more is
	// cut there.
	Last bool
	// Frames is filled by StreamDissector.Joined: the packets that completed the
	// parts of a reply, in order.
	Frames []uint64
}

// Ending is how a connection came to the point from which on its server sends nothing more.
type Ending struct {
	// By is the direction of who ended the connection: ToServer is its client, ToClient its server. It is
	// Unsure where neither did: the capture ended, or the connection was silent for very long.
	By      Direction
	IsReset bool  // with a reset
	Nanos   int64 // when
}

// EndReporter is implemented by a StreamDissector that finds something in how a connection ends.
type EndReporter interface {
	// ReportEnd returns what the end of c.Stream.Session shows: a finding without place, and a text from the
	// connection that follows its sentence. ok is false where it shows nothing.
	ReportEnd(c *Context, e Ending) (x finding.Expert, text []byte, ok bool)
}

// Session is what one connection showed so far: its protocol's own memory, with a
// fixed upper size apart from what it takes from a Budget.
type Session interface {
	// Reset empties the session and releases what it took from the Budget.
	Reset()
}

// Record is what a StreamDissector makes of the bytes at a place in a stream where
// a message may begin.
type Record struct {
	// Conf is No where the bytes cannot begin a message.
	Conf Confidence
	Type *Type // as far as it is known; nil where Conf is No
	// Len is the length of the whole message in bytes, 0 as long as that is not
	// known.
	Len int
	// Need is how many bytes from the place on are needed to say more: to know Len,
	// or to have Len bytes. 0 where the message is whole.
	Need int
	// Bad is set where the bytes contradict the protocol that their connection speaks:
	// the caller dissects b[:Len], as a malformed message, and looks for the next one
	// after it with Resync.
	Bad bool
}

// StreamDissector finds and reads the messages in the two byte streams of a TCP
// connection. As with datagrams, Frame, Resync and Dissect depend on their
// arguments alone, never panic, and never allocate once m has grown. They read
// c.Stream.Session and change nothing in it; Learn does.
type StreamDissector interface {
	Proto() *Proto
	// AppendSessions appends the memory for n more connections to list. Sessions are used
	// again after Reset.
	AppendSessions(list []Session, n int, b *Budget) []Session
	// Frame judges what stands at the start of b, which holds all bytes of the
	// direction that came so far from there on. c.Stream.Session is nil until
	// the connection is known to be the protocol's.
	Frame(c *Context, b []byte) Record
	// Resync looks for a message in b, whose start lies somewhere within one: it
	// returns how many bytes certainly are not the start of a message, and how
	// many bytes after those are needed to say more; 0 if a message begins there.
	// last is set where no byte will follow b.
	Resync(c *Context, b []byte, last bool) (skip, need int)
	// Dissect fills m, which was Reset with b, one message that Frame found to be of type
	// t, or the start of one: then c.Wire is its length, if that is known, and t may
	// be nil.
	Dissect(c *Context, t *Type, b []byte, m *Message)
	// Learn adds to c.Stream.Session what the dissected m shows of its connection.
	Learn(c *Context, m *Message)
	// Joined fills m with a reply that came in several messages, if the last Learn
	// or Finish ended one, and reports whether it did. c.Stream.Frames lists the frames of its parts.
	// The memory that m refers to is valid until the next call for c.Stream.Session.
	Joined(c *Context, m *Message) bool
	// Finish ends c.Stream.Session: no message will follow in it.
	Finish(c *Context)
}

// Buffers of a Budget have the sizes smallBuffer << 0 to smallBuffer << (sizes-1):
// 1 KiB to 512 KiB.
const (
	smallBuffer = 1 << 10
	sizes       = 10
)

// Budget is memory that the sessions of one partition share: buffers that are used
// again, so that a run at its limit allocates nothing.
type Budget struct {
	Limit int // bytes, of buffers in use and of spare ones
	Used  int // bytes of buffers in use

	spare int
	free  [sizes][][]byte
}

// Grow releases b, a buffer from Grow or nil, and returns a larger one with the same
// content and room for at least want bytes. It returns b itself, and false, where
// that would exceed the limit or the largest size.
func (m *Budget) Grow(b []byte, want int) ([]byte, bool) {
	k := max(bits.Len(uint(max(want, 1)-1))-bits.Len(uint(smallBuffer-1)), 0)
	if k >= sizes || m.Used-cap(b)+smallBuffer<<k > m.Limit {
		return b, false
	}
	bigger := append(m.takeBuffer(k), b...)
	m.Release(b)
	m.trim()
	return bigger, true
}

// Release returns b, a buffer from Grow, to the budget. The caller must not use it any
// more. A nil b is ignored.
func (m *Budget) Release(b []byte) {
	if cap(b) == 0 {
		return
	}
	k := bits.Len(uint(cap(b)/smallBuffer)) - 1
	m.Used -= cap(b)
	m.spare += cap(b)
	m.free[k] = append(m.free[k], b[:0])
}

// takeBuffer returns an empty buffer of size k.
func (m *Budget) takeBuffer(k int) []byte {
	size := smallBuffer << k
	m.Used += size
	if n := len(m.free[k]); n > 0 {
		b := m.free[k][n-1]
		m.free[k] = m.free[k][:n-1]
		m.spare -= size
		return b
	}
	m.trim()
	return make([]byte, 0, size)
}

// trim frees spare buffers, the largest first, until all are within the limit.
func (m *Budget) trim() {
	for i := sizes - 1; i >= 0 && m.Used+m.spare > m.Limit; i-- {
		m.spare -= len(m.free[i]) * smallBuffer << i
		clear(m.free[i])
		m.free[i] = m.free[i][:0]
	}
}
