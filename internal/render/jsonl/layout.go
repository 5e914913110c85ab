package jsonl

import (
	"strconv"

	"qsniff/dissect"
	"qsniff/internal/base/jsonw"
	"qsniff/internal/render"
)

// appendLayout appends the fields in wire order, without groups and lists: these have no
// bytes of their own, so that each byte of the message is in one element. Where the message
// came in several frames, as pieces list, each element says which of its bytes came where.
func (r *Renderer) appendLayout(dst []byte, m *dissect.Message, pieces []render.Piece) []byte {
	dst = append(dst, `,"layout":[`...)
	first := true
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Def.Kind == dissect.Group || f.Def.Kind == dissect.List {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, `{"name":"`...)
		dst = append(dst, f.Def.Name...)
		dst = append(dst, `","offset":`...)
		dst = strconv.AppendUint(dst, uint64(f.Off), 10)
		dst = append(dst, `,"length":`...)
		dst = strconv.AppendUint(dst, uint64(f.Len), 10)
		dst = append(dst, `,"hex":`...)
		dst = r.appendRaw(dst, f, m.Raw(f))
		dst = append(dst, `,"value":`...)
		dst, _ = r.appendValue(dst, m, f)
		if note := f.Meaning(); note != "" {
			dst = append(dst, `,"note":`...)
			dst = jsonw.Text(dst, note)
		}
		if f.Flags&(dissect.Aux|dissect.Generated) != 0 { // its bytes are another field's
			dst = append(dst, `,"aux":true`...)
		}
		if f.Flags&dissect.Cut != 0 {
			dst = append(dst, `,"cut":true`...)
		}
		if f.Len > 0 {
			dst = appendFrom(dst, f, pieces)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendFrom appends the places of the bytes of f: frame, offset in what the frame carries
// (render.Piece says what that is), and length.
func appendFrom(dst []byte, f *dissect.Field, pieces []render.Piece) []byte {
	start, end := f.Off, f.Off+f.Len
	lead := `,"from":[`
	for i := range pieces {
		p := &pieces[i]
		lo, hi := max(p.Off, start), min(p.Off+p.Len, end)
		if lo >= hi {
			continue
		}
		dst = append(dst, lead...)
		dst = append(dst, `{"frame":`...)
		dst = strconv.AppendUint(dst, p.Frame, 10)
		dst = append(dst, `,"offset":`...)
		dst = strconv.AppendUint(dst, uint64(p.At+lo-p.Off), 10)
		dst = append(dst, `,"length":`...)
		dst = strconv.AppendUint(dst, uint64(hi-lo), 10)
		dst = append(dst, '}')
		lead, start = ",", hi
	}
	if lead == "," {
		dst = append(dst, ']')
	}
	return dst
}
