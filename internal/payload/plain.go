package payload

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// parsePlain reads hexadecimal digits or base64.
func parsePlain(lines []line, marks Marks) ([]Payload, error) {
	digits := make([]line, len(lines))
	for i, l := range lines {
		s, ok := hexDigits(l.text)
		if !ok {
			return parseBase64(lines, marks)
		}
		digits[i] = line{s, l.indent, l.no}
	}
	var out []Payload
	for _, g := range groupLines(digits, marks, decodeHexStart, false) {
		all := joinText(g)
		if len(all)%2 != 0 {
			return nil, &Error{Line: g[0].no, What: fmt.Sprintf("%d hexadecimal digits: half a byte is missing", len(all)),
				Hint: "each byte has two digits"}
		}
		b, err := hex.DecodeString(all)
		if err != nil { // hexDigits passed them
			return nil, &Error{Line: g[0].no, What: "not hexadecimal"}
		}
		out = append(out, Payload{b, Hex, g[0].no})
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
					What: fmt.Sprintf("%q fits neither hexadecimal nor base64", r), Hint: hintFor(r, l.text[at:])}
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
		out = append(out, Payload{b, Base64, g[0].no})
	}
	return out, nil
}

func hintFor(r rune, rest string) string {
	if r == '.' && strings.HasPrefix(rest, "...") || r == '…' {
		return "the bytes were printed cut short: print them whole"
	}
	return ""
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
