package jsonl

import (
	"strconv"

	"qsniff/dissect"
	"qsniff/internal/jsonw"
)

// appendLayout appends the fields in wire order, without groups and lists: these have no
// bytes of their own, so that each byte of the message is in one element.
func (r *Renderer) appendLayout(dst []byte, m *dissect.Message) []byte {
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
			dst, _ = jsonw.String(dst, note)
		}
		if f.Flags&(dissect.Aux|dissect.Generated) != 0 { // its bytes are another field's
			dst = append(dst, `,"aux":true`...)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
