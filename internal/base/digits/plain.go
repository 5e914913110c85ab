package digits

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"
)

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
