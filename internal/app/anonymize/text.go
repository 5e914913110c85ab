package anonymize

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strconv"
	"unicode"
	"unicode/utf8"

	"qsniff/internal/base/console"
)

// replaceText replaces the words of a text, of the bytes that are not done, by others of
// the same length: letters by letters of the same case, digits by digits. Addresses become
// those that stand for them. isProse: common words and numbers stay, because what is read
// in the text depends on them.
func (w *work) replaceText(b []byte, done []bool, isProse bool) {
	for i := 0; i < len(b); {
		n := addrLen(b, i)
		if n > 0 {
			if !isAnyDone(done[i : i+n]) {
				w.replaceTextAddr(b[i : i+n])
			}
			i += n
			i += portLen(b[i:])
			continue
		}
		if n = w.replaceSteamID(b, done, i); n > 0 {
			i += n
			continue
		}
		if n = wordLen(b[i:]); n == 0 {
			i++
			continue
		}
		if !isAnyDone(done[i : i+n]) {
			w.replaceWord(b[i:i+n], isProse)
		}
		i += n
	}
}

// portLen returns the length of the port after an address, with its colon: it stays, as in lists and headers.
func portLen(b []byte) int {
	n := 1
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	if len(b) == 0 || b[0] != ':' || n == 1 || n > len(":65535") || n+wordLen(b[n:]) > n {
		return 0
	}
	return n
}

func isAnyDone(done []bool) bool {
	for _, d := range done {
		if d {
			return true
		}
	}
	return false
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// wordLen returns the length of the word at the start of b: letters, of any script, and
// digits.
func wordLen(b []byte) int {
	n := 0
	for n < len(b) {
		if c := b[n]; isLetter(c) || isDigit(c) {
			n++
			continue
		}
		r, size := utf8.DecodeRune(b[n:])
		if size < 2 || r == utf8.RuneError {
			break
		}
		n += size
	}
	return n
}

// replaceWord replaces a word. In prose, common words and numbers stay; of others that begin
// or end with digits, the number is none.
func (w *work) replaceWord(b []byte, isProse bool) {
	letters := 0
	for _, c := range b {
		if !isDigit(c) {
			letters++
		}
	}
	if isProse && (letters == 0 || letters > 0 && letters == len(b) && (len(b) < 3 || console.IsCommonWord(b))) {
		return
	}
	w.lower = appendLower(w.lower[:0], b)
	x := w.a.draw(forWord, w.lower...)
	at := 0
	next := func(n byte) byte {
		if at == len(x) {
			x, at = w.a.draw(forWord, x[:]...), 0
		}
		at++
		return x[at-1] % n
	}
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case isDigit(c):
			b[i] = '0' + (c-'0'+1+next(9))%10
			i++
		case isLetter(c):
			b[i] = c&0x20 | 'A' + (c&^0x20-'A'+1+next(25))%26
			i++
		default:
			i += replaceRune(b[i:], next)
		}
	}
}

// appendLower appends a word in lower case.
func appendLower(dst, word []byte) []byte {
	for len(word) > 0 {
		r, size := utf8.DecodeRune(word)
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
		word = word[size:]
	}
	return dst
}

// replaceRune replaces the first character of w by a letter of as many bytes, and returns
// how many these are.
func replaceRune(w []byte, next func(byte) byte) int {
	var r rune
	_, size := utf8.DecodeRune(w)
	switch size {
	case 2:
		r = 0xc0 + rune(next(64)) // Latin letters; two are signs
	case 3:
		r = 0x4e00 + rune(next(255))<<6 + rune(next(64)) // Han
	default:
		r = 0x1f600 + rune(next(64)) // faces
	}
	return utf8.EncodeRune(w[:size], r)
}

// addrLen returns the length of the address that begins at b[i]: of IPv4, or of IPv6 with at
// least three groups; 0 if there is none, or if the text before goes on.
func addrLen(b []byte, i int) int {
	isPart := func(c byte) bool { return isDigit(c) || isLetter(c) || c == '.' || c == ':' }
	if i > 0 && isPart(b[i-1]) && b[i-1] != ':' && !(b[i-1] == '.') {
		return 0
	}
	dots := 0
	n := i
	for ; n < len(b) && n-i < len("255.255.255.255") && (isDigit(b[n]) || b[n] == '.'); n++ {
		if b[n] == '.' {
			dots++
		}
	}
	for ; n > i && dots >= 3; n-- {
		if _, ok := parse4(b[i:n]); ok {
			return n - i
		}
	}
	colons := 0
	for n = i; n < len(b) && n-i < 39 && (isDigit(b[n]) || 'a' <= b[n]|0x20 && b[n]|0x20 <= 'f' || b[n] == ':'); n++ {
		if b[n] == ':' {
			colons++
		}
	}
	for ; n > i && colons >= 2; n-- {
		if !mayBe6(b[i:n]) {
			continue
		}
		if ip, err := netip.ParseAddr(string(b[i:n])); err == nil && ip.Is6() {
			return n - i
		}
	}
	return 0
}

// parse4 returns the address of IPv4 that b is, as netip.ParseAddr does, which keeps a copy
// of b.
func parse4(b []byte) (ip netip.Addr, ok bool) {
	var out [4]byte
	for i := range out {
		n, v := 0, 0
		for ; n < len(b) && n < 3 && isDigit(b[n]); n++ {
			v = 10*v + int(b[n]-'0')
		}
		if n == 0 || v > 255 || n > 1 && b[0] == '0' {
			return ip, false
		}
		out[i], b = byte(v), b[n:]
		if i == len(out)-1 {
			break
		}
		if len(b) == 0 || b[0] != '.' {
			return ip, false
		}
		b = b[1:]
	}
	return netip.AddrFrom4(out), len(b) == 0
}

// mayBe6 reports whether b, of hexadecimal digits and colons, may be an address of IPv6. Most
// are times.
func mayBe6(b []byte) bool {
	return bytes.Contains(b, doubleColon) || bytes.Count(b, doubleColon[:1]) == 7
}

var doubleColon = []byte("::")

// replaceTextAddr replaces an address in digits.
func (w *work) replaceTextAddr(b []byte) {
	ip, ok := parse4(b)
	if !ok {
		var err error
		if ip, err = netip.ParseAddr(string(b)); err != nil {
			return
		}
	}
	var text [64]byte
	if s := w.addr(ip).AppendTo(text[:0]); len(s) == len(b) {
		copy(b, s)
		return
	}
	for i := 0; i < len(b); i++ { // written with more zeros than usual
		n := wordLen(b[i:])
		w.replaceWord(b[i:i+n], false)
		i += n
	}
}

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
