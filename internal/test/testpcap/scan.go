package testpcap

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
)

var errLiteral = errors.New(`"text" has no end`)

// appendHex appends the bytes that a line of hex, "text" and repeats stands for, up
// to its comment.
func appendHex(dst []byte, line string) ([]byte, error) {
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == ';':
			return dst, nil
		case c == ' ' || c == '\t':
			i++
		default:
			item, n, err := scanItem(line[i:])
			if err != nil {
				return dst, err
			}
			i += n
			count, n, err := scanRepeat(line[i:])
			if err != nil {
				return dst, err
			}
			i += n
			if count > maxMessage/len(item) || len(dst)+count*len(item) > maxMessage {
				return dst, fmt.Errorf("payload above the limit of %d bytes", maxMessage)
			}
			for range count {
				dst = append(dst, item...)
			}
		}
	}
	return dst, nil
}

// scanItem reads one byte of two hex digits or one "text" and returns its
// bytes, at least one, and its length in s.
func scanItem(s string) (item []byte, n int, err error) {
	if s[0] == '"' {
		return scanText(s)
	}
	if len(s) < 2 {
		return nil, 0, fmt.Errorf("%q is half a byte", s)
	}
	item, err = hex.DecodeString(s[:2])
	if err != nil {
		return nil, 0, fmt.Errorf("%q is not a byte in hex", s[:2])
	}
	return item, 2, nil
}

// scanRepeat reads an optional *N.
func scanRepeat(s string) (count, n int, err error) {
	if s == "" || s[0] != '*' {
		return 1, 0, nil
	}
	n = 1
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	count, err = strconv.Atoi(s[1:n])
	if err != nil || count < 1 {
		return 0, 0, fmt.Errorf("%q is not a repeat count", s[:n])
	}
	return count, n, nil
}

var simpleEscapes = map[byte]byte{'0': 0, 'n': '\n', 'r': '\r', 't': '\t', '\\': '\\', '"': '"'}

// scanText reads "text" with its escapes.
func scanText(s string) (text []byte, n int, err error) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			if len(text) == 0 {
				return nil, 0, errors.New(`"" says no byte`)
			}
			return text, i + 1, nil
		case '\\':
			b, n, err := scanEscape(s[i:])
			if err != nil {
				return nil, 0, err
			}
			text = append(text, b)
			i += n - 1
		default:
			text = append(text, s[i])
		}
	}
	return nil, 0, errLiteral
}

// scanEscape reads one escape; s starts with its backslash.
func scanEscape(s string) (b byte, n int, err error) {
	if len(s) < 2 {
		return 0, 0, errLiteral
	}
	if b, ok := simpleEscapes[s[1]]; ok {
		return b, 2, nil
	}
	if s[1] != 'x' || len(s) < 4 {
		return 0, 0, fmt.Errorf("%q is not an escape", s[:2])
	}
	v, err := strconv.ParseUint(s[2:4], 16, 8)
	if err != nil {
		return 0, 0, fmt.Errorf("%q is not an escape", s[:4])
	}
	return byte(v), 4, nil
}

// limit: maxMessage is the longest payload of a source, in bytes, before it is
// split: the largest bomb in the golden captures is 10 MB, and a mistyped
// repeat count must not fill the memory.
const maxMessage = 16 << 20
