package dissect

import (
	"slices"

	"qsniff/dissect/finding"
)

// Cursor reads little-endian values in wire order and appends a Field for each.
// It is the only way to read a message, so a dissector cannot read out of bounds.
//
// The first failure sticks. The bytes that are left become a field marked Cut,
// the message is Truncated if the capture cut it and Malformed if the sender
// did, and every later read returns zero: dissectors need no error checks.
type Cursor struct {
	m      *Message
	off    int
	stack  [maxDepth]int32 // indices of the open groups
	depth  uint8
	failed bool

	limited bool // failed because the message has too many fields
	unread  bool // see Context.Unread
}

// Left is how many bytes are not read yet; 0 after a failure.
func (c *Cursor) Left() int { return len(c.m.Data) - c.off }

// LeftOnWire is how many bytes of the message as sent are not read yet, the ones
// that the capture cut included; 0 after a failure.
func (c *Cursor) LeftOnWire() int {
	if c.failed {
		return 0
	}
	return c.m.Wire - c.off
}

// OK reports whether every read so far succeeded.
func (c *Cursor) OK() bool { return !c.failed }

// Cut reports whether the capture holds less of the message than was sent.
func (c *Cursor) Cut() bool { return c.m.Wire > len(c.m.Data) }

// SeeksSecrets reports whether secrets have to be found, see Context.Unread.
func (c *Cursor) SeeksSecrets() bool { return !c.unread }

// Limited reports whether reading ended at MaxFields, with nothing wrong.
func (c *Cursor) Limited() bool { return c.limited }

// Offset is where the next read starts.
func (c *Cursor) Offset() int { return c.off }

// Peek returns up to n unread bytes without reading them: for decisions that
// depend on what follows.
func (c *Cursor) Peek(n int) []byte {
	return c.m.Data[c.off:min(c.off+n, len(c.m.Data))]
}

// add appends the field of the next n bytes and steps over them.
func (c *Cursor) add(d *Def, n int, num uint64) *Field {
	m := c.m
	i := len(m.Fields)
	if i == cap(m.Fields) {
		m.Fields = slices.Grow(m.Fields, 1)
	}
	m.Fields = m.Fields[:i+1]
	f := &m.Fields[i] // of an earlier message: each member is set, in place
	f.Def, f.Num, f.Note = d, num, ""
	f.Off, f.Len = uint32(c.off), uint32(n)
	f.Depth, f.Flags = c.depth, 0
	c.off += n
	return f
}

// isStopped reports whether no more is read: after a failure, and once the message has
// MaxFields fields. It is small enough to be inlined where each field passes.
func (c *Cursor) isStopped() bool {
	if !c.failed && len(c.m.Fields) >= MaxFields-1 {
		c.stopFull()
	}
	return c.failed
}

// stopFull makes one field of the rest of the bytes, and the cursor fails.
func (c *Cursor) stopFull() {
	c.failed, c.limited = true, true
	c.Pop()
	left := c.Left()
	if left > 0 {
		c.add(&Unread, left, uint64(left))
	}
	c.Expert(&TooManyFields, uint64(len(c.m.Fields)), uint64(left))
}

// fail records that d wanted bytes that are not there. What is left becomes d's
// cut value.
func (c *Cursor) fail(d *Def) {
	m := c.m
	c.failed = true
	if n := c.Left(); n > 0 {
		f := c.add(d, n, 0)
		f.Flags |= Cut
		if d.Kind == Text || d.Kind == Bytes {
			f.Num = uint64(n)
		}
	}
	m.Stopped, m.StoppedAt = d, uint32(len(m.Data))
	m.Status = Malformed
	if c.Cut() {
		m.Status = Truncated
	}
}

// next returns the next n bytes, or nil after a failure.
func (c *Cursor) next(d *Def, n int) []byte {
	if c.isStopped() {
		return nil
	}
	if c.Left() < n {
		c.fail(d)
		return nil
	}
	return c.m.Data[c.off : c.off+n : c.off+n]
}

// Undeclared is the declared count of a List whose length no field holds.
const Undeclared = -1

// Push opens a Group (num is its index) or a List (num is the declared count, or
// Undeclared).
func (c *Cursor) Push(d *Def, num int) {
	if c.isStopped() {
		return
	}
	c.stack[c.depth] = int32(len(c.m.Fields))
	c.add(d, 0, uint64(num))
	c.depth++
}

// Pop closes what the last Push opened and sets its extent. After a failure it
// closes all that is open, since no later read counts.
func (c *Cursor) Pop() {
	for c.depth > 0 {
		c.depth--
		f := &c.m.Fields[c.stack[c.depth]]
		f.Len = uint32(c.off) - f.Off
		if !c.failed {
			return
		}
	}
}

// Note sets the note of the field just read. s is a constant.
func (c *Cursor) Note(s string) {
	if n := len(c.m.Fields); n > 0 && !c.failed {
		c.m.Fields[n-1].Note = s
	}
}

// Expert raises a finding about the field just read.
func (c *Cursor) Expert(code *finding.Code, a, b uint64) {
	c.ExpertAt(code, code.Severity, len(c.m.Fields)-1, a, b)
}

// ExpertAt raises a finding with a severity of its own about the field at index
// field, or about the whole message if that is -1.
func (c *Cursor) ExpertAt(code *finding.Code, s finding.Severity, field int, a, b uint64) {
	c.m.expert(code, s, field, a, b)
}

func (m *Message) expert(code *finding.Code, s finding.Severity, field int, a, b uint64) {
	if field >= 0 {
		m.Fields[field].Flags |= HasExpert
	}
	m.Expert = append(m.Expert, finding.Expert{Code: code, Severity: s, Field: int32(field), A: a, B: b})
}

// Generated adds a number that was computed, not read, or a Text without a byte: the
// first piece of one that begins with a secret. It has no extent.
func (c *Cursor) Generated(d *Def, num uint64) {
	if c.isStopped() {
		return
	}
	c.add(d, 0, num).Flags |= Generated
}

// Fields is how many fields there are: the index that the next one will have.
func (c *Cursor) Fields() int { return len(c.m.Fields) }

// Done ends dissection: what is left becomes Trailing, and a message that the
// capture cut is Truncated even where the cut falls between two values.
func (c *Cursor) Done() {
	c.Rest(&Trailing)
	c.Pop()
	if c.m.Status == Complete && c.Cut() {
		c.m.Status = Truncated
	}
}
