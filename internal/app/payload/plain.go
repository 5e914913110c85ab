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
