package payload

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// parseHex reads lines of hexadecimal digits.
func parseHex(lines []line, marks Marks) ([]Payload, error) {
	digits := make([]line, len(lines))
	for i, l := range lines {
		l.text, _ = hexDigits(l.text)
		digits[i] = l
	}
	var out []Payload
	for _, g := range groupLines(digits, marks, decodeHexStart, false) {
		all := joinText(g)
		b, err := hex.DecodeString(all)
		if err != nil {
			return nil, &Error{Line: g[0].no, What: fmt.Sprintf("%d hexadecimal digits: half a byte is missing", len(all)),
				Hint: "each byte has two digits"}
		}
		out = append(out, Payload{Data: b, Form: Hex, Line: g[0].no})
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

func decodeHexStart(s string, n int) []byte {
	b, err := hex.DecodeString(s[:min(len(s), 2*n)])
	if err != nil {
		return nil
	}
	return b
}

// urlToStd turns the URL alphabet of base64 into the standard one, and removes blanks.
var urlToStd = strings.NewReplacer("-", "+", "_", "/", " ", "", "\t", "")

func parseBase64(lines []line, marks Marks) ([]Payload, error) {
	text := make([]line, len(lines))
	for i, l := range lines {
		for at, r := range l.text {
			if !isBase64(r) {
				return nil, &Error{Line: l.no, Col: utf8.RuneCountInString(l.text[:at]) + 1,
					What: fmt.Sprintf("%q fits neither hexadecimal nor base64", r)}
			}
		}
		text[i] = line{urlToStd.Replace(l.text), l.indent, l.no}
	}
	var out []Payload
	for _, g := range groupLines(text, marks, decodeBase64Start, false) {
		all := joinText(g)
		body := strings.TrimRight(all, "=")
		if at := strings.IndexByte(body, '='); at >= 0 || len(all)-len(body) > 2 {
			return nil, &Error{Line: g[0].no, What: "base64 that goes on after its padding", Hint: "put a blank line between two payloads"}
		}
		b, err := base64.RawStdEncoding.Strict().DecodeString(body)
		if err != nil {
			return nil, &Error{Line: g[0].no, What: "neither hexadecimal nor whole base64: characters are missing at its end"}
		}
		out = append(out, Payload{Data: b, Form: Base64, Line: g[0].no})
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

func decodeBase64Start(s string, n int) []byte {
	b, err := base64.RawStdEncoding.DecodeString(s[:min(len(s), (n+2)/3*4)&^3])
	if err != nil {
		return nil
	}
	return b
}

func joinText(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
	}
	return b.String()
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

// longest returns the length of the longest mark.
func (m Marks) longest() (n int) {
	for _, mark := range m {
		n = max(n, len(mark))
	}
	return n
}

// groupLines groups the lines that are one payload each, see the package comment. begin
// returns at least the first n bytes of a line, decoded. With wraps, lines of different
// lengths can be one payload.
func groupLines(lines []line, marks Marks, begin func(s string, n int) []byte, wraps bool) [][]line {
	first := make([]bool, len(lines))
	marked, n := false, marks.longest()
	for i := 1; i < len(lines); i++ {
		first[i] = marks.matches(begin(lines[i].text, n))
		marked = marked || first[i]
	}
	if !marked && !wraps && !isWrapped(lines) {
		for i := range first {
			first[i] = true
		}
	}
	var out [][]line
	for i := range lines {
		if i == 0 || first[i] {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], lines[i])
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
