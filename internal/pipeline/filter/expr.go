package filter

import (
	"fmt"
	"strconv"
	"strings"
)

// expr is a parsed expression: a *junction, *negation, *relation, *membership or *existence.
type expr any

// junction joins two expressions by "and", "or" or "xor".
type junction struct {
	op   string
	x, y expr
}

type negation struct{ x expr }

// relation compares two operands.
type relation struct {
	quantifier string // "any", "all" or empty
	op         string // "==", as in operators
	x, y       *operand
}

// membership holds if x is in a set.
type membership struct {
	quantifier string
	x          *operand
	set        []interval
}

// interval is one element of a set: a value, or a range where hi is not nil.
type interval struct{ lo, hi *operand }

// existence holds if the message has x.
type existence struct{ x *operand }

// operandKind is what an operand is.
type operandKind uint8

const (
	wordOperand   operandKind = iota // a field, or a literal without quotes
	textOperand                      // "text"
	charOperand                      // 'c'
	sliceOperand                     // inner[ranges]
	callOperand                      // word(inner)
	maskedOperand                    // inner & mask
)

// operand is one side of a comparison.
type operand struct {
	kind     operandKind
	word     string // as written, or the characters of a text
	inner    *operand
	ranges   []slice
	mask     *operand
	from, to int // its place in the text
}

// slice is one part of a slice operand: n bytes from start on, or all the rest. A negative
// start counts from the end.
type slice struct {
	start, n int
	toEnd    bool
}

// levels order the operators that join expressions, the one that binds least first.
var levels = map[string]int{"or": 1, "xor": 2, "and": 3}

func (o *operand) String() string {
	switch o.kind {
	case textOperand:
		return `"` + escape(o.word) + `"`
	case charOperand:
		return "'" + escape(o.word) + "'"
	case callOperand:
		return o.word + "(" + o.inner.String() + ")"
	case maskedOperand:
		return o.inner.String() + " & " + o.mask.String()
	case sliceOperand:
		var all []string
		for _, s := range o.ranges {
			all = append(all, s.String())
		}
		return o.inner.String() + "[" + strings.Join(all, ",") + "]"
	}
	return o.word
}

func (s slice) String() string {
	if s.toEnd {
		return fmt.Sprintf("%d:", s.start)
	}
	return fmt.Sprintf("%d:%d", s.start, s.n)
}

// escape returns s with escapes for all that cannot stand between quotes as it is.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\'' || c == '\\' {
			fmt.Fprintf(&b, `\x%02x`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// parseOperand parses one side of a comparison. isValue is set where a literal can stand: a
// bracket begins an address there, and words that are operators elsewhere are texts.
func (p *parser) parseOperand(isValue bool) *operand {
	o := p.parseSimple(isValue)
	for p.err == nil && p.op() == "[" && (o.kind == wordOperand || o.kind == callOperand || o.kind == sliceOperand) {
		p.count()
		o = &operand{kind: sliceOperand, inner: o, ranges: p.parseSlices(), from: o.from, to: p.next.to}
		p.advance()
	}
	if p.err == nil && p.op() == "&" {
		p.advance()
		mask := p.parseSimple(true)
		o = &operand{kind: maskedOperand, inner: o, mask: mask, from: o.from, to: mask.to}
	}
	return o
}

func (p *parser) parseSimple(isValue bool) *operand {
	t := p.next
	o := &operand{kind: wordOperand, word: t.text, from: t.from, to: t.to}
	switch {
	case t.kind == textToken:
		o.kind = textOperand
	case t.kind == charToken:
		o.kind = charOperand
	case isValue && t.kind == symbolToken && t.text == "[":
		return p.parseBracketed()
	case t.kind != wordToken || !isValue && p.op() != "":
		what := "a field"
		if isValue {
			what = "a value"
		}
		err := p.failNext("expected %s before %s", what, quoted(t))
		if t.kind == symbolToken && t.text == "{" && p.err == err {
			err.withHint("a set is compared by in")
		}
		return o
	}
	p.advance()
	if t.kind == wordToken && p.next.kind == symbolToken && p.next.text == "(" && p.next.from == t.to {
		return p.parseCall(o)
	}
	return o
}

// parseCall parses the argument of a function.
func (p *parser) parseCall(o *operand) *operand {
	if !p.enter() {
		return o
	}
	defer func() { p.depth-- }()
	p.advance()
	o.kind, o.word, o.inner = callOperand, strings.ToLower(o.word), p.parseOperand(false)
	o.to = p.next.to
	p.expect(")")
	return o
}

// parseBracketed parses an address in brackets, [2001:db8::1]:27015.
func (p *parser) parseBracketed() *operand {
	from := p.next.from
	end := from
	for end < len(p.text) && (isWordByte(p.text[end]) || p.text[end] == '[' || p.text[end] == ']') {
		end++
	}
	p.next.to = end
	p.advance()
	return &operand{kind: wordOperand, word: p.text[from:end], from: from, to: end}
}

// parseSlices parses what stands in the brackets after an operand. The next token is the
// opening one, and then the closing one.
func (p *parser) parseSlices() (all []slice) {
	start := p.next.to
	n := strings.IndexByte(p.text[start:], ']')
	if n < 0 {
		p.fail(at(p.text, p.next.from, len(p.text), "the slice has no end").withHint("it needs a ]"))
		return nil
	}
	for _, part := range strings.Split(p.text[start:start+n], ",") {
		s, ok := parseSlice(strings.TrimSpace(part))
		if !ok || len(all) == maxSlices {
			p.fail(at(p.text, p.next.from, start+n+1, "%q is no slice", part).withHint("write [offset:length], [offset] or [first-last]"))
			return nil
		}
		all = append(all, s)
	}
	p.next = token{symbolToken, "]", start + n, start + n + 1}
	return all
}

// parseSlice parses i:n, i-j, i, :n and i: as in Wireshark.
func parseSlice(s string) (slice, bool) {
	if i := strings.IndexByte(s, ':'); i >= 0 {
		first, length := strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:])
		start, ok := parseOffset(first)
		if first == "" {
			start, ok = 0, length != ""
		}
		if length == "" {
			return slice{start: start, toEnd: true}, ok
		}
		n, isNumber := parseOffset(length)
		return slice{start: start, n: n}, ok && isNumber && n > 0
	}
	if start, ok := parseOffset(s); ok {
		return slice{start: start, n: 1}, true
	}
	i := strings.IndexByte(s[min(1, len(s)):], '-') + 1
	if i == 0 {
		return slice{}, false
	}
	start, ok := parseOffset(strings.TrimSpace(s[:i]))
	last, isNumber := parseOffset(strings.TrimSpace(s[i+1:]))
	return slice{start: start, n: last - start + 1}, ok && isNumber && last >= start && (start < 0) == (last < 0)
}

// parseOffset parses a number that fits any message.
func parseOffset(s string) (int, bool) {
	n, err := strconv.ParseInt(s, 0, 32)
	return int(n), err == nil && s[0] != '+'
}
