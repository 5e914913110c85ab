package dissect

// Extent is a stretch of a message's data.
type Extent struct{ Off, Len uint32 }

// Parts adds fields that are decoded from bytes which other fields cover: words of
// a text, data that was escaped or cut into pages. Every field says where on the
// wire its bytes are, and is flagged Aux: it stands outside the rule that every
// byte has one field. Parts may be used where the cursor failed: it reads
// nothing itself.
type Parts struct {
	m        *Message
	stack    [maxDepth]int32 // indices of the open groups
	depth    uint8
	base     uint8 // depth of the cursor
	end      uint32
	ended    bool // a limit was reached
	unopened int  // groups that were opened after it
}

// Parts returns an adder for values in the bytes within, which were read before.
func (c *Cursor) Parts(within Extent) Parts {
	return Parts{m: c.m, base: c.depth, end: within.Off + within.Len, ended: c.limited}
}

// add appends a field, unless the message is full; left is how many bytes then
// stay undecoded.
func (p *Parts) add(d *Def, at Extent, num uint64, left int) *Field {
	if p.ended {
		return nil
	}
	if len(p.m.Fields) >= MaxFields-1 {
		p.stop(left)
		return nil
	}
	p.m.Fields = append(p.m.Fields, Field{Def: d, Num: num, Off: at.Off, Len: at.Len, Depth: p.base + p.depth, Flags: Aux})
	return &p.m.Fields[len(p.m.Fields)-1]
}

func (p *Parts) stop(left int) {
	p.ended = true
	n := len(p.m.Fields)
	p.m.expert(&TooManyFields, TooManyFields.Severity, n-1, uint64(n), uint64(max(left, 0)))
}

// bytesFrom returns how many bytes there are from at on.
func (p *Parts) bytesFrom(at Extent) int { return int(p.end) - int(at.Off) }

// Num adds a number, of which num is the value.
func (p *Parts) Num(d *Def, at Extent, num uint64) { p.add(d, at, num, p.bytesFrom(at)) }

// Text adds a text. value is copied.
func (p *Parts) Text(d *Def, at Extent, value []byte) {
	m := p.m
	if !p.ended && len(m.Aux)+len(value) > maxAux {
		p.stop(p.bytesFrom(at))
	}
	if p.add(d, at, uint64(len(m.Aux))<<32|uint64(len(value)), p.bytesFrom(at)) != nil {
		m.Aux = append(m.Aux, value...)
	}
}

// Bits adds a number that was computed from the field just added.
func (p *Parts) Bits(d *Def, num uint64) {
	last := &p.m.Fields[len(p.m.Fields)-1]
	if f := p.add(d, Extent{last.Off, last.Len}, num, 0); f != nil {
		f.Flags |= Generated
	}
}

// Push opens a Group or a List as Cursor.Push does. at is what it has on the wire
// besides its members: a count, or nothing at the place where they begin.
func (p *Parts) Push(d *Def, num int, at Extent) {
	if p.add(d, at, uint64(num), p.bytesFrom(at)) == nil {
		p.unopened++
		return
	}
	p.stack[p.depth] = int32(len(p.m.Fields) - 1)
	p.depth++
}

// Pop closes what the last Push opened, around all its members.
func (p *Parts) Pop() {
	if p.unopened > 0 {
		p.unopened--
		return
	}
	p.depth--
	i := p.stack[p.depth]
	f := &p.m.Fields[i]
	end := f.Off + f.Len
	for j := range p.m.Fields[i+1:] {
		x := &p.m.Fields[int(i)+1+j]
		f.Off, end = min(f.Off, x.Off), max(end, x.Off+x.Len)
	}
	f.Len = end - f.Off
}

// Note sets the note of the field just added. s is a constant.
func (p *Parts) Note(s string) {
	if !p.ended {
		p.m.Fields[len(p.m.Fields)-1].Note = s
	}
}

