// Package payload reads the bytes of datagrams from text that people copy: what a
// program printed, a dump, a page of a wiki. It recognises the form by the text alone. It
// decodes no protocol; that is the pipeline's work.
//
// A text is blocks with blank lines between them, each of one form. They are tried in this
// order, so that DEADBEEF is Hex:
//
//	Dump     { row | text below a row | "*" | elision | heading }: tcpdump -x -X -xx -XX,
//	         xxd, hexdump -C, od -tx1, Wireshark, firewalls, Go, query tools, wikis
//	Hex      digits, in pairs or not, with spaces, colons or dashes between them
//	Array    numbers in brackets or between commas: C, Go, Rust, JavaScript, Java
//	Escaped  a string with \x, \u00 and octal escapes of C, Go, Rust, Python, JavaScript
//	         or PHP, or with <ff> or \ff for a byte
//	Base64   of either alphabet, padded or not
//
// A row is [ frame ] [ offset [ ":" | "|" ] ] { group } [ text | elision | placeholder ]. A
// line is one if something proves it: its offset continues that of the row above, or the text
// shows the bytes. What proves most also distinguishes hexadecimal from octal and decimal
// offsets, and the last byte from the first character. A blank line ends a payload, and so do
// an offset that begins again, a heading, a closing bracket, and a comma between strings.
// Lines of the other forms are one payload if they look wrapped (all are equally long but the
// last) and none begins with one of the caller's Marks; otherwise each line is a payload.
//
// Nothing is left out in silence: a Payload lists the lines around it that hold no bytes,
// and has a note where bytes are missing. A line that holds bytes and cannot be read is an
// error. Input that is no text is one payload as it is.
package payload

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"qsniff/capture/packet"
	"qsniff/internal/base/checksum"
)

// Form is how a payload was written.
type Form uint8

const (
	Hex Form = iota
	Base64
	Escaped
	Array
	Dump
	Raw // the bytes themselves: see Read
)

func (f Form) String() string {
	return [...]string{"hexadecimal", "base64", "escaped string", "array", "dump", "raw bytes"}[f]
}

// Forms lists what Read reads, for hints.
const Forms = `hexadecimal (xxd -p FILE | qsniff decode), base64, a dump, a "\xff" string, {0xff, ...}, or raw bytes (--raw)`

// Payload is one payload.
type Payload struct {
	Data []byte
	Form Form
	Line int // of the text, from 1, where it begins

	Notes   []string // sentences: what of the text is not in Data, or contradicts it
	Skipped []int    // lines around it that hold no bytes
	isWord  bool     // it is base64 by its letters, and could be a word
}

// Error is what is wrong with a text, and where. It quotes one character at most, for the
// text may hold a password, and has no Hint where the text has none of the forms.
type Error struct {
	Line, Col int // from 1; 0 if the whole text, or line, is meant
	What      string
	Hint      string
}

func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return e.What
	case e.Col == 0:
		return fmt.Sprintf("line %d: %s", e.Line, e.What)
	}
	return fmt.Sprintf("line %d, character %d: %s", e.Line, e.Col, e.What)
}

func errorf(line int, hint, format string, args ...any) *Error {
	return &Error{Line: line, What: fmt.Sprintf(format, args...), Hint: hint}
}

func (e *Error) atByte(l line, at int) *Error {
	e.Col = utf8.RuneCountInString(l.text[:at]) + 1
	return e
}

const betweenPayloads = "put a blank line between two payloads" // the hint of several errors

// line is one line of the text, without white space at its ends.
type line struct {
	text   string
	indent int // white space before it
	no     int // from 1
}

const (
	// MaxPayload is the longest UDP payload that IPv4 carries, in bytes.
	MaxPayload = 65_507
	// MaxPayloads has room for all that a split header can count, 255 parts, and as
	// many messages around them.
	MaxPayloads = 512
	// MaxText is the longest text that is read, in bytes. The longest dumps have five
	// characters a byte: 8 MiB hold MaxPayloads of up to 3,200 bytes, or 25 of the longest.
	MaxText = 8 << 20
	// maxLines is the most lines between two blank ones: those of four of the longest
	// payloads with a byte a line. A line costs about 100 bytes, so that MaxText of the
	// shortest lines would take half a gigabyte.
	maxLines = 4 * MaxPayload
	// maxBrackets is how many pairs of brackets with numbers in them are read: an array
	// has one, and up to three more for its type, its name and an index.
	maxBrackets = 4 * MaxPayloads
	// widestRow is the most bytes in a row of a dump with a text column, the limit of xxd
	// -c. Where the text begins is found by trial, whose time grows with its square.
	widestRow = 256
)

