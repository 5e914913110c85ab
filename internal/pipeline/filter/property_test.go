package filter_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"qsniff/dissect"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
)

// The naive evaluator: expressions are trees, and values come from the JSON of a message. It
// shares no code with the filter.

// document is a message as the values of its fields: *big.Rat, string or netip.Addr.
type document struct {
	values map[string][]any
	has    map[string]bool // fields that are there, even if they have no value
}

// kindsOf returns the definitions by name.
func kindsOf(reg *dissect.Registry) map[string]*dissect.Def {
	all := map[string]*dissect.Def{}
	for _, p := range reg.Protos() {
		for _, d := range p.Defs {
			all[d.Name] = d
		}
	}
	for _, d := range dissect.Shared {
		all[d.Name] = d
	}
	return all
}

// read makes a document of the JSON of e.
func read(t testing.TB, defs map[string]*dissect.Def, e *render.Event) *document {
	t.Helper()
	var line struct {
		Frame                                           uint64
		Frames                                          []uint64
		Src, Dst                                        netip.AddrPort
		Protocol, Message, Direction, Status, Transport string
		Length                                          int64
		Exchange                                        *struct{ ID int64 }
		Findings                                        []struct{ ID, Fault string }
		Layout                                          []struct {
			Name  string
			Value any
		}
	}
	d := json.NewDecoder(bytes.NewReader(jsonl.New(jsonl.Options{Layout: true}).Append(nil, e)))
	d.UseNumber()
	if err := d.Decode(&line); err != nil {
		t.Fatal(err)
	}
	doc := &document{map[string][]any{}, map[string]bool{}}
	add := func(name string, v any) {
		doc.values[name] = append(doc.values[name], v)
		doc.has[name] = true
	}
	if len(line.Frames) == 0 {
		line.Frames = []uint64{line.Frame}
	}
	for _, n := range line.Frames {
		add("frame.number", new(big.Rat).SetUint64(n))
	}
	for i, end := range []netip.AddrPort{line.Src, line.Dst} {
		name := []string{"src", "dst"}[i]
		add(name, end.Addr())
		add("addr", end.Addr())
		add("port", new(big.Rat).SetInt64(int64(end.Port())))
	}
	for name, s := range map[string]string{"protocol": line.Protocol, "message": line.Message, "direction": line.Direction, "status": line.Status, "transport": line.Transport} {
		if s != "" {
			add(name, s)
		}
	}
	add("length", new(big.Rat).SetInt64(line.Length))
	if line.Exchange != nil {
		add("exchange.id", new(big.Rat).SetInt64(line.Exchange.ID))
	}
	for _, f := range line.Findings {
		add("finding", f.ID)
		add("finding.fault", f.Fault)
	}
	continues := false // the text before goes on after a secret
	for i, x := range line.Layout {
		def := defs[x.Name]
		doc.has[x.Name] = true
		switch s, isText := x.Value.(string); {
		case x.Value == nil, def.Flags&dissect.Secret != 0 && def.PartOf == nil:
		case def.PartOf != nil:
			before := i > 0 && line.Layout[i-1].Name == def.PartOf.Name
			if before {
				all := doc.values[def.PartOf.Name]
				all[len(all)-1] = all[len(all)-1].(string) + "<redacted>"
			}
			continues = before || i > 0 && continues && line.Layout[i-1].Name == x.Name
			continue
		case def.Kind == dissect.Text && continues && defs[line.Layout[i-1].Name].PartOf == def:
			all := doc.values[x.Name]
			all[len(all)-1] = all[len(all)-1].(string) + s
			continue
		case def.Kind == dissect.Text:
			add(x.Name, s)
		case def.Kind == dissect.Char && isText:
			add(x.Name, new(big.Rat).SetInt64(int64(s[0])))
		case def.Kind == dissect.Addr:
			if end, err := netip.ParseAddrPort(s); err == nil {
				add(x.Name, end.Addr())
			} else if a, err := netip.ParseAddr(s); err == nil {
				add(x.Name, a)
			}
		case def.Kind == dissect.Bytes && def.Flags&dissect.Size == 0:
			add(x.Name, unhex(s))
		default:
			if v, ok := new(big.Rat).SetString(fmt.Sprint(x.Value)); ok {
				add(x.Name, v)
			}
		}
		continues = false
	}
	return doc
}

func unhex(s string) string {
	var b []byte
	for i := 0; i+1 < len(s); i += 2 {
		c, _ := strconv.ParseUint(s[i:i+2], 16, 8)
		b = append(b, byte(c))
	}
	return string(b)
}

// tree is a random expression: its text, how tightly its operator binds, and what it gives.
type tree struct {
	text  string
	level int
	eval  func(d *document) bool
}

