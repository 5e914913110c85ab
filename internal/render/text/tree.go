package text

import (
	"strconv"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/display"
	"qsniff/internal/render"
)

// Tree shows every field of a message: offset, bytes, name, value and meaning. Findings
// are below the fields they point at, and an empty line is at the end. No line is wider
// than Options.Width, and nothing is omitted to achieve that: values continue in the next
// line. Bytes are abbreviated where the value shows them; all others are shown.
type Tree struct{ opt Options }

// NewTree returns a renderer that may be shared.
func NewTree(o Options) *Tree { return &Tree{o.withDefaults()} }

// Mark is where lines of a tree begin that belong together: offset At, up to that of the next
// one. Field is the index of the field that they are of, with its findings, or -1.
type Mark struct{ At, Field int }

// Append appends e.
func (t *Tree) Append(dst []byte, e *render.Event) []byte {
	p := page{dst: dst, opt: &t.opt, m: e.Msg}
	return p.writeTree(e)
}

// AppendMarked is Append that also returns where the lines of each field are.
func (t *Tree) AppendMarked(dst []byte, e *render.Event) ([]byte, []Mark) {
	p := page{dst: dst, opt: &t.opt, m: e.Msg, marks: make([]Mark, 0, len(e.Msg.Fields)+2)}
	return p.writeTree(e), p.marks
}

// mark begins the lines of a field, if marks are wanted.
func (p *page) mark(field int) {
	if p.marks != nil {
		p.marks = append(p.marks, Mark{len(p.dst), field})
	}
}

func (p *page) writeTree(e *render.Event) []byte {
	p.measureColumns()
	p.mark(-1)
	p.writeHead(e)
	p.writeFields()
	p.mark(-1)
	p.writeStop(e)
	for i := range p.m.Expert {
		if x := &p.m.Expert[i]; !p.isPlaced(x) {
			p.writeFinding(x, indentStep)
		}
	}
	p.newline()
	return p.dst
}

// writeFields writes all fields, and the findings below those they point at.
func (p *page) writeFields() {
	o := outline{m: p.m}
	for i := range p.m.Fields {
		if at, shown := o.next(i); shown {
			p.mark(i)
			p.writeField(i, at)
		}
		if p.m.Fields[i].Flags&dissect.HasExpert != 0 {
			p.writeFindings(i)
		}
	}
}

// writeField writes the lines of the field at index i.
func (p *page) writeField(i int, at entry) {
	f := &p.m.Fields[i]
	lo := len(p.dst)
	p.dst = appendName(p.dst, at, f.Def.Label)
	name := span{lo, len(p.dst)}
	if f.Def.Kind == dissect.List {
		p.dst = appendEntries(p.dst, p.m, i)
	} else {
		p.dst = appendValue(p.dst, p.opt, p.m, f)
	}
	value := span{name.hi, len(p.dst)}
	p.dst = appendMeaning(p.dst, p.opt, f)
	meaning := span{value.hi, len(p.dst)}

	end := len(p.dst)
	p.writeRaw(f)
	for {
		if name.hasText() {
			p.padTo(p.nameAt)
			p.writeFitting(p.opt.Palette.name, &name, p.nameW)
		}
		p.writeValueLine(f.Def.Kind, &value, &meaning)
		p.newline()
		if !name.hasText() && !value.hasText() && !meaning.hasText() {
			break
		}
	}
	p.slide(lo, end)
	if p.needsDump(f) {
		p.writeDump(f)
	}
}

// roomForWords is how many cells must be free for prose to begin in a line. Chosen: three
// words; with less, the next line is easier to read.
const roomForWords = 20

// writeValueLine writes what fits of value and meaning into a line of the value column.
// A meaning that does not fit after the value starts the next line, unless it is too long
// for one line anyway.
func (p *page) writeValueLine(k dissect.Kind, value, meaning *span) {
	c := &p.opt.Palette
	if value.hasText() {
		p.padTo(p.valueAt)
		if k == dissect.Text {
			p.writeFitting(c.value, value, p.valueW)
		} else {
			p.writeFittingWords(c.value, value, p.valueW)
		}
		room := p.opt.Width - p.col - gap
		w := display.Cells(p.dst[meaning.lo:meaning.hi])
		if value.hasText() || w == 0 || w > room && (w <= p.valueW || room < roomForWords) {
			return
		}
		p.padTo(p.col + gap)
		p.writeFittingWords(c.meaning, meaning, room)
		return
	}
	if meaning.hasText() {
		p.padTo(p.valueAt)
		p.writeFittingWords(c.meaning, meaning, p.valueW)
	}
}

// writeRaw writes offset and bytes of f. A field that was computed, or decoded from bytes
// of other fields, has neither.
func (p *page) writeRaw(f *dissect.Field) {
	dim := p.opt.Palette.dim
	if p.opt.BytesElsewhere || f.Len == 0 && f.Flags&(dissect.Aux|dissect.Generated) != 0 {
		return
	}
	p.writeOffset(int(f.Off))
	if f.Len == 0 || isTree(f) || p.needsDump(f) {
		return
	}
	p.padTo(p.offsetW + gap)
	b := p.m.Raw(f)
	switch {
	case p.opt.hides(f.Def):
		p.writeString(dim, "**")
	case len(b) <= p.rawN:
		p.writeHex(b)
	default:
		p.writeElided(b)
	}
}

