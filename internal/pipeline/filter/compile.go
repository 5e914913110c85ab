package filter

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"qsniff/dissect"
	"qsniff/internal/render/manual"
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

// numberTest is a comparison of a number, as in value.num, with a constant.
type numberTest func(n uint64) bool

// compares returns whether the order of two values, as cmp.Compare has it, fits an operator.
func compares(op string) func(order int) bool {
	switch op {
	case "<":
		return func(order int) bool { return order < 0 }
	case "<=":
		return func(order int) bool { return order <= 0 }
	case ">":
		return func(order int) bool { return order > 0 }
	case ">=":
		return func(order int) bool { return order >= 0 }
	}
	return func(order int) bool { return order == 0 }
}

// testNumber returns the comparison of values of f, which is a number but no float. Durations and
// times have a sign, too.
func testNumber(f *field, op string, c constant) numberTest {
	fits := compares(op)
	switch f.typ {
	case signed, duration, moment:
		return func(n uint64) bool { return fits(cmp.Compare(int64(n), int64(c.num))) }
	}
	return func(n uint64) bool { return fits(cmp.Compare(n, c.num)) }
}

// testFloat returns the comparison of floats. One of 32 bits is compared with the constant as
// 32 bits hold it: 2.1 is equal to 2.1.
func testFloat(op string, c float64) test {
	fits, single := compares(op), float64(float32(c))
	return func(m *Matcher) bool {
		v, c := math.Float64frombits(m.v.num), c
		if m.v.single {
			c = single
		}
		return fits(cmp.Compare(v, c))
	}
}

// testConstant returns the comparison of values of f with c by an operator that is not
// negated: ==, <, <=, >, >= or contains.
func testConstant(f *field, op string, c constant) test {
	switch {
	case c.named:
		values, word := f.values, c.text
		return func(m *Matcher) bool { return equalFold(values(m.v.num), word) }
	case f.typ == float:
		return testFloat(op, c.number)
	case c.ofDay != nil:
		fits := compares(op)
		return func(m *Matcher) bool { return fits(cmp.Compare(int64(m.v.num), m.onFirstDay(c))) }
	case f.typ.isNumber():
		holds := testNumber(f, op, c)
		return func(m *Matcher) bool { return holds(m.v.num) }
	case f.typ == address:
		return testAddress(op, c)
	case f.typ == name && op == "==":
		word := c.text
		return func(m *Matcher) bool { return equalFold(m.v.text, word) }
	}
	return testText(f, op, c)
}

// onFirstDay returns a time of day on the day of the first packet.
func (m *Matcher) onFirstDay(c constant) int64 {
	_, start := m.times()
	y, month, d := time.Unix(0, start).In(c.ofDay).Date()
	return time.Date(y, month, d, 0, 0, int(c.num/1e9), int(c.num%1e9), c.ofDay).UnixNano()
}

// equalFold reports whether two names are equal but for the case of their letters, which are
// those of ASCII.
func equalFold[T string | []byte](s T, b []byte) bool {
	if len(s) != len(b) {
		return false
	}
	for i := range len(b) {
		if x, y := s[i], b[i]; x != y && (x|0x20 != y|0x20 || x|0x20 < 'a' || x|0x20 > 'z') {
			return false
		}
	}
	return true
}

func testText(f *field, op string, c constant) test {
	fits, word := compares(op), c.text
	switch {
	case op == "contains":
		return func(m *Matcher) bool { return bytes.Contains(m.v.text, word) }
	case op == "==":
		return func(m *Matcher) bool { return bytes.Equal(m.v.text, word) }
	case f.typ == text && c.isNumber:
		return func(m *Matcher) bool {
			v, ok := parseNumber(m.v.text)
			return ok && fits(cmp.Compare(v, c.number))
		}
	}
	return func(m *Matcher) bool { return fits(bytes.Compare(m.v.text, word)) }
}

func testPattern(re *regexp.Regexp) test {
	return func(m *Matcher) bool { return re.Match(m.v.text) }
}

func testAddress(op string, c constant) test {
	fits, prefix, port, bound := compares(op), c.prefix, c.port, c.prefix.Addr()
	switch {
	case op == "==" && port >= 0:
		return func(m *Matcher) bool { return m.v.ported && int(m.v.end.Port()) == port && m.v.end.Addr() == bound }
	case op == "==" && prefix.IsSingleIP():
		return func(m *Matcher) bool { return m.v.end.Addr() == bound }
	case op == "==":
		return func(m *Matcher) bool { return prefix.Contains(m.v.end.Addr()) }
	}
	return func(m *Matcher) bool {
		a := m.v.end.Addr()
		return a.Is4() == bound.Is4() && fits(a.Compare(bound))
	}
}

// testRange returns the test that a value lies between two others.
func testRange(f *field, lo, hi constant) test {
	above, below := testConstant(f, ">=", lo), testConstant(f, "<=", hi)
	return func(m *Matcher) bool { return above(m) && below(m) }
}

// testAny returns the test that one of several holds.
func testAny(all []test) test {
	if len(all) == 1 {
		return all[0]
	}
	return func(m *Matcher) bool {
		for _, t := range all {
			if t(m) {
				return true
			}
		}
		return false
	}
}

// testPair returns the comparison of Matcher.left, a value of f, with v, one of g.
func testPair(f, g *field, op string) test {
	fits := compares(op)
	switch {
	case op == "contains":
		return func(m *Matcher) bool { return bytes.Contains(m.left.text, m.v.text) }
	case f.typ == name && g.typ == name:
		return func(m *Matcher) bool { return equalFold(m.left.text, m.v.text) }
	case f.typ.isText():
		return func(m *Matcher) bool { return fits(bytes.Compare(m.left.text, m.v.text)) }
	case f.typ == address:
		return func(m *Matcher) bool {
			a, b := m.left.end, m.v.end
			if op == "==" && m.left.ported && m.v.ported {
				return a == b
			}
			return a.Addr().Is4() == b.Addr().Is4() && fits(a.Addr().Compare(b.Addr()))
		}
	case f.typ == float || g.typ == float:
		return func(m *Matcher) bool { return fits(cmp.Compare(floatOf(f.typ, m.left.num), floatOf(g.typ, m.v.num))) }
	case f.typ == unsigned && g.typ == unsigned:
		return func(m *Matcher) bool { return fits(cmp.Compare(m.left.num, m.v.num)) }
	}
	return func(m *Matcher) bool { return fits(cmp.Compare(int64(m.left.num), int64(m.v.num))) }
}

// floatOf returns a number of type t as a float.
func floatOf(t valueType, n uint64) float64 {
	switch t {
	case float:
		return math.Float64frombits(n)
	case signed:
		return float64(int64(n))
	}
	return float64(n)
}

const (
	// limit: maxPattern is how long a regular expression can be, in bytes. Package regexp bounds what
	// repetitions make of it. Chosen: 512 bytes hold any list of names.
	maxPattern = 512
	// limit: maxListed is how many values of a field an error lists. Chosen: they fit into two lines.
	maxListed = 16
	// limit: maxLate is how many different comparisons can be on what is known later: a table of their
	// outcomes has 2^6 entries, which are the bits of a Truth.
	maxLate = 6
)
