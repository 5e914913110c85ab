package payload

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The words of a dump.
var (
	// rowStart matches an offset with a colon that nothing but rows has, with one that others
	// may have, or without one, which has four digits at least; then blanks.
	rowStart = regexp.MustCompile(`^(?:0x)?(?:(0+|[0-9a-fA-F]{4,}) *:|([0-9a-fA-F]+) *:|([0-9a-fA-F]{4,})\|?)([ \t]+|$)`)
	// leftOut matches a sign for bytes that the author left out.
	leftOut = regexp.MustCompile(`^[\[(<]?(\.\.\.|…|\. \. \.|(?i:snip|cut|omitted|truncated))([\])>\s]|$)`)
	// placeholder matches a sign for a field whose value depends on the reader, and digits that stand for any.
	placeholder = regexp.MustCompile(`^(<[^<>]*[^<>0-9A-Fa-f][^<>]*>|\[[0-9]+ [Bb]ytes?[^\]]*\]|(?:xx|XX|\?\?|__)( (xx|XX|\?\?|__))*)(\s|$)`)
	wide        = regexp.MustCompile(`^(  |\t| \|)`) // more than the blank between two groups
	offsetLike  = regexp.MustCompile(`^(?:0x)?[0-9a-fA-F]{4,}: |^[0-9a-fA-F]{8,}$`)
	base64Like  = regexp.MustCompile(`^[\w+/-]{16,}$`) // with letters of both cases and digits
)

// row is a line of a dump: see the grammar in the package comment.
type row struct {
	line
	offset string // its digits, if it has one
	at     uint64 // its value
	colon  bool   // one follows the offset that nothing but rows has
	gap    int    // white space between the offset and the first byte
	size   int    // digits in the first group; no group has more
	rest   string // from the first group on
	bytes  []byte // of all groups
	cuts   []cut  // where the bytes may end
}

// cut is one place where the bytes of a row may end.
type cut struct{ n, end int } // number of bytes, offset in rest