func (p *page) writeOffset(n int) {
	p.padTo(p.offsetW - decimals(uint64(n)))
	p.dst = append(p.dst, p.opt.Palette.dim.on...)
	p.dst = strconv.AppendInt(p.dst, int64(n), 10)
	p.dst = append(p.dst, p.opt.Palette.dim.off...)
	p.col = p.offsetW
}

func (p *page) writeHex(b []byte) {
	p.dst = append(p.dst, p.opt.Palette.dim.on...)
	p.dst = appendHex(p.dst, b)
	p.dst = append(p.dst, p.opt.Palette.dim.off...)
	p.col += 3*len(b) - 1
}

// writeElided writes the first bytes of b and how many there are.
func (p *page) writeElided(b []byte) {
	const ellipsis = "… " // two cells
	tail := 2 + decimals(uint64(len(b))) + len(" B")
	n := max(0, (p.rawW-tail)/3)
	p.dst = append(p.dst, p.opt.Palette.dim.on...)
	p.dst = appendHex(p.dst, b[:n])
	if n > 0 {
		p.dst = append(p.dst, ' ')
	}
	p.dst = append(p.dst, ellipsis...)
	p.dst = strconv.AppendInt(p.dst, int64(len(b)), 10)
	p.dst = append(p.dst, " B"...)
	p.dst = append(p.dst, p.opt.Palette.dim.off...)
	p.col += 3*n + tail
}

// needsDump reports whether f's bytes need rows of their own: there are more of them
// than fit into their column, and the value does not show them.
func (p *page) needsDump(f *dissect.Field) bool {
	return !p.opt.BytesElsewhere && !isTree(f) && int(f.Len) > p.rawN && !p.opt.hides(f.Def) && !valueShowsBytes(p.m, f)
}

// writeDump writes rows of offset, bytes and ASCII.
func (p *page) writeDump(f *dissect.Field) {
	b := p.m.Raw(f)
	for at := 0; at < len(b); at += p.dumpN {
		row := b[at:min(at+p.dumpN, len(b))]
		p.writeOffset(int(f.Off) + at)
		p.padTo(p.offsetW + gap)
		p.writeHex(row)
		p.padTo(p.offsetW + gap + 3*p.dumpN - 1 + gap)
		for _, c := range row {
			if c < ' ' || c > '~' {
				c = '.'
			}
			p.dst = append(p.dst, c)
		}
		p.newline()
	}
}

// writeFindings writes the findings about the field at index i.
func (p *page) writeFindings(i int) {
	for j := range p.m.Expert {
		if x := &p.m.Expert[j]; int(x.Field) == i {
			p.writeFinding(x, p.offsetW+gap)
		}
	}
}

// isPlaced reports whether x is written below a field, and not at the end of the message.
func (p *page) isPlaced(x *finding.Expert) bool {
	i := int(x.Field)
	return i >= 0 && i < len(p.m.Fields) && p.m.Fields[i].Flags&dissect.HasExpert != 0
}

// writeFinding writes one finding, indented by indent.
func (p *page) writeFinding(x *finding.Expert, indent int) {
	p.padTo(indent)
	p.writeFindingText(x, nil, indent+indentStep)
}

// writeFindingText writes severity, id and sentence of x, and detail after these. Both
// sentence and detail may quote the network, and are escaped. Further lines are indented
// by hang.
func (p *page) writeFindingText(x *finding.Expert, detail []byte, hang int) {
	s := p.opt.Palette.severity[x.Severity]
	lo := len(p.dst)
	p.dst = append(p.dst, "! "...)
	p.dst = append(p.dst, x.Severity.String()...)
	p.dst = append(p.dst, ' ')
	p.dst = append(p.dst, x.Code.ID...)
	head := span{lo, len(p.dst)}
	p.writePart(s, &head, head.hi-lo, head.hi-lo)
	p.slide(lo, head.hi)
	p.padTo(p.col + gap)

	lo = len(p.dst)
	p.dst = append(x.AppendText(p.dst), detail...)
	raw := len(p.dst)
	p.dst = display.AppendEscaped(p.dst, p.dst[lo:raw], 0)
	p.slide(lo, raw)
	if x.Frames[0] != 0 {
		p.dst = append(p.dst, " ("...)
		p.dst = p.opt.appendFrames(p.dst, distinctFrames(&x.Frames))
		p.dst = append(p.dst, ')')
	}
	p.writeParagraph(style{}, lo, hang)
}

// distinctFrames returns the frames without the second one where that is 0 or equal.
func distinctFrames(frames *[2]uint64) []uint64 {
	if frames[1] == 0 || frames[1] == frames[0] {
		return frames[:1]
	}
	return frames[:]
}
