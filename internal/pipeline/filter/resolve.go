package filter

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"qsniff/internal/render/manual"
)

// flipped are the operators whose sides can change places: 10 < players is players > 10.
var flipped = map[string]string{"==": "==", "!=": "!=", "===": "===", "!==": "!==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// isLiteral reports whether o cannot be the name of a field.
func (c *checker) isLiteral(o *operand) bool {
	switch o.kind {
	case textOperand, charOperand:
		return true
	case wordOperand:
		return c.scope.lookup(o.word) == nil && strings.IndexByte("0123456789-+[:", o.word[0]) >= 0
	}
	return false
}

// field returns the field that an operand is, or makes of one.
func (c *checker) field(o *operand) (*field, *Error) {
	switch o.kind {
	case wordOperand:
		if f := c.scope.lookup(o.word); f != nil {
			return f, nil
		}
		return nil, c.unknown(o)
	case sliceOperand:
		return c.slice(o)
	case callOperand:
		return c.call(o)
	case maskedOperand:
		return c.masked(o)
	}
	return nil, c.at(o, "expected a field, not %s", visible(c.text[o.from:o.to])).withHint("as in players > 10")
}

// unknown returns the error that no field has a name.
func (c *checker) unknown(o *operand) *Error {
	err := c.at(o, "no field is called %s", visible(o.word)).suggest(o.word, c.scope.names)
	if strings.IndexByte("0123456789-+[:", o.word[0]) >= 0 {
		err = c.at(o, "expected a field, not %s", visible(o.word)).withHint("as in players > 10")
	}
	for _, of := range []string{"message", "finding", "incident.kind"} {
		if slices.ContainsFunc(c.scope.fields[of].names, func(s string) bool { return strings.EqualFold(s, o.word) }) {
			err.withHint("did you mean %s == %s?", of, o.word)
		}
	}
	switch below := c.hintBelow(o.word); {
	case below != "":
		err.Hint = below
	case err.Hint == "":
		err.withHint("qsniff fields lists all")
	}
	return err
}

// hintBelow names some of the fields in a group of fields, as of a message; empty: there are none.
func (c *checker) hintBelow(group string) string {
	const most = 3
	var below []string
	for _, name := range c.scope.names {
		if strings.HasPrefix(name, group+".") {
			below = append(below, name)
		}
	}
	switch n := len(below); {
	case n == 0:
		return ""
	case n <= most:
		return "there is " + strings.Join(below, ", ")
	default:
		return fmt.Sprintf("there is %s and %d more", strings.Join(below[:most], ", "), n-most)
	}
}

// valueField returns the field that y is, as what f is compared with, if it is one: not a
// value that f has by that name.
func (c *checker) valueField(f *field, y *operand) (g *field, isField bool, err *Error) {
	switch y.kind {
	case textOperand, charOperand:
		return nil, false, nil
	case wordOperand:
		named := slices.ContainsFunc(f.names, func(s string) bool { return strings.EqualFold(s, y.word) })
		g = c.scope.lookup(y.word)
		switch {
		case g == nil || named || g.typ == presence && g.def == nil: // a word like "split" is a text, too
			return nil, false, nil
		case g.typ == presence:
			return nil, false, c.uncomparable(g, y)
		}
		return g, true, nil
	}
	g, err = c.field(y)
	return g, true, err
}

// uncomparable returns the error that f can be tested for presence only.
func (c *checker) uncomparable(f *field, o *operand) *Error {
	err := c.at(o, "%s can be tested for presence only", f.name)
	switch {
	case f.isSecret:
		return c.at(o, "%s is a secret and can be tested for presence only", f.name).withHint("--show-secrets allows comparisons")
	case f.def != nil:
		var members []string
		for _, n := range c.scope.names {
			if strings.HasPrefix(n, f.name+".") && c.scope.lookup(n).typ != presence {
				members = append(members, n)
			}
		}
		slices.Sort(members)
		if len(members) > 0 {
			return err.withHint("it has %s", strings.Join(members[:min(len(members), maxListed)], ", "))
		}
	}
	return err.withHint("write %s alone", f.name)
}

// checkOperator returns an error if values of f cannot be compared by an operator.
func (c *checker) checkOperator(f *field, x, y *operand, op string) *Error {
	switch {
	case f.typ == presence:
		return c.uncomparable(f, x)
	case f.typ.takes(op):
		return nil
	case op == "contains" || op == "matches":
		return c.at(x, "%s is a %s, which %s does not work on", visible(x.String()), f.typ, op).withHint("it is for texts and bytes; use == or in")
	}
	return c.at(x, "%s has no order", visible(x.String())).withHint("use == or in")
}

// checkConstant returns an error if a constant cannot be compared by an operator.
func (c *checker) checkConstant(f *field, op string, v constant, o *operand) *Error {
	if op == "==" || op == "contains" {
		return nil
	}
	switch {
	case v.named:
		return c.at(o, "names of values have no order").withHint("compare %s with a number, or use == or in", f.name)
	case f.typ == address && (!v.prefix.IsSingleIP() || v.port >= 0):
		return c.at(o, "%s has no order", visible(o.word)).withHint("use == or in for networks and ports")
	}
	return nil
}

// ignoreCase begins all regular expressions, as in Wireshark.
const ignoreCase = "(?i)"

// pattern returns the test that a value matches a regular expression.
func (c *checker) pattern(o *operand) (test, *Error) {
	if o.kind != textOperand && o.kind != wordOperand {
		return nil, c.at(o, "expected a regular expression").withHint(`write "..." or r"..."`)
	}
	if len(o.word) > maxPattern {
		return nil, c.at(o, "the regular expression is longer than %d bytes", maxPattern)
	}
	re, err := regexp.Compile(ignoreCase + o.word)
	if bad := (*syntax.Error)(nil); errors.As(err, &bad) {
		return nil, c.at(o, "the regular expression has an error").withHint("%s: %s", bad.Code, visible(strings.TrimPrefix(bad.Expr, ignoreCase)))
	}
	return testPattern(re), nil
}

// valueNames returns the names that values of f have, if they are few enough to be listed.
func (s *scope) valueNames(f *field) (all []string) {
	if len(f.names) > 0 || f.values == nil {
		return f.names
	}
	for _, v := range manual.ValuesOf(f.def) {
		if !slices.Contains(all, v.Name) { // two letters may stand for one thing
			all = append(all, v.Name)
		}
	}
	return all
}
