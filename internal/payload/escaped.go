package payload

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

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
	var out []Payload
	if !areJoined {
		for _, t := range texts {
			out = append(out, Payload{[]byte(t.text), Escaped, t.no})
		}
		return out, nil
	}
	begin := func(s string, n int) []byte { return []byte(s[:min(len(s), n)]) }
	for _, g := range groupLines(texts, marks, begin, true) {
		out = append(out, Payload{[]byte(joinText(g)), Escaped, g[0].no})
	}
	return out, nil
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
		switch {
		case quote != 0 && c == quote:
			return b, at + 1, nil
		case c != '\\':
			b = append(b, c)
			at++
			continue
		}
		v, n := readEscape(s[at+1:])
		if n == 0 {
			what := "a backslash that begins no escape"
			if strings.HasPrefix(s[at+1:], "u") {
				what = `\u beyond 00ff: not a byte`
			}
			return nil, 0, &Error{Line: l.no, Col: utf8.RuneCountInString(s[:at]) + 1, What: what,
				Hint: `bytes are written \xff, \u00ff or \377`}
		}
		b = append(b, v)
		at += 1 + n
	}
	if quote != 0 {
		return nil, 0, &Error{Line: l.no, What: fmt.Sprintf("the string does not end: %c is missing", quote),
			Hint: "quote the argument for the shell with the other kind of quotes"}
	}
	return b, at, nil
}

// letters are the escapes of one letter, in C, Python, Go, JavaScript and PHP.
var letters = map[byte]byte{'a': 7, 'b': 8, 't': '\t', 'n': '\n', 'v': 11, 'f': 12, 'r': '\r', 'e': 27,
	'\\': '\\', '"': '"', '\'': '\'', '?': '?', '`': '`', '$': '$', '/': '/'}

// readEscape reads what follows a backslash, and returns the byte that it stands for and
// its length; 0 if it is no escape. \x takes at most two digits. C takes more, which
// would not fit into a byte.
func readEscape(s string) (v byte, n int) {
	if s == "" {
		return 0, 0
	}
	switch c := s[0]; {
	case c == 'x':
		v, n = readNumber(s[1:], 2, 16)
		return v, n + min(n, 1)
	case c >= '0' && c <= '7':
		return readNumber(s, 3, 8)
	case strings.HasPrefix(s, "u00") && len(s) >= 5:
		if v, n = readNumber(s[3:], 2, 16); n == 2 {
			return v, 5
		}
		return 0, 0
	default:
		if v, ok := letters[c]; ok {
			return v, 1
		}
		return 0, 0
	}
}

// readNumber reads up to most digits of a base, and returns their value and number. n is
// 0 if there are none, or if the value does not fit into a byte.
func readNumber(s string, most, base int) (v byte, n int) {
	x := 0
	for n < min(most, len(s)) {
		d := hexDigit(s[n])
		if d < 0 || d >= base {
			break
		}
		x = x*base + d
		n++
	}
	if x > 0xff {
		return 0, 0
	}
	return byte(x), n
}
