package filter

import (
	"bytes"
	"math"
	"net/netip"
	"slices"
	"strings"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/render/manual"
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

// types are the types as people see them: by which operators values can be compared, and with what.
var types = [...]manual.FilterType{
	presence: {Name: "presence", Operators: []string{}, Example: "written alone"},
	boolean:  {Name: "boolean", Operators: []string{"==", "!=", "in"}, Example: "written alone, or true, no, 1"},
	unsigned: {Name: "number", Operators: numeric, Example: "10, 0x0a, a name of a value"},
	signed:   {Name: "signed number", Operators: numeric, Example: "-1, 10, 0xffffffff"},
	char:     {Name: "character", Operators: numeric, Example: "l, 'l', 0x6c, a name of a value"},
	float:    {Name: "float", Operators: ordered, Example: "1.5"},
	duration: {Name: "duration", Operators: ordered, Example: "100ms, 1.5s, 0.1"},
	moment:   {Name: "time", Operators: ordered, Example: `"2023-11-14 22:13:20", 22:13:20 of the first packet's day, 1700000000`},
	order:    {Name: "level", Operators: ordered, Example: "one of its names, in their order"},
	name:     {Name: "name", Operators: []string{"==", "!=", "in", "contains", "matches"}, Example: "one of its names"},
	text:     {Name: "text", Operators: texts, Example: `de_dust2, "two words", r"^de_"`},
	octets:   {Name: "bytes", Operators: append(slices.Clip(texts), "&"), Example: `ff:fe:00, "text"`},
	address:  {Name: "address", Operators: ordered, Example: "10.0.0.1, 10.0.0.0/8, 10.0.0.1:27015"},
}

var (
	ordered = []string{"==", "!=", "<", "<=", ">", ">=", "in"}
	numeric = append(slices.Clip(ordered), "&")
	texts   = append(slices.Clip(ordered), "contains", "matches")
)

// String returns the name of a type.
func (t valueType) String() string { return types[t].Name }

// takes reports whether values of a type can be compared by an operator that is not negated.
func (t valueType) takes(op string) bool { return slices.Contains(types[t].Operators, op) }

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
	hasTexts  bool                // it comes from texts or bytes in which secrets can be, or is one
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
	// Codes are the findings that a run can raise; if there are none, ids are not checked.
	Codes []*finding.Code
}

// Own is the place of the filter's own fields in what Fields returns.
const Own = 1

