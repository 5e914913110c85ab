package filter

import (
	"strings"

	"qsniff/dissect"
	"qsniff/finding"
)

// valueType is what values of a field can be compared with.
type valueType uint8

const (
	presence valueType = iota // nothing: a group, a list, a secret
	boolean
	unsigned
	signed
	char
	float
	duration
	moment
	order // one of names, which are in an order
	name  // one of names, or any if there are none
	text
	octets
	address
)

var typeNames = [...]string{
	presence: "presence", boolean: "boolean", unsigned: "number", signed: "signed number", char: "character", float: "float",
	duration: "duration", moment: "time", order: "level", name: "name", text: "text", octets: "bytes", address: "address",
}

// isNumber reports whether values are compared by their number.
func (t valueType) isNumber() bool { return t >= boolean && t <= order }

// isText reports whether values are compared by their bytes.
func (t valueType) isText() bool { return t == name || t == text || t == octets }

// field is something that can stand left of an operator: a field, or what a function or an
// operator makes of one.
type field struct {
	name, doc string
	typ       valueType
	late      lateField
	names     []string            // of values; of an order from the least on
	family    uint8               // of an address: 4, 6 or, for both, 0
	isSecret  bool                // so presence is all that can be tested
	def       *dissect.Def        // nil for fields of the filter itself
	values    func(uint64) string // names of numbers, or nil
	unit      string
	of        func(*subject) bool // what can have it
	isByKind  bool                // subjects alone decide it
	isPaired  bool                // it comes from the exchange of the message
	isInside  bool                // it comes from nothing but the message itself
	// each calls t for each value in Matcher.v, until t returns true, and returns that.
	each func(m *Matcher, t test) bool
	// convert makes the value of a function or a slice of the one that each stored, and
	// reports whether there is one; nil: it is the same. It stands apart from each so that
	// tests are put together when the expression is compiled and not for each message.
	convert test
	// exists reports whether the message has the field; nil: if it has a value.
	exists test
}

// always is the test that holds for any value.
func always(*Matcher) bool { return true }

// with returns t for the values that each stores.
func (f *field) with(t test) test {
	convert := f.convert
	if convert == nil {
		return t
	}
	return func(m *Matcher) bool { return convert(m) && t(m) }
}

// isThere returns the test that the message has f.
func (f *field) isThere() test {
	if f.exists != nil {
		return f.exists
	}
	t := f.with(always)
	return func(m *Matcher) bool { return f.each(m, t) }
}

// one returns the values of a field that has one: load stores it, if it is there.
func one(load test) func(*Matcher, test) bool {
	return func(m *Matcher, t test) bool { return load(m) && t(m) }
}

// Options choose how expressions are read.
type Options struct {
	ShowSecrets bool // the values of secrets can be compared
	UTC         bool // times without a zone are in UTC, else in local time
	// Start is the Unix time in nanoseconds of the first packet, which gives times of day
	// their date; 0 if it is unknown, and then times need a date.
	Start int64
	// Codes are the findings that a run can raise; if there are none, ids are not checked.
	Codes []*finding.Code
}

// Field describes a field that the filter has besides those of protocols.
type Field struct {
	Name   string
	Type   string // "number", "text", "duration" ...
	Doc    string
	Late   bool     // known only when the exchange is over
	Values []string // that it can have, if these are a closed set
}

// Fields returns the filter's own fields. The fields of protocols, which can be used as well,
// are those of the registry.
func Fields(reg *dissect.Registry, o Options) []Field {
	var all []Field
	for _, f := range ownFields(reg, o) {
		all = append(all, Field{f.name, typeNames[f.typ], f.doc, f.late != notLate, f.names})
	}
	return all
}

// scope is all that expressions can name.
type scope struct {
	reg    *dissect.Registry
	o      Options
	fields map[string]*field       // the filter's own, and those that were looked up
	defs   map[string]*dissect.Def // fields of messages
	names  []string                // of all, the filter's own first
}

func newScope(reg *dissect.Registry, o Options) *scope {
	s := &scope{reg: reg, o: o, fields: map[string]*field{}, defs: map[string]*dissect.Def{}}
	for _, f := range ownFields(reg, o) {
		s.fields[f.name] = f
		s.names = append(s.names, f.name)
	}
	lists := [][]*dissect.Def{dissect.Shared}
	for _, p := range reg.Protos() {
		lists = append(lists, p.Defs)
	}
	for _, list := range lists {
		for _, d := range list {
			s.defs[d.Name] = d
			s.names = append(s.names, d.Name)
		}
	}
	return s
}

// lookup returns the field called by a word, in letters of any case; nil if there is none.
func (s *scope) lookup(word string) *field {
	word = strings.ToLower(word)
	if f := s.fields[word]; f != nil {
		return f
	}
	d := s.defs[word]
	if d == nil {
		return nil
	}
	f := defField(d, s.reg, s.o)
	s.fields[word] = f
	return f
}