// Escape is a code that keeps certain bytes out of a text: Lead and the byte
// after it stand for another one. A Lead before any other byte, or of
// nothing, stands for itself.
type Escape struct {
	Lead  byte
	Pairs []Pair
}

// Pair is one escape: a Lead and the byte After it stand for the byte Means.
type Pair struct{ After, Means byte }

// Inner reads little-endian values, in order, from pieces of a message that are
// one string of escaped bytes when joined. An escape may begin in one piece and
// end in the next, and the pieces may stand in any order on the wire. Values are
// decoded as they are read; texts are kept in Message.Aux.
//
// The first failure sticks, as a Cursor's does. It changes no status: the message
// around the pieces is whole, and the protocol's own finding names the fault.
type Inner struct {
	Parts
	pieces []Extent
	escape *Escape
	place
	size     int // decoded bytes in all
	left     int // of them, not read yet
	failedAt int // decoded bytes before the value that failed
	failed   bool
}

// place is where the next wire byte lies: off bytes into a piece.
type place struct {
	piece int
	off   uint32
}

// Inner returns a reader. pieces must stay as they are while it is in use.
func (c *Cursor) Inner(pieces []Extent, code *Escape) Inner {
	in := Inner{Parts: c.Parts(Extent{}), pieces: pieces, escape: code}
	for in.skipEnds() {
		in.decodeByte()
		in.size++
	}
	in.place, in.left = place{}, in.size
	return in
}

// OK reports whether every read so far succeeded.
func (in *Inner) OK() bool { return !in.failed && !in.ended }

// Left is how many decoded bytes are not read yet.
func (in *Inner) Left() int { return in.left }

// Stopped returns the offset of the value that was incomplete, and how many bytes
// there are in all, both counted in decoded bytes; ok is false if no read failed.
func (in *Inner) Stopped() (at, size int, ok bool) { return in.failedAt, in.size, in.failed }

// skipEnds steps over the ends of pieces and reports whether a wire byte follows.
func (in *Inner) skipEnds() bool {
	for in.piece < len(in.pieces) && in.off == in.pieces[in.piece].Len {
		in.piece++
		in.off = 0
	}
	return in.piece < len(in.pieces)
}

// wireByte takes one wire byte, which is there.
func (in *Inner) wireByte() (b byte, at uint32) {
	at = in.pieces[in.piece].Off + in.off
	in.off++
	return in.m.Data[at], at
}

// decodeByte decodes the next byte, which is there. It is made of the wire bytes first
// and last.
func (in *Inner) decodeByte() (b byte, first, last uint32) {
	b, first = in.wireByte()
	if in.escape == nil || b != in.escape.Lead {
		return b, first, first
	}
	here := in.place
	if in.skipEnds() {
		after, at := in.wireByte()
		for _, p := range in.escape.Pairs {
			if p.After == after {
				return p.Means, first, at
			}
		}
	}
	in.place = here
	return b, first, first
}

// Peek returns the next decoded byte without reading it; 0 if there is none.
func (in *Inner) Peek() byte {
	if !in.skipEnds() {
		return 0
	}
	here := in.place
	b, _, _ := in.decodeByte()
	in.place = here
	return b
}

// wireOffset is the wire offset of the next byte, or where the last piece ends.
func (in *Inner) wireOffset() uint32 {
	if in.skipEnds() {
		return in.pieces[in.piece].Off + in.off
	}
	if n := len(in.pieces); n > 0 {
		return in.pieces[n-1].Off + in.pieces[n-1].Len
	}
	return 0
}

const elsewhere = "goes on in a page further up"

// decode appends the next n bytes, which are there, to Aux. Their extent reaches
// from the first to the last, or to the end of the piece if the next one stands
// before it on the wire; then back is true.
func (in *Inner) decode(n int) (at Extent, back bool) {
	at.Off = in.wireOffset()
	end := at.Off
	for range n {
		in.skipEnds()
		b, first, last := in.decodeByte()
		in.m.Aux = append(in.m.Aux, b)
		switch {
		case back:
		case first < end:
			back = true
		case last < first:
			end, back = first+1, true
		default:
			end = last + 1
		}
	}
	in.left -= n
	at.Len = end - at.Off
	return at, back
}