// Fields returns manual.Fields with what filters see of each field, and after what all messages
// have in JSON the fields that filters have besides.
func Fields(reg *dissect.Registry, o Options) []manual.Section[manual.Field] {
	all := manual.Fields(reg)
	known := newScope(reg, o)
	for _, s := range all[1:] {
		for i := range s.Rows {
			s.Rows[i].Filter = &types[known.lookup(s.Rows[i].Name).typ]
		}
	}
	own := manual.Section[manual.Field]{Name: "filters", Doc: "fields of -Y besides those of messages"}
	for _, f := range ownFields(reg, o) {
		row := manual.Field{Name: f.name, Kind: f.typ.String(), Flags: []string{}, Doc: f.doc, Filter: &types[f.typ]}
		if f.late != notLate {
			row.Flags = append(row.Flags, manual.Later)
		}
		row.SetNames(f.names)
		own.Rows = append(own.Rows, row)
	}
	return slices.Insert(all, Own, own)
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

// This file makes fields of others: slices, functions and masks.

// derived returns the field of what convert makes of the values of f.
func derived(f *field, o *operand, typ valueType, convert test) *field {
	return &field{name: o.String(), typ: typ, of: f.of, isByKind: f.isByKind, isPaired: f.isPaired, isInside: f.isInside, hasTexts: f.hasTexts, each: f.each, convert: convert}
}

// textField returns the field that o is, if its values are bytes.
func (c *checker) textField(o *operand, what string) (*field, *Error) {
	f, err := c.field(o)
	if err != nil {
		return nil, err
	}
	if f.isSecret {
		return nil, c.uncomparable(f, o)
	}
	if !f.typ.isText() {
		return nil, c.at(o, "%s is a %s", visible(o.String()), f.typ).withHint("%s is for texts and bytes", what)
	}
	return f, nil
}

// slice returns parts of the bytes of a field, one after the other. A value that ends before
// them has none.
func (c *checker) slice(o *operand) (*field, *Error) {
	f, err := c.textField(o.inner, "a slice")
	if err != nil {
		return nil, err
	}
	ranges := o.ranges
	return derived(f, o, octets, f.with(func(m *Matcher) bool {
		if len(ranges) == 1 {
			b, ok := cut(m.v.text, ranges[0])
			m.v.text = b
			return ok
		}
		start := len(m.sliced) // what is before it may be the value
		for _, r := range ranges {
			b, ok := cut(m.v.text, r)
			if !ok {
				return false
			}
			m.sliced = append(m.sliced, b...)
		}
		m.v.text = m.sliced[start:]
		return true
	})), nil
}

// cut returns a part of b; ok is false where b ends before it.
func cut(b []byte, s slice) (part []byte, ok bool) {
	start := s.start
	if start < 0 {
		start += len(b)
	}
	end := start + s.n
	if s.toEnd {
		end = len(b)
	}
	if start < 0 || start >= len(b) || end > len(b) {
		return nil, false
	}
	return b[start:end], true
}

// functions are the names of all functions.
var functions = []string{"count", "len", "lower", "upper"}

func (c *checker) call(o *operand) (*field, *Error) {
	if !slices.Contains(functions, o.word) {
		return nil, at(c.text, o.from, o.from+len(o.word), "no function is called %s", visible(o.word)).withHint("there are %s", strings.Join(functions, ", "))
	}
	if o.word == "count" {
		return c.count(o)
	}
	f, err := c.textField(o.inner, o.word+"()")
	if err != nil {
		return nil, err
	}
	g := derived(f, o, text, nil)
	switch o.word {
	case "len":
		g.typ = unsigned
		g.convert = f.with(func(m *Matcher) bool { return m.setNum(uint64(len(m.v.text))) })
	case "lower":
		g.convert = f.with(func(m *Matcher) bool { return m.changeCase('A', 'Z') })
	case "upper":
		g.convert = f.with(func(m *Matcher) bool { return m.changeCase('a', 'z') })
	}
	return g, nil
}

// changeCase changes the case of the letters of ASCII from first to last in the value.
func (m *Matcher) changeCase(first, last byte) bool {
	m.changed = append(m.changed[:0], m.v.text...)
	for i, c := range m.changed {
		if c >= first && c <= last {
			m.changed[i] ^= 0x20
		}
	}
	m.v.text = m.changed
	return true
}

// count returns how many values a field has; none if the message has not the field.
func (c *checker) count(o *operand) (*field, *Error) {
	f, err := c.field(o.inner)
	if err != nil {
		return nil, err
	}
	if f.late != notLate {
		return nil, c.at(o.inner, "what is known later cannot be counted")
	}
	add := f.with(func(m *Matcher) bool {
		m.counted++
		return false
	})
	g := derived(f, o, unsigned, nil)
	g.each = one(func(m *Matcher) bool {
		m.counted = 0
		f.each(m, add)
		return m.counted > 0 && m.setNum(m.counted)
	})
	return g, nil
}

// masked returns the bits of a field that a mask has. Alone it tests whether any is set.
func (c *checker) masked(o *operand) (*field, *Error) {
	f, err := c.field(o.inner)
	if err != nil {
		return nil, err
	}
	if !f.typ.takes("&") || f.late != notLate {
		return nil, c.at(o.inner, "%s is a %s", visible(o.inner.String()), f.typ).withHint("& is for whole numbers and bytes")
	}
	v, err := c.constantOf(f, o.mask)
	if err != nil {
		return nil, err
	}
	if v.named {
		return nil, c.at(o.mask, "a mask is a number").withHint("as in 0x0f")
	}
	g := derived(f, o, f.typ, nil)
	isSet := func(m *Matcher) bool { return m.v.num != 0 }
	if f.typ == octets {
		g.convert = f.with(func(m *Matcher) bool { return m.maskBytes(v.text) })
		isSet = func(m *Matcher) bool { return len(bytes.Trim(m.v.text, "\x00")) > 0 }
	} else {
		g.convert = f.with(func(m *Matcher) bool { return m.setNum(m.v.num & v.num) })
	}
	isSet = g.with(isSet)
	g.exists = func(m *Matcher) bool { return f.each(m, isSet) }
	return g, nil
}

// maskBytes sets the value to its bits that mask has; it has none if their lengths differ.
func (m *Matcher) maskBytes(mask []byte) bool {
	if len(mask) != len(m.v.text) {
		return false
	}
	m.changed = append(m.changed[:0], m.v.text...)
	for i := range mask {
		m.changed[i] &= mask[i]
	}
	m.v.text = m.changed
	return true
}

// Complete returns the expressions that begin with prefix and go on with one more word: a
// field, or after one an operator, or after that a value. Each begins with prefix, but for
// the case of letters.
func Complete(prefix string, reg *dissect.Registry, o Options) []string {
	s := newScope(reg, o)
	tokens, word := tokensBefore(prefix)
	head := prefix[:len(prefix)-len(word)]
	var all []string
	for _, c := range s.candidates(tokens) {
		if len(c) >= len(word) && strings.EqualFold(c[:len(word)], word) && c != word {
			all = append(all, head+c)
		}
	}
	slices.Sort(all)
	return all
}

// tokensBefore returns the tokens of an unfinished expression, without the word that it ends
// with, which may be a quoted text without its end.
func tokensBefore(prefix string) (all []token, word string) {
	for i := 0; ; {
		t, err := scan(prefix, i)
		switch {
		case err != nil:
			return all, prefix[min(err.From, len(prefix)):]
		case t.kind == endToken:
			return all, ""
		case t.to == len(prefix) && t.kind == wordToken:
			return all, t.text
		}
		all, i = append(all, t), t.to
	}
}

// Words that can follow.
var (
	beforeField = []string{"not", "any", "all", "count(", "len(", "lower(", "upper("}
	afterValue  = []string{"and", "or", "xor"}
)

// candidates returns what can follow tokens.
func (s *scope) candidates(tokens []token) []string {
	n := len(tokens)
	if n == 0 {
		return slices.Concat(s.names, beforeField)
	}
	p := parser{next: tokens[n-1]}
	switch op := p.op(); {
	case op == "in":
		return []string{"{"}
	case comparisons[op], op == "..", op == "{", op == ",":
		return s.valuesAfter(tokens[:n-1])
	case op == "]" || op == ")" && (n < 3 || s.lookup(tokens[n-2].text) == nil):
		return slices.Concat(types[text].Operators, afterValue)
	case op == "}" || op == ")":
		return slices.Concat(afterValue, types[unsigned].Operators)
	case op != "":
		return slices.Concat(s.names, beforeField)
	}
	p.next = token{}
	if n > 1 {
		p.next = tokens[n-2]
	}
	f := s.lookup(tokens[n-1].text)
	if f == nil || comparisons[p.op()] {
		return afterValue
	}
	return slices.Concat(types[f.typ].Operators, afterValue)
}

// valuesAfter returns the values of the field before the last operator in tokens.
func (s *scope) valuesAfter(tokens []token) (all []string) {
	for i := len(tokens) - 1; i >= 0; i-- {
		f := s.lookup(tokens[i].text)
		if tokens[i].kind != wordToken || f == nil || i > 0 && isValuePlace(tokens[i-1]) {
			continue
		}
		if f.typ == boolean {
			return []string{"true", "false"}
		}
		for _, v := range s.valueNames(f) {
			if strings.Trim(v, wordBytes) != "" {
				v = `"` + v + `"`
			}
			all = append(all, v)
		}
		return all
	}
	return nil
}

// isValuePlace reports whether what follows t is a value.
func isValuePlace(t token) bool {
	p := parser{next: t}
	return comparisons[p.op()] || slices.Contains([]string{"{", ",", ".."}, p.op())
}

// wordBytes are those that names of values have where they need no quotes.
const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
