package anonymize

import (
	"bytes"
	"net/netip"
	"unicode/utf8"

	"qsniff/internal/console"
)

// replaceText replaces the words of a text, of the bytes that are not done, by others of
// the same length: letters by letters of the same case, digits by digits. Addresses become
// those that stand for them. isProse: common words and numbers stay, because what is read
// in the text depends on them.
func (a *Anonymizer) replaceText(b []byte, done []bool, isProse bool) {
	for i := 0; i < len(b); {
		n := addrLen(b, i)
		if n > 0 {
			if !isAnyDone(done[i : i+n]) {
				a.replaceTextAddr(b[i : i+n])
			}
			i += n
			continue
		}
		if n = wordLen(b[i:]); n == 0 {
			i++
			continue
		}
		if !isAnyDone(done[i : i+n]) {
			a.replaceWord(b[i:i+n], isProse)
		}
		i += n
	}
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
func (a *Anonymizer) replaceWord(w []byte, isProse bool) {
	letters := 0
	for _, c := range w {
		if !isDigit(c) {
			letters++
		}
	}
	if isProse && (letters == 0 && !isSteamID(w) || letters > 0 && letters == len(w) && (len(w) < 3 || console.IsCommonWord(w))) {
		return
	}
	x := a.draw(forWord, bytes.ToLower(w)...)
	at := 0
	next := func(n byte) byte {
		if at == len(x) {
			x, at = a.draw(forWord, x[:]...), 0
		}
		at++
		return x[at-1] % n
	}
	for i := 0; i < len(w); {
		switch c := w[i]; {
		case isDigit(c):
			w[i] = '0' + (c-'0'+1+next(9))%10
			i++
		case isLetter(c):
			w[i] = c&0x20 | 'A' + (c&^0x20-'A'+1+next(25))%26
			i++
		default:
			i += replaceRune(w[i:], next)
		}
	}
}

// isSteamID reports whether a number is that of an account: 76561197960265728 and more.
func isSteamID(w []byte) bool { return len(w) == 17 && bytes.HasPrefix(w, []byte("76561")) }

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
		if _, err := netip.ParseAddr(string(b[i:n])); err == nil {
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
		if ip, err := netip.ParseAddr(string(b[i:n])); err == nil && ip.Is6() {
			return n - i
		}
	}
	return 0
}

// replaceTextAddr replaces an address in digits.
func (a *Anonymizer) replaceTextAddr(b []byte) {
	ip, err := netip.ParseAddr(string(b))
	if err != nil {
		return
	}
	to := a.Addr(ip)
	if s := to.String(); len(s) == len(b) {
		copy(b, s)
		return
	}
	for i := 0; i < len(b); i++ { // written with more zeros than usual
		n := wordLen(b[i:])
		a.replaceWord(b[i:i+n], false)
		i += n
	}
}
