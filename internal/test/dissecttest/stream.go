package dissecttest

import (
	"testing"

	"qsniff/dissect"
)

// Conversation feeds a StreamDissector the bytes of a connection, in segments, and keeps
// the messages that it finds.
type Conversation struct {
	Budget   dissect.Budget
	Stream   dissect.Stream
	Messages []*dissect.Message // with the joined replies, in order
	Skipped  int                // bytes that belong to no message

	t       testing.TB
	d       dissect.StreamDissector
	session dissect.Session
	halves  [2]half
	scratch dissect.Message
}

// half is one direction.
type half struct {
	buf         []byte
	needsResync bool // buf may start within a message
	hasGap      bool // bytes before buf are missing
}

// NewConversation returns a conversation whose begin was captured. Every message of it is
// checked with CheckInvariants.
func NewConversation(t testing.TB, d dissect.StreamDissector, budget int) *Conversation {
	v := &Conversation{t: t, d: d, Budget: dissect.Budget{Limit: budget}}
	v.session = d.AppendSessions(nil, 1, &v.Budget)[0]
	v.Stream = dissect.Stream{Session: v.session, Opened: true}
	return v
}

func (v *Conversation) half(dir dissect.Direction) *half {
	if dir == dissect.ToServer {
		return &v.halves[0]
	}
	return &v.halves[1]
}

// Send adds one segment.
func (v *Conversation) Send(dir dissect.Direction, b []byte) {
	h := v.half(dir)
	h.buf = append(h.buf, b...)
	v.Stream.Frame++
	v.run(dir, h, false)
}

// Lose makes a gap: bytes of a direction are missing here. The part of a message before
// them is dissected as cut.
func (v *Conversation) Lose(dir dissect.Direction) {
	h := v.half(dir)
	if len(h.buf) > 0 {
		r := v.d.Frame(v.context(dir, h), h.buf)
		v.emit(dir, h, r.Type, len(h.buf), r.Len)
	}
	h.needsResync, h.hasGap = true, true
}

// End closes the connection.
func (v *Conversation) End() {
	v.Stream.Last = true
	for _, dir := range []dissect.Direction{dissect.ToServer, dissect.ToClient} {
		v.run(dir, v.half(dir), true)
	}
	c := v.context(dissect.ToClient, v.half(dissect.ToClient))
	v.d.Finish(c)
	v.emitJoined(c)
	v.Stream.Last = false
}

// Reset drops the state of the connection, and fails the test unless all of the budget
// was given back.
func (v *Conversation) Reset() {
	v.session.Reset()
	if v.Budget.Used != 0 {
		v.t.Errorf("%d bytes of the budget were not given back", v.Budget.Used)
	}
}

func (v *Conversation) context(dir dissect.Direction, h *half) *dissect.Context {
	v.Stream.Dir, v.Stream.Gap = dir, h.hasGap
	c := &dissect.Context{Src: Client, Dst: Server, Stream: &v.Stream}
	if dir == dissect.ToClient {
		c.Src, c.Dst = Server, Client
	}
	return c
}

func (v *Conversation) run(dir dissect.Direction, h *half, last bool) {
	for {
		c := v.context(dir, h)
		if h.needsResync {
			skip, need := v.d.Resync(c, h.buf, last)
			v.skip(h, skip)
			if need > 0 || len(h.buf) == 0 {
				return
			}
			h.needsResync = false
		}
		if len(h.buf) == 0 {
			return
		}
		r := v.d.Frame(c, h.buf)
		switch {
		case r.Conf == dissect.No:
			v.t.Errorf("not its own: %x", h.buf)
			return
		case r.Need > 0 && r.Need <= len(h.buf), r.Need == 0 && (r.Len == 0 || r.Len > len(h.buf)):
			v.t.Fatalf("%+v of %d bytes", r, len(h.buf))
		case r.Need > 0 && !last:
			return
		case r.Need > 0:
			v.emit(dir, h, r.Type, len(h.buf), len(h.buf))
			return
		}
		v.emit(dir, h, r.Type, r.Len, r.Len)
		h.needsResync, h.hasGap = r.Bad, r.Bad
	}
}

func (v *Conversation) skip(h *half, n int) {
	if n > len(h.buf) {
		v.t.Fatalf("skips %d of %d bytes", n, len(h.buf))
	}
	v.Skipped += n
	h.buf = h.buf[n:]
}

// emit dissects the first n bytes, a message of type t and wire bytes.
func (v *Conversation) emit(dir dissect.Direction, h *half, t *dissect.Type, n, wire int) {
	v.t.Helper()
	c := v.context(dir, h)
	c.Wire = wire
	m := &v.scratch
	m.Reset(v.d.Proto(), h.buf[:n])
	v.d.Dissect(c, t, h.buf[:n], m)
	CheckInvariants(v.t, m)
	v.keep(m)
	v.d.Learn(c, m)
	v.emitJoined(c)
	h.buf = h.buf[n:]
}

func (v *Conversation) emitJoined(c *dissect.Context) {
	m := &v.scratch
	if v.d.Joined(c, m) {
		CheckInvariants(v.t, m)
		v.keep(m)
	}
}

func (v *Conversation) keep(m *dissect.Message) {
	kept := new(dissect.Message)
	m.Clone(kept)
	v.Messages = append(v.Messages, kept)
}

// RunStream dissects b, a message of wire bytes, in context c.
func RunStream(d dissect.StreamDissector, c *dissect.Context, b []byte, wire int) *dissect.Message {
	at := *c
	at.Wire = wire
	m := new(dissect.Message)
	m.Reset(d.Proto(), b)
	d.Dissect(&at, d.Frame(&at, b).Type, b, m)
	return m
}

// CheckStreamTruncations is CheckTruncations for a message of a stream.
func CheckStreamTruncations(t *testing.T, d dissect.StreamDissector, c *dissect.Context, b []byte) {
	t.Helper()
	whole := RunStream(d, c, b, len(b))
	for n := range len(b) {
		m := RunStream(d, c, b[:n], len(b))
		CheckInvariants(t, m)
		if m.Status != dissect.Truncated {
			t.Errorf("captured %d of %d bytes: status %v", n, len(b), m.Status)
		}
		checkPrefix(t, whole, m, nil)
		checkHidden(t, whole, m)

		m = RunStream(d, c, b[:n], n)
		CheckInvariants(t, m)
		checkHidden(t, whole, m)
		if m.Status == dissect.Truncated {
			t.Errorf("sent %d bytes: status %v", n, m.Status)
		}
	}
}