// Parse reads the payloads in text. marks separate payloads in consecutive lines; nil is
// valid. An error is an *Error.
func Parse(text string, marks Marks) ([]Payload, error) {
	if len(text) > MaxText {
		return nil, errorf(0, "is it a capture? qsniff read takes those", "more than %d MiB of text", MaxText>>20)
	}
	var all []Payload
	var skipped []int  // lines of blocks that are prose, since the payload before
	var proseErr error // of the first such block
	for block := range blocks(strings.TrimPrefix(text, "\ufeff")) {
		if len(block) > maxLines {
			return nil, errorf(block[maxLines].no, betweenPayloads, "more than %d lines without a blank one", maxLines)
		}
		ps, err := parseBlock(block, marks)
		if err != nil {
			if slices.ContainsFunc(block, isNoProse) {
				return nil, err
			}
			proseErr = cmp.Or(proseErr, err)
			for _, l := range block {
				skipped = append(skipped, l.no)
			}
			continue
		}
		ps[0].isWord = ps[0].Form == Base64 && len(block) == 1 && word.MatchString(block[0].text) && !marks.matches(ps[0].Data)
		ps[0].Skipped = append(skipped, ps[0].Skipped...)
		skipped = nil
		if all = append(all, ps...); len(all) > MaxPayloads { // few characters of a dump can stand for 64 KiB
			break
		}
	}
	return finish(all, skipped, proseErr)
}

// blocks returns the lines of text between blank ones. One of more than maxLines ends early.
func blocks(text string) iter.Seq[[]line] {
	return func(yield func([]line) bool) {
		var block []line
		no, rest, above := 0, len(text), ""
		for s := range strings.Lines(text) {
			no, rest = no+1, rest-len(s)
			trimmed := strings.TrimSpace(s)
			// Below a row of four or more bytes that no character shows, gamedig prints blanks.
			isText := len(s) > 4*3 && len(s) == len(above) && strings.HasSuffix(strings.TrimRight(above, "\r\n"), " ")
			isBlank := trimmed == "" && !isText
			if above = s; !isBlank {
				block = append(block, line{trimmed, strings.Index(s, trimmed), no})
			}
			if len(block) > 0 && (isBlank || rest == 0) || len(block) > maxLines {
				if !yield(block) {
					return
				}
				block = block[:0]
			}
		}
	}
}

// finish checks the limits of payloads, and takes out those that are headings: a word in a
// block of its own can be base64 by its letters, and the numbers of columns are digits, but
// not beside payloads of other forms. after are lines without bytes after the last payload,
// proseErr the error if there is none.
func finish(all []Payload, after []int, proseErr error) (ps []Payload, err error) {
	var skipped []int
	for _, x := range all {
		skipped = append(skipped, x.Skipped...)
		switch n := len(x.Data); {
		case (x.isWord || x.Form == Hex && isRuler(x.Data)) && !isAll(all, x.Form):
			skipped = append(skipped, x.Line)
			continue
		case len(ps) == MaxPayloads:
			return nil, errorf(x.Line, "a capture has room for more: qsniff read takes those", "more than %d payloads", MaxPayloads)
		case n == 0:
			return nil, errorf(x.Line, "", "an empty payload")
		case n > MaxPayload:
			return nil, errorf(x.Line, betweenPayloads, "a payload of %d bytes: no datagram has more than %d", n, MaxPayload)
		}
		x.Skipped, skipped = skipped, nil
		ps = append(ps, x)
	}
	if len(ps) == 0 {
		return nil, cmp.Or(proseErr, error(errorf(0, "", "no payload")))
	}
	last := &ps[len(ps)-1]
	last.Skipped = append(last.Skipped, append(skipped, after...)...)
	return ps, nil
}

// isRuler reports whether b counts from 0, as the numbers above the columns of a dump do.
func isRuler(b []byte) bool {
	for i, c := range b {
		if int(c) != i {
			return false
		}
	}
	return len(b) > 1
}

