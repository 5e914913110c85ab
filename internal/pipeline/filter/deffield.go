package filter

import (
	"math"
	"net/netip"
	"slices"

	"qsniff/dissect"
)

// redacted stands in a text where a secret is, as in all outputs.
const redacted = "<redacted>"

// defTypes are the types of fields by the kinds of their definitions.
var defTypes = [...]valueType{
	dissect.Group: presence, dissect.List: presence, dissect.Uint: unsigned, dissect.Int: signed, dissect.Float: float,
	dissect.Char: char, dissect.Text: text, dissect.Bytes: octets, dissect.Addr: address,
}

// defField returns the field of a definition.
func defField(d *dissect.Def, reg *dissect.Registry, o Options) *field {
	f := &field{name: d.Name, doc: d.Doc, typ: defTypes[d.Kind], def: d, values: d.Values, unit: d.Unit, isInside: true,
		hasTexts: d.Kind == dissect.Text || d.Kind == dissect.Bytes}
	if d.Flags&dissect.Size != 0 {
		f.typ = unsigned
	}
	if d.Flags&dissect.Secret != 0 && !o.ShowSecrets {
		f.typ, f.isSecret, f.values = presence, true, nil
	}
	load := loadOf(f, o)
	f.exists = func(m *Matcher) bool { return m.msg.Index(d) >= 0 }
	f.each = func(m *Matcher, t test) bool {
		for i := find(m.msg.Fields, d, 0); i >= 0; i = find(m.msg.Fields, d, i) {
			last := i
			if d.Kind == dissect.Text {
				last += m.msg.Pieces(i) - 1
			}
			if load(m, i) && t(m) {
				return true
			}
			i = last + 1
		}
		return false
	}
	return guard(ofProtos(protosWith(d, reg), func(x *dissect.Def) bool { return x == d }), isMessage, []*field{f})[0]
}

// find returns the index of the first field of definition d from index from on, or -1. Most
// messages have hundreds of other fields, so the loop does nothing else.
func find(fields []dissect.Field, d *dissect.Def, from int) int {
	rest := fields[from:]
	for i := range rest {
		if rest[i].Def == d {
			return from + i
		}
	}
	return -1
}

// protosWith returns the protocols whose messages can have a definition: those that declare
// it. All have the shared ones, which none declares.
func protosWith(d *dissect.Def, reg *dissect.Registry) []*dissect.Proto {
	declares := func(p *dissect.Proto) bool { return slices.Contains(p.Defs, d) }
	if !slices.ContainsFunc(reg.Protos(), declares) {
		return reg.Protos()
	}
	return slices.DeleteFunc(slices.Clone(reg.Protos()), func(p *dissect.Proto) bool { return !declares(p) })
}

// loadOf returns what stores the value of the message's field at an index; it returns false
// where there is none to compare: the capture cut it, or it is no number.
func loadOf(f *field, o Options) func(m *Matcher, i int) bool {
	switch d := f.def; {
	case f.typ == presence:
		return func(*Matcher, int) bool { return true }
	case d.Flags&dissect.Size != 0:
		return func(m *Matcher, i int) bool {
			m.v.num = uint64(m.msg.Sent(&m.msg.Fields[i]))
			return true
		}
	case d.Kind == dissect.Text && o.ShowSecrets:
		return func(m *Matcher, i int) bool {
			m.v.text = m.msg.Bytes(&m.msg.Fields[i])
			if n := m.msg.Pieces(i); n > 1 {
				m.v.text = m.msg.Joined(i, n)
			}
			return true
		}
	case d.Kind == dissect.Text:
		return (*Matcher).loadText
	case d.Kind == dissect.Bytes:
		return func(m *Matcher, i int) bool {
			m.v.text = m.msg.Bytes(&m.msg.Fields[i])
			return true
		}
	case d.Kind == dissect.Addr:
		return (*Matcher).loadAddr
	case d.Kind == dissect.Float:
		return (*Matcher).loadFloat
	}
	return func(m *Matcher, i int) bool {
		x := &m.msg.Fields[i]
		m.v.num = x.Num
		return x.Flags&dissect.Cut == 0
	}
}

// loadText stores the text that begins with field i, with "<redacted>" for the secrets in it.
func (m *Matcher) loadText(i int) bool {
	n := m.msg.Pieces(i)
	m.v.text = m.msg.Bytes(&m.msg.Fields[i])
	if n == 1 {
		return true
	}
	m.joined = m.joined[:0]
	for j := i; j < i+n; j++ {
		if x := &m.msg.Fields[j]; x.Def.Flags&dissect.Secret != 0 {
			m.joined = append(m.joined, redacted...)
		} else {
			m.joined = append(m.joined, m.msg.Bytes(x)...)
		}
	}
	m.v.text = m.joined
	return true
}

func (m *Matcher) loadAddr(i int) bool {
	x := &m.msg.Fields[i]
	end, ported, ok := m.msg.Addr(x)
	m.v.end, m.v.ported = netip.AddrPortFrom(end.Addr().Unmap(), end.Port()), ported
	return ok && x.Flags&dissect.Cut == 0
}

func (m *Matcher) loadFloat(i int) bool {
	x := &m.msg.Fields[i]
	v, bits := x.Float()
	m.v.num, m.v.single = math.Float64bits(v), bits == 32
	return x.Flags&dissect.Cut == 0 && !math.IsNaN(v) && !math.IsInf(v, 0)
}
