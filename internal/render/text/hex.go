package text

import (
	"strconv"

	"qsniff/dissect"
	"qsniff/internal/base/display"
	"qsniff/internal/render"
)

// Hex shows the bytes of a message in rows, each row with the fields that begin in
// it: a bar stands before the first byte of every field, and the names beside
// the row are those of its bars, in order. Bytes and name of a field have one
// colour. Where a message came in several frames, a row begins with the number of its
// frame, and has bytes of that one only. After the rows follow the fields that were
// computed, or decoded from bytes of other fields.
//
// As in Tree, no line is wider than Options.Width, bytes of secrets are stars, and
// every byte of the message is shown.
type Hex struct{ opt Options }

// NewHex returns a renderer that may be shared.
func NewHex(o Options) *Hex { return &Hex{o.withDefaults()} }

// AppendRecord appends a finding and an empty line.
func (h *Hex) AppendRecord(dst []byte, r *render.Record) []byte {
	return appendWrappedRecord(dst, &h.opt, r)
}

// Append appends e.
func (h *Hex) Append(dst []byte, e *render.Event) []byte {
	p := page{dst: dst, opt: &h.opt, m: e.Msg}
	p.measureColumns()
	p.writeHead(e)
	d := hexDump{page: &p, e: e}
	d.measureRows()
	d.writeRows()
	p.writeComputed()
	p.writeStop(e)
	for i := range p.m.Expert {
		p.writeFinding(&p.m.Expert[i], indentStep)
	}
	p.newline()
	return p.dst
}

// hexDump is the rows of one message.
type hexDump struct {
	*page
	e      *render.Event
	rowLen int // bytes a row has
	frameW int // 0 where all is of one frame
	hexAt  int
	textAt int
	nameAt int

	lit    [2]int // bytes that Bytes marks; none of Hex
	isBare bool   // no names, as Bytes has it

	leafCursor
	piece int    // index in e.Pieces of the piece that the next byte belongs to
	shown uint64 // frame that was written last
}

// leafCursor is a position among the leaves of a message: the fields that have bytes.
type leafCursor struct {
	leafNo   int    // index of the leaf that the next byte belongs to
	color    int    // number of leaves up to it
	index    uint64 // of the group around it, where that is in a list
	isInList bool
}

// Widths from which a row has 16 bytes, and eight: in narrower ones the names would have no
// room beside them.
const (
	wideRow = 110
	fairRow = 72
)

// measureRows sets the columns of the rows.
func (d *hexDump) measureRows() {
	switch w := d.opt.Width; {
	case w >= wideRow:
		d.rowLen = 16
	case w >= fairRow:
		d.rowLen = 8
	default:
		d.rowLen = 4
	}
	if len(d.e.Pieces) > 1 {
		last := d.e.Pieces[0].Frame
		for i := range d.e.Pieces {
			last = max(last, d.e.Pieces[i].Frame)
		}
		d.frameW = max(decimals(last), len(d.opt.unit())) + 1
	}
	d.hexAt = d.frameW + d.offsetW + 1
	d.textAt = d.hexAt + 3*d.rowLen + gap
	d.nameAt = d.textAt + d.rowLen + gap
}

// writeRows writes all rows, and returns at which byte each begins if that is wanted.
func (d *hexDump) writeRows() (starts []int) {
	if d.frameW > 0 && !d.isBare {
		d.padTo(indentStep - 1)
		d.writeString(d.opt.Palette.dim, d.opt.unit())
		d.newline()
	}
	d.leafNo = -1
	d.nextLeaf()
	for at := 0; at < len(d.m.Data); {
		n := min(d.rowLen, len(d.m.Data)-at)
		if d.frameW > 0 {
			n = min(n, d.pieceEnd(at)-at)
		}
		if d.isBare {
			starts = append(starts, at)
		}
		d.writeRow(at, n)
		at += n
	}
	return starts
}

// pieceEnd returns the offset where the piece ends that has the byte at offset at.
func (d *hexDump) pieceEnd(at int) int {
	for d.piece < len(d.e.Pieces) {
		if x := &d.e.Pieces[d.piece]; int(x.Off+x.Len) > at {
			return int(x.Off + x.Len)
		}
		d.piece++
	}
	return len(d.m.Data)
}

// writeRow writes n bytes from offset at on, and the fields that begin in them.
func (d *hexDump) writeRow(at, n int) {
	d.writeFrame()
	d.padTo(d.frameW + d.offsetW - decimals(uint64(at)))
	d.dst = strconv.AppendInt(append(d.dst, d.opt.Palette.dim.on...), int64(at), 10)
	d.dst = append(d.dst, d.opt.Palette.dim.off...)
	d.col = d.frameW + d.offsetW
	d.padTo(d.hexAt)
	first := d.leafCursor
	d.writeDigits(at, n)
	d.padTo(d.textAt)
	d.leafCursor = first
	d.writeChars(at, n)
	if !d.isBare {
		d.leafCursor = first
	}
	for i := 0; i < n && !d.isBare; i++ {
		if f := d.leafAt(at + i); f != nil && int(f.Off) == at+i {
			d.writeName(f)
		}
	}
	d.newline()
}

