package dissect

import (
	"bytes"
	"encoding/binary"
	"math"
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

// fail records that d wanted bytes that are not there. The rest of the message becomes d's
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
	e := finding.Expert{Code: code, Severity: s, Field: int32(field), A: a, B: b}
	if field >= 0 {
		f := &m.Fields[field]
		f.Flags |= HasExpert
		e.Place = finding.Place{Name: f.Def.Name, At: f.Off, Ends: uint32(m.Wire)}
	}
	m.Expert = append(m.Expert, e)
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

// Readers of numbers. All are little-endian unless their names say otherwise.

// U8 reads one byte.
func (c *Cursor) U8(d *Def) uint8 {
	b := c.next(d, 1)
	if b == nil {
		return 0
	}
	c.add(d, 1, uint64(b[0]))
	return b[0]
}

// U16 reads a 16-bit number.
func (c *Cursor) U16(d *Def) uint16 {
	b := c.next(d, 2)
	if b == nil {
		return 0
	}
	v := binary.LittleEndian.Uint16(b)
	c.add(d, 2, uint64(v))
	return v
}

// U24 reads a 24-bit number.
func (c *Cursor) U24(d *Def) uint32 {
	b := c.next(d, 3)
	if b == nil {
		return 0
	}
	v := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
	c.add(d, 3, uint64(v))
	return v
}

// U32 reads a 32-bit number.
func (c *Cursor) U32(d *Def) uint32 {
	b := c.next(d, 4)
	if b == nil {
		return 0
	}
	v := binary.LittleEndian.Uint32(b)
	c.add(d, 4, uint64(v))
	return v
}

// I32 reads a signed 32-bit number; Num holds it sign-extended.
func (c *Cursor) I32(d *Def) int32 {
	b := c.next(d, 4)
	if b == nil {
		return 0
	}
	v := int32(binary.LittleEndian.Uint32(b))
	c.add(d, 4, uint64(int64(v)))
	return v
}

// U64 reads a 64-bit number.
func (c *Cursor) U64(d *Def) uint64 {
	b := c.next(d, 8)
	if b == nil {
		return 0
	}
	v := binary.LittleEndian.Uint64(b)
	c.add(d, 8, v)
	return v
}

// F32 reads a 32-bit float; Num holds its bits.
func (c *Cursor) F32(d *Def) float32 {
	return math.Float32frombits(c.U32(d))
}

// Readers of text and bytes.

// CString reads text up to and with its NUL. The result is without it and valid
// as long as the message's data.
func (c *Cursor) CString(d *Def) []byte {
	if c.isStopped() {
		return nil
	}
	b := c.m.Data[c.off:]
	n := bytes.IndexByte(b, 0)
	if n < 0 {
		c.fail(d)
		return nil
	}
	c.add(d, n+1, uint64(n))
	return b[:n:n]
}

// LastCString is CString for a field that some senders end with the datagram
// instead of a NUL. Nothing left is still a failure.
func (c *Cursor) LastCString(d *Def) []byte {
	if !c.failed && !c.Cut() && c.Left() > 0 && bytes.IndexByte(c.m.Data[c.off:], 0) < 0 {
		b := c.Take(d, c.Left())
		c.Note("ends with the datagram: terminator missing")
		return b
	}
	return c.CString(d)
}

// PString reads a string after its length byte, which counts itself. A length
// of 0 is impossible: it fails like a string that is cut. The cut value is what
// stands after the length byte.
func (c *Cursor) PString(d *Def) []byte {
	if c.isStopped() {
		return nil
	}
	b := c.m.Data[c.off:]
	if len(b) == 0 || b[0] == 0 || int(b[0]) > len(b) {
		c.fail(d)
		if len(b) > 0 {
			c.m.Fields[len(c.m.Fields)-1].Num = 1<<32 | uint64(len(b)-1)
		}
		return nil
	}
	return c.Span(d, 1, int(b[0])-1, 0)
}

// Word reads a Text after the byte lead, which belongs to its extent, up to the
// first of the bytes in stops, which does not, or to the end of the message. It
// fails where lead is missing, and where the capture ends before the text does.
func (c *Cursor) Word(d *Def, lead byte, stops string) []byte {
	if c.isStopped() {
		return nil
	}
	b := c.m.Data[c.off:]
	if len(b) == 0 || b[0] != lead {
		c.fail(d)
		return nil
	}
	n := bytes.IndexAny(b[1:], stops)
	if n < 0 {
		n = len(b) - 1
		if c.Cut() {
			c.fail(d)
			c.m.Fields[len(c.m.Fields)-1].Num = 1<<32 | uint64(n)
			return nil
		}
	}
	return c.Span(d, 1, n, 0)
}

// Derived adds a Text or Bytes that was decoded from bytes read before. It has no
// extent of its own. value is copied.
func (c *Cursor) Derived(d *Def, value []byte) {
	if c.isStopped() {
		return
	}
	m := c.m
	f := c.add(d, 0, uint64(len(m.Aux))<<32|uint64(len(value)))
	f.Flags |= Aux
	m.Aux = append(m.Aux, value...)
}

// Span reads a Text or Bytes of n bytes that stands between skip bytes before it
// and tail bytes after it, which belong to its extent and not to its value: quotes,
// separators. The caller has seen with Peek that they are there.
func (c *Cursor) Span(d *Def, skip, n, tail int) []byte {
	b := c.next(d, skip+n+tail)
	if b == nil {
		return nil
	}
	c.add(d, skip+n+tail, uint64(skip)<<32|uint64(n))
	return b[skip : skip+n : skip+n]
}

// Run is Span for a value that lasts until its delimiter: if it ends with what
// was captured of a longer message, more of it may be missing, and it is marked
// Cut.
func (c *Cursor) Run(d *Def, skip, n, tail int) []byte {
	b := c.Span(d, skip, n, tail)
	if b != nil && tail == 0 && c.Left() == 0 && c.Cut() {
		c.m.Fields[len(c.m.Fields)-1].Flags |= Cut
	}
	return b
}

// Digits reads a decimal number after skip bytes, which belong to its extent.
// One without digits, with more than 64 bits, or with its last digits maybe
// past the end of the capture fails.
func (c *Cursor) Digits(d *Def, skip int) uint64 {
	const longest = 20 // of 64 bits
	b := c.Peek(skip + longest + 1)
	n, v := skip, uint64(0)
	for ; n < len(b) && b[n] >= '0' && b[n] <= '9'; n++ {
		digit := uint64(b[n] - '0')
		if v > (math.MaxUint64-digit)/10 {
			break
		}
		v = v*10 + digit
	}
	switch {
	case c.isStopped():
		return 0
	case n == skip, n-skip > longest, n < len(b) && b[n] >= '0' && b[n] <= '9', n == c.Left() && c.Cut():
		c.fail(d)
		return 0
	}
	c.add(d, n, v)
	return v
}

// Pieces is Run for a Text that may have secrets in it. next returns the first
// secret in what is left of it, or a negative lo; those become fields of secret,
// whose PartOf is d. A text with more than maxSecrets of them hides its rest. Where
// Context.Unread is set, next is not called.
func (c *Cursor) Pieces(d, secret *Def, n, tail int, next func([]byte) (lo, hi int)) {
	for i := 0; c.OK(); i++ {
		lo, hi := -1, -1
		if !c.unread {
			lo, hi = next(c.Peek(n))
		}
		if i == maxSecrets && lo >= 0 {
			lo, hi = 0, n
		}
		if lo < 0 {
			if n+tail > 0 {
				c.Run(d, 0, n, tail)
			}
			return
		}
		if lo > 0 {
			c.Span(d, 0, lo, 0)
		}
		n -= hi
		if n == 0 {
			c.Run(secret, 0, hi-lo, tail)
			return
		}
		c.Span(secret, 0, hi-lo, 0)
	}
}

// Addr reads an address: 4 or 16 bytes, or 6 or 18 with a big-endian port.
func (c *Cursor) Addr(d *Def, n int) []byte { return c.Take(d, n) }

// Take reads n bytes as they are.
func (c *Cursor) Take(d *Def, n int) []byte {
	b := c.next(d, n)
	if b == nil {
		return nil
	}
	c.add(d, n, uint64(n))
	return b
}

// Rest makes the rest of the message a field of d, or none if nothing is left. Bytes that the
// capture cut are missing at its end.
func (c *Cursor) Rest(d *Def) []byte {
	if c.failed || c.Left() == 0 {
		return nil
	}
	b := c.Take(d, c.Left())
	if b != nil && c.Cut() {
		c.m.Fields[len(c.m.Fields)-1].Flags |= Cut
	}
	return b
}

// limit: MaxFields bounds the fields of one message. The longest honest message known
// has 261 rules, 784 fields; a 64 KiB reply of empty rules would make 98,000.
// At 48 bytes a field this keeps a message's list below 600 KiB.
const MaxFields = 12_288

// limit: maxSecrets bounds the secrets that a text is cut into pieces around. The list of
// all variables of a server has about ten; MaxFields must not end the cutting,
// because what is after it is shown.
const maxSecrets = 64

// limit: maxDepth bounds nesting: message, list, group, list, group are in use.
const maxDepth = 8
