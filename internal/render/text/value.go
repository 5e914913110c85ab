package text

import (
	"math"
	"strconv"

	"qsniff/dissect"
	"qsniff/internal/base/display"
)

const (
	redacted  = "<redacted>"
	hexDigits = "0123456789abcdef"
)

// isTree reports whether f has other fields in place of a value.
func isTree(f *dissect.Field) bool { return f.Def.Kind == dissect.Group || f.Def.Kind == dissect.List }

// isNumber reports whether f.Num is the value of f, which Def.Values may name.
func isNumber(f *dissect.Field) bool {
	switch f.Def.Kind {
	case dissect.Uint, dissect.Int, dissect.Char:
		return true
	}
	return false
}

// appendValue appends the value of a field as Tree shows it.
func appendValue(dst []byte, o *Options, m *dissect.Message, f *dissect.Field) []byte {
	switch {
	case isTree(f):
		return dst
	case o.hides(f.Def):
		return append(dst, redacted...)
	case f.Flags&dissect.Cut != 0 && f.Def.Kind != dissect.Text:
		return appendCut(dst, f)
	case f.Def.Kind == dissect.Bytes:
		return appendBytes(dst, m, f)
	}
	dst = appendScalar(dst, m, f)
	if f.Def.Flags&dissect.Hex != 0 && isNumber(f) {
		dst = append(dst, " (0x"...)
		dst = appendHexNumber(dst, f.Num, numberLen(f))
		dst = append(dst, ')')
	}
	return dst
}

// appendScalar appends a value that is not binary, with its unit.
func appendScalar(dst []byte, m *dissect.Message, f *dissect.Field) []byte {
	switch f.Def.Kind {
	case dissect.Text:
		dst = append(dst, '"')
		dst = display.AppendEscaped(dst, m.Bytes(f), '"')
		return append(dst, '"')
	case dissect.Char:
		return appendChar(dst, f.Num)
	case dissect.Addr:
		return m.AppendAddr(dst, f)
	case dissect.Int:
		dst = strconv.AppendInt(dst, int64(f.Num), 10)
	case dissect.Float:
		dst = appendFloat(dst, f)
	default:
		dst = strconv.AppendUint(dst, f.Num, 10)
	}
	if f.Def.Unit != "" {
		dst = append(append(dst, ' '), f.Def.Unit...)
	}
	return dst
}

// appendChar appends a one-letter code, or its number where it is no letter.
func appendChar(dst []byte, v uint64) []byte {
	switch {
	case v == '\'' || v == '\\':
		return append(dst, '\'', '\\', byte(v), '\'')
	case v > ' ' && v < 0x7f:
		return append(dst, '\'', byte(v), '\'')
	}
	return appendHexNumber(append(dst, "0x"...), v, 1)
}

// numberLen returns how many bytes a number has on the wire. Of one that was decoded from
// other bytes (Aux), it is how many the value needs, rounded up to a power of two.
func numberLen(f *dissect.Field) int {
	if f.Flags&dissect.Aux == 0 {
		return int(f.Len)
	}
	n := 1
	for n < 8 && f.Num>>(8*n) != 0 {
		n *= 2
	}
	return n
}

// appendHexNumber appends the low size bytes of v; all its digits if that is
// more than a number has.
func appendHexNumber(dst []byte, v uint64, size int) []byte {
	if size < 1 || size > 8 {
		size = 8
	}
	for shift := 8*size - 4; shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[v>>shift&0xf])
	}
	return dst
}

// appendFloat appends the shortest decimal that reads back as the same value, with an
// exponent only where the number would have more than 15 digits or six leading zeros.
func appendFloat(dst []byte, f *dissect.Field) []byte {
	const small, large = 1e-6, 1e15
	v, bits := f.Float()
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return append(dst, "not a number"...)
	case math.IsInf(v, 1):
		return append(dst, "infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-infinity"...)
	case a != 0 && (a < small || a >= large):
		return strconv.AppendFloat(dst, v, 'e', -1, bits)
	}
	return strconv.AppendFloat(dst, v, 'f', -1, bits)
}

