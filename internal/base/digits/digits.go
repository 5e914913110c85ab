// Package digits writes numbers for people. It does not parse them, and has
// no language but English.
package digits

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// AppendSeconds appends nanoseconds as seconds, with six decimals, or with nine where
// six would lose digits, right-aligned in width places.
func AppendSeconds(dst []byte, nanos int64, width int) []byte {
	var buf [32]byte
	b := buf[:0]
	u := uint64(nanos)
	if nanos < 0 {
		b, u = append(b, '-'), -u
	}
	b = append(strconv.AppendUint(b, u/1e9, 10), '.')
	rest, places := u%1e9, uint64(1e8)
	last := uint64(1e3)
	if rest%1e3 != 0 {
		last = 1
	}
	for ; places >= last; places /= 10 {
		b = append(b, '0'+byte(rest/places%10))
	}
	for range width - len(b) {
		dst = append(dst, ' ')
	}
	return append(dst, b...)
}

// Grouped writes n with a comma between groups of three digits: 4,812.
func Grouped(n int64) string {
	if n >= 0 && n < 1000 {
		return strconv.FormatInt(n, 10) // allocates nothing below 100
	}
	var buf [26]byte // of the longest number
	return string(AppendGrouped(buf[:0], n))
}

// AppendGrouped appends n as Grouped writes it.
func AppendGrouped(dst []byte, n int64) []byte {
	var buf [20]byte // of the longest number
	plain := strconv.AppendInt(buf[:0], n, 10)
	if plain[0] == '-' {
		dst, plain = append(dst, '-'), plain[1:]
	}
	first := len(plain) % 3
	dst = append(dst, plain[:first]...)
	for i := first; i < len(plain); i += 3 {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, plain[i:i+3]...)
	}
	return dst
}

// AppendElapsed appends a duration in nanoseconds, which is not negative, in the unit
// that leaves one to three digits before the point, with three digits in all and no
// zeros after them: 850 ns, 1.24 ms, 20 ms. sep precedes the unit. From 1000 s on the
// form is that of Span.
func AppendElapsed(dst []byte, nanos int64, sep string) []byte {
	const digits = 3
	if nanos >= 1000*int64(time.Second) {
		return append(dst, Span(time.Duration(nanos))...)
	}
	units := [...]string{"ns", "µs", "ms", "s"}
	whole, rest, unit := nanos, int64(0), 0
	for ; whole >= 1000 && unit < len(units)-1; unit++ {
		whole, rest = whole/1000, whole%1000
	}
	dst = strconv.AppendInt(dst, whole, 10)
	dst = appendDecimals(dst, rest, digits-countDigits(uint64(whole)))
	return append(append(dst, sep...), units[unit]...)
}

// appendDecimals appends the first n of the three decimals that rest is, without
// zeros at the end.
func appendDecimals(dst []byte, rest int64, n int) []byte {
	lo := len(dst)
	last := lo
	for unit := int64(100); n > 0 && unit > 0; unit, n = unit/10, n-1 {
		if len(dst) == lo {
			dst = append(dst, '.')
		}
		d := byte('0' + rest/unit%10)
		if dst = append(dst, d); d != '0' {
			last = len(dst)
		}
	}
	return dst[:last]
}

