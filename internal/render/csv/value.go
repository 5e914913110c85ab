package csv

import (
	"bytes"
	"encoding/hex"
	"math"
	"strconv"

	"qsniff/dissect"
	"qsniff/internal/base/display"
	"qsniff/internal/base/jsonw"
	"qsniff/internal/render"
)

const redacted = "<redacted>"

// appendValue appends the value that begins with field i. A text with secrets in it is
// several fields.
func (r *Renderer) appendValue(dst []byte, m *dissect.Message, i int) []byte {
	for j := i; j < i+m.Pieces(i); j++ {
		dst = r.appendPiece(dst, m, &m.Fields[j])
	}
	return dst
}

func (r *Renderer) appendPiece(dst []byte, m *dissect.Message, f *dissect.Field) []byte {
	d := f.Def
	switch {
	case d.Flags&dissect.Secret != 0 && !r.opt.ShowSecrets:
		return append(dst, redacted...)
	case d.Flags&dissect.Size != 0:
		return strconv.AppendInt(dst, int64(m.Sent(f)), 10)
	case d.Kind == dissect.Text, d.Kind == dissect.Char:
		return appendText(dst, m.Bytes(f))
	case d.Kind == dissect.Bytes:
		return hex.AppendEncode(dst, m.Bytes(f))
	case f.Flags&dissect.Cut != 0:
		return dst
	case d.Kind == dissect.Addr:
		return m.AppendAddr(dst, f)
	case d.Kind == dissect.Int:
		return strconv.AppendInt(dst, int64(f.Num), 10)
	case d.Kind == dissect.Float:
		return appendFloat(dst, f)
	}
	return strconv.AppendUint(dst, f.Num, 10)
}

func appendFloat(dst []byte, f *dissect.Field) []byte {
	v, bits := f.Float()
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return dst
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}

// appendText appends text with escapes in place of characters that cannot be seen, after
// an apostrophe where a spreadsheet would take it for a formula. A backslash stays single:
// a cell is for people and for spreadsheets, and names have backslashes.
func appendText(dst, b []byte) []byte {
	if len(b) > 0 && bytes.IndexByte([]byte("=+-@\t\r\n"), b[0]) >= 0 {
		dst = append(dst, '\'')
	}
	return display.AppendVisible(dst, b)
}

// quoteCell is quoteCell with the separator of the options.
func (r *Renderer) quoteCell(dst []byte, lo int) []byte { return quoteCell(dst, lo, r.opt.Separator) }

// quoteCell puts quotes around the cell that starts at offset lo and ends dst, if the cell
// needs them.
func quoteCell(dst []byte, lo int, separator byte) []byte {
	if bytes.IndexByte(dst[lo:], separator) < 0 && !bytes.ContainsAny(dst[lo:], ",\"\r\n") && (lo == len(dst) || dst[lo] != '\'') {
		return dst
	}
	n := bytes.Count(dst[lo:], []byte{'"'}) // each is doubled
	end := len(dst)
	for range n + 2 {
		dst = append(dst, 0)
	}
	to := len(dst) - 1
	dst[to] = '"'
	for from := end - 1; from >= lo; from-- {
		to--
		dst[to] = dst[from]
		if dst[from] == '"' {
			to--
			dst[to] = '"'
		}
	}
	dst[lo] = '"'
	return dst
}

// appendTime appends a time by the clock of the options; the absolute one is in UTC, as in
// JSON.
func (r *Renderer) appendTime(dst []byte, nanos, start int64, h *render.Hole) []byte {
	if r.opt.Clock != render.Absolute {
		return r.opt.Clock.AppendSeconds(dst, nanos, start, 0, h)
	}
	lo := len(dst)
	dst = jsonw.Time(dst, nanos)
	copy(dst[lo:], dst[lo+1:len(dst)-1]) // without its quotes
	return dst[:len(dst)-2]
}
