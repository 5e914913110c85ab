package jsonl

import (
	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/jsonw"
)

const redacted = `"<redacted>"`

// appendObject appends the fields from index i on that lie at depth as an object, and
// returns the index of the first field above it.
func (r *Renderer) appendObject(dst []byte, m *dissect.Message, i int, depth uint8) ([]byte, int) {
	at := len(dst)
	dst, i = r.appendMembers(dst, m, i, depth)
	return enclose(dst, at, '{', '}'), i
}

// enclose puts brackets around the elements from offset at on, of which each begins with a
// comma.
func enclose(dst []byte, at int, first, last byte) []byte {
	if len(dst) == at {
		dst = append(dst, 0)
	}
	dst[at] = first
	return append(dst, last)
}

// appendMembers appends the members of appendObject, each after a comma.
func (r *Renderer) appendMembers(dst []byte, m *dissect.Message, i int, depth uint8) ([]byte, int) {
	for fields := m.Fields; i < len(fields); {
		f := &fields[i]
		d := f.Def
		switch {
		case f.Depth < depth:
			return dst, i
		case d.Flags&dissect.Framing != 0 || d.Joins != nil:
			i = indexAfter(m, i)
			continue
		}
		if start, n := d.Start(); n > 0 {
			dst = append(dst, start[:]...)[:len(dst)+n]
		} else {
			dst = append(dst, d.Member()...)
		}
		switch {
		case d.Kind == dissect.List:
			dst, i = r.appendList(dst, m, i)
			if last := &m.Fields[i-1]; last.Depth == f.Depth+1 && last.Def.Kind != dissect.Group {
				dst = appendCut(dst, f, last)
			}
		case d.Kind == dissect.Group:
			dst, i = r.appendObject(dst, m, i+1, f.Depth+1)
		case d.IsInPieces() && i+1 < len(fields) && fields[i+1].Def.PartOf == d:
			pieces := m.Pieces(i)
			dst = r.appendMember(dst, m, i, pieces)
			i += pieces
		default:
			var whole bool
			if dst, whole = r.appendValue(dst, m, f); !whole {
				dst = r.appendBytes(dst, m, i, 1)
			}
			if f.Flags&dissect.Cut != 0 {
				dst = appendCut(dst, f, f)
			}
			i++
		}
	}
	return dst, i
}

// indexAfter returns the index after field i and all fields nested in it.
func indexAfter(m *dissect.Message, i int) int {
	depth := m.Fields[i].Depth
	for i++; i < len(m.Fields) && m.Fields[i].Depth > depth; i++ {
	}
	return i
}

// appendList appends the list at index i as an array, and returns the index after it. The
// groups of a later list that joins this one (Def.Joins) add their members to the groups
// with the same number.
func (r *Renderer) appendList(dst []byte, m *dissect.Message, i int) ([]byte, int) {
	depth := m.Fields[i].Depth
	join := len(m.Fields)
	if d := m.Fields[i].Def; d.IsJoined() {
		join = findJoined(m, indexAfter(m, i), d)
	}
	start := len(dst)
	for i++; i < len(m.Fields) && m.Fields[i].Depth > depth; {
		dst = append(dst, ',')
		f := &m.Fields[i]
		if f.Def.Kind != dissect.Group {
			dst, _ = r.appendValue(dst, m, f)
			i++
			continue
		}
		at := len(dst)
		dst, i = r.appendMembers(dst, m, i+1, depth+2)
		if join < len(m.Fields) && m.Fields[join].Def.Kind == dissect.Group && m.Fields[join].Num == f.Num {
			dst, join = r.appendMembers(dst, m, join+1, m.Fields[join].Depth+1)
		}
		dst = enclose(dst, at, '{', '}')
	}
	return enclose(dst, start, '[', ']'), i
}

// findJoined returns the index of the first group in the list that joins d, or the
// number of fields if there is no such list.
func findJoined(m *dissect.Message, from int, d *dissect.Def) int {
	for i := from; i < len(m.Fields); i++ {
		if m.Fields[i].Def.Joins == d {
			return i + 1
		}
	}
	return len(m.Fields)
}

