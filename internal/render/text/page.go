package text

import (
	"strconv"

	"qsniff/dissect"
	"qsniff/internal/base/display"
)

// page lays out one message in lines. Text is first appended to dst as it is; then its
// lines are appended after it, and slide moves them over the text. This needs no buffer,
// so that nothing is allocated and one renderer can serve several goroutines.
type page struct {
	dst []byte
	opt *Options
	m   *dissect.Message
	col int // cells written on the current line

	marks []Mark

	indent int // of the lines on how a message arrived and where it ended

	offsetW int
	rawN    int // bytes a line shows of a field
	rawW    int
	nameAt  int
	nameW   int
	valueAt int
	valueW  int
	dumpN   int // bytes a row of a dump shows
}

// gap is the space between columns.
const gap = 2

// The least widths of the columns. Values get the rest of the line: they are what people
// read.
const (
	minOffsetW = 4 // messages of less than 10,000 bytes line up with each other
	minNameW   = 11
	minValueW  = display.WidestUnit
)

// span is a part of dst that is still to be laid out: the offsets, as dst moves when it
// grows.
type span struct{ lo, hi int }

func (x *span) hasText() bool { return x.lo < x.hi }

// measureColumns sets the columns for p's message. The name column is as wide as the
// longest name, up to a quarter of the page.
func (p *page) measureColumns() {
	w := p.opt.Width
	p.offsetW = max(minOffsetW, decimals(uint64(len(p.m.Data))))
	switch {
	case w < 72:
		p.rawN = 4
	case w < 100:
		p.rawN = 8
	case w < 120:
		p.rawN = 12
	default:
		p.rawN = 16
	}
	p.rawW = 3*p.rawN - 1
	p.nameAt = p.offsetW + gap + p.rawW + gap
	most := min(w/4, w-p.nameAt-gap-minValueW)
	p.nameW = min(minNameW, most)
	if p.opt.BytesElsewhere {
		p.nameAt, most = indentStep, w/2
	}
	o := outline{m: p.m}
	for i := range p.m.Fields {
		if e, shown := o.next(i); shown {
			p.nameW = min(max(p.nameW, nameCells(e, p.m.Fields[i].Def.Label)), most)
		}
	}
	p.valueAt = p.nameAt + p.nameW + gap
	p.valueW = w - p.valueAt
	p.dumpN = 8
	for _, n := range [...]int{16, 32} {
		if p.offsetW+gap+3*n-1+gap+n <= w {
			p.dumpN = n
		}
	}
}

// nameCells returns the width of what appendName appends for an ASCII label.
func nameCells(e entry, label string) int {
	w := e.indent + len(label)
	if e.digits > 0 {
		w += max(e.digits, decimals(e.index)) + len("[] ")
	}
	return w
}

// slide removes dst[lo:hi]: it moves what follows to lo.
func (p *page) slide(lo, hi int) {
	n := copy(p.dst[lo:], p.dst[hi:])
	p.dst = p.dst[:lo+n]
}

func (p *page) newline() {
	p.dst, p.col = append(p.dst, '\n'), 0
}

// padTo writes spaces up to column col, if the line does not reach that far.
func (p *page) padTo(col int) {
	if col > p.col {
		p.dst, p.col = appendSpaces(p.dst, col-p.col), col
	}
}

// writeString writes text, which is ASCII.
func (p *page) writeString(s style, text string) {
	p.dst = append(p.dst, s.on...)
	p.dst = append(p.dst, text...)
	p.dst = append(p.dst, s.off...)
	p.col += len(text)
}

// writePart writes the first n bytes of x, which are w cells wide, and removes them from x.
func (p *page) writePart(s style, x *span, n, w int) {
	p.dst = append(p.dst, s.on...)
	p.dst = append(p.dst, p.dst[x.lo:x.lo+n]...)
	p.dst = append(p.dst, s.off...)
	p.col += w
	x.lo += n
}

// writeFitting writes as much of x as fits into width cells, and leaves the rest in x. It
// breaks at any character, so that the lines of a value joined are exactly the value.
func (p *page) writeFitting(s style, x *span, width int) {
	if !x.hasText() {
		return
	}
	n, w := display.Fit(p.dst[x.lo:x.hi], width)
	p.writePart(s, x, n, w)
}

// writeFittingWords is writeFitting for prose: it breaks at spaces, and drops these.
func (p *page) writeFittingWords(s style, x *span, width int) {
	n, w := display.FitWords(p.dst[x.lo:x.hi], width)
	p.writePart(s, x, n, w)
	for x.hasText() && p.dst[x.lo] == ' ' {
		x.lo++
	}
}

