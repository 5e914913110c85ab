package console

import (
	"bytes"
	"unicode/utf8"
)

// lookAlikes are letters of other alphabets, and letters with accents, that are read as a letter of ASCII:
// a server can have a variable rcon_p(a)ssword whose second letter is Cyrillic, and people write words with
// letters of their language.
var lookAlikes = func() map[rune]byte {
	letters := map[rune]byte{0x200b: 0, 0x200c: 0, 0x200d: 0, 0xfeff: 0} // no width: nothing is seen of them
	for _, p := range alphabets {
		i := 0
		for _, r := range p[0] {
			letters[r] = p[1][i]
			i++
		}
	}
	for i := range rune(26) {
		letters[0xff21+i], letters[0xff41+i] = 'a'+byte(i), 'a'+byte(i) // as wide as those of Chinese
	}
	return letters
}()

// alphabets are letters, and as which letter each is read.
var alphabets = [...][2]string{
	{"аеорсухіѕјкт", "aeopcyxisjkt"}, {"АВЕКМНОРСТХІЅЈ", "abekmhopctxisj"}, // Cyrillic
	{"αβεικνορτυω", "abeiknoptuw"}, {"ΑΒΕΗΙΚΜΝΟΡΤΧ", "abehikmnoptx"}, // Greek
	{"àáâãäåāăąçćčèéêëēęěìíîïıīłñňòóôõöøōřśşšťùúûüūůýźżž", "aaaaaaaaaccceeeeeeeiiiiiilnnooooooorssstuuuuuuyzzz"},
	{"ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝŁŚŠŻŽ", "aaaaaaceeeeiiiinoooooouuuuylsszz"},
}

// limit: maxFolded is how many bytes of a word are compared with names: the longest has 20 letters, and words
// before a name may precede it.
const maxFolded = 64

// foldWord returns the start of word in ASCII, in buf, without letters of no width. It reports false if word
// has letters that are no look-alikes, or none.
func foldWord(buf *[maxFolded]byte, word []byte) (folded []byte, ok bool) {
	folded = buf[:0]
	for len(word) > 0 && len(folded) < len(buf) {
		if x := word[0]; x < utf8.RuneSelf {
			folded, word = append(folded, x), word[1:]
			continue
		}
		r, n := utf8.DecodeRune(word)
		x, is := lookAlikes[r]
		if !is {
			return nil, false
		}
		if word, ok = word[n:], true; x != 0 {
			folded = append(folded, x)
		}
	}
	return folded, ok && len(folded) > 0
}

// findFolded returns the first word of b from offset at on that names a secret once its look-alikes are
// letters of ASCII; lo is len(b) if there is none.
func findFolded(b []byte, at int) (lo, hi int) {
	var buf [maxFolded]byte
	for at < len(b) {
		for at < len(b) && !isWordByte(b[at]) {
			at++
		}
		for lo = at; at < len(b) && isWordByte(b[at]); {
			at++
		}
		if folded, ok := foldWord(&buf, b[lo:at]); ok && classOfName(folded) != ordinary {
			return lo, at
		}
	}
	return len(b), len(b)
}

// isWordByte reports whether x is in a word, or in a letter that is none of ASCII.
func isWordByte(x byte) bool { return wordBytes[x] || x >= utf8.RuneSelf }

// hasLookAlikes reports whether b may have one.
func hasLookAlikes(b []byte) bool {
	for i := range leadBytes {
		if bytes.IndexByte(b, leadBytes[i]) >= 0 {
			return true
		}
	}
	return false
}

// leadBytes are the bytes that lookAlikes begin with.
var leadBytes = func() (all []byte) {
	for r := range lookAlikes {
		if lead := utf8.AppendRune(nil, r)[0]; bytes.IndexByte(all, lead) < 0 {
			all = append(all, lead)
		}
	}
	return
}()
