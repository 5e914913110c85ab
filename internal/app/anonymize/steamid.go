package anonymize

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

// A SteamID is an account of 32 bits below the universe, the kind and the instance. It is met as 8 bytes, as a number
// of 17 or 18 digits, as [U:1:ACCOUNT] with another letter for other kinds, and as STEAM_X:Y:N, where the account is 2*N+Y.
// One account becomes the same in all of them, and each stays as long.

// account returns the account that stands for one. It, and the half of it, have as many digits.
func (a *Anonymizer) account(id uint32) uint32 {
	if id == 0 {
		return 0
	}
	lo, hi := sameDigits(uint64(id))
	if halfLo, halfHi := sameDigits(uint64(id / 2)); id > 1 {
		lo, hi = max(lo, 2*halfLo), min(hi, 2*halfHi+1)
	}
	hi = min(hi, 1<<32-1)
	x := a.draw(forNumber, binary.LittleEndian.AppendUint32(nil, id)...)
	return uint32(lo + binary.LittleEndian.Uint64(x[:])%(hi-lo+1))
}

// sameDigits returns the least and the greatest number with as many digits as n; 0 counts as none.
func sameDigits(n uint64) (lo, hi uint64) {
	for lo, hi = 1, 9; hi < n; {
		lo, hi = 10*lo, 10*hi+9
	}
	return lo, hi
}

// leastSteamID is above the numbers that are in texts for other reasons: universe 1.
const leastSteamID = 1 << 56

// replaceSteamDigits replaces a SteamID in digits, and reports whether b is one.
func (a *Anonymizer) replaceSteamDigits(b []byte) bool {
	id, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil || id < leastSteamID || len(b) < 17 {
		return false
	}
	out := strconv.AppendUint(nil, id&^(1<<32-1)|uint64(a.account(uint32(id))), 10)
	if len(out) != len(b) {
		return false
	}
	copy(b, out)
	return true
}

// replaceSteamID replaces the SteamID that begins at b[i], if one does, and returns its length.
func (w *work) replaceSteamID(b []byte, done []bool, i int) int {
	if i > 0 && wordLen(b[i-1:]) > 0 && wordLen(b[i:]) > 0 {
		return 0 // within a word
	}
	n, from := 0, 0
	isHalf := false
	switch rest := b[i:]; {
	case len(rest) > 0 && isDigit(rest[0]):
		n = digitsLen(rest)
		if wordLen(rest) != n || isAnyDone(done[i:i+n]) || !w.a.replaceSteamDigits(rest[:n]) {
			return 0
		}
		return n
	case len(rest) > 5 && rest[0] == '[' && isLetter(rest[1]) && rest[2] == ':' && isDigit(rest[3]) && rest[4] == ':':
		from = 5
	case len(rest) > 10 && bytes.EqualFold(rest[:6], []byte("STEAM_")) && isDigit(rest[6]) && rest[7] == ':' && (rest[8] == '0' || rest[8] == '1') && rest[9] == ':':
		from, isHalf = 10, true
	default:
		return 0
	}
	digits := b[i+from:]
	digits = digits[:digitsLen(digits)]
	id, err := strconv.ParseUint(string(digits), 10, 32)
	if n = from + len(digits); err != nil || len(digits) == 0 || isHalf && id >= 1<<31 || isAnyDone(done[i:i+n]) {
		return 0
	}
	if !isHalf {
		id = uint64(w.a.account(uint32(id)))
	} else {
		at := &b[i+8]
		id = uint64(w.a.account(uint32(2*id + uint64(*at-'0'))))
		*at, id = '0'+byte(id&1), id/2
	}
	if text := strconv.AppendUint(nil, id, 10); len(text) == len(digits) { // else it was written with more zeros
		copy(digits, text)
		return n
	}
	w.a.replaceDigits(digits)
	return n
}

func digitsLen(b []byte) (n int) {
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	return n
}
