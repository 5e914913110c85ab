package manual

import (
	"slices"
	"strconv"

	"qsniff/dissect"
)

// Field is one field of the output.
type Field struct {
	Name     string   `json:"name"`
	Protocol *string  `json:"protocol"` // nil for fields that belong to no protocol
	Kind     string   `json:"kind"`
	Flags    []string `json:"flags"`
	Unit     string   `json:"unit,omitempty"`
	Doc      string   `json:"doc"`
	Values   []Value  `json:"values,omitempty"`

	Filter *FilterType `json:"filter,omitempty"` // what display filters see; nil for members that they have not
}

// FilterType is what values of a field can be compared with in a display filter.
type FilterType struct {
	Name      string   `json:"type"`
	Operators []string `json:"operators"`
	Example   string   `json:"values"` // of values
}

// Later is the flag of fields whose values filters have only when an exchange is over.
const Later = "later"

// FilterTypes returns the types of fields, in the order of their first fields.
func FilterTypes(sections []Section[Field]) (all []*FilterType) {
	for _, f := range Rows(sections) {
		if f.Filter != nil && !slices.Contains(all, f.Filter) {
			all = append(all, f.Filter)
		}
	}
	return all
}

// SetNames makes names the values, if they are few enough to be listed.
func (f *Field) SetNames(names []string) {
	if len(names) > maxValues {
		return
	}
	for _, n := range names {
		f.Values = append(f.Values, Value{n, n})
	}
}

// Value is a value that has a name.
type Value struct {
	Value string `json:"value"`
	Name  string `json:"name"`
}

// Section is the rows under one heading.
type Section[T any] struct {
	Name, Doc string
	Rows      []T
}

var kinds = [...]string{
	dissect.Group: "group", dissect.List: "list", dissect.Uint: "uint", dissect.Int: "int", dissect.Float: "float",
	dissect.Char: "char", dissect.Text: "text", dissect.Bytes: "bytes", dissect.Addr: "addr",
}

var flags = [...]struct {
	flag dissect.DefFlags
	name string
}{
	{dissect.Secret, "secret"}, {dissect.Framing, "framing"}, {dissect.Hex, "hex"},
	{dissect.AsString, "string"}, {dissect.Size, "size"}, {dissect.Experimental, "experimental"},
}

// Fields returns the members that every message has, then the fields that a message of any
// protocol can have, then the fields of each protocol.
func Fields(reg *dissect.Registry) []Section[Field] {
	all := []Section[Field]{
		{"every message", "members of a line of JSON, and of the records between", common},
		{"any protocol", "fields that belong to no protocol", fieldsOf(nil, dissect.Shared)},
	}
	for _, p := range reg.Protos() {
		all = append(all, Section[Field]{p.Name, p.Doc, fieldsOf(&p.Name, p.Defs)})
	}
	return all
}

func fieldsOf(proto *string, defs []*dissect.Def) []Field {
	var fs []Field
	for _, d := range defs {
		f := Field{Name: d.Name, Protocol: proto, Kind: kinds[d.Kind], Flags: []string{}, Unit: d.Unit, Doc: d.Doc, Values: ValuesOf(d)}
		for _, x := range flags {
			if d.Flags&x.flag != 0 {
				f.Flags = append(f.Flags, x.name)
			}
		}
		fs = append(fs, f)
	}
	return fs
}

// maxValues is how many named values are listed at most. Chosen: a field with more is not
// an enumeration but a catalogue (applications) or a set of bits, and none are listed.
const maxValues = 24

// ValuesOf returns the values of d that have names. A definition has a function from value
// to name and no list, so all values of 16 bits are tried, and -1 of an Int. A 64-bit id,
// which is a string in JSON, is no enumeration.
func ValuesOf(d *dissect.Def) []Value {
	if d.Values == nil || d.Flags&dissect.AsString != 0 {
		return nil
	}
	var vs []Value
	try := func(v uint64) {
		name := d.Values(v)
		if name == "" || len(vs) > maxValues {
			return
		}
		vs = append(vs, Value{formatValue(d.Kind, v), name})
	}
	if d.Kind == dissect.Int {
		try(^uint64(0))
	}
	most := uint64(1<<16 - 1)
	if d.Kind == dissect.Char {
		most = 1<<8 - 1
	}
	for v := range most + 1 {
		try(v)
	}
	if len(vs) > maxValues {
		return nil
	}
	return vs
}

func formatValue(k dissect.Kind, v uint64) string {
	switch k {
	case dissect.Char:
		return strconv.QuoteRuneToASCII(rune(v))
	case dissect.Int:
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatUint(v, 10)
}

// Names returns the names of all fields of the sections.
func Names(sections []Section[Field]) []string {
	var names []string
	for _, s := range sections {
		for _, f := range s.Rows {
			names = append(names, f.Name)
		}
	}
	return names
}

// Message is one message type.
type Message struct {
	Name      string   `json:"name"`
	Protocol  string   `json:"protocol"`
	Direction string   `json:"direction"` // as in the output
	Doc       string   `json:"doc"`
	Summary   []string `json:"summary"` // names of the fields that one line shows
}

// Messages returns the message types of each protocol.
func Messages(reg *dissect.Registry) []Section[Message] {
	var all []Section[Message]
	for _, p := range reg.Protos() {
		s := Section[Message]{Name: p.Name, Doc: p.Doc}
		for _, t := range p.Types {
			m := Message{Name: t.Name, Protocol: p.Name, Direction: "request", Doc: t.Doc, Summary: []string{}}
			if t.Reply {
				m.Direction = "reply"
			}
			for _, d := range t.Summary {
				m.Summary = append(m.Summary, d.Name)
			}
			s.Rows = append(s.Rows, m)
		}
		all = append(all, s)
	}
	return all
}