// parseRow reads a line as a row with an offset of a base, or without one if base is 0. Rows
// that follow one of pairs have pairs, too. ok is false if it is no such row.
func (d *dump) parseRow(l line, base int) (r row, ok bool) {
	s := strings.TrimLeft(strings.ReplaceAll(l.text, "\u00a0", " "), "|> \t") // frames, quotes of mails
	r = row{line: l}
	if base > 0 {
		m := rowStart.FindStringSubmatch(s)
		if m == nil {
			return r, false
		}
		digits := m[1] + m[2] + m[3]
		v, err := strconv.ParseUint(digits, base, 32)
		if err != nil {
			return r, false
		}
		r.offset, r.at, r.colon, r.gap = digits, v, m[1] != "", len(m[4])
		s = s[len(m[0]):]
	}
	r.rest = strings.TrimPrefix(s, "<Buffer ")
	follows := d.isOpen && (base > 0 && r.at == d.next || base == 0 && d.hasText)
	if r.size = countDigits(r.rest); d.size == 2 && (follows || base != d.base) {
		r.size = 2
	}
	for at, isWhole := 0, true; isWhole && at < len(r.rest) && r.size > 0 && r.size%2 == 0; {
		n := countDigits(r.rest[at:])
		isWhole = n <= r.size && (at+n == len(r.rest) || isSeparator(rune(r.rest[at+n])))
		if !isWhole {
			n = min(n, r.size) / r.size * r.size // text without a blank before it, or none
		}
		b, err := hex.DecodeString(r.rest[at : at+n])
		if err != nil || n == 0 {
			break
		}
		r.bytes = append(r.bytes, b...)
		r.cuts = append(r.cuts, cut{len(r.bytes), at + n})
		blanks := len(r.rest[at+n:]) - len(strings.TrimLeft(r.rest[at+n:], " \t"))
		at += n + max(1, blanks)
	}
	return r, len(r.cuts) > 0 || base > 0 && (r.rest == "" || leftOut.MatchString(r.rest))
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

// end returns where the bytes of the row end and what follows them. want is their number by
// the offsets, width that of the first row; 0 is any. With hasText text is expected.
func (r *row) end(want, width int, hasText bool) (best cut, is beside) {
	shown := -1
	for _, c := range slices.Backward(r.cuts) { // the longest first
		if c.n <= widestRow && (want == 0 || c.n == want) {
			if n := countShown(r.rest[c.end:], r.bytes[:c.n]); n > shown {
				best, shown = c, n
			}
		}
	}
	last := r.cuts[len(r.cuts)-1]
	text := strings.TrimSpace(r.rest[last.end:])
	runes := utf8.RuneCountInString(text)
	isWhole := best.n > len("...") && runes == best.n
	isText := shown >= 0 && (hasText || isWhole || wide.MatchString(r.rest[best.end:]))
	switch {
	case (text == "" || text == ">") && (want == 0 || last.n == want) && !isText:
		return last, nothing
	case shown <= 0 && !isText && (leftOut.MatchString(text) || placeholder.MatchString(text)):
		return last, missing
	case shown >= 0:
		return best, agrees
	case want > 0 && last.n == want && want <= widestRow:
		return last, differs
	case want > 0: // the row below may begin a payload
		return r.end(0, width, hasText)
	// A mistake among the bytes must not pass for text: it stands where another group would.
	case last.n <= widestRow && (last.n == width || wide.MatchString(r.rest[last.end:]) && runes <= last.n+last.n/8+2):
		return last, differs
	}
	return last, unclear
}

// countShown returns how many of the characters in s, which follows the bytes b, show a
// graphic one of them; -1 if s is no text column that shows b.
func countShown(s string, b []byte) int {
	s = strings.TrimRightFunc(s, unicode.IsSpace)
	text := strings.TrimSpace(s)
	if text == "" {
		return -1
	}
	best := -1
	spaces := len(b) - len(bytes.TrimLeft(b, " "))
	signs := max(0, slices.IndexFunc(b, isGraphic))
	for _, lead := range []int{0, spaces, signs} { // blanks that the text begins with
		column := s[max(0, len(s)-len(strings.TrimLeft(s, " \t"))-lead):]
		best = max(best, shows(column, b, false), shows(column, b, true))
	}
	if n := len(text); n > 2 && strings.Contains(`|| >< [] "" ''`, text[:1]+text[n-1:]) {
		best = max(best, shows(strings.TrimRightFunc(text[1:n-1], unicode.IsSpace), b, false))
	}
	if plain := html.UnescapeString(s); best < 0 && plain != s {
		return countShown(plain, b)
	}
	return best
}

// shows returns how many graphic bytes of b text shows, or -1 if it shows others: a
// character each, or one for UTF-8, and a dot or another sign for what is not graphic. At
// the end spaces may be missing, and the signs for two bytes. With halves a blank stands
// between eight bytes and the next ones.
func shows(text string, b []byte, halves bool) (n int) {
	lost := 0
	for i := 0; i < len(b); i++ {
		if halves && i > 0 && i%8 == 0 {
			text = strings.TrimPrefix(text, " ")
		}
		r, size := utf8.DecodeRuneInString(text)
		if text = text[size:]; size == 0 {
			r = ' '
			lost += min(1, int(b[i]^' '))
		}
		u, k := utf8.DecodeRune(b[i:])
		switch {
		case k > 1 && u == r:
			i += k - 1
			n++
		case isGraphic(b[i]) && r == rune(b[i]):
			n++
		case isGraphic(b[i]), r != ' ' && r != '.' && r <= '~':
			return -1
		}
	}
	if text != "" || lost > 2 || lost > 0 && n == 0 {
		return -1
	}
	return n
}

func isGraphic(c byte) bool { return c > ' ' && c <= '~' }

// parseDump reads lines as rows, in the way for which most evidence speaks: their offsets
// are hexadecimal, octal (od), decimal, or there are none. ok is false if nothing speaks for
// any. A row without offset and text is no evidence if all lines are digits: see Hex.
func parseDump(lines []line, marks Marks, isDigits bool) (ps []Payload, ok bool, err error) {
	var best dump
	for _, base := range []int{16, 8, 10, 0} {
		d := dump{base: base, marks: marks, ends: map[int]uint64{}}
		d.read(lines)
		if len(d.out) > MaxPayloads {
			return d.out, true, nil
		}
		isBetter := d.evidence > best.evidence || d.evidence == best.evidence && best.err != nil && d.err == nil
		if isBetter && (d.isProven || !isDigits) {
			best = d
		}
	}
	return best.out, best.evidence > 0, best.err
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
	skipped  []int // lines without bytes since the last row
	width    int   // bytes in the first row of the last payload
	// ends holds, by indentation, where the last row of it ends: in a dialogue Wireshark
	// indents the bytes of the server, and the offsets of each side go on.
	ends map[int]uint64
	open
}

// open is the payload that is being read, if isOpen.
type open struct {
	Payload
	isOpen      bool
	first, next uint64 // offsets of its first row, and of the row that follows
	hasOffsets  bool   // its rows have offsets
	size        int    // digits in the first group of its first row
	last        []byte // of the row above
	indent      int    // of the row above
	repeats     bool   // a * stands above: the row above it repeats
	isCut       bool   // bytes after those read were left out
	differs     []int  // rows whose text shows other bytes
}

// read reads all lines: those after an error only for their evidence.
func (d *dump) read(lines []line) {
	for i, l := range lines {
		if len(d.out) > MaxPayloads { // Parse refuses so many
			return
		}
		r, ok := d.readRow(l)
		switch hasBytes := len(r.cuts) > 0; {
		case l.text == "*" && d.hasOffsets:
			d.repeats = true
		case d.isOpen && leftOut.MatchString(l.text), ok && !hasBytes && r.rest != "":
			d.leaveOut(l.no, l.text)
		case ok && (hasBytes || d.isOpen && (r.at == d.next || d.repeats)):
			d.fail(d.addRow(&r, d.rowLen(&r, lines[i+1:])))
		default:
			d.fail(d.skip(&r))
		}
	}
	if d.repeats {
		d.fail(d.skip(&row{line: line{text: "*", no: lines[len(lines)-1].no}}))
	}
	d.endPayload()
	if n := len(d.out); n > 0 {
		d.out[n-1].Skipped = append(d.out[n-1].Skipped, d.skipped...)
	}
}

// readRow reads a line as a row with an offset, or without one if it begins or continues a
// payload of such rows.
func (d *dump) readRow(l line) (r row, ok bool) {
	if r, ok = d.parseRow(l, d.base); !ok && d.base > 0 {
		bare, isRow := d.parseRow(l, 0)
		if isRow && (d.isOpen && !d.hasOffsets && len(d.skipped) == 0 || d.marks.matches(bare.bytes)) {
			return bare, true
		}
	}
	return r, ok
}

// fail keeps the first error, after which another payload begins.
func (d *dump) fail(err error) {
	if err != nil {
		d.err, d.open = cmp.Or(d.err, err), open{}
	}
}

// skip passes over a line that holds no bytes: a heading, or the text of the row above.
func (d *dump) skip(r *row) error {
	switch {
	case d.isOpen && !d.hasOffsets && isTextOf(d.last, r.line):
		d.evidence++
		d.hasText = true
	case looksLikeBytes(r.text), r.offset != "" && d.hasOffsets && r.at == d.next:
		return errorf(r.no, "is one of its digits wrong? two payloads have a blank line between them",
			"not a row of the dump, though it looks like bytes")
	case d.repeats:
		return errorf(r.no, "copy the last line, which is an offset alone, too",
			"the dump ends with *: how often the row repeats is missing")
	case r.text == "":
		d.endPayload()
	default:
		d.skipped = append(d.skipped, r.no)
	}
	return nil
}

// isTextOf reports whether l shows the characters of b below them, three columns each.
func isTextOf(b []byte, l line) bool {
	var text strings.Builder
	for _, c := range b {
		if !isGraphic(c) {
			c = ' '
		}
		text.Write([]byte{c, ' ', ' '})
	}
	return strings.TrimRight(text.String(), " ") == strings.Repeat(" ", l.indent)+l.text
}

// looksLikeBytes reports whether a line that is no row could be one with a mistake in it.
func looksLikeBytes(s string) bool {
	words, least := strings.Fields(s), 3
	if len(words) == 1 {
		words, least = strings.FieldsFunc(s, isSeparator), 4
	}
	n := len(words)
	pairs := slices.DeleteFunc(words, func(w string) bool { _, err := hex.DecodeString(w); return err != nil })
	b, _ := hex.DecodeString(strings.Join(pairs, ""))
	isBase64 := base64Like.MatchString(s) && strings.ContainsAny(s, "0123456789") && strings.ToLower(s) != s && strings.ToUpper(s) != s
	return isBase64 || offsetLike.MatchString(s) || literal.MatchString(s) || len(pairs) >= least && 2*len(pairs) >= n && !isRuler(b)
}

// rowLen returns the number of bytes of r by the offset of the row below; 0 if it has none.
func (d *dump) rowLen(r *row, below []line) int {
	if len(below) > 0 && r.offset != "" {
		next, ok := d.parseRow(below[0], d.base)
		if ok && next.at > r.at && next.at-r.at <= widestRow && (next.indent == d.indent || !d.isOpen) {
			return int(next.at - r.at)
		}
	}
	return 0
}

// addRow adds one row, of want bytes, or as many as it shows if want is 0.
func (d *dump) addRow(r *row, want int) error {
	if n := uint64(len(d.last)); d.repeats {
		if d.repeats = false; r.at < d.next || (r.at-d.next)%n != 0 || r.at > MaxPayload+n {
			return errorf(r.no, "", "offset %s is not where rows of %d bytes end", r.offset, n)
		}
		d.Data = slices.Grow(d.Data, int(r.at-d.next))
		for ; d.next < r.at; d.next += n {
			d.Data = append(d.Data, d.last...)
		}
	}
	if len(r.cuts) == 0 { // the offset after the last byte
		d.evidence++
		d.endPayload()
		return nil
	}
	const wordOffset, word = 7, 4 // digits of the offsets and groups of hexdump and od -x
	if r.offset != "" && !r.colon && len(r.offset) == wordOffset && r.size == word && len(r.bytes) == 2*len(r.cuts) {
		d.evidence++
		d.isProven = true
		return errorf(r.no, "print it with hexdump -C, xxd or od -tx1",
			"words of two bytes: in which order depends on the machine that printed them")
	}
	c, is := r.end(want, d.width, d.hasText)
	b := r.bytes[:c.n]
	follows := r.offset != "" && d.hasOffsets && r.at == d.next
	d.isProven = d.isProven || is == agrees || r.offset != "" && (follows || d.isRow(r, r.bytes))
	switch {
	case is == unclear && (r.colon || follows || r.offset == "" && d.isRow(r, r.bytes)):
		d.evidence++
		return errorf(r.no, "copy the rows whole, or without the text", "the bytes and the text beside them do not agree")
	case is == unclear:
		return d.skip(r)
	case d.begins(r, b):
		d.endPayload()
		d.open = open{Payload: Payload{Form: Hex, Line: r.no}, isOpen: true, first: r.at, hasOffsets: r.offset != "", size: r.size}
		d.width = c.n
	case !d.isCut && r.offset != "" && !follows:
		return errorf(r.no, "a row is missing, or two dumps need a blank line between them",
			"offset %s does not follow: the row above ends at %s", r.offset, strconv.FormatUint(d.next, d.base))
	}
	d.Skipped, d.skipped = append(d.Skipped, d.skipped...), nil
	for _, says := range []bool{follows, d.isRow(r, b), is == agrees && r.offset != "", is == agrees && len(b) > 1} {
		if says {
			d.evidence++
		}
	}
	if d.isCut {
		return nil
	}
	if d.hasText = d.hasText || is == agrees; r.offset != "" || is == agrees {
		d.Form = Dump
	}
	if d.Data = append(d.Data, b...); is == differs {
		d.differs = append(d.differs, r.no)
	}
	d.next, d.last, d.indent = r.at+uint64(c.n), b, r.indent
	const column = 4 // blanks between offset and bytes in no dump but before a first row that begins later
	if len(d.Data) == c.n && c.n < want && r.gap > column {
		d.next = r.at + uint64(want)
	}
	if d.ends[d.indent] = d.next; is == missing {
		d.leaveOut(r.no, strings.TrimSpace(r.rest[c.end:]))
	}
	return nil
}

// begins reports whether a payload begins with a row of bytes b.
func (d *dump) begins(r *row, b []byte) bool {
	isHeaded := len(d.skipped) > 0
	switch {
	case !d.isOpen || (r.offset != "") != d.hasOffsets:
		return true
	case r.offset == "":
		return isHeaded || d.marks.matches(b) || !d.isCut && (len(d.last) != d.width || len(b) > d.width)
	case r.indent != d.indent && d.ends[r.indent] == r.at:
		return true
	}
	return r.at != d.next && (r.at <= d.first || isHeaded && d.marks.matches(b) || r.indent != d.indent)
}

// isRow reports whether r is a row, whatever is around it.
func (d *dump) isRow(r *row, b []byte) bool {
	isPairs := r.size == 2
	if r.offset == "" {
		return d.marks.matches(b) || isPairs && len(b) >= 4
	}
	return r.colon || r.at == 0 && (isPairs || r.gap > 1) || isPairs && d.marks.matches(b)
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
	d.Notes = append(d.Notes, fmt.Sprintf("line %d %s: what is before it is decoded, nothing after it", no, what))
}

func (d *dump) endPayload() {
	if n := len(d.differs); n > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("the text beside the bytes shows others in %d of its rows, first in line %d: the bytes are decoded",
			n, d.differs[0]))
	}
	if d.isOpen {
		d.out = append(d.out, d.Payload)
	}
	d.open = open{}
}
