package text

import (
	"strconv"

	"qsniff/dissect"
)

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
