package filter

import (
	"cmp"

	"qsniff/dissect"
)

// Compile makes a program of an expression. The error is an *Error.
func Compile(text string, reg *dissect.Registry, o Options) (*Program, error) {
	x, err := parse(text)
	if err != nil {
		return nil, err
	}
	c := &checker{text: text, scope: newScope(reg, o), subjects: subjectsOf(reg)}
	root, err := c.node(x)
	if err != nil {
		return nil, err
	}
	p := &Program{text: text, root: root, late: c.late, needsPairs: c.needsPairs, needsEvent: c.needsEvent, readsTexts: c.readsTexts}
	p.addReach(c.subjects)
	return p, nil
}

// checker makes nodes of a parsed expression.
type checker struct {
	text       string
	scope      *scope
	late       []lateTest
	subjects   []subject
	needsPairs bool // see Program.NeedsPairs
	needsEvent bool // not all fields are inside of the message
	readsTexts bool // see Program.ReadsTexts
}

// at returns an error about an operand.
func (c *checker) at(o *operand, format string, args ...any) *Error {
	return at(c.text, o.from, o.to, format, args...)
}

// node compiles an expression.
func (c *checker) node(x expr) (node, *Error) {
	switch x := x.(type) {
	case *junction:
		return c.junction(x)
	case *negation:
		inner, err := c.node(x.x)
		for i := range inner.can {
			inner.can[i] = inner.can[i].flip()
		}
		return node{func(m *Matcher) Truth { return ^inner.eval(m) }, inner.can}, err
	case *relation:
		return c.relation(x)
	case *membership:
		return c.membership(x)
	case *existence:
		return c.existence(x)
	}
	panic("filter: an expression of no kind")
}

func (c *checker) junction(j *junction) (node, *Error) {
	left, err := c.node(j.x)
	if err != nil {
		return node{}, err
	}
	right, err := c.node(j.y)
	if err != nil {
		return node{}, err
	}
	n, x, y := node{can: left.can}, left.eval, right.eval
	for i := range n.can {
		n.can[i] = n.can[i].combine(j.op, right.can[i])
	}
	switch j.op {
	case "and":
		n.eval = func(m *Matcher) Truth {
			t := x(m)
			if t == None {
				return None
			}
			return t & y(m)
		}
	case "or":
		n.eval = func(m *Matcher) Truth {
			t := x(m)
			if t == All {
				return All
			}
			return t | y(m)
		}
	default:
		n.eval = func(m *Matcher) Truth { return x(m) ^ y(m) }
	}
	return n, nil
}

// existence compiles an operand that stands alone.
func (c *checker) existence(x *existence) (node, *Error) {
	f, err := c.field(x.x)
	if err != nil {
		return node{}, err
	}
	switch {
	case f.late == lateAnswered:
		return c.lateNode(x.x, x.x, f, func(n uint64) bool { return n != 0 })
	case f.late != notLate:
		return c.lateNode(x.x, x.x, f, func(uint64) bool { return true })
	case f.typ == boolean:
		return c.nodeOf(f, func(m *Matcher) bool { return m.v.num != 0 }, false), nil
	}
	isThere := f.isThere()
	return c.leaf(func(m *Matcher) Truth { return truthOf(isThere(m)) }, f), nil
}

// nodeOf returns whether t holds for one value of f, or for all of them and at least one.
func (c *checker) nodeOf(f *field, t test, all bool) node {
	if !all {
		t = f.with(t)
		return c.leaf(func(m *Matcher) Truth { return truthOf(f.each(m, t)) }, f)
	}
	fails, isThere := f.with(not(t)), f.with(always)
	return c.leaf(func(m *Matcher) Truth { return truthOf(!f.each(m, fails) && f.each(m, isThere)) }, f)
}

func not(t test) test { return func(m *Matcher) bool { return !t(m) } }

// lateNode returns the table of a comparison of o, which is known later, with what ends at end.
// Comparisons that are written alike share a table.
func (c *checker) lateNode(o, end *operand, f *field, holds numberTest) (node, *Error) {
	i, text := 0, c.text[min(o.from, end.from):max(o.to, end.to)]
	for i < len(c.late) && c.late[i].text != text {
		i++
	}
	if i == maxLate {
		return node{}, c.at(o, "more than %d comparisons on what is known later", maxLate)
	}
	if i == len(c.late) {
		c.late = append(c.late, lateTest{f.late, holds, text})
	}
	t := lateTruths[i]
	return c.leaf(func(*Matcher) Truth { return t }, f), nil
}

// negated are the operators that hold where another one does not; universal are those that
// all values have to fulfil unless a quantifier says otherwise.
var (
	negated   = map[string]string{"!=": "==", "!==": "=="}
	positive  = map[string]string{"===": "=="}
	universal = map[string]bool{"!=": true, "===": true}
)

// isUniversal reports whether all values of a field have to fulfil a comparison.
func isUniversal(quantifier, op string) bool {
	return quantifier == "all" || quantifier == "" && universal[op]
}

