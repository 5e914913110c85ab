package filter

import (
	"bytes"
	"cmp"
	"math"
	"regexp"
	"time"
)

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
