// Package console reads the text that game consoles exchange: it finds where a log line
// starts, reads the arguments of rcon, and finds the parts of a command, of its output
// or of a log line that must not be shown. It builds no fields and decides nothing
// about packets. All functions walk their input once and allocate nothing.
package console

import (
	"bytes"
	_ "embed"
)

// logPattern is how a log line starts: 9 stands for one digit or two, as some games pad no number, 0 for one.
// Engines of both families write it, after whatever opcode.
const logPattern = "L 9/9/0000 - 9:9:9: "

// matchLogLine compares b with the start of a log line. It reports whether all of b that can belong to one does, and
// whether that is the whole start.
func matchLogLine(b []byte) (matches, isWhole bool) {
	i := 0
	for _, p := range []byte(logPattern) {
		switch {
		case i == len(b):
			return true, false
		case b[i] != p && (p != '0' && p != '9' || !isDigit(b[i])):
			return false, false
		case p == '9' && i+1 < len(b) && isDigit(b[i+1]):
			i++
		}
		i++
	}
	return true, true
}

// IsLogLine reports whether b starts as a log line does, as far as b goes.
func IsLogLine(b []byte) bool {
	matches, _ := matchLogLine(b)
	return matches
}

// IsWholeLogLine reports whether b has the whole start of a log line.
func IsWholeLogLine(b []byte) bool {
	_, isWhole := matchLogLine(b)
	return isWhole
}

// FindLogLine returns the offset of the first whole start of a log line in b,
// or -1.
func FindLogLine(b []byte) int {
	for at := 0; ; at++ {
		i := bytes.IndexByte(b[at:], logPattern[0])
		if i < 0 {
			return -1
		}
		if at += i; IsWholeLogLine(b[at:]) {
			return at
		}
	}
}

// Span is a range of bytes; Lo is -1 if there is none.
type Span struct{ Lo, Hi int }

// IsFound reports whether the range exists.
func (s Span) IsFound() bool { return s.Lo >= 0 }

// Rcon holds the arguments of rcon, as offsets into the text after that word.
type Rcon struct {
	// Challenge is a decimal number. IsCertain is false where the number can also be the
	// password, in a dialect that has no challenges.
	Challenge Span
	IsCertain bool
	// Password is without its quotes. IsQuoted reports whether there are any.
	Password Span
	IsQuoted bool
	// End is the offset after the password and its quote.
	End int
}

// ParseRcon reads the arguments of rcon at the start of b, which ends with them:
//
//	rcon <challenge> "<password>" <command>    GoldSource
//	rcon <password> <command>                  Xash3D, WON servers, Quake's family
//
// where a password without spaces needs no quotes. A number before a
// password that has none can be a password itself, followed by its command; so
// can a short number before anything in quotes. Where the arguments are not
// written as clients write them, all of them are the password: how a server reads them
// is unknown.
func ParseRcon(b []byte) Rcon {
	none := Span{-1, -1}
	r := Rcon{Challenge: none, Password: none}
	first, firstQuoted, end := nextToken(b, 0)
	if !first.IsFound() {
		if rest := bytes.Trim(b, " \t\r\n\x00"); len(rest) > 0 {
			r.Password, r.End = Span{0, len(b)}, len(b)
		}
		return r
	}
	second, quoted, secondEnd := nextToken(b, end)
	number := IsChallenge(b[first.Lo:first.Hi])
	if isUnusual(b) || quoted && !number || isSigned(b[first.Lo:first.Hi]) {
		hi := len(bytes.TrimRight(b, "\r\n\x00"))
		r.Password, r.End = Span{first.Lo, hi}, hi
		return r
	}
	if number && second.IsFound() {
		r.Challenge, r.IsCertain = first, quoted && !firstQuoted && first.Hi-first.Lo >= sureDigits
		r.Password, r.IsQuoted, r.End = second, quoted, secondEnd
		return r
	}
	r.Password, r.IsQuoted, r.End = first, firstQuoted, end
	return r
}

// sureDigits is the number of digits from which on a number before quotes is taken for a
// challenge. Challenges are random 31-bit numbers, of which one in 2,000 has fewer
// digits; a numeric password of so many is unlikely.
const sureDigits = 7

// isUnusual reports whether the arguments of rcon hold what no client writes: control
// characters, double quotes that do not enclose a word, single quotes. A quote without
// its end is usual: the request was cut.
func isUnusual(b []byte) bool {
	b = bytes.TrimRight(b, "\r\n\x00")
	open := false
	for i, x := range b {
		switch {
		case x < ' ' && x != '\t':
			return true
		case open && x == '"':
			if i+1 < len(b) && !isBlank(b[i+1]) && b[i+1] != ';' || b[i-1] == '\\' || b[i-1] == '"' && i+1 < len(b) {
				return true
			}
			open = false
		case x == '"' || x == '\'':
			if i > 0 && !isBlank(b[i-1]) && b[i-1] != ';' || x == '\'' {
				return true
			}
			open = true
		}
	}
	return false
}

// isSigned reports whether a word is a number with a sign, which no challenge has.
func isSigned(b []byte) bool {
	return len(b) > 1 && (b[0] == '-' || b[0] == '+') && IsChallenge(b[1:])
}

// IsChallenge reports whether b is a number that an rcon challenge can be: an
// unsigned one of 32 bits, in decimal.
func IsChallenge(b []byte) bool {
	if len(b) == 0 || len(b) > len("4294967295") {
		return false
	}
	v := uint64(0)
	for _, x := range b {
		if !isDigit(x) {
			return false
		}
		v = v*10 + uint64(x-'0')
	}
	return v>>32 == 0
}

