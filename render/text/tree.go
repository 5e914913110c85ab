package text

import (
	"strconv"

	"qsniff/dissect"
	"qsniff/finding"
	"qsniff/internal/display"
	"qsniff/render"
)

// Tree shows a message with every field: offset, bytes, name, value and meaning,
// findings below the fields they point at, an empty line at the end. No line is
// wider than Options.Width, and nothing is dropped to achieve that: values go on
// in the next line. Bytes are abbreviated where the value says them; all others
// are shown.
type Tree struct{ opt Options }

// NewTree returns a renderer that may be shared.
func NewTree(o Options) *Tree { return &Tree{o.normal()} }

// Append appends e.
func (t *Tree) Append(dst []byte, e *render.Event) []byte {
	p := page{dst: dst, opt: &t.opt, m: e.Msg}
	p.measure()
	p.head(e)
	p.fields()
	p.stop(e)
	for i := range p.m.Expert {
		if x := &p.m.Expert[i]; !p.placed(x) {
			p.finding(x, indentStep)
		}
	}
	p.newline()
	return p.dst
}

// fields writes all fields, and the findings below those they point at.
func (p *page) fields() {
	o := outline{m: p.m}
	for i := range p.m.Fields {
		if at, shown := o.next(i); shown {
			p.field(i, at)
		}
		if p.m.Fields[i].Flags&dissect.HasExpert != 0 {
			p.findings(i)
		}
	}
}

// field writes the lines of the field at index i.
func (p *page) field(i int, at entry) {
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
	p.raw(f)
	for {
		if name.any() {
			p.to(p.nameAt)
			p.take(p.opt.Palette.name, &name, p.nameW)
		}
		p.value(f.Def.Kind, &value, &meaning)
		p.newline()
		if !name.any() && !value.any() && !meaning.any() {
			break
		}
	}
	p.slide(lo, end)
	if p.dumps(f) {
		p.dump(f)
	}
}

// roomForWords is how many cells prose needs to begin in a line.
const roomForWords = 20

// value writes a line of the value column. A meaning that does not fit after
// the value starts the next line, unless it is too long for that too.
func (p *page) value(k dissect.Kind, value, meaning *span) {
	c := &p.opt.Palette
	if value.any() {
		p.to(p.valueAt)
		if k == dissect.Text {
			p.take(c.value, value, p.valueW)
		} else {
			p.takeWords(c.value, value, p.valueW)
		}
		room := p.opt.Width - p.col - gap
		w := display.Cells(p.dst[meaning.lo:meaning.hi])
		if value.any() || w == 0 || w > room && (w <= p.valueW || room < roomForWords) {
			return
		}
		p.to(p.col + gap)
		p.takeWords(c.meaning, meaning, room)
		return
	}
	if meaning.any() {
		p.to(p.valueAt)
		p.takeWords(c.meaning, meaning, p.valueW)
	}
}

// raw writes offset and bytes. What was not read from the message itself has
// neither.
func (p *page) raw(f *dissect.Field) {
	dim := p.opt.Palette.dim
	if f.Len == 0 && f.Flags&(dissect.Aux|dissect.Generated) != 0 {
		return
	}
	p.offset(int(f.Off))
	if f.Len == 0 || isTree(f) || p.dumps(f) {
		return
	}
	p.to(p.offsetW + gap)
	b := p.m.Raw(f)
	switch {
	case p.opt.hides(f.Def):
		p.string(dim, "**")
	case len(b) <= p.rawN:
		p.hex(b)
	default:
		p.elided(b)
	}
}

func (p *page) offset(n int) {
	p.to(p.offsetW - decimals(uint64(n)))
	p.dst = append(p.dst, p.opt.Palette.dim.on...)
	p.dst = strconv.AppendInt(p.dst, int64(n), 10)
	p.dst = append(p.dst, p.opt.Palette.dim.off...)
	p.col = p.offsetW
}

func (p *page) hex(b []byte) {
	p.dst = append(p.dst, p.opt.Palette.dim.on...)
	p.dst = appendHex(p.dst, b)
	p.dst = append(p.dst, p.opt.Palette.dim.off...)
	p.col += 3*len(b) - 1
}

// elided writes the first bytes of b and how many there are.
func (p *page) elided(b []byte) {
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

// dumps reports whether f's bytes need rows of their own: there are more of them
// than the column holds, and nothing else says them.
func (p *page) dumps(f *dissect.Field) bool {
	return !isTree(f) && int(f.Len) > p.rawN && !p.opt.hides(f.Def) && !says(p.m, f)
}

// dump writes rows of offset, bytes and ASCII.
func (p *page) dump(f *dissect.Field) {
	b := p.m.Raw(f)
	for at := 0; at < len(b); at += p.dumpN {
		row := b[at:min(at+p.dumpN, len(b))]
		p.offset(int(f.Off) + at)
		p.to(p.offsetW + gap)
		p.hex(row)
		p.to(p.offsetW + gap + 3*p.dumpN - 1 + gap)
		for _, c := range row {
			if c < ' ' || c > '~' {
				c = '.'
			}
			p.dst = append(p.dst, c)
		}
		p.newline()
	}
}

// findings writes what was found about the field at index i.
func (p *page) findings(i int) {
	for j := range p.m.Expert {
		if x := &p.m.Expert[j]; int(x.Field) == i {
			p.finding(x, p.offsetW+gap)
		}
	}
}

// placed reports whether x stands below a field.
func (p *page) placed(x *finding.Expert) bool {
	i := int(x.Field)
	return i >= 0 && i < len(p.m.Fields) && p.m.Fields[i].Flags&dissect.HasExpert != 0
}

// finding writes one finding. Its sentence may quote the wire, so it is escaped
// like anything else.
func (p *page) finding(x *finding.Expert, indent int) {
	p.to(indent)
	p.verdict(x, nil, indent+indentStep)
}

// verdict writes severity, id and sentence of x, and the detail after it. Further
// lines are indented by hang.
func (p *page) verdict(x *finding.Expert, detail []byte, hang int) {
	s := p.opt.Palette.severity[x.Severity]
	lo := len(p.dst)
	p.dst = append(p.dst, "! "...)
	p.dst = append(p.dst, x.Severity.String()...)
	p.dst = append(p.dst, ' ')
	p.dst = append(p.dst, x.Code.ID...)
	head := span{lo, len(p.dst)}
	p.part(s, &head, head.hi-lo, head.hi-lo)
	p.slide(lo, head.hi)
	p.to(p.col + gap)

	lo = len(p.dst)
	p.dst = append(x.AppendText(p.dst), detail...)
	raw := len(p.dst)
	p.dst = display.AppendEscaped(p.dst, p.dst[lo:raw], 0)
	p.slide(lo, raw)
	if x.Frames[0] != 0 {
		p.dst = append(p.dst, " ("...)
		p.dst = p.opt.appendFrames(p.dst, pair(&x.Frames))
		p.dst = append(p.dst, ')')
	}
	p.paragraph(style{}, lo, hang)
}

// pair drops the second frame where there is none, or where it is the first.
func pair(frames *[2]uint64) []uint64 {
	if frames[1] == 0 || frames[1] == frames[0] {
		return frames[:1]
	}
	return frames[:]
}
