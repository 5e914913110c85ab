package filter

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

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
