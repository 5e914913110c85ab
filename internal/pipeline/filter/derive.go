package filter

import (
	"bytes"
	"slices"
	"strings"
)

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
