package filter

import (
	"fmt"
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