// AppendMillis appends a duration in nanoseconds, which is not negative, in
// milliseconds, exactly: with as many decimals as that takes.
func AppendMillis(dst []byte, nanos int64) []byte {
	dst = AppendUint(dst, uint64(nanos/1e6))
	rest := nanos % 1e6
	if rest == 0 {
		return dst
	}
	dst = AppendMillionths(append(dst, '.'), uint64(rest))
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

const (
	day  = 24 * time.Hour
	year = 365 * day

	// Span writes days from minDays on, and years from minYears on: nobody divides
	// 130609h42m by 24 at night.
	minDays  = 2 * day
	minYears = 2 * year

	nearSecond = 999500 * time.Microsecond // from here on three digits round to 1000 ms
	nearMinute = 59950 * time.Millisecond  // from here on they round to 60.0 s
)

// Span writes a length of time in the units that suit it: 20 ms, 3.1 s, 5m12s,
// 26h0m3s, 5d7h, 14.9 years.
func Span(d time.Duration) string {
	short := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	switch {
	case d < 0:
		return "-" + Span(-max(d, -1<<62))
	case d < nearSecond:
		return short(float64(d)/1e6) + " ms"
	case d < nearMinute:
		return short(d.Seconds()) + " s"
	case d < minDays:
		return d.Round(time.Second).String()
	case d < minYears:
		hours := int64(d.Round(time.Hour) / time.Hour)
		return strconv.FormatInt(hours/24, 10) + "d" + strconv.FormatInt(hours%24, 10) + "h"
	}
	return Short(float64(d)/float64(year)) + " years"
}

// Extent writes how far a run came: packets, bytes read, and the size of the input if
// that is known, which is above 0.
func Extent(packets uint64, read, size int64) string {
	s := Counted(packets, "packet") + ", " + Bytes(float64(read))
	if size > 0 {
		s += " of " + Bytes(float64(size))
	}
	return s
}

// Bytes writes a number of bytes with the unit that makes it short: 1.5 KiB.
func Bytes(n float64) string {
	units := [...]string{" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"}
	i := 0
	for ; n >= 999.5 && i < len(units)-1; i++ {
		n /= 1024
	}
	if i == 0 {
		return strconv.FormatFloat(n, 'f', 0, 64) + units[i]
	}
	return Short(n) + units[i]
}

// Short writes a number that is not negative with three digits, or all before
// the point, in groups: 0.012, 4.92, 31.4, 1,234.
func Short(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 99.95:
		return Grouped(int64(v + 0.5))
	case v >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// Noun returns the word for n things; words are the singular and, where an s does
// not make it, the plural.
func Noun(n uint64, words ...string) string {
	switch {
	case n == 1:
		return words[0]
	case len(words) > 1:
		return words[1]
	}
	return words[0] + "s"
}

// Count writes n with its noun.
func Count(n uint64, words ...string) string {
	return strconv.FormatUint(n, 10) + " " + Noun(n, words...)
}

// Counted writes n, grouped, with its noun.
func Counted(n uint64, words ...string) string {
	return Grouped(int64(min(n, 1<<63-1))) + " " + Noun(n, words...)
}

// longest is how many digits the largest number has.
const longest = len("18446744073709551615")

// twoDigits holds the numbers below 100, the first digit in the lower byte.
var twoDigits = func() (t [100]uint16) {
	for i := range t {
		t[i] = uint16('0'+i/10) | uint16('0'+i%10)<<8
	}
	return
}()

// AppendUint appends v in decimal. strconv makes the digits in memory of its own and copies
// them, which takes twice as many instructions: a message has a dozen numbers.
func AppendUint(dst []byte, v uint64) []byte {
	if v < 10 {
		return append(dst, '0'+byte(v))
	}
	n := countDigits(v)
	dst = slices.Grow(dst, n)
	end := len(dst) + n
	dst = dst[:end]
	for ; v >= 100; v /= 100 {
		end -= 2
		binary.LittleEndian.PutUint16(dst[end:end+2:end+2], twoDigits[v%100])
	}
	if v < 10 {
		dst[end-1] = '0' + byte(v)
		return dst
	}
	binary.LittleEndian.PutUint16(dst[end-2:end:end], twoDigits[v])
	return dst
}

// AppendInt appends v in decimal.
func AppendInt(dst []byte, v int64) []byte {
	if v < 0 {
		return AppendUint(append(dst, '-'), -uint64(v))
	}
	return AppendUint(dst, uint64(v))
}

// AppendMillionths appends v, which is below a million, in six digits.
func AppendMillionths(dst []byte, v uint64) []byte {
	first, second, third := twoDigits[v/1e4%100], twoDigits[v/100%100], twoDigits[v%100]
	end := len(dst) + 6
	return binary.LittleEndian.AppendUint64(dst, uint64(first)|uint64(second)<<16|uint64(third)<<32)[:end]
}

// tens holds the powers of ten.
var tens = func() (t [longest]uint64) {
	for i, x := 0, uint64(1); i < len(t); i, x = i+1, x*10 {
		t[i] = x
	}
	return
}()

// countDigits returns how many decimal digits v has.
func countDigits(v uint64) int {
	v |= 1                          // has as many, and 0 has one
	n := bits.Len64(v) * 1233 >> 12 // log10(2) is 0.30103, 1233/4096 is 0.30102
	if v >= tens[n] {
		n++
	}
	return n
}

// octets holds the decimal form of each byte and a point, with its first character in the lowest
// byte, and the length of that in the highest one.
var octets = func() (t [256]uint64) {
	for i := range t {
		var x [8]byte
		x[7] = byte(len(append(AppendUint(x[:0], uint64(i)), '.')))
		t[i] = binary.LittleEndian.Uint64(x[:])
	}
	return
}()

// AppendEnd appends an address and its port as netip.AddrPort.AppendTo does. IPv4, which most are,
// takes a third of its instructions.
func AppendEnd(dst []byte, a netip.AddrPort) []byte {
	if !a.Addr().Is4() {
		return a.AppendTo(dst)
	}
	const room = len("255.255.255.255:") + 8 // each octet is written as eight bytes
	dst = slices.Grow(dst, room)
	to, at := dst[:cap(dst)], len(dst)
	for _, x := range a.Addr().As4() {
		y := octets[x]
		binary.LittleEndian.PutUint64(to[at:at+8:at+8], y)
		at += int(y >> 56)
	}
	to[at-1] = ':'
	return AppendUint(to[:at], uint64(a.Port()))
}