// writeFrame writes the number of the frame that the row is from, unless the row above is
// from the same.
func (d *hexDump) writeFrame() {
	if d.frameW == 0 || d.piece >= len(d.e.Pieces) {
		return
	}
	x := d.e.Pieces[d.piece].Frame
	if x == d.shown {
		return
	}
	d.shown = x
	d.padTo(d.frameW - 1 - decimals(x))
	d.dst = strconv.AppendUint(append(d.dst, d.opt.Palette.head.on...), x, 10)
	d.dst = append(d.dst, d.opt.Palette.head.off...)
	d.col = d.frameW - 1
}

// leafAt returns the field that the byte at offset at belongs to. It only moves forward:
// calls have rising offsets.
func (d *hexDump) leafAt(at int) *dissect.Field {
	for d.leafNo < len(d.m.Fields) {
		if f := &d.m.Fields[d.leafNo]; at < int(f.Off+f.Len) {
			return f
		}
		d.nextLeaf()
	}
	return nil
}

// nextLeaf steps to the next field that has bytes of its own.
func (d *hexDump) nextLeaf() {
	for d.leafNo++; d.leafNo < len(d.m.Fields); d.leafNo++ {
		f := &d.m.Fields[d.leafNo]
		if f.Depth == 0 {
			d.isInList = false
		}
		switch {
		case f.Def.Kind == dissect.Group:
			d.index, d.isInList = f.Num, f.Depth > 0
		case f.Def.Kind != dissect.List && f.Flags&(dissect.Aux|dissect.Generated) == 0:
			d.color++
			return
		}
	}
}

// writeDigits writes n bytes from offset at on in hexadecimal, each after a bar or a
// space. The bytes of one field share its colour.
func (d *hexDump) writeDigits(at, n int) {
	var s style
	field := -1
	for i := range n {
		f := d.leafAt(at + i)
		if d.leafNo == field && !d.isLitEdge(at+i) {
			d.dst = append(d.dst, ' ')
		} else {
			lead := byte(' ')
			if f != nil && int(f.Off) == at+i {
				lead = '|'
			}
			d.dst = append(append(d.dst, s.off...), lead)
			s, field = d.byteStyle(at+i), d.leafNo
			d.dst = append(d.dst, s.on...)
		}
		if c := d.m.Data[at+i]; f != nil && d.opt.hides(f.Def) {
			d.dst = append(d.dst, "**"...)
		} else {
			d.dst = append(d.dst, hexDigits[c>>4], hexDigits[c&0xf])
		}
	}
	d.dst = append(d.dst, s.off...)
	d.col += 3 * n
}

// writeChars writes n bytes from offset at on as characters.
func (d *hexDump) writeChars(at, n int) {
	var s style
	field := -1
	for i := range n {
		f, c := d.leafAt(at+i), d.m.Data[at+i]
		if d.leafNo != field || d.isLitEdge(at+i) {
			d.dst = append(d.dst, s.off...)
			s, field = d.byteStyle(at+i), d.leafNo
			d.dst = append(d.dst, s.on...)
		}
		switch {
		case f != nil && d.opt.hides(f.Def):
			c = '*'
		case c < ' ' || c > '~':
			c = '.'
		}
		d.dst = append(d.dst, c)
	}
	d.dst = append(d.dst, s.off...)
	d.col += n
}

// leafStyle returns the colour of the leaf that the cursor is at.
func (d *hexDump) leafStyle() style { return d.opt.Palette.fields[d.color%fieldStyles] }

// writeName writes name, value and meaning of a field that begins in the row: after those
// of the fields before it, or in a new line where they leave no room.
func (d *hexDump) writeName(f *dissect.Field) {
	lo := len(d.dst)
	if d.isInList {
		d.dst = strconv.AppendUint(append(d.dst, '['), d.index, 10)
		d.dst = append(d.dst, "] "...)
	}
	d.dst = append(d.dst, f.Def.Label...)
	label := span{lo, len(d.dst)}
	d.dst = append(d.dst, ' ')
	if f.Def.Kind == dissect.Bytes && !d.opt.hides(f.Def) { // the bytes are in the row
		d.dst = appendCount(d.dst, uint64(f.Len))
	} else {
		d.dst = appendBrief(d.dst, d.opt, d.m, f)
	}
	value := span{label.hi, len(d.dst)}
	if note := f.Meaning(); note != "" && !d.opt.hides(f.Def) {
		d.dst = append(append(append(d.dst, " ("...), note...), ')')
	}
	meaning := span{value.hi, len(d.dst)}
	end := len(d.dst)
	d.makeRoom(display.Cells(d.dst[lo:end]), gap, d.nameAt)
	d.writeWrapped(d.leafStyle(), &label)
	d.writeWrapped(style{}, &value)
	if w := display.Cells(d.dst[meaning.lo:meaning.hi]); w > 0 && d.col+w > d.opt.Width {
		d.newline()
		d.padTo(d.nameAt + indentStep - 1) // the meaning starts with a space
	}
	for d.writeFittingWords(style{}, &meaning, d.opt.Width-d.col); meaning.hasText(); d.writeFittingWords(style{}, &meaning, d.opt.Width-d.col) {
		d.newline()
		d.padTo(d.nameAt + indentStep)
	}
	d.slide(lo, end)
}