var (
	literal = regexp.MustCompile(`\\[xu0-7]|\b0[xX][0-9a-fA-F]{1,2}\s*,|[\[{]\s*[0-9]+\s*,|^[\w+/-]+={1,2}$`)
	word    = regexp.MustCompile(`^([A-Z]?[a-z]+[0-9]*|[A-Z0-9_]+|\w+( \w+)+)$`)
	prose   = regexp.MustCompile(`^[\w#=*~|+.:-]{1,40}$|[ \t].*[g-zG-Z]|[g-zG-Z].*[ \t]`) // a heading, a sentence
	// tcpdumpLine matches the line that tcpdump prints above each packet.
	tcpdumpLine = regexp.MustCompile(`^([0-9-]+ )?[0-9:.]+ (\w+ +)*IP6? .* > .*: `)
)

// isNoProse reports whether a line is not words for people, or is bytes with a mistake in them.
func isNoProse(l line) bool { return !prose.MatchString(l.text) || looksLikeBytes(l.text) }

// parseBlock reads lines without a blank one between them.
func parseBlock(lines []line, marks Marks) ([]Payload, error) {
	digits := mapLines(lines, hexDigits)
	isDigits := !slices.ContainsFunc(digits, func(l line) bool { return l.text == "" })
	if ps, ok, err := parseDump(lines, marks, isDigits); ok {
		return ps, err
	}
	lines = slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return l.text == "" })
	if tcpdumpLine.MatchString(lines[0].text) {
		return nil, errorf(lines[0].no, "print them with tcpdump -X, or write a capture with tcpdump -w FILE: qsniff read takes that",
			"tcpdump printed no bytes here")
	}
	if isDigits {
		return join(digits, marks, Hex, false)
	}
	if ps, ok, err := parseArray(lines); ok {
		return ps, err
	}
	if ps, ok := parseMarked(lines, marks); ok {
		return ps, nil
	}
	if slices.ContainsFunc(lines, func(l line) bool { return strings.ContainsAny(l.text, `\"'`) }) {
		return parseEscaped(lines, marks)
	}
	return parseBase64(lines, marks)
}

// Read reads the payloads in b: with Parse if b is text, else as one payload. An error
// is an *Error.
func Read(b []byte, marks Marks) ([]Payload, error) {
	hasSkipped := func(p Payload) bool { return len(p.Skipped) > 0 }
	ps, err := Parse(string(b), marks)
	// The text column of a dump can be in another encoding.
	isDump := err == nil && isAll(ps, Dump) && (!slices.ContainsFunc(ps, hasSkipped) || bytes.IndexFunc(b, isControl) < 0)
	if isDump || IsText(b) {
		return ps, err
	}
	return AsIs(b)
}

// AsIs returns b as one payload, whatever is in it.
func AsIs(b []byte) ([]Payload, error) {
	switch n := len(b); {
	case n == 0:
		return nil, errorf(0, "", "no payload")
	case n > MaxPayload:
		const hint = "is it a capture? qsniff read takes those; for the first bytes: head -c %d FILE | qsniff decode --raw"
		return nil, errorf(0, fmt.Sprintf(hint, MaxPayload), "more than %d raw bytes: no datagram has so many", MaxPayload)
	}
	return []Payload{{Data: b, Form: Raw}}, nil
}

// IsText reports whether b is UTF-8 without control characters but white space, as all
// forms of text are.
func IsText(b []byte) bool { return utf8.Valid(b) && bytes.IndexFunc(b, isControl) < 0 }

func isControl(r rune) bool { return (r < ' ' || r == 0x7f) && (r < '\t' || r > '\r') }

func isAll(ps []Payload, f Form) bool {
	return !slices.ContainsFunc(ps, func(p Payload) bool { return p.Form != f })
}

