package payload

import (
	"encoding/hex"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// row is a line of a dump: an offset, groups of digits, and text beside them. Some dumps
// have no offsets, others no text.
type row struct {
	line
	hasOffset bool
	offset    string // its digits
	at        uint64 // its value
	colon     bool   // a colon follows 0, or at least minOffset digits: nothing but rows has it
	gap       int    // white space between the offset and the first byte
	size      int    // digits in the first group; no group has more
	rest      string // from the first group on
	bytes     []byte // of all groups
	cuts      []cut  // where the bytes may end
}

// cut is one place where the bytes of a row may end.
type cut struct{ n, end int } // number of bytes, offset in rest

// minOffset is the least number of digits in an offset that no colon follows.
const minOffset = 4

// readRow reads a line as a row with an offset of a base, or without one if base is 0, in
// which groups have pairs of digits if size is 2. ok is false if it is no such row.
func readRow(l line, base, size int) (r row, ok bool) {
	s := strings.TrimLeft(strings.ReplaceAll(l.text, "\u00a0", " "), "|> \t") // frames, quotes of mails
	if r.line, r.hasOffset = l, base > 0; base > 0 {
		s = strings.TrimPrefix(s, "0x")
		n := countDigits(s)
		v, err := strconv.ParseUint(s[:n], base, 32)
		after, colon := strings.CutPrefix(strings.TrimLeft(s[n:], " "), ":")
		if !colon {
			after = strings.TrimPrefix(s[n:], "|")
		}
		if err != nil || !colon && n < minOffset || after != "" && after[0] != ' ' && after[0] != '\t' {
			return r, false
		}
		r.offset, r.at, r.colon = s[:n], v, colon && (n >= minOffset || v == 0)
		s = strings.TrimLeft(after, " \t")
		r.gap = len(after) - len(s)
	}
	r.rest = strings.TrimPrefix(s, "<Buffer ") // how Node.js prints one
	const pair = 2
	if r.size = countDigits(r.rest); size == pair {
		r.size = min(r.size, pair)
	}
	for at := 0; r.size > 0 && r.size%2 == 0; {
		n := countDigits(r.rest[at:])
		isWhole := n <= r.size && (at+n == len(r.rest) || isSeparator(rune(r.rest[at+n])))
		if !isWhole && n >= r.size { // text without a blank before it
			n = r.size
		} else if !isWhole || n == 0 || n%2 != 0 {
			break
		}
		for i := at; i < at+n; i += 2 {
			r.bytes = append(r.bytes, byte(hexDigit(r.rest[i])<<4|hexDigit(r.rest[i+1])))
		}
		at += n
		if r.cuts = append(r.cuts, cut{len(r.bytes), at}); !isWhole || at == len(r.rest) {
			break
		}
		at += max(1, len(r.rest[at:])-len(strings.TrimLeft(r.rest[at:], " \t")))
	}
	return r, len(r.cuts) > 0 || base > 0 && (r.rest == "" || leftOut.MatchString(r.rest))
}

func countDigits(s string) (n int) {
	for n < len(s) && hexDigit(s[n]) >= 0 {
		n++
	}
	return n
}

// beside is what follows the bytes of a row.
type beside uint8

const (
	unclear beside = iota // where the bytes end is not known
	nothing
	agrees  // text that shows them
	differs // text that shows others
	missing // a sign for bytes that are not there
)

var (
	// leftOut matches a sign for bytes that the author left out.
	leftOut = regexp.MustCompile(`^[\[(<]?(\.\.\.|…|\. \. \.|(?i:snip|cut|omitted|truncated))([\])>\s]|$)`)
	// placeholder matches a sign for a field whose value depends on the reader, and digits that stand for any.
	placeholder = regexp.MustCompile(`^(<[^<>]*[^<>0-9A-Fa-f][^<>]*>|\[[0-9]+ [Bb]ytes?[^\]]*\]|(?:xx|XX|\?\?|__)( (xx|XX|\?\?|__))*)(\s|$)`)
)

// end returns where the bytes of the row end and what follows them. want is their number by
// the offsets, width that of the first row; 0 is any. With hasText text is expected.
func (r *row) end(want, width int, hasText bool) (best cut, is beside) {
	shown := -1
	for i := len(r.cuts) - 1; i >= 0; i-- { // the longest first
		if c := r.cuts[i]; c.n <= widestRow && (want == 0 || c.n == want) {
			if n := countShown(r.rest[c.end:], r.bytes[:c.n]); n > shown {
				best, shown = c, n
			}
		}
	}
	last := r.cuts[len(r.cuts)-1]
	text := strings.TrimSpace(r.rest[last.end:])
	const dots = 3                                                     // that leftOut takes for others
	isWhole := best.n > dots && utf8.RuneCountInString(text) == best.n // a character for each byte
	isText := shown >= 0 && (hasText || r.isWide(best) || isWhole)
	switch {
	case (text == "" || text == ">") && (want == 0 || last.n == want) && !isText:
		return last, nothing
	case shown <= 0 && !isText && (leftOut.MatchString(text) || placeholder.MatchString(text)):
		return last, missing
	case shown >= 0:
		return best, agrees
	}
	// A mistake among the bytes must not pass for text: it stands where another group would.
	if n := utf8.RuneCountInString(text); last.n <= widestRow && (want > 0 && last.n == want ||
		want == 0 && (last.n == width || r.isWide(last) && n <= last.n+last.n/8+2)) {
		return last, differs
	}
	return last, unclear
}

// isWide reports whether more stands after c than the blank between two groups.
func (r *row) isWide(c cut) bool {
	s := r.rest[c.end:]
	return strings.HasPrefix(s, "  ") || strings.HasPrefix(s, "\t") || strings.HasPrefix(s, " |")
}

// countShown returns how many of the characters in s, which follows the bytes b, show a
// graphic one of them; -1 if s is no text column that shows b.
func countShown(s string, b []byte) int {
	text := strings.TrimSpace(s)
	if text == "" {
		return -1
	}
	best := -1
	spaces := len(b) - len(strings.TrimLeft(string(b), " "))
	signs := max(0, slices.IndexFunc(b, isGraphic))
	for _, lead := range []int{0, spaces, signs} { // blanks that the text begins with
		at := len(s) - len(strings.TrimLeft(s, " \t")) - lead
		for _, halves := range []bool{false, true} {
			best = max(best, shows(s[max(0, at):], b, halves))
		}
	}
	if n := len(text); n > 2 && strings.Contains(`|| >< [] "" ''`, text[:1]+text[n-1:]) {
		best = max(best, shows(text[1:n-1], b, false))
	}
	if best < 0 && strings.Contains(s, "&") {
		if plain := html.UnescapeString(s); plain != s {
			return countShown(plain, b)
		}
	}
	return best
}

// shows returns how many graphic bytes of b text shows, or -1 if it shows others: a
// character each, or one for UTF-8, and a dot or another sign for what is not graphic. At
// the end spaces may be missing, and the signs for two bytes. With halves a blank stands
// between eight bytes and the next ones.
func shows(text string, b []byte, halves bool) (n int) {
	for i := 0; i < len(b); {
		if halves && i > 0 && i%8 == 0 {
			text = strings.TrimPrefix(text, " ")
		}
		if strings.TrimSpace(text) == "" {
			lost := len(b) - i - strings.Count(string(b[i:]), " ")
			if slices.ContainsFunc(b[i:], isGraphic) || lost > 0 && n == 0 || lost > 2 {
				return -1
			}
			return n
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		if u, k := utf8.DecodeRune(b[i:]); k > 1 && u == r {
			i += k
			n++
			continue
		}
		switch {
		case isGraphic(b[i]) && r == rune(b[i]):
			n++
		case isGraphic(b[i]), r != ' ' && r != '.' && r <= '~':
			return -1
		}
		i++
	}
	if strings.TrimSpace(text) != "" {
		return -1
	}
	return n
}

func isGraphic(c byte) bool { return c > ' ' && c <= '~' }

// parseDump reads lines as rows, in the way for which most evidence speaks: their offsets
// are hexadecimal, octal (od), decimal, or there are none. ok is false if nothing speaks for
// any. A row without offset and text is no evidence if all lines are digits: see parseHex.
func parseDump(lines []line, marks Marks, isDigits bool) (ps []Payload, ok bool, err error) {
	best := 0
	for _, base := range []int{16, 8, 10, 0} {
		d := dump{base: base, marks: marks, ends: map[int]uint64{}}
		if d.read(lines); len(d.out) > MaxPayloads {
			return d.out, true, nil
		}
		if isDigits && !d.isProven || d.evidence < best || d.evidence == best && (best == 0 || err == nil || d.err != nil) {
			continue
		}
		best, ps, err = d.evidence, d.out, d.err
	}
	return ps, best > 0, err
}

// dump reads the rows of a block.
type dump struct {
	base     int
	marks    Marks
	out      []Payload
	evidence int   // for this reading: a row that is one by itself, or continues another
	hasText  bool  // text beside a row agreed with it
	isProven bool  // that did, or an offset is one
	err      error // the first one

	cur        Payload // being read, if open
	isOpen     bool
	first      uint64 // offset of its first row
	next       uint64 // offset of the row that follows
	hasOffsets bool   // its rows have offsets
	width      int    // bytes in its first row
	size       int    // digits in the first group of its first row
	last       []byte // of the row above
	repeats    bool   // a * stands above: the row above it repeats
	isHeaded   bool   // lines that are no rows stand above
	isCut      bool   // bytes after those read were left out
	differs    int    // rows whose text shows other bytes
	differLine int    // the first of them
	skipped    []int  // lines without bytes since the payload before
	indent     int    // indentation of the row above
	// ends holds, by indentation, where the last row of it ends: in a dialogue Wireshark
	// indents the bytes of the server, and the offsets of each side go on.
	ends map[int]uint64
}

// read reads all lines: those after an error only for their evidence.
func (d *dump) read(lines []line) {
	for i, l := range lines {
		if len(d.out) > MaxPayloads { // Parse refuses so many
			return
		}
		r, ok := d.readRow(l)
		switch {
		case l.text == "*" && d.isOpen && d.hasOffsets:
			d.repeats = true
		case d.isOpen && leftOut.MatchString(l.text), ok && len(r.cuts) == 0 && r.rest != "":
			d.leaveOut(l.no, l.text)
		case !ok && r.offset != "" && d.isOpen && r.at == d.next:
			d.fail(notRowError(l.no))
		case ok && len(r.cuts) == 0 && (!d.isOpen || r.at != d.next && !d.repeats), !ok:
			d.fail(d.skip(l))
		default:
			d.fail(d.addRow(&r, d.rowLen(&r, lines[i+1:])))
		}
	}
	if d.repeats {
		d.fail(repeatError(lines[len(lines)-1].no))
	}
	d.endPayload()
	if n := len(d.out); n > 0 {
		d.out[n-1].Skipped = append(d.out[n-1].Skipped, d.skipped...)
	}
}

// readRow reads a line as a row with an offset, or without one if it begins or continues a
// payload of such rows.
func (d *dump) readRow(l line) (row, bool) {
	r, ok := readRow(l, d.base, 0)
	if d.isOpen && (r.hasOffset && r.at == d.next || !r.hasOffset && d.hasText) {
		r, ok = readRow(l, d.base, d.size)
	}
	if !ok && d.base > 0 {
		if bare, isRow := readRow(l, 0, d.size); isRow && (d.isOpen && !d.hasOffsets && !d.isHeaded || d.marks.matches(bare.bytes)) {
			return bare, true
		}
	}
	return r, ok
}

// fail keeps the first error, after which another payload begins.
func (d *dump) fail(err error) {
	if err == nil {
		return
	}
	if d.err == nil {
		d.err = err
	}
	d.isOpen, d.isCut, d.size, d.repeats = false, false, 0, false
}

func notRowError(line int) error {
	return &Error{Line: line, What: "not a row of the dump, though it looks like bytes",
		Hint: "is one of its digits wrong? two payloads have a blank line between them"}
}

// repeatError is the error for a * at the end of a dump, found at a line.
func repeatError(line int) error {
	return &Error{Line: line, What: "the dump ends with *: how often the row repeats is missing",
		Hint: "copy the last line, which is an offset alone, too"}
}

// skip passes over a line that holds no bytes: a heading, or the text of the row above.
func (d *dump) skip(l line) error {
	switch {
	case d.isOpen && !d.hasOffsets && isTextOf(d.last, l):
		d.evidence++
		d.hasText = true
	case looksLikeBytes(l.text):
		return notRowError(l.no)
	case d.repeats:
		return repeatError(l.no)
	case l.text == "":
		d.endPayload()
	default:
		d.skipped = append(d.skipped, l.no)
		d.isHeaded = true
	}
	return nil
}

// isTextOf reports whether l shows the characters of b below them, three columns each.
func isTextOf(b []byte, l line) bool {
	s := strings.Repeat(" ", min(l.indent, 3*len(b))) + l.text
	for i, c := range b {
		shown := byte(' ')
		if 3*i < len(s) {
			shown = s[3*i]
		}
		if isGraphic(c) && shown != c || !isGraphic(c) && shown != ' ' {
			return false
		}
	}
	return len(s) <= 3*len(b)
}

// base64Like matches what has letters of both cases and digits in base64.
var base64Like = regexp.MustCompile(`^[\w+/-]{16,}$`)

// looksLikeBytes reports whether a line that is no row could be one with a mistake in it.
func looksLikeBytes(s string) bool {
	words, least := strings.Fields(s), 3
	n := countDigits(strings.TrimPrefix(s, "0x"))
	isOffset := n >= minOffset && strings.HasPrefix(strings.TrimPrefix(s, "0x")[n:], ": ")
	isOffset = isOffset || len(words) == 1 && n == len(s) && n >= 8
	if len(words) == 1 {
		words, least = strings.FieldsFunc(s, isSeparator), 4
	}
	pairs := 0
	var b []byte
	for _, w := range words {
		if v, err := hex.DecodeString(w); err == nil {
			pairs++
			b = append(b, v...)
		}
	}
	isBase64 := base64Like.MatchString(s) && strings.ContainsAny(s, "0123456789") && strings.ToLower(s) != s && strings.ToUpper(s) != s
	return isBase64 || isOffset || literal.MatchString(s) || pairs >= least && 2*pairs >= len(words) && !isRuler(b)
}

// rowLen returns the number of bytes of r, which is the distance to
// the offset of the row below; 0 if there is no such row, or it cannot be the next one.
func (d *dump) rowLen(r *row, below []line) int {
	if len(below) == 0 || !r.hasOffset {
		return 0
	}
	next, ok := readRow(below[0], d.base, 0)
	if !ok || next.at <= r.at || next.at-r.at > widestRow || next.indent != d.indent && d.isOpen {
		return 0
	}
	return int(next.at - r.at)
}

// addRow adds one row, of want bytes, or as many as it shows if want is 0.
func (d *dump) addRow(r *row, want int) error {
	if d.repeats {
		if err := d.repeatLast(r); err != nil {
			return err
		}
	}
	if len(r.cuts) == 0 { // the offset after the last byte
		d.evidence++
		d.endPayload()
		return nil
	}
	const wordOffset, word = 7, 4 // digits of the offsets and groups of hexdump and od -x
	if r.hasOffset && !r.colon && len(r.offset) == wordOffset && r.size == word && len(r.bytes) == 2*len(r.cuts) {
		d.evidence++
		d.isProven = true
		return &Error{Line: r.no, What: "words of two bytes: in which order depends on the machine that printed them",
			Hint: "print it with hexdump -C, xxd or od -tx1"}
	}
	c, is := r.end(want, d.width, d.hasText)
	if is == unclear && want > 0 {
		c, is = r.end(0, d.width, d.hasText)
	}
	follows := r.hasOffset && d.isOpen && d.hasOffsets && r.at == d.next
	d.isProven = d.isProven || is == agrees || r.hasOffset && (follows || d.isRow(r, r.bytes))
	switch {
	case is == unclear && (r.colon || follows || !r.hasOffset && d.isRow(r, r.bytes)):
		d.evidence++
		return &Error{Line: r.no, What: "the bytes and the text beside them do not agree", Hint: "copy the rows whole, or without the text"}
	case is == unclear:
		return d.skip(r.line)
	}
	b := r.bytes[:c.n]
	if d.begins(r, b) {
		d.endPayload()
		d.cur, d.isOpen, d.first = Payload{Form: Hex, Line: r.no}, true, r.at
		d.hasOffsets, d.width, d.size = r.hasOffset, c.n, r.size
	} else if !d.isCut && r.hasOffset && !follows {
		return &Error{Line: r.no, What: fmt.Sprintf("offset %s does not follow: the row above ends at %s", r.offset, strconv.FormatUint(d.next, d.base)),
			Hint: "a row is missing, or two dumps need a blank line between them"}
	}
	d.cur.Skipped, d.skipped, d.isHeaded = append(d.cur.Skipped, d.skipped...), nil, false
	for _, says := range []bool{follows, d.isRow(r, b), is == agrees && r.hasOffset, is == agrees && len(b) > 1} {
		if says {
			d.evidence++
		}
	}
	if d.isCut {
		return nil
	}
	if r.hasOffset || is == agrees {
		d.cur.Form = Dump
	}
	d.hasText = d.hasText || is == agrees
	if d.cur.Data = append(d.cur.Data, b...); is == differs {
		if d.differs++; d.differs == 1 {
			d.differLine = r.no
		}
	}
	d.next, d.last, d.indent = r.at+uint64(c.n), b, r.indent
	const column = 4 // blanks between offset and bytes in no dump but before a first row that begins later
	if len(d.cur.Data) == c.n && c.n < want && r.gap > column {
		d.next = r.at + uint64(want)
	}
	if d.ends[d.indent] = d.next; is == missing {
		d.leaveOut(r.no, strings.TrimSpace(r.rest[c.end:]))
	}
	return nil
}

// begins reports whether a payload begins with a row of bytes b.
func (d *dump) begins(r *row, b []byte) bool {
	switch {
	case !d.isOpen || r.hasOffset != d.hasOffsets:
		return true
	case !r.hasOffset:
		return d.isHeaded || d.marks.matches(b) || !d.isCut && (len(d.last) != d.width || len(b) > d.width)
	}
	end, ok := d.ends[r.indent]
	return r.indent != d.indent && ok && r.at == end || r.at != d.next && (r.at <= d.first || d.isHeaded && d.marks.matches(b) || r.indent != d.indent)
}

// isRow reports whether r is a row, whatever is around it.
func (d *dump) isRow(r *row, b []byte) bool {
	const pair, bare = 2, 4
	switch {
	case r.colon:
		return true
	case !r.hasOffset:
		return d.marks.matches(b) || r.size == pair && len(b) >= bare
	}
	return r.at == 0 && (r.size == pair || r.gap > 1) || r.size == pair && d.marks.matches(b)
}

// repeatLast repeats the row above up to the offset of r.
func (d *dump) repeatLast(r *row) error {
	d.repeats = false
	n := uint64(len(d.last))
	if r.at < d.next || (r.at-d.next)%n != 0 || r.at > MaxPayload+n {
		return &Error{Line: r.no, What: fmt.Sprintf("offset %s is not where rows of %d bytes end", r.offset, n)}
	}
	d.cur.Data = slices.Grow(d.cur.Data, int(r.at-d.next))
	for ; d.next < r.at; d.next += n {
		d.cur.Data = append(d.cur.Data, d.last...)
	}
	return nil
}

// leaveOut ends the bytes of the payload at a sign for others: those after it are not next
// to those before it.
func (d *dump) leaveOut(no int, sign string) {
	if !d.isOpen || d.isCut {
		return
	}
	what := "leaves bytes out"
	if s := strings.TrimSpace(placeholder.FindString(sign)); s != "" && len(s) <= 48 { // of a page, and no payload's
		what = "has " + s + " in place of bytes"
	}
	d.isCut = true
	d.cur.Notes = append(d.cur.Notes, fmt.Sprintf("line %d %s: what is before it is decoded, nothing after it", no, what))
}

func (d *dump) endPayload() {
	if d.differs > 0 {
		d.cur.Notes = append(d.cur.Notes, fmt.Sprintf("the text beside the bytes shows others in %d of its rows, first in line %d: the bytes are decoded",
			d.differs, d.differLine))
	}
	if d.isOpen {
		d.out = append(d.out, d.cur)
	}
	d.isOpen, d.isCut, d.size, d.last, d.differs = false, false, 0, nil, 0
}
