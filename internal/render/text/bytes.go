package text

import (
	"qsniff/dissect"
	"qsniff/internal/render"
)

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
