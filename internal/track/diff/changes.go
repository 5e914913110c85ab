package diff

import (
	"bytes"
	"context"
	"strconv"

	"qsniff/dissect"
)

// collectChanged reads the captures again for the bytes of changed datagrams.
func (x *runner) collectChanged(ctx context.Context, r *Result) error {
	for s := range r.payloads {
		r.payloads[s] = map[uint64][]byte{}
		for i := range r.Differences {
			if d := &r.Differences[i]; d.Class == Changed {
				r.payloads[s][d.Frames[s]] = nil
			}
		}
	}
	if len(r.payloads[Edge]) == 0 {
		return nil
	}
	all, err := x.open()
	if err != nil {
		return err
	}
	left := maxChanged
	for s, in := range all {
		in.streams = x.surveys[s]
		for in.read(ctx, func(d *datagram, payload []byte) {
			if _, ok := r.payloads[s][d.frame]; !ok {
				return
			}
			if left -= len(payload); left < 0 {
				r.NoBytes++
				return
			}
			r.payloads[s][d.frame] = append([]byte{}, payload...)
		}) {
			x.report(Collecting, all)
		}
	}
	_ = closeAll(all) // the survey met the same damage
	return ctx.Err()
}

// Part is what differs between the two forms of a changed datagram: a field, or, where the
// protocol is unknown, bytes.
type Part struct {
	Name string
	// Def is that of the field, nil of bytes.
	Def *dissect.Def
	// Values are how it was sent, and how it arrived. The Field is nil where the message has none such.
	Values [2]Value
}

// Value is one form of a Part: a field of a message, or bytes.
type Value struct {
	Msg   *dissect.Message
	Field *dissect.Field
	Bytes []byte
}

// maxParts is how many parts are named of one datagram. Chosen: of one with more, everything is changed.
const maxParts = 16

// Parts returns what differs in a changed datagram, the first maxParts parts, and how many more there
// are. It returns none if its bytes were not kept. Texts of consoles, which may repeat passwords, are
// bytes, of segments with the name of their field.
func (r *Result) Parts(reg *dissect.Registry, d *Difference) (parts []Part, more int) {
	sender, _ := r.Sender(d.Way)
	sides := [2]Side{sender, sender.other()}
	var msgs [2]*dissect.Message
	var forms [2][]byte
	for i, s := range sides {
		if forms[i] = r.payloads[s][d.Frames[s]]; forms[i] == nil {
			return nil, 0
		}
		msgs[i] = r.dissect(reg, d, s, forms[i])
	}
	if msgs[0] == nil || msgs[1] == nil || msgs[0].Type != msgs[1].Type {
		return []Part{differingBytes(forms[0], forms[1])}, 0
	}
	fields, order := listPlaces(&msgs)
	if len(forms[0]) != len(msgs[0].Data) && bytes.Equal(msgs[0].Data, msgs[1].Data) { // a further message in the segment
		return []Part{differingBytes(forms[0], forms[1])}, 0
	}
	for _, p := range order {
		a, b := fields[0][p], fields[1][p]
		if a != nil && b != nil && bytes.Equal(msgs[0].Raw(a), msgs[1].Raw(b)) {
			continue
		}
		if len(parts) == maxParts {
			more++
			continue
		}
		name := p.def.Name
		if p.nth > 0 {
			name += "[" + strconv.Itoa(p.nth) + "]"
		}
		x := Part{name, p.def, [2]Value{{Msg: msgs[0], Field: a}, {Msg: msgs[1], Field: b}}}
		if d.src.isTCP && (p.def.Kind == dissect.Text || p.def.Kind == dissect.Bytes) {
			x = withoutText(x)
		}
		parts = append(parts, x)
	}
	return parts, more
}

// place is a field of a message: which one of those with a definition.
type place struct {
	def *dissect.Def
	nth int
}

// listPlaces returns the fields of two messages by their places, and these in order: those of the first message, then
// those that the second one alone has.
func listPlaces(msgs *[2]*dissect.Message) (fields [2]map[place]*dissect.Field, order []place) {
	for i, m := range msgs {
		fields[i] = map[place]*dissect.Field{}
		seen := map[*dissect.Def]int{}
		for j := range m.Fields {
			f := &m.Fields[j]
			if k := f.Def.Kind; k == dissect.Group || k == dissect.List || f.Flags&(dissect.Aux|dissect.Generated) != 0 {
				continue
			}
			p := place{f.Def, seen[f.Def]}
			seen[f.Def]++
			fields[i][p] = f
			if i == 0 || fields[0][p] == nil {
				order = append(order, p)
			}
		}
	}
	return fields, order
}

// dissect returns the message in a form of a datagram, or nil if it is none whose values may be shown.
func (r *Result) dissect(reg *dissect.Registry, d *Difference, s Side, b []byte) *dissect.Message {
	src, dst := r.names.nameAt(s, d.src).addrPort(), r.names.nameAt(s, d.dst).addrPort()
	if d.src.isTCP {
		return dissectSegment(reg, &dissect.Context{Src: src, Dst: dst, Stream: &dissect.Stream{Dir: streamDirection(d.Way)}}, b)
	}
	c := dissect.Context{Src: src, Dst: dst, Wire: int(d.Sizes[s])}
	v := reg.Pick(&c, b)
	if v.Dissector == nil || !reg.Believe(&c, &v) || v.Type == nil || v.Type.Prints != nil || v.Type.Asks.Has(dissect.Remote) {
		return nil
	}
	m := new(dissect.Message)
	m.Reset(v.Dissector.Proto(), b)
	v.Dissector.Dissect(&c, v.Type, b, m)
	m.Type = v.Type
	return m
}

// dissectSegment returns the message that begins with a segment, or nil if none does.
func dissectSegment(reg *dissect.Registry, c *dissect.Context, b []byte) *dissect.Message {
	v := reg.PickStream(c, b)
	if v.Dissector == nil || v.Type == nil || v.Len == 0 {
		return nil
	}
	c.Wire = v.Len
	m := new(dissect.Message)
	m.Reset(v.Dissector.Proto(), b[:min(len(b), v.Len)])
	v.Dissector.Dissect(c, v.Type, m.Data, m)
	m.Type = v.Type
	return m
}

// withoutText returns a part with bytes in place of a text: outputs show how many these are, and
// the bytes themselves only with secrets.
func withoutText(p Part) Part {
	for i := range p.Values {
		if v := &p.Values[i]; v.Field != nil {
			v.Bytes = v.Msg.Raw(v.Field)
		}
		p.Values[i].Msg, p.Values[i].Field = nil, nil
	}
	p.Def = nil
	return p
}

// differingBytes returns the bytes between what two forms have in common at the start and at the end.
func differingBytes(a, b []byte) Part {
	lo := 0
	for lo < len(a) && lo < len(b) && a[lo] == b[lo] {
		lo++
	}
	x, y := a[lo:], b[lo:]
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return Part{Name: "bytes from " + strconv.Itoa(lo), Values: [2]Value{{Bytes: x}, {Bytes: y}}}
}

// limit: maxChanged is how many bytes of changed datagrams are kept to name the fields that differ.
// Chosen: thousands of replies.
const maxChanged = 4 << 20
