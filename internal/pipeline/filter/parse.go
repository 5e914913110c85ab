package filter

import (
	"fmt"
	"strings"

	"qsniff/internal/base/display"
	"qsniff/internal/render/manual"
)

// parser makes an expression of text. next is the token to be looked at.
type parser struct {
	text  string
	next  token
	depth int
	nodes int
	err   *Error // the first; after it there are no more tokens
}

// parse parses text.
func parse(text string) (expr, *Error) {
	if len(text) > maxText {
		return nil, at(text, maxText, len(text), "the expression is longer than %d bytes", maxText)
	}
	p := &parser{text: text}
	p.advance()
	if p.err == nil && p.next.kind == endToken {
		return nil, at(text, p.next.from, p.next.to, "the expression is empty").withHint("name a field, as in players > 10")
	}
	x := p.parseJunction(1)
	if p.err == nil && p.next.kind != endToken {
		hint := "join comparisons by and or or"
		if p.next.text == "+" || p.next.text == "-" {
			hint = noArithmetic
		}
		p.failNext("did not expect %s", quoted(p.next)).withHint("%s", hint)
	}
	if p.err != nil {
		return nil, p.err
	}
	return x, nil
}

// advance scans the next token.
func (p *parser) advance() {
	if p.err != nil {
		return
	}
	t, err := scan(p.text, p.next.to)
	if err != nil {
		p.fail(err)
		return
	}
	p.next = t
}

// fail notes the first error, after which there are no more tokens.
func (p *parser) fail(err *Error) *Error {
	if p.err == nil {
		p.err = err
	}
	p.next = token{from: len(p.text), to: len(p.text)}
	return err
}

// failNext fails at the next token.
func (p *parser) failNext(format string, args ...any) *Error {
	return p.fail(at(p.text, p.next.from, p.next.to, format, args...))
}

// quoted returns a token as errors name it.
func quoted(t token) string {
	switch t.kind {
	case endToken:
		return "the end"
	case textToken:
		return "a text"
	case charToken:
		return "a character"
	}
	return string(visible(t.text))
}

// words are operators that are written in letters, and what they stand for.
var words = map[string]string{
	"and": "and", "or": "or", "xor": "xor", "not": "not", "eq": "==", "any_eq": "==", "ne": "!=", "all_ne": "!=",
	"all_eq": "===", "any_ne": "!==", "gt": ">", "lt": "<", "ge": ">=", "le": "<=", "contains": "contains",
	"matches": "matches", "in": "in", "any": "any", "all": "all", "bitwise_and": "&",
}

// signs are operators with a second form.
var signs = map[string]string{"&&": "and", "||": "or", "^^": "xor", "!": "not", "~": "matches"}

// op returns the operator that the next token is; empty if it is none.
func (p *parser) op() string {
	switch p.next.kind {
	case symbolToken:
		if s, ok := signs[p.next.text]; ok {
			return s
		}
		return p.next.text
	case wordToken:
		return words[strings.ToLower(p.next.text)]
	}
	return ""
}

// accept skips the next token if it is op.
func (p *parser) accept(op string) bool {
	if p.err != nil || p.op() != op {
		return false
	}
	p.advance()
	return true
}

// expect skips op, or fails.
func (p *parser) expect(op string) {
	if !p.accept(op) && p.err == nil {
		p.failNext("expected %s before %s", op, quoted(p.next))
	}
}

// enter counts what nests, and reports whether it may.
func (p *parser) enter() bool {
	if p.depth++; p.depth > maxDepth && p.err == nil {
		p.failNext("the expression nests deeper than %d", maxDepth)
	}
	return p.err == nil
}

// parseJunction parses expressions joined by operators of a level or above.
func (p *parser) parseJunction(level int) expr {
	if level > levels["and"] {
		return p.parseNegation()
	}
	x := p.parseJunction(level + 1)
	for p.err == nil && levels[p.op()] == level {
		op := p.op()
		p.advance()
		x = &junction{op, x, p.parseJunction(level + 1)}
	}
	return x
}

// count counts a comparison or a slice, and fails at one too many.
func (p *parser) count() {
	if p.nodes++; p.nodes > maxNodes && p.err == nil {
		p.failNext("the expression has more than %d comparisons", maxNodes)
	}
}