func appendCut(dst []byte, f *dissect.Field) []byte {
	return appendCount(append(dst, "cut after "...), uint64(f.Len))
}

func appendCount(dst []byte, n uint64) []byte {
	dst = strconv.AppendUint(dst, n, 10)
	if n == 1 {
		return append(dst, " byte"...)
	}
	return append(dst, " bytes"...)
}

// appendBytes appends the length of binary data, and the byte if all are the same: the
// bytes themselves are in the column before. Where those are not the data, which was
// decoded from them or is a part of them, the data is appended.
func appendBytes(dst []byte, m *dissect.Message, f *dissect.Field) []byte {
	b := m.Bytes(f)
	if f.Flags&dissect.Aux != 0 || len(b) != int(f.Len) {
		return appendHex(dst, b)
	}
	dst = appendCount(dst, uint64(len(b)))
	if len(b) > 1 && isUniform(b) {
		dst = append(dst, ", all "...)
		dst = appendHex(dst, b[:1])
	}
	return dst
}

func appendHex(dst, b []byte) []byte {
	for i, c := range b {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, hexDigits[c>>4], hexDigits[c&0xf])
	}
	return dst
}

// isUniform reports whether all bytes are the same.
func isUniform(b []byte) bool {
	for _, c := range b {
		if c != b[0] {
			return false
		}
	}
	return true
}

// appendMeaning appends the name of the value, or its time as h:mm:ss, and the note of the
// dissector.
func appendMeaning(dst []byte, o *Options, f *dissect.Field) []byte {
	start := len(dst)
	add := func(s string) {
		if s == "" {
			return
		}
		if len(dst) > start {
			dst = append(dst, "; "...)
		}
		dst = append(dst, s...)
	}
	whole := f.Flags&dissect.Cut == 0
	switch {
	case o.hides(f.Def):
	case !whole && f.Def.Kind == dissect.Text:
		dst = appendCut(dst, f)
	case whole && f.Def.Values != nil && isNumber(f):
		add(f.Def.Values(f.Num))
	case whole && f.Def.Kind == dissect.Float && f.Def.Unit == "s":
		dst = appendClock(dst, f)
	}
	add(f.Note)
	if f.Flags&dissect.Generated != 0 {
		add("computed")
	}
	return dst
}

// appendClock appends seconds as h:mm:ss, and with days from 100 hours on. Below a minute
// and above a century it appends nothing: there the number itself is easier to read.
func appendClock(dst []byte, f *dissect.Field) []byte {
	const minute, day, century = 60, 24 * 3600, 100 * 366 * 24 * 3600
	v, _ := f.Float()
	if !(v >= minute && v < century) {
		return dst
	}
	s := uint64(v)
	if s >= 100*3600 {
		dst = append(strconv.AppendUint(dst, s/day, 10), "d "...)
		s %= day
	}
	dst = strconv.AppendUint(dst, s/3600, 10)
	for _, x := range [...]uint64{s / 60 % 60, s % 60} {
		dst = append(dst, ':', '0'+byte(x/10), '0'+byte(x%10))
	}
	return dst
}

// valueShowsBytes reports whether the value that Tree prints for f, or for another field, shows
// f's bytes, so that they can be abbreviated.
func valueShowsBytes(m *dissect.Message, f *dissect.Field) bool {
	const terminator = 1 // or the length byte of a counted text
	switch {
	case f.Flags&dissect.Aux != 0:
		return true
	case f.Flags&dissect.Cut != 0:
		return false
	case f.Def.Kind == dissect.Text:
		return len(m.Bytes(f))+terminator >= int(f.Len)
	case f.Def.Kind == dissect.Bytes:
		return isUniform(m.Raw(f)) && len(m.Bytes(f)) == int(f.Len)
	case isNumber(f): // one of more than eight bytes is written in digits
		return true
	}
	return false
}
