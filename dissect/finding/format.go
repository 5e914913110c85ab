package finding

import (
	"strconv"
	"strings"

	"qsniff/internal/base/digits"
)

// appendFormat appends a Format with the numbers of e. What stands between braces is a verb:
//
//	{a} {b}        the number; with a part of it, as in {a.high}, that part
//	.high .low     the upper and the lower 32 bits
//	.byte .above   the lowest byte, and what is above it
//	.int           the lower 32 bits with a sign
//	.ms            nanoseconds as milliseconds, without a unit
//	.elapsed       nanoseconds with a unit
//	.hundredths    hundredths with two decimals
//	.hex           hexadecimal
//	{a:one|many}   the word for that number of things
//	{a?x|y|z}      the word at that index, the last one above it
//	{addr} {host}  Addr, with its port and without
//	{field}        the field of the finding and its first byte: "a2s.info.edf at byte 83"
//	{byte}         that byte
//	{unsure}       why the finding is less severe than its code, if it is
//
// Text in braces that is no verb stays as it is.
func appendFormat(dst []byte, format string, e *Expert) []byte {
	for {
		text, rest, ok := strings.Cut(format, "{")
		dst = append(dst, text...)
		if !ok {
			return dst
		}
		verb, rest, _ := strings.Cut(rest, "}")
		dst = appendVerb(dst, verb, e)
		format = rest
	}
}

// appendVerb appends the value of one verb.
func appendVerb(dst []byte, verb string, e *Expert) []byte {
	switch verb {
	case "addr":
		return e.Addr.AppendTo(dst)
	case "host":
		return e.Addr.Addr().AppendTo(dst)
	case "field":
		return e.Place.Append(dst)
	case "byte":
		return strconv.AppendUint(dst, uint64(e.Place.At), 10)
	case "unsure":
		return AppendUnsure(dst, e)
	}
	name, words := verb, ""
	if i := strings.IndexAny(verb, ":?"); i >= 0 {
		name, words = verb[:i], verb[i:]
	}
	number, part, _ := strings.Cut(name, ".")
	v := e.B
	switch number {
	case "a":
		v = e.A
	case "b":
	default:
		return append(append(append(dst, '{'), verb...), '}')
	}
	switch part {
	case "high":
		v >>= 32
	case "low":
		v &= 0xffff_ffff
	case "byte":
		v &= 0xff
	case "above":
		v >>= 8
	case "ms":
		v /= 1e6
	case "elapsed":
		return digits.AppendElapsed(dst, int64(v), " ")
	case "hundredths":
		return strconv.AppendFloat(dst, float64(v)/100, 'f', 2, 64)
	case "int":
		return strconv.AppendInt(dst, int64(int32(v)), 10)
	case "hex":
		return strconv.AppendUint(dst, v, 16)
	}
	if words == "" {
		return strconv.AppendUint(dst, v, 10)
	}
	return append(dst, chooseWord(words[1:], v, words[0] == ':')...)
}

// chooseWord returns the word for a number: its plural is the second one, otherwise the number is an index.
func chooseWord(words string, v uint64, isPlural bool) string {
	if isPlural && v == 1 {
		v = 0
	} else if isPlural {
		v = 1
	}
	for ; v > 0; v-- {
		_, rest, ok := strings.Cut(words, "|")
		if !ok {
			return words
		}
		words = rest
	}
	word, _, _ := strings.Cut(words, "|")
	return word
}
