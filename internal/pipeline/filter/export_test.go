package filter

import (
	"fmt"
	"strings"
)

// Parse returns an expression as parsed and as String writes it, for tests.
func Parse(text string) (string, *Error) {
	x, err := parse(text)
	if err != nil {
		return "", err
	}
	return x.(fmt.Stringer).String(), nil
}

// What follows writes expressions in a form that parses to the same expression.

func (j *junction) String() string {
	return joined(j.x, levels[j.op]) + " " + j.op + " " + joined(j.y, levels[j.op]+1)
}

// joined returns x, in parentheses if it binds less than level.
func joined(x expr, level int) string {
	if j, ok := x.(*junction); ok && levels[j.op] < level {
		return "(" + x.(fmt.Stringer).String() + ")"
	}
	return x.(fmt.Stringer).String()
}

func (n *negation) String() string { return "not " + joined(n.x, levels["and"]+1) }

func (r *relation) String() string {
	return lead(r.quantifier) + r.x.String() + " " + r.op + " " + r.y.String()
}

func (m *membership) String() string {
	var all []string
	for _, i := range m.set {
		s := i.lo.String()
		if i.hi != nil {
			s += " .. " + i.hi.String()
		}
		all = append(all, s)
	}
	return lead(m.quantifier) + m.x.String() + " in {" + strings.Join(all, ", ") + "}"
}

func (x *existence) String() string { return x.x.String() }

func lead(quantifier string) string {
	if quantifier == "" {
		return ""
	}
	return quantifier + " "
}