// The words of Hex and Base64, of arrays, and of strings.
var (
	buffer        = regexp.MustCompile(`^<Buffer (.*?)>?$`) // as Node.js prints one
	betweenDigits = regexp.MustCompile(`\b0[xX]|[ \t:-]`)
	notBase64     = regexp.MustCompile(`[^0-9A-Za-z+/=_ \t-]`)
	urlToStd      = strings.NewReplacer("-", "+", "_", "/", " ", "", "\t", "") // alphabets of base64

	comments = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	// brackets matches a pair with numbers and characters between them, and what Rust
	// repeats how often; an index as well as a list: see isList.
	brackets = regexp.MustCompile(`[\[{]((?:[0-9a-zA-Z_,\s.…-]|\(\w+\)|'(?:\\\w+|\\?[^\w\n]|\w)')*)(?:;\s*([0-9]{1,5})\s*)?[\]}]`)
	commas   = regexp.MustCompile(`^[0-9a-fA-FxX,\s-]*,[0-9a-fA-FxX,\s-]*$`)
	number   = regexp.MustCompile(`^(?:-?[0-9]|[0-9a-fA-F]{1,2}$|b?'|\(\w+\))`)
	decimal  = regexp.MustCompile(`(^|[\s,)-])[0-9]`) // characters alone are Python's list of strings
	pairs    = regexp.MustCompile(`^(?:[0-9a-fA-F]{2}[,\s]+)+[0-9a-fA-F]{2}[,\s]*$`)
	words    = regexp.MustCompile(`b?'(?:\\\w+|\\?.)'|\(\w+\)|[^,\s'()]+`)
	isBare   = regexp.MustCompile(`^[^xX'u.…(]*[a-fA-F][^xX'u.…(]*$`) // a hexadecimal number without 0x
	byteType = regexp.MustCompile(`_?u8$`)                            // of Rust
	isName   = regexp.MustCompile(`^\w`)

	angles      = regexp.MustCompile(`<[0-9A-Fa-f]{2}>`)
	slash       = regexp.MustCompile(`\\[0-9A-Fa-f]{2}`)
	otherPrefix = regexp.MustCompile(`[^\w$.:=(\[{*\] \t]`) // neither an assignment nor a call
	// escape matches those of C, Go, Rust, Python, JavaScript and PHP. \x takes at most two
	// digits. C takes more, which would not fit into a byte.
	escape = regexp.MustCompile("^\\\\(?:u00[0-9a-fA-F]{2}|x[0-9a-fA-F]{1,2}|[0-7]{1,3}|[abtnvfre\\\\\"'?`$/])")
)

// Marks are byte strings that datagrams begin with and do not contain later: a line that
// begins with one begins a payload.
type Marks [][]byte

// matches reports whether b begins with one of the marks.
func (m Marks) matches(b []byte) bool {
	return slices.ContainsFunc(m, func(mark []byte) bool { return bytes.HasPrefix(b, mark) })
}

// join decodes lines, each of which is a payload of the form or a piece of one. They are
// pieces with isOne or, but for strings, if one begins with a mark or they look wrapped.
func join(lines []line, marks Marks, form Form, isOne bool) (ps []Payload, err error) {
	isFirst := func(l line) bool {
		const start = 64 // characters: longer than any mark in each form, whole groups in base64
		b, _ := decode(line{text: l.text[:min(len(l.text), start)]}, form)
		return marks.matches(b)
	}
	width, last := len(lines[0].text), len(lines)-1
	isOther := func(l line) bool { return len(l.text) != width }
	isWrapped := !slices.ContainsFunc(lines[:last], isOther) && len(lines[last].text) <= width
	isEach := !isOne && (form == Escaped || !isWrapped && !slices.ContainsFunc(lines[1:], isFirst))
	for len(lines) > 0 {
		n := 1
		for n < len(lines) && !isEach && !isFirst(lines[n]) {
			n++
		}
		b, err := decode(line{text: joinTexts(lines[:n], ""), no: lines[0].no}, form)
		if err != nil {
			return nil, err
		}
		ps = append(ps, Payload{Data: b, Form: form, Line: lines[0].no})
		lines = lines[n:]
	}
	return ps, nil
}

// decode returns the bytes of a text that is a form's as a whole, or those before an error.
func decode(l line, form Form) (b []byte, err error) {
	switch form {
	case Hex:
		if b, err = hex.DecodeString(l.text); err != nil {
			err = errorf(l.no, "each byte has two digits", "%d hexadecimal digits: half a byte is missing", len(l.text))
		}
	case Base64:
		body := strings.TrimRight(l.text, "=")
		b, err = base64.RawStdEncoding.Strict().DecodeString(body)
		if strings.Contains(body, "=") || len(l.text)-len(body) > 2 {
			err = errorf(l.no, betweenPayloads, "base64 that goes on after its padding")
		} else if err != nil {
			err = errorf(l.no, "", "neither hexadecimal nor whole base64: characters are missing at its end")
		}
	default:
		b = []byte(l.text)
	}
	return b, err
}