// writeParagraph lays out the prose from lo to the end of dst, and ends the line.
// Further lines are indented by hang.
func (p *page) writeParagraph(s style, lo, hang int) {
	x := span{lo, len(p.dst)}
	end := x.hi
	for p.writeFittingWords(s, &x, p.opt.Width-p.col); x.hasText(); p.writeFittingWords(s, &x, p.opt.Width-p.col) {
		p.newline()
		p.padTo(hang)
	}
	p.newline()
	p.slide(lo, end)
}

const indentStep = 2

// entry is the place of a field in the tree.
type entry struct {
	indent int
	digits int    // width of the index; 0 for what has none
	index  uint64 // position in the list around it
}

// level is what the fields at one depth have in common.
type level struct {
	indent int
	isList bool
	digits int
	seen   uint64
}

// outline walks the fields of a message and returns the place of each. A group in a list
// has no line of its own if a value follows: its index is written before that value.
type outline struct {
	m         *dissect.Message
	levels    [maxLevels + 1]level
	held      entry // of the group that waits for its first value
	isHolding bool
}

// next returns the place of field i, and false for a group that needs no line. It is
// called for all fields in order.
func (o *outline) next(i int) (entry, bool) {
	f := &o.m.Fields[i]
	d := min(int(f.Depth), maxLevels-1)
	up := &o.levels[d]
	e := entry{indent: up.indent}
	inner := e.indent + indentStep
	if up.isList {
		e.digits, e.index = up.digits, up.seen
		if f.Def.Kind == dissect.Group {
			e.index = f.Num
		}
		up.seen++
		inner = e.indent + up.digits + len("[] ")
	}
	if o.isHolding {
		e, o.isHolding = o.held, false
	}
	switch f.Def.Kind {
	case dissect.Group:
		o.levels[d+1] = level{indent: inner}
		if up.isList && o.needsNoLine(i) {
			o.held, o.isHolding = e, true
			return e, false
		}
	case dissect.List:
		last := max(countEntries(o.m, i)-1, 0)
		o.levels[d+1] = level{indent: inner, isList: true, digits: decimals(uint64(last))}
	}
	return e, true
}

// needsNoLine reports whether the group at index i has nothing to show but its index, and
// a value follows in whose line that can be shown.
func (o *outline) needsNoLine(i int) bool {
	f := &o.m.Fields[i]
	if f.Note != "" || f.Flags&dissect.HasExpert != 0 || i+1 == len(o.m.Fields) {
		return false
	}
	first := &o.m.Fields[i+1]
	return first.Depth == f.Depth+1 && !isTree(first) && first.Off == f.Off
}

// countEntries returns how many entries the list at index i has.
func countEntries(m *dissect.Message, i int) int {
	n, depth := 0, m.Fields[i].Depth
	for j := i + 1; j < len(m.Fields) && m.Fields[j].Depth > depth; j++ {
		if m.Fields[j].Depth == depth+1 {
			n++
		}
	}
	return n
}

func decimals(v uint64) int {
	n := 1
	for ; v >= 10; v /= 10 {
		n++
	}
	return n
}

// appendName appends a field's label as the tree shows it.
func appendName(dst []byte, e entry, label string) []byte {
	dst = appendSpaces(dst, e.indent)
	if e.digits > 0 {
		dst = appendSpaces(dst, e.digits-decimals(e.index))
		dst = append(dst, '[')
		dst = strconv.AppendUint(dst, e.index, 10)
		dst = append(dst, "] "...)
	}
	return append(dst, label...)
}

func appendSpaces(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, ' ')
	}
	return dst
}

// appendEntries appends how many entries the list at index i has, and how many its count
// field declares if that is another number.
func appendEntries(dst []byte, m *dissect.Message, i int) []byte {
	f := &m.Fields[i]
	n := countEntries(m, i)
	whole := n
	if n > 0 && endsInside(m, f) {
		whole--
	}
	dst = strconv.AppendInt(dst, int64(whole), 10)
	if whole < n {
		dst = append(dst, " whole"...)
	}
	dst = append(dst, plural(whole, " entry", " entries")...)
	if whole < n {
		dst = append(dst, ", 1 cut"...)
	}
	if declared := int64(f.Num); declared != dissect.Undeclared && declared != int64(whole) {
		dst = append(dst, ", "...)
		dst = strconv.AppendUint(dst, f.Num, 10)
		dst = append(dst, " declared"...)
	}
	return dst
}

// endsInside reports whether the message ended inside an entry of list f: its
// definitions nest under the list's by name.
func endsInside(m *dissect.Message, f *dissect.Field) bool {
	list := f.Def.Name
	return m.Stopped != nil && len(m.Stopped.Name) > len(list) &&
		m.Stopped.Name[:len(list)] == list && m.Stopped.Name[len(list)] == '.'
}

// limit: maxLevels is how deep the tree indents: four levels more than dissectors can nest.
// Anything deeper is shown at the last level.
const maxLevels = 12
