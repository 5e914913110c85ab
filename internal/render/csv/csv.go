// Package csv renders one message as one line of comma-separated values (RFC
// 4180), for spreadsheets and simple scripts. Columns come from the definitions of
// fields; it names no protocol. Values that a message has more than once are in one cell,
// with semicolons between. It is not a lossless form: package jsonl is.
//
// Text from the network is harmless to a terminal and to a spreadsheet: control
// and invisible characters are written as escapes, and a cell that a spreadsheet
// would run as a formula begins with an apostrophe.
package csv

import (
	"net/netip"
	"slices"
	"strconv"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/internal/render"
)

// Options choose what a line holds.
type Options struct {
	Columns     []Column // none: DefaultColumns
	ShowSecrets bool
	Clock       render.Clock // Absolute: UTC, ISO 8601
	Separator   byte         // between cells; 0: a comma
	NoHeader    bool         // there is no line of column names
}

// Renderer makes lines of CSV.
type Renderer struct{ opt Options }

// New returns a renderer.
func New(opt Options) *Renderer {
	if len(opt.Columns) == 0 {
		opt.Columns = DefaultColumns()
	}
	if opt.Separator == 0 {
		opt.Separator = ','
	}
	return &Renderer{opt}
}

// AppendHeader appends the line of column names, if there is to be one.
func (r *Renderer) AppendHeader(dst []byte) []byte {
	if r.opt.NoHeader {
		return dst
	}
	for i := range r.opt.Columns {
		dst = r.appendSeparator(dst, i)
		dst = append(dst, r.opt.Columns[i].Name...)
	}
	return append(dst, "\r\n"...)
}

// Append appends e as a line. It appends nothing for a reply that was joined from several
// messages: these have lines of their own.
func (r *Renderer) Append(dst []byte, e *render.Event) []byte {
	if e.Record != "" {
		return dst
	}
	for i := range r.opt.Columns {
		dst = r.appendSeparator(dst, i)
		lo := len(dst)
		dst = r.appendCell(dst, e, &r.opt.Columns[i])
		dst = r.quoteCell(dst, lo)
	}
	return append(dst, "\r\n"...)
}

// AppendRecord appends a finding as a line whose source is the server, if a column says that it is no message.
func (r *Renderer) AppendRecord(dst []byte, x *render.Record) []byte {
	if !slices.ContainsFunc(r.opt.Columns, func(c Column) bool { return c.meta == metaRecord }) {
		return dst
	}
	for i := range r.opt.Columns {
		dst = r.appendSeparator(dst, i)
		switch r.opt.Columns[i].meta {
		case metaFrame:
			if n := len(x.Frames); n > 0 {
				dst = strconv.AppendUint(dst, x.Frames[n-1], 10)
			}
		case metaTime:
			dst = r.appendTime(dst, x.Nanos, x.Start, &x.Hole)
		case metaSrc:
			dst = appendEnd(dst, x.Server)
		case metaDst:
			dst = appendEnd(dst, x.Client)
		case metaFindings:
			dst = append(dst, x.Expert.Code.ID...)
		case metaRecord:
			dst = append(dst, "finding"...)
		}
	}
	return append(dst, "\r\n"...)
}

// appendSeparator appends what stands before column i.
func (r *Renderer) appendSeparator(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, r.opt.Separator)
	}
	return dst
}

// appendCell appends the value of one column.
func (r *Renderer) appendCell(dst []byte, e *render.Event, c *Column) []byte {
	m := e.Msg
	switch c.meta {
	case metaField:
		return r.appendFields(dst, m, c.def)
	case metaRole:
		for i := range m.Fields {
			if m.Fields[i].Def.Role == c.role {
				return r.appendValue(dst, m, m.Tells(i))
			}
		}
		return dst
	case metaFrame:
		return strconv.AppendUint(dst, e.Frame, 10)
	case metaTime:
		return r.appendTime(dst, e.Nanos, e.Start, &e.Hole)
	case metaSrc:
		return e.Src.AppendTo(dst)
	case metaDst:
		return e.Dst.AppendTo(dst)
	case metaTransport:
		return append(dst, e.Transport()...)
	case metaProtocol:
		return append(dst, m.Proto.Name...)
	case metaMessage:
		if m.Type == nil {
			return dst
		}
		return append(dst, m.Type.Name...)
	case metaDirection:
		return append(dst, e.Direction()...)
	case metaStatus:
		return append(dst, m.Status.String()...)
	case metaLength:
		return strconv.AppendInt(dst, int64(m.Wire), 10)
	case metaExchange:
		if e.Exchange.ID == 0 {
			return dst
		}
		return strconv.AppendUint(dst, e.Exchange.ID, 10)
	case metaTook:
		if e.Exchange.Request == 0 || e.Exchange.RTT < 0 {
			return dst
		}
		return digits.AppendMillis(dst, e.Exchange.RTT)
	case metaFindings:
		return appendIDs(dst, m.Expert)
	case metaCut:
		return appendCutNames(dst, m)
	case metaVerb:
		return append(dst, e.Exchange.Verb...)
	case metaRecord:
		return append(dst, "message"...)
	case metaEpoch:
		return render.Epoch.AppendSeconds(dst, e.Nanos, e.Start, 0, &e.Hole)
	case metaAddrs:
		return c.ends.append(dst, e)
	}
	return dst
}

// appendCutNames appends the names of the fields of which m's last value ends early. Of a text
// with secrets in it, that is the name of the text.
func appendCutNames(dst []byte, m *dissect.Message) []byte {
	lo := len(dst)
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Flags&dissect.Cut == 0 || f.Def.Flags&dissect.Size != 0 { // that is the length on the wire
			continue
		}
		if len(dst) > lo {
			dst = append(dst, ';')
		}
		d := f.Def
		if d.PartOf != nil {
			d = d.PartOf
		}
		dst = append(dst, d.Name...)
	}
	return dst
}

func appendIDs(dst []byte, found []finding.Expert) []byte {
	for i := range found {
		if i > 0 {
			dst = append(dst, ';')
		}
		dst = append(dst, found[i].Code.ID...)
	}
	return dst
}

func appendEnd(dst []byte, end netip.AddrPort) []byte {
	if !end.IsValid() {
		return dst
	}
	return end.AppendTo(dst)
}

// appendFields appends all values that m has of d.
func (r *Renderer) appendFields(dst []byte, m *dissect.Message, d *dissect.Def) []byte {
	first := true
	for i := 0; i < len(m.Fields); i++ {
		if m.Fields[i].Def != d {
			continue
		}
		if !first {
			dst = append(dst, ';')
		}
		first = false
		dst = r.appendValue(dst, m, i)
		i += m.Pieces(i) - 1
	}
	return dst
}