// appendCut appends a member beside that of f where last, the last field that f's value is made
// of, ends early: a text that was cut is a text like any other. A length is that on the wire.
func appendCut(dst []byte, f, last *dissect.Field) []byte {
	if last.Flags&dissect.Cut == 0 || f.Def.Flags&dissect.Size != 0 {
		return dst
	}
	dst = append(append(dst, `,"`...), f.Def.Key()...)
	return append(dst, `_cut":true`...)
}

// appendMember appends the value that the n fields from index i on have together, a second
// member with their bytes where these cannot be told from the value, and one that says
// where the value ends early.
func (r *Renderer) appendMember(dst []byte, m *dissect.Message, i, n int) []byte {
	dst, whole := r.appendPieces(dst, m, i, n)
	if !whole {
		dst = r.appendBytes(dst, m, i, n)
	}
	return appendCut(dst, &m.Fields[i], &m.Fields[i+n-1])
}

// appendBytes appends the member with the bytes of the n fields from index i on.
func (r *Renderer) appendBytes(dst []byte, m *dissect.Message, i, n int) []byte {
	dst = append(append(dst, `,"`...), m.Fields[i].Def.Key()...)
	dst = append(dst, `_hex":"`...)
	for j := i; j < i+n; j++ {
		at := len(dst)
		dst = unquote(r.appendRaw(dst, &m.Fields[j], m.Bytes(&m.Fields[j])), at)
	}
	return append(dst, '"')
}

// appendPieces appends the string that the n fields from index i on make together. whole
// reports whether their bytes can be told from it.
func (r *Renderer) appendPieces(dst []byte, m *dissect.Message, i, n int) (out []byte, whole bool) {
	if r.opt.ShowSecrets { // a character may lie across two pieces
		return jsonw.String(dst, m.Joined(i, n))
	}
	whole = true
	dst = append(dst, '"')
	for j := i; j < i+n; j++ {
		at := len(dst)
		var ok bool
		dst, ok = r.appendValue(dst, m, &m.Fields[j])
		dst, whole = unquote(dst, at), whole && ok
	}
	return append(dst, '"'), whole
}

// unquote removes the quotes of the string that starts at offset at and ends dst.
func unquote(dst []byte, at int) []byte {
	copy(dst[at:], dst[at+1:])
	return dst[:len(dst)-2]
}

// appendRaw appends bytes of f in hexadecimal, or stars where f is a hidden secret.
func (r *Renderer) appendRaw(dst []byte, f *dissect.Field, b []byte) []byte {
	if !r.isHidden(f) {
		return jsonw.Hex(dst, b)
	}
	dst = append(dst, '"')
	for range b {
		dst = append(dst, '*', '*')
	}
	return append(dst, '"')
}

func (r *Renderer) isHidden(f *dissect.Field) bool {
	return f.Def.Flags&dissect.Secret != 0 && !r.opt.ShowSecrets
}

// appendValue appends f's value. whole reports whether f's bytes can be told from it.
func (r *Renderer) appendValue(dst []byte, m *dissect.Message, f *dissect.Field) (out []byte, whole bool) {
	d := f.Def
	if d.Flags&(dissect.Secret|dissect.Size) != 0 {
		switch {
		case r.isHidden(f):
			return append(dst, redacted...), true
		case d.Flags&dissect.Size != 0:
			return digits.AppendUint(dst, uint64(m.Sent(f))), true
		}
	}
	switch d.Kind {
	case dissect.Text:
		return jsonw.String(dst, m.Bytes(f))
	case dissect.Bytes:
		return jsonw.Hex(dst, m.Bytes(f)), true
	}
	if f.Flags&dissect.Cut != 0 {
		return append(dst, "null"...), false
	}
	switch d.Kind {
	case dissect.Addr:
		return append(m.AppendAddr(append(dst, '"'), f), '"'), true
	case dissect.Uint:
		return appendUint(dst, f.Num, d.Flags&dissect.AsString != 0), true
	case dissect.Int:
		return digits.AppendInt(dst, int64(f.Num)), true
	case dissect.Float:
		v, bits := f.Float()
		return jsonw.Float(dst, v, bits)
	case dissect.Char:
		return jsonw.String(dst, m.Raw(f))
	}
	return append(dst, "null"...), false
}

func appendUint(dst []byte, v uint64, asString bool) []byte {
	if !asString {
		return digits.AppendUint(dst, v)
	}
	dst = append(dst, '"')
	dst = digits.AppendUint(dst, v)
	return append(dst, '"')
}
