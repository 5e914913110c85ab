package subset

import (
	"bytes"

	"qsniff/dissect"
	"qsniff/internal/render"
)

// Mask is an Editor that overwrites secrets: the values that renderers hide.
type Mask struct{}

// AddEdits implements Editor.
func (Mask) AddEdits(to *Edits, e *render.Event) {
	m := e.Msg
	if e.Origin.Packed != nil && m.Type == nil { // it could not be unpacked: nobody knows what is in it
		to.List = append(to.List, Edit{New: xs[:1]})
		return
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Def.Flags&dissect.Secret == 0 || f.Flags&dissect.Generated != 0 {
			continue
		}
		if f.Def.Kind == dissect.Text || f.Def.Kind == dissect.Bytes {
			off, n := ValueOf(f)
			to.List = appendFill(to.List, off, n, xs[:])
			continue
		}
		to.List = appendNumberMask(to.List, m.Raw(f), f.Off)
	}
}

// appendNumberMask overwrites a number at off: of one that is written as text the digits, so
// that it stays a number, else all bytes.
func appendNumberMask(dst []Edit, raw []byte, off uint32) []Edit {
	isDigit := func(c rune) bool { return '0' <= c && c <= '9' }
	lo := bytes.IndexFunc(raw, isDigit)
	if lo < 0 || len(bytes.TrimLeftFunc(bytes.TrimRight(raw[lo:], " "), isDigit)) > 0 {
		return appendFill(dst, off, uint32(len(raw)), xs[:])
	}
	return appendFill(dst, off+uint32(lo), uint32(len(bytes.TrimRight(raw[lo:], " "))), zeros[:])
}

// appendFill overwrites the n bytes at off.
func appendFill(dst []Edit, off, n uint32, with []byte) []Edit {
	for n > 0 {
		k := min(n, uint32(len(with)))
		dst = append(dst, Edit{Off: off, New: with[:k]})
		off, n = off+k, n-k
	}
	return dst
}

// ValueOf returns where in Message.Data the value of a field is: of texts without what
// delimits them. The value of an Aux field is made of all bytes of the field.
func ValueOf(f *dissect.Field) (off, n uint32) {
	if f.Flags&dissect.Aux == 0 && (f.Def.Kind == dissect.Text || f.Def.Kind == dissect.Bytes) {
		return f.Off + uint32(f.Num>>32), uint32(f.Num)
	}
	return f.Off, f.Len
}

// What secrets are overwritten with: longer ones with several of them. They say how long
// the secret is, and nothing else.
var xs, zeros = func() (x, zero [1 << 10]byte) {
	for i := range x {
		x[i], zero[i] = filler, '0'
	}
	return x, zero
}()
