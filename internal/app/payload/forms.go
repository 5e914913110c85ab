package payload

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	comments = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	// brackets matches a pair with numbers and characters between them, and what Rust
	// repeats how often; an index as well as a list: see isList.
	brackets = regexp.MustCompile(`[\[{]((?:[0-9a-zA-Z_,\s.…-]|\(\w+\)|'(?:\\\w+|\\?[^\w\n]|\w)')*)(?:;\s*([0-9]{1,5})\s*)?[\]}]`)
	commas   = regexp.MustCompile(`^[0-9a-fA-FxX,\s-]*,[0-9a-fA-FxX,\s-]*$`)
	number   = regexp.MustCompile(`^(?:-?[0-9]|[0-9a-fA-F]{1,2}$|b?'|\(\w+\))`)
	decimal  = regexp.MustCompile(`(^|[\s,)-])[0-9]`) // characters alone are Python's list of strings
	pairs    = regexp.MustCompile(`^(?:[0-9a-fA-F]{2}[,\s]+)+[0-9a-fA-F]{2}[,\s]*$`)
	words    = regexp.MustCompile(`b?'(?:\\\w+|\\?.)'|\(\w+\)|[^,\s'()]+`)
)

// parseArray reads lists of numbers; ok reports whether the lines hold one.
func parseArray(lines []line) (ps []Payload, ok bool, err error) {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.text
	}
	text := comments.ReplaceAllStringFunc(strings.Join(texts, "\n"), func(c string) string {
		return strings.Repeat("\n", strings.Count(c, "\n")) // lines keep their numbers
	})
	spans := brackets.FindAllStringSubmatchIndex(text, maxBrackets+1)
	if len(spans) > maxBrackets {
		return nil, false, &Error{Line: lines[0].no, What: fmt.Sprintf("more than %d pairs of brackets", maxBrackets),
			Hint: "put a blank line between two payloads"}
	}
	if commas.MatchString(text) {
		spans = [][]int{{0, len(text), 0, len(text), -1, -1}}
	}
	var around strings.Builder // the lists
	above, end := 0, 0         // lines above a span, and where the one before it ends
	for _, x := range spans {
		around.WriteString(text[end:x[0]])
		above += strings.Count(text[end:x[0]], "\n")
		no := lines[above].no
		above += strings.Count(text[x[0]:x[1]], "\n")
		if end = x[1]; !isList(text, x) {
			continue
		}
		p := Payload{Form: Array, Line: no}
		if e := p.addNumbers(text[x[2]:x[3]]); e != nil && err == nil {
			e.Line = no
			err = e
		}
		if x[4] >= 0 { // Rust: [value; times]
			n, _ := strconv.Atoi(text[x[4]:x[5]]) // five digits at most
			p.Data = bytes.Repeat(p.Data[:min(1, len(p.Data))], n)
		}
		ps = append(ps, p)
	}
	around.WriteString(text[end:])
	switch rest := around.String(); {
	case len(ps) == 0, strings.Contains(rest, `\`), text[0] == '"', text[0] == '\'':
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case literal.MatchString(rest):
		return nil, false, &Error{Line: ps[0].Line, What: "numbers beside the brackets would not be read", Hint: "give the list alone"}
	}
	return ps, true, nil
}

// isList reports whether the brackets at x hold bytes: they are no index or type, as in
// pkt[67] or [67]byte, and no word in prose, as [D].
func isList(text string, x []int) bool {
	list := strings.TrimSpace(text[x[2]:x[3]])
	word := words.FindString(list)
	before := strings.TrimRight(text[:x[0]], " \t\n&")
	isAssigned := before == "" || strings.ContainsAny(before[len(before)-1:], "=(!:,}]") || text[x[0]] == '{'
	switch isAlone := word == list && x[4] < 0; {
	case text[x[0]] == '[' && (x[0] > 0 && isNameByte(text[x[0]-1]) || x[1] < len(text) && isNameByte(text[x[1]])):
		return false
	case isAlone && !isAssigned, !number.MatchString(word):
		return false
	}
	return decimal.MatchString(list) || pairs.MatchString(list)
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// addNumbers adds the bytes of a list: 0xff, 255, -1 as Java prints it, 0xffu8, or 'T'. If
// one of them has a letter and no 0x, all are hexadecimal.
func (p *Payload) addNumbers(list string) *Error {
	all := words.FindAllString(list, -1)
	isBare := func(w string) bool {
		return strings.ContainsAny(w, "abcdefABCDEF") && !strings.ContainsAny(w, "xX'u.…(")
	}
	base := 10
	if slices.ContainsFunc(all, isBare) {
		base = 16
	}
	for i, w := range all {
		if leftOut.MatchString(w) {
			p.Notes = append(p.Notes, "the list leaves bytes out: what is before them is decoded, nothing after it")
			return nil
		}
		if w[0] == '(' {
			continue // a cast
		}
		if c, ok := strings.CutPrefix(strings.TrimPrefix(w, "b"), "'"); ok {
			b, _, err := unescape(line{}, c, 0, '\'')
			if err != nil || len(b) != 1 {
				return &Error{What: fmt.Sprintf("character %d of the list is not a byte", i+1), Hint: "a character has one byte"}
			}
			p.Data = append(p.Data, b[0])
			continue
		}
		base := base
		w = strings.ToLower(w)
		digits, isHex := strings.CutPrefix(w, "0x")
		if isHex {
			base = 16
		}
		if d, ok := strings.CutSuffix(digits, "u8"); ok { // of Rust
			digits = strings.TrimSuffix(d, "_")
		}
		v, err := strconv.ParseInt(digits, base, 16)
		if err != nil || v > 0xff || v < -0x80 || base == 16 && len(digits) > 2 {
			return &Error{What: fmt.Sprintf("number %d of the list is not a byte", i+1), Hint: "bytes are 0 to 255, or 0x00 to 0xff"}
		}
		p.Data = append(p.Data, byte(v))
	}
	return nil
}

var (
	angles = regexp.MustCompile(`<([0-9A-Fa-f]{2})>`)
	slash  = regexp.MustCompile(`\\([0-9A-Fa-f]{2})`)
)

// parseMarked reads lines with <ff> or \ff for a byte. \ff is an escape of C, too: ok is
// false unless only the bytes begin with a mark.
func parseMarked(lines []line, marks Marks) (ps []Payload, ok bool) {
	first := lines[0].text
	for _, re := range []*regexp.Regexp{angles, slash} {
		texts := slices.Clone(lines)
		for i, l := range lines {
			texts[i].text = re.ReplaceAllStringFunc(l.text, func(s string) string {
				b, _ := hex.DecodeString(strings.Trim(s, `\<>`)) // two digits
				return string(b)
			})
		}
		isOne := re == angles && strings.HasPrefix(first, "<") && texts[0].text != first
		if !marks.matches([]byte(first)) && (isOne || marks.matches([]byte(texts[0].text))) {
			return asPayloads(groupLines(texts, marks, asBytes, true)), true
		}
	}
	return nil, false
}

func asBytes(s string) ([]byte, error) { return []byte(s), nil }

// asPayloads returns decoded strings as payloads.
func asPayloads(texts []line) (ps []Payload) {
	for _, t := range texts {
		ps = append(ps, Payload{Data: []byte(t.text), Form: Escaped, Line: t.no})
	}
	return ps
}

// parseEscaped reads strings with escapes: quoted ones as languages write them,
// or, where a line begins with a backslash or has no quotes, the line itself.
func parseEscaped(lines []line, marks Marks) ([]Payload, error) {
	var texts []line // decoded
	areJoined := true
	for _, l := range lines {
		s := strings.TrimSuffix(l.text, ` \`) // the string goes on in the next line
		if isQuoted(s) {
			ts, err := readLiterals(line{s, l.indent, l.no})
			if err != nil {
				return nil, err
			}
			texts = append(texts, ts...)
			areJoined = areJoined && len(ts) == 1 && s[0] == '"' && s[len(s)-1] != ','
			continue
		}
		areJoined = false
		b, _, err := unescape(l, s, 0, 0)
		if err != nil {
			return nil, err
		}
		texts = append(texts, line{string(b), 0, l.no})
	}
	if areJoined {
		texts = groupLines(texts, marks, asBytes, true)
	}
	return asPayloads(texts), nil
}

// isQuoted reports whether s holds string literals, and is not the text of one.
func isQuoted(s string) bool { return s[0] != '\\' && strings.ContainsAny(s, `"'`) }

// readLiterals reads the quoted strings in a line. Strings with nothing between them, or
// an operator that joins them, are one.
func readLiterals(l line) ([]line, error) {
	var out []line
	at := strings.IndexAny(l.text, `"'`)
	if p := strings.TrimLeft(l.text[:at], prefixChars); p != "" {
		return nil, besideError(l, strings.Index(l.text, p))
	}
	var cur []byte
	for {
		b, end, err := unescape(l, l.text, at+1, l.text[at])
		if err != nil {
			return nil, err
		}
		cur = append(cur, b...)
		rest := l.text[end:]
		next := strings.IndexAny(rest, `"'`)
		if next < 0 {
			if p := strings.TrimLeft(rest, " \t;,)]}"); p != "" {
				return nil, besideError(l, len(l.text)-len(p))
			}
			return append(out, line{string(cur), 0, l.no}), nil
		}
		switch gap := strings.TrimRight(strings.TrimSpace(rest[:next]), "bB"); strings.TrimSpace(gap) {
		case "", "+", ".":
		case ",":
			out, cur = append(out, line{string(cur), 0, l.no}), nil
		default:
			return nil, besideError(l, end)
		}
		at = end + next
	}
}

// prefixChars are the characters that may precede a string: an assignment, a call.
const prefixChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.:=([{*] \t"

// besideError is the error for text beside a string, at byte at of the line.
func besideError(l line, at int) *Error {
	return &Error{Line: l.no, Col: utf8.RuneCountInString(l.text[:at]) + 1,
		What: "something stands beside the string that would not be read", Hint: "give the string alone"}
}

// unescape reads s from offset at on, up to the quote or, where that is 0, to the
// end. end is the offset after the
// quote.
func unescape(l line, s string, at int, quote byte) (b []byte, end int, err error) {
	for at < len(s) {
		c := s[at]
		if quote != 0 && c == quote {
			return b, at + 1, nil
		}
		n := 1
		if c == '\\' {
			v, size, ok := readEscape(s[at:])
			if !ok {
				what := "a backslash that begins no escape"
				if strings.HasPrefix(s[at+1:], "u") {
					what = `\u beyond 00ff: not a byte`
				}
				return nil, 0, &Error{Line: l.no, Col: utf8.RuneCountInString(s[:at]) + 1, What: what,
					Hint: `bytes are written \xff, \u00ff or \377`}
			}
			c, n = v, size
		}
		b = append(b, c)
		at += n
	}
	if quote != 0 {
		return nil, 0, &Error{Line: l.no, What: fmt.Sprintf("the string does not end: %c is missing", quote),
			Hint: "quote the argument for the shell with the other kind of quotes"}
	}
	return b, at, nil
}

// escape matches an escape of C, Go, Rust, Python, JavaScript or PHP. \x takes at most two
// digits. C takes more, which would not fit into a byte.
var escape = regexp.MustCompile("^\\\\(?:(?:x|u00)([0-9a-fA-F]{2})|x([0-9a-fA-F])|([0-7]{1,3})|([abtnvfre\\\\\"'?`$/]))")

// readEscape returns the byte that the escape at the start of s stands for, and its length.
func readEscape(s string) (v byte, n int, ok bool) {
	m := escape.FindStringSubmatch(s)
	if m == nil {
		return 0, 0, false
	}
	if letter := m[4]; letter != "" {
		if i := strings.Index("abtnvfre", letter); i >= 0 {
			return "\a\b\t\n\v\f\r\x1b"[i], len(m[0]), true
		}
		return letter[0], len(m[0]), true
	}
	base := 16
	if m[3] != "" {
		base = 8
	}
	x, err := strconv.ParseUint(m[1]+m[2]+m[3], base, 8)
	return byte(x), len(m[0]), err == nil
}

// parseHex reads lines of hexadecimal digits.
func parseHex(lines []line, marks Marks) ([]Payload, error) {
	digits := slices.Clone(lines)
	for i, l := range lines {
		digits[i].text, _ = hexDigits(l.text)
	}
	var out []Payload
	for _, g := range groupLines(digits, marks, hex.DecodeString, false) {
		b, err := hex.DecodeString(g.text)
		if err != nil {
			return nil, &Error{Line: g.no, What: fmt.Sprintf("%d hexadecimal digits: half a byte is missing", len(g.text)),
				Hint: "each byte has two digits"}
		}
		out = append(out, Payload{Data: b, Form: Hex, Line: g.no})
	}
	return out, nil
}

// hexDigits returns the digits in s, and false if there is anything besides them,
// 0x before a group, and separators.
func hexDigits(s string) (string, bool) {
	var b strings.Builder
	b.Grow(len(s))
	s, cut := strings.CutPrefix(s, "<Buffer ") // how Node.js prints one
	if cut {
		s = strings.TrimSuffix(s, ">")
	}
	for _, group := range strings.FieldsFunc(s, isSeparator) {
		group = strings.TrimPrefix(strings.TrimPrefix(group, "0x"), "0X")
		for i := range len(group) {
			if hexDigit(group[i]) < 0 {
				return "", false
			}
		}
		b.WriteString(group)
	}
	return b.String(), b.Len() > 0
}

func isSeparator(r rune) bool { return r == ' ' || r == '\t' || r == ':' || r == '-' }

// urlToStd turns the URL alphabet of base64 into the standard one, and removes blanks.
var urlToStd = strings.NewReplacer("-", "+", "_", "/", " ", "", "\t", "")

func parseBase64(lines []line, marks Marks) ([]Payload, error) {
	text := slices.Clone(lines)
	for i, l := range lines {
		for at, r := range l.text {
			if !isBase64(r) {
				return nil, &Error{Line: l.no, Col: utf8.RuneCountInString(l.text[:at]) + 1,
					What: fmt.Sprintf("%q fits neither hexadecimal nor base64", r)}
			}
		}
		text[i].text = urlToStd.Replace(l.text)
	}
	var out []Payload
	for _, g := range groupLines(text, marks, base64.RawStdEncoding.DecodeString, false) {
		body := strings.TrimRight(g.text, "=")
		if strings.Contains(body, "=") || len(g.text)-len(body) > 2 {
			return nil, &Error{Line: g.no, What: "base64 that goes on after its padding", Hint: "put a blank line between two payloads"}
		}
		b, err := base64.RawStdEncoding.Strict().DecodeString(body)
		if err != nil {
			return nil, &Error{Line: g.no, What: "neither hexadecimal nor whole base64: characters are missing at its end"}
		}
		out = append(out, Payload{Data: b, Form: Base64, Line: g.no})
	}
	return out, nil
}

func isBase64(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	}
	return strings.ContainsRune("+/-_= \t", r)
}

// hexDigit returns the value of a hexadecimal digit, -1 if c is none.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// Marks are byte strings that datagrams begin with and do not contain later: a line that
// begins with one begins a payload.
type Marks [][]byte

// matches reports whether b begins with one of the marks.
func (m Marks) matches(b []byte) bool {
	return slices.ContainsFunc(m, func(mark []byte) bool { return bytes.HasPrefix(b, mark) })
}

// groupLines joins the lines that are one payload each, see the package comment. decode
// returns the bytes at the beginning of a line. With wraps, lines of different lengths can
// be one payload.
func groupLines(lines []line, marks Marks, decode func(string) ([]byte, error), wraps bool) (out []line) {
	const start = 64 // characters: longer than any mark in each form, whole groups in base64
	first := make([]bool, len(lines))
	for i := 1; i < len(lines); i++ {
		b, _ := decode(lines[i].text[:min(len(lines[i].text), start)]) // those before an error
		first[i] = marks.matches(b)
	}
	isEach := !wraps && !slices.Contains(first, true) && !isWrapped(lines)
	for i := 0; i < len(lines); {
		var b strings.Builder
		g := lines[i]
		for b.WriteString(g.text); i+1 < len(lines) && !first[i+1] && !isEach; i++ {
			b.WriteString(lines[i+1].text)
		}
		i++
		g.text = b.String()
		out = append(out, g)
	}
	return out
}

// isWrapped reports whether all lines are equally long, except that the last may be
// shorter.
func isWrapped(lines []line) bool {
	width := len(lines[0].text)
	for i, l := range lines {
		if last := i == len(lines)-1; len(l.text) > width || !last && len(l.text) < width {
			return false
		}
	}
	return true
}
