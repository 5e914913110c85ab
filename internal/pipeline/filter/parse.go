package filter

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

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

// tokenKind is what a token is.
type tokenKind uint8

const (
	endToken    tokenKind = iota
	wordToken             // letters, digits and what stands in names, numbers and addresses
	textToken             // quoted; the token's text is without quotes and escapes
	charToken             // in single quotes, likewise
	symbolToken           // an operator
)

// token is one piece of an expression, text[from:to].
type token struct {
	kind     tokenKind
	text     string
	from, to int
}

// symbols are the operators of other characters than words have. Of those that begin alike
// the longest stands first.
var symbols = []string{"===", "!==", "==", "!=", "<=", ">=", "&&", "||", "^^", "..",
	"!", "<", ">", "~", "&", "(", ")", "{", "}", "[", "]", ","}

// isWordByte reports whether c can stand in a word: a name, a number, an address, bytes in
// hexadecimal. Letters of other alphabets can stand in texts.
func isWordByte(c byte) bool {
	return c >= utf8.RuneSelf || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
		strings.IndexByte("_.:/+-", c) >= 0
}

const noArithmetic = "there is no arithmetic"

// scan returns the token that begins at offset i of text, or after blanks there.
func scan(text string, i int) (token, *Error) {
	for i < len(text) && strings.IndexByte(" \t\r\n", text[i]) >= 0 {
		i++
	}
	rest := text[i:]
	switch {
	case rest == "":
		return token{endToken, "", i, i}, nil
	case rest[0] == '"':
		return scanQuoted(text, i, i, textToken)
	case rest[0] == '\'':
		return scanQuoted(text, i, i, charToken)
	case strings.HasPrefix(rest, `r"`), strings.HasPrefix(rest, `R"`):
		return scanRaw(text, i)
	}
	for _, s := range symbols {
		if strings.HasPrefix(rest, s) {
			return token{symbolToken, s, i, i + len(s)}, nil
		}
	}
	n := 0
	for n < len(rest) && isWordByte(rest[n]) && !strings.HasPrefix(rest[n:], "..") {
		n++
	}
	if n > 0 {
		return token{wordToken, rest[:n], i, i + n}, nil
	}
	_, n = utf8.DecodeRuneInString(rest)
	err := at(text, i, i+n, "%q has no meaning here", rest[:n])
	switch rest[0] {
	case '=':
		err.withHint("a comparison is ==")
	case '|', '^':
		err.withHint("write %s%s", rest[:1], rest[:1])
	case '#':
		err.withHint("a layer cannot be chosen; all of them are in via")
	case '*', '%':
		err.withHint(noArithmetic)
	}
	return token{}, err
}

// scanRaw scans r"text", in which a backslash is itself.
func scanRaw(text string, from int) (token, *Error) {
	for i := from + 2; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return token{textToken, text[from+2 : i], from, i + 1}, nil
		}
	}
	return token{}, at(text, from, len(text), "the text has no end").withHint(`it needs a "`)
}

// scanQuoted scans what stands between the quote at offset i and the next one.
func scanQuoted(text string, from, i int, kind tokenKind) (token, *Error) {
	quote := text[i]
	var b []byte
	for i++; i < len(text); {
		switch c := text[i]; c {
		case quote:
			if kind == charToken && len(b) != 1 {
				return token{}, at(text, from, i+1, "a character is one byte").withHint(`write "..." for a text`)
			}
			return token{kind, string(b), from, i + 1}, nil
		case '\\':
			n, err := 0, (*Error)(nil)
			if b, n, err = appendEscaped(b, text, i); err != nil {
				return token{}, err
			}
			i += n
		default:
			b = append(b, c)
			i++
		}
	}
	return token{}, at(text, from, len(text), "the text has no end").withHint("it needs a %c", quote)
}

// escapes are the characters after a backslash that stand for another one.
var escapes = map[byte]byte{'\'': '\'', '"': '"', '\\': '\\', 'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// appendEscaped appends the character that the n bytes from the backslash at offset i on stand for.
func appendEscaped(dst []byte, text string, i int) (out []byte, n int, err *Error) {
	rest := text[i+1:]
	if rest == "" {
		return nil, 0, at(text, i, i+1, "the text has no end")
	}
	c := rest[0]
	if e, ok := escapes[c]; ok {
		return append(dst, e), 2, nil
	}
	base, first, digits := 16, 1, map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if c >= '0' && c <= '7' {
		base, first, digits = 8, 0, 3
	}
	end := first
	for end < len(rest) && end-first < digits && isDigit(rest[end], base) {
		end++
	}
	v, bad := strconv.ParseUint(rest[first:max(first, end)], base, 32)
	isByte := base == 8 || c == 'x'
	if bad != nil || !isByte && (end-first < digits || !utf8.ValidRune(rune(v))) || isByte && v > 0xff {
		_, size := utf8.DecodeRuneInString(rest)
		return nil, 0, at(text, i, i+1+size, "\\%s stands for no character", rest[:size]).withHint(`write \\ for a backslash, or r"..." for a text in which it is itself`)
	}
	if isByte {
		return append(dst, byte(v)), end + 1, nil
	}
	return utf8.AppendRune(dst, rune(v)), end + 1, nil
}

func isDigit(c byte, base int) bool {
	if base == 8 {
		return c >= '0' && c <= '7'
	}
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

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
	o.kind, o.word, o.inner = callOperand, lowerASCII(o.word), p.parseOperand(false)
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

const (
	// limit: maxText is how long an expression can be, in bytes. Chosen: a set of 1,024 addresses fits,
	// and parsing it takes less than a millisecond.
	maxText = 32 << 10
	// limit: maxDepth is how deep parentheses, "not" and functions nest. Chosen: nobody writes more than
	// ten, and 100 frames of the parser are a few KiB of stack.
	maxDepth = 100
	// limit: maxNodes is how many comparisons an expression can have. Chosen: each costs tens of
	// nanoseconds for each message.
	maxNodes = 256
	// limit: maxSet is how many values a set in braces can have. It is searched from its start, for each
	// value of the field. Chosen: 1,024 comparisons take a microsecond.
	maxSet = 1024
	// limit: maxSlices is how many parts one slice can have, as in payload[0:2,4,8:].
	maxSlices = 16
	// limit: maxName is how long a word can be for which the nearest names are searched: the search takes
	// time by its length, for each name there is. Chosen: no name is as long.
	maxName = 64
)

// lowerASCII is strings.ToLower for words of ASCII. Others keep their length, by which an error marks them.
func lowerASCII(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return s
		}
	}
	return strings.ToLower(s)
}