func joinTexts(lines []line, sep string) string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.text
	}
	return strings.Join(texts, sep)
}

func mapLines(lines []line, f func(string) string) []line {
	out := slices.Clone(lines)
	for i, l := range lines {
		out[i].text = f(l.text)
	}
	return out
}

// hexDigits returns the digits in s, or nothing if there is anything besides them, 0x before
// a group, and separators.
func hexDigits(s string) string {
	digits := betweenDigits.ReplaceAllString(buffer.ReplaceAllString(s, "$1"), "")
	if countDigits(digits) < len(digits) {
		return ""
	}
	return digits
}

func isSeparator(r rune) bool { return r == ' ' || r == '\t' || r == ':' || r == '-' }

// countDigits returns the number of hexadecimal digits that s begins with.
func countDigits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789abcdefABCDEF")) }

func parseBase64(lines []line, marks Marks) ([]Payload, error) {
	for _, l := range lines {
		if at := notBase64.FindStringIndex(l.text); at != nil {
			r, _ := utf8.DecodeRuneInString(l.text[at[0]:])
			return nil, errorf(l.no, "", "%q fits neither hexadecimal nor base64", r).atByte(l, at[0])
		}
	}
	text := mapLines(lines, urlToStd.Replace)
	return join(text, marks, Base64, false)
}