// nextToken returns the word or quoted text at or after offset at, without its
// quotes, and the offset after it. Either ends with the line at the latest.
func nextToken(b []byte, at int) (t Span, quoted bool, end int) {
	for at < len(b) && isBlank(b[at]) {
		at++
	}
	if at == len(b) || isEnd(b[at]) {
		return Span{-1, -1}, false, at
	}
	if b[at] == '"' {
		for end = at + 1; end < len(b) && !isEnd(b[end]); end++ {
			if b[end] == '"' {
				return Span{at + 1, end}, true, end + 1
			}
		}
		return Span{at + 1, end}, true, end
	}
	for end = at; end < len(b) && !isEnd(b[end]) && !isBlank(b[end]); {
		end++
	}
	return Span{at, end}, false, end
}

func isDigit(x byte) bool { return x >= '0' && x <= '9' }
func isBlank(x byte) bool { return x == ' ' || x == '\t' }
func isEnd(x byte) bool   { return x == 0 || x == '\n' || x == '\r' }

// wordBytes marks what the names of commands and variables consist of.
var wordBytes = func() (t [256]bool) {
	for i := range t {
		x := byte(i)
		t[i] = isDigit(x) || x == '_' || x|0x20 >= 'a' && x|0x20 <= 'z'
	}
	return
}()

// Lua is what finds secrets in Wireshark: the names of this package, and rules that hide
// more than its own, because a line too much hidden costs less there than 1,000 lines of Lua.
//
//go:embed console.lua
var Lua string

// Colour codes of games and terminals stand anywhere in a text, before the name of a
// variable, after it and around its value:
//
//	^7         Quake's family
//	§r  &r     Minecraft and its plugins, as UTF-8 or Latin-1
//	1b [ 0;1 m terminals
//	07 RRGGBB  08 RRGGBBAA  and single control characters: Source
const (
	section = 0xA7 // § in Latin-1, and the second byte of it in UTF-8
	escape  = 0x1B
	rgb     = 0x07
	rgba    = 0x08
)

// The number of hexadecimal digits after rgb and rgba.
const (
	rgbDigits  = 6
	rgbaDigits = 8
)

// colourLen returns the length of the colour code at the start of b, 0 if there is
// none.
func colourLen(b []byte) int {
	switch x := b[0]; {
	case x == '^' || x == '&' || x == section:
		return min(2, len(b))
	case x == 0xC2 && len(b) > 1 && b[1] == section:
		return min(3, len(b))
	case x == escape:
		return escapeLen(b)
	case x == rgb:
		return 1 + hexLen(b[1:], rgbDigits)
	case x == rgba:
		return 1 + hexLen(b[1:], rgbaDigits)
	case x < ' ' && !isEnd(x):
		return 1
	}
	return 0
}

// escapeLen returns the length of the sequence for terminals that b starts with.
func escapeLen(b []byte) int {
	if len(b) < 2 || b[1] != '[' {
		return 1
	}
	for i := 2; i < len(b); i++ {
		if x := b[i]; !isDigit(x) && x != ';' {
			return i + 1
		}
	}
	return len(b)
}

// hexLen returns n if b starts with n hexadecimal digits, else 0.
func hexLen(b []byte, n int) int {
	if len(b) < n {
		return 0
	}
	for _, x := range b[:n] {
		if low := x | 0x20; !isDigit(x) && (low < 'a' || low > 'f') {
			return 0
		}
	}
	return n
}

// colourTail returns how many bytes at the start of the word at offset lo belong to a
// colour code that begins before it: 1 in ^2rcon.
func colourTail(b []byte, lo int, word []byte) int {
	if lo == 0 {
		return 0
	}
	switch b[lo-1] {
	case '^', '&', section:
		return 1
	case rgb:
		return hexLen(word, rgbDigits)
	case rgba:
		return hexLen(word, rgbaDigits)
	case '[', ';':
		n := 0
		for n < len(word) && isDigit(word[n]) {
			n++
		}
		if n < len(word) && word[n] == 'm' {
			return n + 1
		}
	}
	return 0
}

// hasOnlyMarks reports whether b has neither letters nor digits outside colour codes.
func hasOnlyMarks(b []byte) bool {
	for i := 0; i < len(b); {
		if n := colourLen(b[i:]); n > 0 {
			i += n
			continue
		}
		if wordBytes[b[i]] && b[i] != '_' || b[i] >= 0x80 {
			return false
		}
		i++
	}
	return true
}

// trimMarks returns b without blanks, emphasis and colour codes at its end.
func trimMarks(b []byte) []byte {
	for n := len(b); n > 0; n = len(b) {
		switch x := b[n-1]; {
		case x <= ' ', x == '*', x == '_', x == '~', x == '`':
			b = b[:n-1]
		case n > 1 && (b[n-2] == '^' || b[n-2] == '&' || b[n-2] == section):
			b = b[:n-2]
		case n > 1 && x == section && b[n-2] == 0xC2:
			b = b[:n-2]
		case x == 0xC2:
			b = b[:n-1]
		case x == 'm':
			i := n - 2
			for i >= 0 && (isDigit(b[i]) || b[i] == ';') {
				i--
			}
			if i < 1 || b[i] != '[' || b[i-1] != escape {
				return b
			}
			b = b[:i-1]
		default:
			return b
		}
	}
	return b
}