// readValue reads n bytes as a field of d and leaves them at the end of Aux, from
// start on; nil if they are not there, and the rest then becomes d's cut value.
func (in *Inner) readValue(d *Def, n int) (f *Field, start int) {
	start = len(in.m.Aux)
	if !in.OK() {
		return nil, start
	}
	left, have := in.left, min(n, in.left)
	if start+have > maxAux {
		in.stop(left)
		return nil, start
	}
	if n > left {
		in.failed, in.failedAt = true, in.size-left
		if left == 0 {
			return nil, start
		}
	}
	at, back := in.decode(have)
	if f = in.add(d, at, 0, left); f == nil {
		in.m.Aux = in.m.Aux[:start]
		return nil, start
	}
	if back {
		f.Note = elsewhere
	}
	if in.failed {
		f.Flags |= Cut
	}
	return f, start
}

// Uint reads a number of n bytes, at most 8.
func (in *Inner) Uint(d *Def, n int) (v uint64) {
	f, start := in.readValue(d, n)
	b := in.m.Aux[start:]
	in.m.Aux = in.m.Aux[:start]
	if f == nil || in.failed {
		return 0
	}
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	f.Num = v
	return v
}

// U8 reads one byte.
func (in *Inner) U8(d *Def) uint8 { return uint8(in.Uint(d, 1)) }

// U16 reads a 16-bit number.
func (in *Inner) U16(d *Def) uint16 { return uint16(in.Uint(d, 2)) }

// U32 reads a 32-bit number.
func (in *Inner) U32(d *Def) uint32 { return uint32(in.Uint(d, 4)) }

// Counted reads a text after a byte that holds its length.
func (in *Inner) Counted(d *Def) { in.readText(d, 1, 1+int(in.Peek())) }

// Rest makes what is left a field of d; nothing left makes none.
func (in *Inner) Rest(d *Def) {
	if in.OK() && in.left > 0 {
		in.readText(d, 0, in.left)
	}
}

// readText reads n bytes of which the first skip are not the value.
func (in *Inner) readText(d *Def, skip, n int) {
	if f, start := in.readValue(d, n); f != nil {
		f.Num = uint64(start+skip)<<32 | uint64(len(in.m.Aux)-start-skip)
	}
}

// Skip steps over n bytes and makes no field of them: for a copy of the reader that
// looks ahead.
func (in *Inner) Skip(n int) {
	if n > in.left {
		in.Fail()
	}
	for ; n > 0 && in.OK() && in.skipEnds(); n-- {
		in.decodeByte()
		in.left--
	}
}

// Open is Push for a group whose first member comes next.
func (in *Inner) Open(d *Def, num int) {
	if !in.OK() {
		in.unopened++
		return
	}
	in.Push(d, num, Extent{Off: in.wireOffset()})
}

// List opens a List after a byte that holds its count, and returns that.
func (in *Inner) List(d *Def) int {
	if in.left == 0 {
		in.Fail()
	}
	if !in.OK() {
		in.unopened++
		return 0
	}
	n := in.Peek()
	at, _ := in.decode(1)
	in.m.Aux = in.m.Aux[:len(in.m.Aux)-1]
	in.Push(d, int(n), at)
	return int(n)
}

// Fail makes the reader fail at its next byte: the caller found a value that is
// impossible.
func (in *Inner) Fail() {
	if in.OK() {
		in.failed, in.failedAt = true, in.size-in.left
	}
}

// limit: maxAux bounds the decoded bytes that Parts keeps of one message. They are decoded
// from bytes of it, and no server has reason to send more than one datagram holds.
const maxAux = 64 << 10