// parseArray reads lists of numbers; ok reports whether the lines hold one.
func parseArray(lines []line) (ps []Payload, ok bool, err error) {
	text := comments.ReplaceAllStringFunc(joinTexts(lines, "\n"), func(c string) string {
		return strings.Repeat("\n", strings.Count(c, "\n")) // lines keep their numbers
	})
	spans := brackets.FindAllStringSubmatchIndex(text, maxBrackets+1)
	if len(spans) > maxBrackets {
		return nil, true, errorf(lines[0].no, betweenPayloads, "more than %d pairs of brackets", maxBrackets)
	}
	if commas.MatchString(text) {
		spans = [][]int{{0, len(text), 0, len(text), -1, -1}}
	}
	var around strings.Builder // the lists
	end := 0
	for _, x := range spans {
		around.WriteString(text[end:x[0]])
		if end = x[1]; !isList(text, x) {
			continue
		}
		p := Payload{Form: Array, Line: lines[strings.Count(text[:x[0]], "\n")].no}
		err = cmp.Or(err, p.addNumbers(text[x[2]:x[3]]))
		if x[4] >= 0 { // Rust: [value; times]
			n, _ := strconv.Atoi(text[x[4]:x[5]]) // five digits at most
			p.Data = bytes.Repeat(p.Data[:min(1, len(p.Data))], n)
		}
		ps = append(ps, p)
	}
	rest := around.String() + text[end:]
	if err == nil && len(ps) > 0 && literal.MatchString(rest) {
		err = errorf(ps[0].Line, "give the list alone", "numbers beside the brackets would not be read")
	}
	return ps, len(ps) > 0 && !strings.Contains(rest, `\`) && !strings.ContainsAny(text[:1], `"'`), err
}

// isList reports whether the brackets at x hold bytes: they are no index or type, as in
// pkt[67] or [67]byte, and no word in prose, as [D].
func isList(text string, x []int) bool {
	list := strings.TrimSpace(text[x[2]:x[3]])
	word := words.FindString(list)
	before := strings.TrimRight(text[:x[0]], " \t\n&")
	isAssigned := before == "" || strings.ContainsAny(before[len(before)-1:], "=(!:,}]") || text[x[0]] == '{'
	isIndex := text[x[0]] == '[' && (isName.MatchString(text[max(0, x[0]-1):]) || isName.MatchString(text[x[1]:]))
	isAlone := word == list && x[4] < 0
	return !isIndex && (isAssigned || !isAlone) && number.MatchString(word) && (decimal.MatchString(list) || pairs.MatchString(list))
}

// addNumbers adds the bytes of a list: 0xff, 255, -1 as Java prints it, 0xffu8, or 'T'. If
// one of them has a letter and no 0x, all are hexadecimal.
func (p *Payload) addNumbers(list string) error {
	all := words.FindAllString(list, -1)
	isAllHex := slices.ContainsFunc(all, isBare.MatchString)
	for i, w := range all {
		base := 10
		digits, isHex := strings.CutPrefix(strings.ToLower(w), "0x")
		if isHex || isAllHex {
			base = 16
		}
		char, isChar := strings.CutPrefix(strings.TrimPrefix(w, "b"), "'")
		switch {
		case leftOut.MatchString(w):
			p.Notes = append(p.Notes, "the list leaves bytes out: what is before them is decoded, nothing after it")
			return nil
		case isChar:
			b, _, err := unescape(line{text: char}, 0, "'")
			if err != nil || len(b) != 1 {
				return errorf(p.Line, "a character has one byte", "character %d of the list is not a byte", i+1)
			}
			p.Data = append(p.Data, b[0])
		case w[0] != '(': // of a cast
			digits = byteType.ReplaceAllString(digits, "")
			v, err := strconv.ParseInt(digits, base, 16)
			if err != nil || v > 0xff || v < -0x80 || base == 16 && len(digits) > 2 {
				return errorf(p.Line, "bytes are 0 to 255, or 0x00 to 0xff", "number %d of the list is not a byte", i+1)
			}
			p.Data = append(p.Data, byte(v))
		}
	}
	return nil
}

// parseMarked reads lines with <ff> or \ff for a byte. \ff is an escape of C, too: ok is
// false unless only the bytes begin with a mark.
func parseMarked(lines []line, marks Marks) (ps []Payload, ok bool) {
	first, re := lines[0].text, slash
	if first[0] == '<' {
		re = angles
	}
	texts := mapLines(lines, func(s string) string {
		return re.ReplaceAllStringFunc(s, func(s string) string {
			b, _ := hex.DecodeString(strings.Trim(s, `\<>`)) // two digits
			return string(b)
		})
	})
	isOne := re == angles && texts[0].text != first
	if marks.matches([]byte(first)) || !isOne && !marks.matches([]byte(texts[0].text)) {
		return nil, false
	}
	ps, _ = join(texts, marks, Escaped, true)
	return ps, true
}

// parseEscaped reads strings with escapes: quoted ones as languages write them,
// or, where a line begins with a backslash or has no quotes, the line itself.
func parseEscaped(lines []line, marks Marks) ([]Payload, error) {
	var all []line // decoded
	areJoined := true
	for _, l := range lines {
		l.text = strings.TrimSuffix(l.text, ` \`) // the string goes on in the next line
		texts, err := readStrings(l)
		if err != nil {
			return nil, err
		}
		all = append(all, texts...)
		areJoined = areJoined && len(texts) == 1 && l.text[0] == '"' && !strings.HasSuffix(l.text, ",")
	}
	return join(all, marks, Escaped, areJoined)
}

// readStrings reads the quoted strings in a line, or all of it as one. Strings with nothing
// between them, or an operator that joins them, are one.
func readStrings(l line) (out []line, err error) {
	besideError := func(at int) error {
		return errorf(l.no, "give the string alone", "something stands beside the string that would not be read").atByte(l, at)
	}
	at := strings.IndexAny(l.text, `"'`)
	if at < 0 || l.text[0] == '\\' {
		b, _, err := unescape(l, 0, "")
		return []line{{string(b), 0, l.no}}, err
	}
	if p := otherPrefix.FindStringIndex(l.text[:at]); p != nil {
		return nil, besideError(p[0])
	}
	var cur []byte
	for {
		b, end, err := unescape(l, at+1, l.text[at:at+1])
		if err != nil {
			return nil, err
		}
		cur = append(cur, b...)
		rest := l.text[end:]
		next := strings.IndexAny(rest, `"'`)
		after := strings.TrimLeft(rest, " \t;,)]}")
		gap := strings.TrimSpace(strings.TrimRight(strings.TrimSpace(rest[:max(0, next)]), "bB"))
		switch {
		case next < 0 && after != "":
			return nil, besideError(len(l.text) - len(after))
		case next < 0:
			return append(out, line{string(cur), 0, l.no}), nil
		case gap == ",":
			out, cur = append(out, line{string(cur), 0, l.no}), nil
		case gap != "" && gap != "+" && gap != ".":
			return nil, besideError(end)
		}
		at = end + next
	}
}

// readEscape returns the byte that the escape at the start of s stands for, and its length.
func readEscape(s string) (v byte, n int, ok bool) {
	const letters, values = "abtnvfre\\\"'?`$/", "\a\b\t\n\v\f\r\x1b\\\"'?`$/"
	m := escape.FindString(s)
	if m == "" {
		return 0, 0, false
	}
	if i := strings.IndexByte(letters, m[1]); i >= 0 {
		return values[i], len(m), true
	}
	digits, base := strings.TrimLeft(m, `\xu`), 16
	if len(digits) == len(m)-1 {
		base = 8
	}
	x, err := strconv.ParseUint(digits, base, 8)
	return byte(x), len(m), err == nil
}

// unescape reads l from offset at on, up to one of the quotes or, if there are none, to the
// end. end is the offset after the quote.
func unescape(l line, at int, quote string) (b []byte, end int, err error) {
	for {
		n := strings.IndexAny(l.text[at:], `\`+quote)
		switch {
		case n < 0 && quote != "":
			return nil, 0, errorf(l.no, "quote the argument for the shell with the other kind of quotes",
				"the string does not end: %s is missing", quote)
		case n < 0:
			return append(b, l.text[at:]...), len(l.text), nil
		}
		b = append(b, l.text[at:at+n]...)
		if at += n; l.text[at] != '\\' {
			return b, at + 1, nil
		}
		v, size, ok := readEscape(l.text[at:])
		if !ok {
			what := "a backslash that begins no escape"
			if strings.HasPrefix(l.text[at+1:], "u") {
				what = `\u beyond 00ff: not a byte`
			}
			return nil, 0, errorf(l.no, `bytes are written \xff, \u00ff or \377`, "%s", what).atByte(l, at)
		}
		b, at = append(b, v), at+size
	}
}

// Packet is a payload that is a whole packet, as tcpdump -x prints it.
type Packet struct {
	Link uint16 // LINKTYPE_ value of its first header
	Wire int    // length in bytes as sent; tcpdump may have printed fewer
	packet.Packet
}

// links are the link headers that dumps can have: type, and length without tags.
var links = [...][2]uint16{
	{packet.LinkRaw, 0},
	{packet.LinkEthernet, 14},
	{packet.LinkLinuxSLL, 16},
	{packet.LinkLinuxSLL2, 20},
	{packet.LinkNull, 4},
}

// AsPacket reports whether b is a packet and not its payload: the lengths in its IP and UDP
// headers fit, or the checksum of its IP header does, or it is UDP after tags, labels or a
// session. The result points into b.
func AsPacket(b []byte) (p Packet, ok bool) {
	for _, l := range links {
		var trace packet.Trace
		p = Packet{Link: l[0], Packet: packet.Packet{Trace: &trace}}
		p.Decode(p.Link, b, len(b))
		headers := trace.Headers()
		i := slices.IndexFunc(headers, func(h packet.Header) bool {
			return h.Kind == packet.HeaderIPv4 || h.Kind == packet.HeaderIPv6
		})
		if i < 0 {
			continue
		}
		at := cap(b) - cap(headers[i].B) // it points into b, but ends where the packet does
		total, ok := fitsIP(b[at:])
		p = Packet{Link: p.Link, Wire: at + max(total, len(b[at:]))}
		p.Decode(p.Link, b, p.Wire)
		if ok || at > int(l[1]) && p.Stop == packet.OK && !p.Frag.Set {
			return p, true
		}
	}
	return Packet{}, false
}

// fitsIP returns the total length in the IP header that b starts with, and reports whether b
// can be that packet. In IPv4 the checksum of the header is right, or the lengths in it and
// in a UDP header are. IPv6 has no checksum: the length has to be right, and the next
// header one of those that queries travel in.
func fitsIP(b []byte) (total int, ok bool) {
	const ipv6Len, fragment = 40, 44
	size := func(at int) int { return int(binary.BigEndian.Uint16(b[at:])) }
	isUDP := func(proto byte, header int) bool {
		return proto == packet.ProtoUDP && len(b) >= header+8 && size(header+4) == total-header
	}
	if b[0]>>4 == 6 {
		total = ipv6Len + size(4)
		return total, total == len(b) && (isUDP(b[6], ipv6Len) || slices.Contains([]byte{packet.ProtoTCP, packet.ProtoICMPv6, fragment}, b[6]))
	}
	const minEthernet = 46 // bytes after the header: shorter packets are padded
	header := int(b[0]&0x0f) * 4
	total = size(2)
	isPadded := total < len(b) && len(b) <= minEthernet
	return total, checksum.Fold(checksum.Add(0, b[:header])) == 0xffff || isUDP(b[9], header) && (total == len(b) || isPadded)
}