func (p *parser) parseNegation() expr {
	if !p.enter() {
		return nil
	}
	defer func() { p.depth-- }()
	switch {
	case p.accept("not"):
		return &negation{p.parseNegation()}
	case p.accept("("):
		x := p.parseJunction(1)
		p.expect(")")
		return x
	}
	return p.parseComparison()
}

// comparisons are the operators between two operands.
var comparisons = map[string]bool{"==": true, "!=": true, "===": true, "!==": true, "<": true, "<=": true, ">": true, ">=": true, "contains": true, "matches": true}

// parseComparison parses a comparison, several in a chain (1 < x < 5), or an operand alone.
func (p *parser) parseComparison() expr {
	quantifier := ""
	if op := p.op(); op == "any" || op == "all" {
		quantifier = op
		p.advance()
	}
	x := p.parseOperand(false)
	p.count()
	isNot := p.op() == "not"
	if isNot || p.op() == "in" {
		p.advance()
		if isNot {
			p.expect("in")
		}
		var m expr = &membership{quantifier, x, p.parseSet()}
		if isNot {
			m = &negation{m}
		}
		return m
	}
	if p.err != nil || !comparisons[p.op()] {
		if quantifier != "" && p.err == nil {
			p.failNext("expected a comparison after %s %s", quantifier, visible(x.String()))
		}
		return &existence{x}
	}
	return p.parseChain(quantifier, x)
}

func (p *parser) parseChain(quantifier string, x *operand) expr {
	var all expr
	for p.err == nil && comparisons[p.op()] {
		op := p.op()
		p.advance()
		y := p.parseOperand(true)
		var r expr = &relation{quantifier, op, x, y}
		if all != nil {
			r = &junction{"and", all, r}
		}
		all, x = r, y
		p.count()
	}
	return all
}

// parseSet parses what stands in braces.
func (p *parser) parseSet() (set []interval) {
	p.expect("{")
	for p.err == nil {
		if len(set) == maxSet {
			p.failNext("a set has at most %d values", maxSet)
			break
		}
		i := interval{lo: p.parseOperand(true)}
		if p.accept("..") {
			i.hi = p.parseOperand(true)
		}
		set = append(set, i)
		if !p.accept(",") {
			break
		}
	}
	if p.err == nil && p.op() != "}" {
		err := p.failNext("expected a comma or } before %s", quoted(p.next))
		if len(set) > 0 && p.err == err {
			err.withHint("separate values by commas, as in {1, 3..5}")
		}
	}
	p.accept("}")
	return set
}

// Error is what is wrong with an expression, and where.
type Error struct {
	Text     string // the expression
	From, To int    // the place: Text[From:To], empty at the end
	Message  string // without a place
	Hint     string // what to write; empty if there is nothing to propose
}

// Error returns the message and the hint in one line.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + ": " + e.Hint
}

// Page returns the line of the expression with the place marked under it, and the message:
//
//	a2s.info.playerz > 10
//	^~~~~~~~~~~~~~~~
//	no field is called a2s.info.playerz: did you mean a2s.info.players?
func (e *Error) Page() string {
	start := strings.LastIndexByte(e.Text[:e.From], '\n') + 1
	line, _, _ := strings.Cut(e.Text[start:], "\n")
	to := min(e.To, start+len(line))
	indent := display.Cells(visible(e.Text[start:e.From]))
	width := max(display.Cells(visible(e.Text[e.From:max(to, e.From)])), 1)
	return fmt.Sprintf("%s\n%s^%s\n%s", visible(line), strings.Repeat(" ", indent), strings.Repeat("~", width-1), e.Error())
}

// visible returns text that people typed in a form that cannot harm a terminal.
func visible(s string) []byte { return display.AppendVisible(nil, []byte(s)) }

// at returns an error about text[from:to].
func at(text string, from, to int, format string, args ...any) *Error {
	return &Error{Text: text, From: from, To: max(from, to), Message: fmt.Sprintf(format, args...)}
}

// withHint sets the hint of e and returns e.
func (e *Error) withHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// suggest sets a hint with the names that are most like word, if any are.
func (e *Error) suggest(word string, names []string) *Error {
	if len(word) > maxName {
		return e
	}
	if near := manual.Nearest(word, names); len(near) > 0 {
		e.Hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return e
}