// quote writes a text for the filter.
func quote(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\x%02x`, s[i])
	}
	return `"` + b.String() + `"`
}

// generator makes random expressions of the values that messages have.
type generator struct {
	*rand.Rand
	names  []string
	values map[string][]any
}

func pick[T any](g *generator, all []T) T { return all[g.IntN(len(all))] }

// junction returns an expression of a depth.
func (g *generator) junction(depth int) tree {
	if depth == 0 {
		return g.comparison()
	}
	switch g.IntN(5) {
	case 0:
		x := g.junction(depth - 1)
		return tree{pick(g, []string{"!", "not ", "! "}) + inner(x, 4), 4, func(d *document) bool { return !x.eval(d) }}
	case 1:
		return g.comparison()
	}
	level := 1 + g.IntN(3)
	op := [][]string{{"or", "||"}, {"xor", "^^"}, {"and", "&&"}}[level-1][g.IntN(2)]
	x, y := g.junction(depth-1), g.junction(depth-1)
	return tree{inner(x, level) + " " + op + " " + inner(y, level+1), level, func(d *document) bool {
		a, b := x.eval(d), y.eval(d)
		return level == 1 && (a || b) || level == 2 && a != b || level == 3 && a && b
	}}
}

// inner returns x, in parentheses where it binds less than level.
func inner(x tree, level int) string {
	if x.level < level {
		return "(" + x.text + ")"
	}
	return x.text
}

// some and every are what quantifiers mean.
func some(all []any, holds func(any) bool) bool { return slices.ContainsFunc(all, holds) }
func every(all []any, holds func(any) bool) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(v any) bool { return !holds(v) })
}

func (g *generator) comparison() tree {
	name := pick(g, g.names)
	c := pick(g, g.values[name])
	get := func(d *document) []any { return d.values[name] }
	switch g.IntN(8) {
	case 0:
		return tree{name, 5, func(d *document) bool { return d.has[name] }}
	case 1:
		n := 1 + g.IntN(3)
		return tree{fmt.Sprintf("count(%s) >= %d", name, n), 5, func(d *document) bool { return len(get(d)) >= n }}
	case 2:
		return g.set(name)
	}
	if s, isText := c.(string); isText && g.IntN(2) == 0 {
		return g.search(name, s)
	}
	return g.order(name, c)
}

// order returns a comparison by one of the signs.
func (g *generator) order(name string, c any) tree {
	op := pick(g, []string{"==", "!=", "===", "!==", "<", "<=", ">", ">=", "eq", "ne", "lt", "le", "gt", "ge", "all_eq", "any_ne"})
	sign := map[string]string{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "all_eq": "===", "any_ne": "!=="}[op]
	if sign == "" {
		sign = op
	}
	if isName(name) && strings.ContainsAny(sign, "<>") {
		op, sign = "==", "=="
	}
	quantifier := pick(g, []string{"", "", "any ", "all "})
	holds := func(v any) bool {
		if a, isAddr := v.(netip.Addr); isAddr && strings.ContainsAny(sign, "<>") && a.Is4() != c.(netip.Addr).Is4() {
			return false // addresses of two versions have no order
		}
		return fits(sign, compare(v, c))
	}
	isEvery := quantifier == "all " || quantifier == "" && (sign == "!=" || sign == "===")
	return tree{quantifier + name + " " + op + " " + literal(c), 5, func(d *document) bool {
		if isEvery {
			return every(d.values[name], holds)
		}
		return some(d.values[name], holds)
	}}
}

// isName reports whether a field has names as values, which have no order.
func isName(field string) bool {
	return slices.Contains([]string{"protocol", "message", "direction", "status", "transport", "finding", "finding.fault"}, field)
}

func fits(sign string, order int) bool {
	switch sign {
	case "==", "===":
		return order == 0
	case "!=", "!==":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// compare orders two values of a field.
func compare(a, b any) int {
	switch a := a.(type) {
	case *big.Rat:
		return a.Cmp(b.(*big.Rat))
	case netip.Addr:
		return a.Compare(b.(netip.Addr))
	}
	return strings.Compare(a.(string), b.(string))
}

// literal writes a value for the filter.
func literal(v any) string {
	switch v := v.(type) {
	case *big.Rat:
		if v.IsInt() {
			return v.Num().String()
		}
		f, _ := v.Float64()
		return strconv.FormatFloat(f, 'g', -1, 64)
	case netip.Addr:
		return v.String()
	}
	return quote(v.(string))
}

// set returns the membership in some values.
func (g *generator) set(name string) tree {
	var all []any
	var words []string
	for range 1 + g.IntN(3) {
		v := pick(g, g.values[name])
		all, words = append(all, v), append(words, literal(v))
	}
	op := pick(g, []string{" in {", " not in {"})
	return tree{name + op + strings.Join(words, ", ") + "}", 4, func(d *document) bool {
		return (op == " in {") == some(d.values[name], func(v any) bool {
			return slices.ContainsFunc(all, func(c any) bool { return compare(v, c) == 0 })
		})
	}}
}

// search returns a comparison of texts by what is in them.
func (g *generator) search(name, s string) tree {
	from := 0
	if len(s) > 0 {
		from = g.IntN(len(s))
	}
	part := s[from:min(len(s), from+1+g.IntN(4))]
	switch kind := g.IntN(4); {
	case kind == 0 && utf8.ValidString(part):
		re := regexp.MustCompile("(?i)^" + regexp.QuoteMeta(part))
		return tree{name + ` matches ` + quote("^"+regexp.QuoteMeta(part)), 5, func(d *document) bool {
			return some(d.values[name], func(v any) bool { return re.MatchString(v.(string)) })
		}}
	case kind == 1:
		return tree{fmt.Sprintf("len(%s) == %d", name, len(s)), 5, func(d *document) bool {
			return some(d.values[name], func(v any) bool { return len(v.(string)) == len(s) })
		}}
	case kind == 2:
		n := len(part)
		if n == 0 {
			n, part = 1, "x"
		}
		return tree{fmt.Sprintf("%s[%d:%d] == %s", name, from, n, quote(part)), 5, func(d *document) bool {
			return some(d.values[name], func(v any) bool { return len(v.(string)) >= from+n && v.(string)[from:from+n] == part })
		}}
	}
	return tree{name + " contains " + quote(part), 5, func(d *document) bool {
		return some(d.values[name], func(v any) bool { return strings.Contains(v.(string), part) })
	}}
}

// TestNaive: random expressions give for each message of all captures what a naive evaluator
// makes of its JSON.
func TestNaive(t *testing.T) {
	s := captures(t)
	defs := kindsOf(s.reg)
	g := &generator{Rand: rand.New(rand.NewPCG(1, 2)), values: map[string][]any{}}
	var docs []*document
	var events []*render.Event
	for _, e := range s.events {
		d := read(t, defs, e)
		if e.Record != "" || d.isLossy() {
			continue
		}
		docs, events = append(docs, d), append(events, e)
		for name, all := range d.values {
			g.values[name] = append(g.values[name], slices.DeleteFunc(slices.Clone(all), isLong)...)
		}
	}
	for name, all := range g.values {
		if len(all) == 0 {
			continue
		}
		g.names = append(g.names, name)
	}
	slices.Sort(g.names)
	if len(events) < 2000 || len(g.names) < 150 {
		t.Fatalf("%d messages with %d fields", len(events), len(g.names))
	}
	rounds, hits := 500, 0
	if testing.Short() {
		rounds = 100
	}
	for range rounds {
		x := g.junction(g.IntN(4))
		p, err := filter.Compile(x.text, s.reg, filter.Options{})
		if err != nil {
			t.Fatalf("%s: %v", x.text, err)
		}
		m := p.Matcher()
		for range perRound {
			i := g.IntN(len(events))
			got, want := m.Match(events[i]), x.eval(docs[i])
			if got != filter.None && got != filter.All || (got == filter.All) != want {
				t.Fatalf("%s\ngot %x, want %v for %s", x.text, got, want, jsonl.New(jsonl.Options{Layout: true}).Append(nil, events[i]))
			}
			if want {
				hits++
				if msg := events[i].Msg; !p.CanMatch(msg.Proto, msg.Type) || !m.MayMatch(msg) || isUsual(msg) && !p.CanMatchUsual(msg.Proto, msg.Type) {
					t.Fatalf("%s cannot match %s", x.text, msg.Type.Name)
				}
			}
		}
	}
	if hits < rounds*perRound/10 {
		t.Errorf("only %d of %d are true", hits, rounds*perRound)
	}
}

// isUsual reports whether a message has no fields but Proto.Usual.
func isUsual(m *dissect.Message) bool {
	return !slices.ContainsFunc(m.Fields, func(f dissect.Field) bool { return !slices.Contains(m.Proto.Usual, f.Def) })
}

// perRound is how many messages each expression is tried on. Chosen: the test takes seconds.
const perRound = 100

// isLong reports whether a value is too long to be written into an expression.
func isLong(v any) bool {
	s, ok := v.(string)
	return ok && len(s) > 200
}

// isLossy reports whether JSON does not have all bytes of a text: some are no UTF-8.
func (d *document) isLossy() bool {
	for name, all := range d.values {
		if strings.Contains(name, "unread") || strings.Contains(name, "trailing") {
			continue
		}
		for _, v := range all {
			if s, ok := v.(string); ok && strings.Contains(s, "\ufffd") {
				return true
			}
		}
	}
	return false
}