// relation compiles a comparison of a field with a literal or with another field.
func (c *checker) relation(r *relation) (node, *Error) {
	x, y, op := r.x, r.y, r.op
	if c.isLiteral(x) && !c.isLiteral(y) && flipped[op] != "" {
		x, y, op = y, x, flipped[op]
	}
	f, err := c.field(x)
	if err != nil {
		return node{}, err
	}
	base, isNegated := op, false
	if s, ok := negated[op]; ok {
		base, isNegated = s, true
	} else if s, ok := positive[op]; ok {
		base = s
	}
	if err := c.checkOperator(f, x, y, base); err != nil {
		return node{}, err
	}
	all := isUniversal(r.quantifier, r.op)
	g, isField, err := c.valueField(f, y)
	if err != nil {
		return node{}, err
	}
	if isField {
		return c.pair(f, g, x, y, base, isNegated, all)
	}
	if f.late != notLate {
		return c.lateRelation(f, x, y, base, isNegated)
	}
	t, err := c.literal(f, base, y)
	if err != nil {
		return node{}, err
	}
	if isNegated {
		t = not(t)
	}
	return c.nodeOf(f, t, all), nil
}

// literal returns the comparison of values of f with a literal.
func (c *checker) literal(f *field, op string, y *operand) (test, *Error) {
	if op == "matches" {
		return c.pattern(y)
	}
	as := f
	if op == "contains" && f.typ == name {
		as = &field{name: f.name, typ: text}
	}
	v, err := c.constantOf(as, y)
	if err != nil {
		return nil, err
	}
	if err := c.checkConstant(f, op, v, y); err != nil {
		return nil, err
	}
	return testConstant(as, op, v), nil
}

func (c *checker) lateRelation(f *field, x, y *operand, op string, isNegated bool) (node, *Error) {
	v, err := c.constantOf(f, y)
	if err != nil {
		return node{}, err
	}
	holds := testNumber(f, op, v)
	if isNegated {
		equal := holds
		holds = func(n uint64) bool { return !equal(n) }
	}
	return c.lateNode(x, y, f, holds)
}

// pair compiles the comparison of two fields: of each value of f with each of g.
func (c *checker) pair(f, g *field, x, y *operand, op string, isNegated, all bool) (node, *Error) {
	both := f.typ.isNumber() && g.typ.isNumber() && (f.typ == g.typ || plainNumber(f.typ) && plainNumber(g.typ))
	if !both && !(f.typ.isText() && g.typ.isText()) && !(f.typ == address && g.typ == address) || op == "matches" {
		return node{}, c.at(y, "%s and %s cannot be compared", visible(x.String()), visible(y.String())).
			withHint("one is a %s, the other a %s", f.typ, g.typ)
	}
	if f.late != notLate || g.late != notLate {
		return node{}, c.at(y, "what is known later is compared with values only")
	}
	t := testPair(f, g, op)
	if isNegated {
		t = not(t)
	}
	if all {
		t = not(t)
	}
	inner := g.with(t)
	outer := f.with(func(m *Matcher) bool {
		m.left = m.v
		m.leftText = append(m.leftText[:0], m.v.text...)
		m.left.text = m.leftText
		return g.each(m, inner)
	})
	if !all {
		return c.leaf(func(m *Matcher) Truth { return truthOf(f.each(m, outer)) }, f, g), nil
	}
	hasX, hasY := f.with(always), g.with(always)
	return c.leaf(func(m *Matcher) Truth { return truthOf(f.each(m, hasX) && g.each(m, hasY) && !f.each(m, outer)) }, f, g), nil
}

// plainNumber reports whether numbers of a type are compared whatever their unit.
func plainNumber(t valueType) bool { return t == unsigned || t == signed || t == char || t == float }

// membership compiles "in".
func (c *checker) membership(x *membership) (node, *Error) {
	f, err := c.field(x.x)
	if err != nil {
		return node{}, err
	}
	if err := c.checkOperator(f, x.x, x.x, "=="); err != nil {
		return node{}, err
	}
	var all []test
	var late []numberTest
	for _, i := range x.set {
		t, number, err := c.interval(f, i)
		if err != nil {
			return node{}, err
		}
		all, late = append(all, t), append(late, number)
	}
	if f.late == notLate {
		return c.nodeOf(f, testAny(all), x.quantifier == "all"), nil
	}
	last := x.set[len(x.set)-1]
	return c.lateNode(x.x, cmp.Or(last.hi, last.lo), f, func(n uint64) bool {
		for _, t := range late {
			if t(n) {
				return true
			}
		}
		return false
	})
}

// interval returns the test that a value is in an element of a set; number is the same for
// fields that are numbers.
func (c *checker) interval(f *field, i interval) (t test, number numberTest, err *Error) {
	lo, err := c.constantOf(f, i.lo)
	if err != nil {
		return nil, nil, err
	}
	if i.hi == nil {
		return testConstant(f, "==", lo), testNumber(f, "==", lo), nil
	}
	hi, err := c.constantOf(f, i.hi)
	if err != nil {
		return nil, nil, err
	}
	for _, bound := range []struct {
		v constant
		o *operand
	}{{lo, i.lo}, {hi, i.hi}} {
		if err := c.checkOperator(f, bound.o, bound.o, "<="); err != nil {
			return nil, nil, err
		}
		if err := c.checkConstant(f, "<=", bound.v, bound.o); err != nil {
			return nil, nil, err
		}
	}
	above, below := testNumber(f, ">=", lo), testNumber(f, "<=", hi)
	if (lo.ofDay == nil) == (hi.ofDay == nil) && f.typ.isNumber() && f.typ != float && !below(lo.num) || f.typ == float && lo.number > hi.number {
		return nil, nil, at(c.text, i.lo.from, i.hi.to, "the range ends before it begins")
	}
	return testRange(f, lo, hi), func(n uint64) bool { return above(n) && below(n) }, nil
}
