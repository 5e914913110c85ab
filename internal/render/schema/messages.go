package schema

import (
	"slices"
	"strings"

	"qsniff/dissect"
	"qsniff/internal/render/manual"
	"qsniff/reassembly/wire"
)

// notes are the members of messages whose form their definition does not show.
var notes = map[string]member{
	"schema": must("", constant(1), ""), "frame": must("", frame, ""), "frames": may("", list(frame), ""),
	"time": may("", timestamp, ""), "transport": must("", ref("transport"), ""), "src": may("", end, ""), "dst": may("", end, ""),
	"protocol": must("", text, ""), "direction": must("", ref("direction"), ""), "length": must("", count, ""), "fields": must("", shape{"type": "object"}, ""),
	"status": must("", names(dissect.Complete, dissect.Fragment, dissect.Status.String), ""),
	"weak":   may("", onlyTrue, ""), "split.compressed": must("", boolean, ""), "comments": may("", list(text), ""),
	"stopped.field": must("", text, ""), "stopped.offset": must("", count, ""),
	"split.engine": must("", shape{"enum": []string{wire.Source.String(), wire.GoldSource.String(), wire.None.String()}}, ""), "split.id": must("", count, ""), "split.total": must("", count, ""), "split.received": must("", count, ""),
	"exchange.id": must("", frame, ""), "exchange.request_frame": may("", frame, ""),
	"client": trial("", nil, ""), "client.name": must("", text, ""), "client.confidence": may("", confidence, ""),
	"via.kind": must("", text, ""), "via.src": may("", text, ""), "via.dst": may("", text, ""),
	"findings.id": must("", ref("id"), ""), "findings.severity": must("", severity, ""), "findings.fault": must("", fault, ""), "findings.text": must("", text, ""),
	"layout.name": must("", text, ""), "layout.offset": must("", count, ""), "layout.length": must("", count, ""), "layout.hex": must("", hexDigits, ""),
	"layout.value": must("", shape{"type": []string{"string", "number", "null"}}, ""), "layout.aux": may("", onlyTrue, ""), "layout.cut": may("", onlyTrue, ""),
	"layout.from.frame": must("", frame, ""), "layout.from.offset": must("", count, ""), "layout.from.length": must("", count, ""),
}

// confidence is how sure a name is.
var confidence = names(dissect.Maybe, dissect.Certain, dissect.Confidence.String)

// commonMembers returns the members of every message that lie below the name parent.
func commonMembers(all []manual.Field, parent string) (ms []member) {
	for i := range all {
		f := &all[i]
		name, isBelow := strings.CutPrefix(f.Name, parent)
		if !isBelow || strings.Contains(name, ".") || f.Name == "record" || f.Name == "message" {
			continue
		}
		m := notes[f.Name]
		m.name, m.doc = name, f.Doc
		below := commonMembers(all, f.Name+".")
		switch {
		case f.Kind == "group" && len(below) > 0:
			m.of = object(below...)
		case f.Kind == "list" && len(below) > 0:
			m.of = list(object(below...))
		case m.of == nil:
			m.of = map[string]shape{"uint": count, "float": ratio, "text": text}[f.Kind]
		}
		if f.Unit != "" {
			m.of = m.of.with(shape{"x-unit": f.Unit})
		}
		ms = append(ms, m)
	}
	return ms
}

// ofPackets are members that a reply has not which was joined from messages.
var ofPackets = []string{"interface_name", "weak", "comments", "split"}

// messageRecords returns the forms of messages, and of replies that were joined of several. The fields of each type of
// message are a definition of its own.
func (s *Schema) messageRecords(reg *dissect.Registry) []Record {
	common := commonMembers(manual.Fields(reg)[0].Rows, "")
	message := object(append(common, must("message", shape{"type": []string{"string", "null"}}, "type of the message, or null: qsniff fields --messages lists them"))...)
	reply := object(append(slices.DeleteFunc(slices.Clone(common), func(m member) bool { return slices.Contains(ofPackets, m.name) }), must("record", constant("reply"), "what kind of line it is"))...)
	var pairs, perType, perProtocol []shape
	for _, p := range reg.Protos() {
		types := []any{nil}
		for _, t := range typesOf(reg, p) {
			types = append(types, t.Name)
		}
		pairs = append(pairs, given(shape{"protocol": constant(p.Name), "message": shape{"enum": types}}))
		all := "fields." + p.Name
		s.defs[all] = fieldsOf(reg, p.Name, slices.Concat(p.Types, typesOf(reg, p)))
		perProtocol = append(perProtocol, when(shape{"protocol": constant(p.Name)}, ref(all)))
		for _, t := range p.Types {
			name := "fields." + p.Name + "." + directionOf(t) + "." + t.Name
			if s.defs[name] != nil {
				continue
			}
			s.defs[name] = fieldsOf(reg, p.Name, slices.DeleteFunc(slices.Clone(p.Types), func(x *dissect.Type) bool { return x.Name != t.Name || x.Reply != t.Reply }))
			perType = append(perType, when(shape{"message": constant(t.Name), "direction": constant(directionOf(t))}, ref(name)))
		}
	}
	isNull := shape{"if": given(shape{"message": constant(nil)}), "then": shape{"allOf": perProtocol}}
	return []Record{
		{"message", "a message of a protocol, in the packet that completed it", "read, live, decode, follow, report", message.with(shape{"allOf": append(perType, isNull, shape{"anyOf": pairs})})},
		{"reply", "a reply that was joined from several messages", "read, live, follow, report", reply.with(shape{"allOf": perProtocol})},
	}
}