// writeWrapped writes all of x, in as many lines as it takes.
func (d *hexDump) writeWrapped(s style, x *span) {
	for d.breakUnlessFits(x); x.hasText(); d.breakUnlessFits(x) {
		d.writeFitting(s, x, d.opt.Width-d.col)
	}
}

// breakUnlessFits starts a new line if nothing of x fits into this one.
func (d *hexDump) breakUnlessFits(x *span) {
	if !x.hasText() {
		return
	}
	if _, w := display.Fit(d.dst[x.lo:x.hi], 1); d.col+w > d.opt.Width {
		d.newline()
		d.padTo(d.nameAt)
	}
}

// makeRoom moves to where w cells fit: to column at if the line does not reach it yet,
// else apart cells after the end of the line, else to column at of a new line.
func (p *page) makeRoom(w, apart, at int) {
	switch {
	case p.col <= at:
	case p.col+apart+w > p.opt.Width:
		p.newline()
	default:
		p.padTo(p.col + apart)
	}
	p.padTo(at)
}

// writeComputed writes the fields that were computed, or decoded from bytes of other
// fields, as Tree does.
func (p *page) writeComputed() {
	o := outline{m: p.m}
	for i := range p.m.Fields {
		at, shown := o.next(i)
		if f := &p.m.Fields[i]; shown && f.Flags&(dissect.Aux|dissect.Generated) != 0 {
			p.writeField(i, at)
		}
	}
}

// Bytes is the bytes of a message as Hex has them, without names and heading: beside a Tree
// with BytesElsewhere, which has these. Rows are as long as Options.Width allows.
type Bytes struct{ opt Options }

// NewBytes returns Bytes that may be shared.
func NewBytes(o Options) *Bytes {
	width := o.Width
	o = o.withDefaults()
	o.Width = max(width, 1)
	return &Bytes{o}
}

// Append appends the rows of e, with the bytes [from, to) in reverse. A row begins at each
// of the offsets that it returns.
func (d *Bytes) Append(dst []byte, e *render.Event, from, to int) ([]byte, []int) {
	p := page{dst: dst, opt: &d.opt, m: e.Msg}
	x := hexDump{page: &p, e: e, lit: [2]int{from, to}}
	p.offsetW = max(minOffsetW, decimals(uint64(len(e.Msg.Data))))
	x.measureRows()
	for x.rowLen = 16; x.rowLen > 4; x.rowLen /= 2 {
		if x.hexAt+4*x.rowLen+gap <= d.opt.Width {
			break
		}
	}
	x.textAt = x.hexAt + 3*x.rowLen + gap
	x.isBare = true
	return p.dst, x.writeRows()
}

// byteStyle returns the style of the byte at an offset, which belongs to the leaf that the
// cursor is at.
func (d *hexDump) byteStyle(at int) style {
	if at >= d.lit[0] && at < d.lit[1] {
		return d.opt.Palette.lit
	}
	return d.leafStyle()
}

// isLitEdge reports whether marked bytes begin or end at an offset.
func (d *hexDump) isLitEdge(at int) bool {
	return d.lit[0] < d.lit[1] && (at == d.lit[0] || at == d.lit[1])
}

// LeafAt returns the index of the field that has the byte at offset at of m, or -1.
func LeafAt(m *dissect.Message, at int) int {
	d := hexDump{page: &page{m: m}, leafCursor: leafCursor{leafNo: -1}}
	d.nextLeaf()
	if f := d.leafAt(at); f == nil || at < int(f.Off) {
		return -1
	}
	return d.leafNo
}

// FieldText returns what Tree shows as the value of a field, and its bytes in hexadecimal;
// ok is false where either has a secret that o does not show.
func FieldText(o *Options, m *dissect.Message, f *dissect.Field) (value, bytes string, ok bool) {
	for i := range m.Fields {
		if x := &m.Fields[i]; o.hides(x.Def) && x.Off < f.Off+f.Len && f.Off < x.Off+x.Len || x == f && o.hides(f.Def) {
			return "", "", false
		}
	}
	return string(appendValue(nil, o, m, f)), string(appendHex(nil, m.Raw(f))), true
}