// typesOf returns the types that messages of a protocol have. One whose engines split messages has those of its family, too:
// the parts decide there.
func typesOf(reg *dissect.Registry, p *dissect.Proto) []*dissect.Type {
	all := slices.Clone(p.Types)
	for _, q := range reg.Protos() {
		if q != p && len(q.Splits) > 0 && len(p.Splits) > 0 {
			all = append(all, q.Types...)
		}
	}
	return all
}

func directionOf(t *dissect.Type) string {
	if t.Reply {
		return "reply"
	}
	return "request"
}

func given(values shape) shape { return shape{"properties": values} }

// when is what fields are under a condition.
func when(values, fields shape) shape {
	return shape{"if": given(values), "then": given(shape{"fields": fields})}
}

// fieldsOf is the fields of messages of any of these types.
func fieldsOf(reg *dissect.Registry, protocol string, types []*dissect.Type) shape {
	var defs []*dissect.Def
	for _, t := range types {
		defs = append(defs, t.Fields...)
	}
	defs = append(defs, dissect.Shared...)
	b := &fieldBuilder{}
	for _, p := range reg.Protos() {
		b.all = append(b.all, p.Defs...)
	}
	return b.object(defs)
}

// fieldBuilder makes schemas of definitions.
type fieldBuilder struct {
	all []*dissect.Def
}

// object is an object with the fields defs.
func (b *fieldBuilder) object(defs []*dissect.Def) shape {
	s := object()
	properties := s["properties"].(shape)
	var keys, lists []string
	seen := map[*dissect.Def]bool{}
	for _, d := range defs {
		if d.Flags&dissect.Framing != 0 || d.Joins != nil || seen[d] {
			continue
		}
		seen[d] = true
		of, key := b.property(d), d.Key()
		before, isThere := properties[key].(shape)
		if !isThere {
			switch d.Kind {
			case dissect.List:
				lists = append(lists, key)
			case dissect.Group:
			default:
				keys = append(keys, key)
			}
			properties[key] = of
			continue
		}
		if more, ok := before["anyOf"].([]shape); ok {
			properties[key] = shape{"anyOf": append(more, of), "x-stability": before["x-stability"]}
		} else {
			properties[key] = shape{"anyOf": []shape{before, of}, "x-stability": before["x-stability"]}
		}
	}
	return withBytes(s, keys, lists)
}

// property is the schema of a field.
func (b *fieldBuilder) property(d *dissect.Def) shape {
	s := b.value(d).with(shape{"description": d.Doc, "x-field": d.Name, "x-stability": stable})
	if d.Unit != "" {
		s["x-unit"] = d.Unit
	}
	if d.Flags&dissect.Secret != 0 {
		s["x-secret"] = true
	}
	if d.Flags&dissect.Experimental != 0 || b.isInExperimental(d) {
		s["x-stability"] = experimental
	}
	if values := manual.ValuesOf(d); len(values) > 0 && d.Flags&dissect.Hex == 0 {
		meanings := shape{}
		for _, v := range values {
			meanings[v.Value] = v.Name
		}
		s["x-values"] = meanings
	}
	return s
}

// isInExperimental reports whether a group around d is experimental.
func (b *fieldBuilder) isInExperimental(d *dissect.Def) bool {
	return slices.ContainsFunc(b.all, func(g *dissect.Def) bool {
		return g.Flags&dissect.Experimental != 0 && strings.HasPrefix(d.Name, g.Name+".")
	})
}

// kinds are the forms of values. A value is null where its bytes end early.
var kinds = map[dissect.Kind]shape{
	dissect.Uint: orNull(count), dissect.Int: orNull(shape{"type": "integer"}), dissect.Float: orNull(number), dissect.Char: orNull(letter),
	dissect.Text: text, dissect.Bytes: hexDigits, dissect.Addr: orNull(text),
}

func (b *fieldBuilder) value(d *dissect.Def) shape {
	switch {
	case d.Kind == dissect.Group:
		return b.object(b.below(d))
	case d.Kind == dissect.List:
		return list(b.element(d))
	case d.Flags&dissect.Secret != 0: // "<redacted>", in place of whatever it is
		return shape{"type": []string{"string", "integer", "null"}}
	case d.Flags&dissect.Size != 0:
		return count
	case d.Flags&dissect.AsString != 0:
		return orNull(digits)
	}
	return kinds[d.Kind]
}

// element is what a list consists of: values, or objects with the members of the groups and of those that continue them.
func (b *fieldBuilder) element(d *dissect.Def) shape {
	below := b.below(d)
	i := slices.IndexFunc(below, func(x *dissect.Def) bool { return x.Kind == dissect.Group })
	if i < 0 {
		return b.value(below[0])
	}
	below = slices.Delete(below, i, i+1)
	for _, x := range b.all {
		if x.Joins == d {
			below = append(below, slices.DeleteFunc(b.below(x), func(x *dissect.Def) bool { return x.Kind == dissect.Group })...)
		}
	}
	return b.object(below)
}

// below returns the definitions of what is in a group or in the elements of a list: those whose names begin with its name, and with no
// longer one.
func (b *fieldBuilder) below(d *dissect.Def) (all []*dissect.Def) {
	for _, x := range b.all {
		if b.around(x) == d {
			all = append(all, x)
		}
	}
	return all
}

func (b *fieldBuilder) around(x *dissect.Def) (nearest *dissect.Def) {
	for _, g := range b.all {
		if (g.Kind == dissect.Group || g.Kind == dissect.List) && strings.HasPrefix(x.Name, g.Name+".") && (nearest == nil || len(g.Name) > len(nearest.Name)) {
			nearest = g
		}
	}
	return nearest
}
