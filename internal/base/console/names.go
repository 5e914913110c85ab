package console

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// class is what a word means for the text after it.
type class uint8

const (
	ordinary class = iota
	variable       // names a variable that holds a secret: what follows is hidden
	plain          // names a secret, and is a word of sentences, too: "No password set"
	login          // precedes a password where a mark precedes it: #login
	request        // is the word rcon, which precedes a challenge and a password
)

// name is an entry of the list: the class of a word that is text, and that of a longer
// word that ends with it.
type name struct {
	text          string
	exact, longer class
}

// names is the one list of words that secrets follow. Variables: of GoldSource and
// Source (rcon_password, sv_logsecret, logaddress_secret, sv_setsteamaccount,
// sv_downloadurl_token, authkey of the workshop), of HLTV (adminpassword), of AMX Mod X
// (_pw, amx_login), of Unreal's servers (AdminLogin, ServerAdminPassword) and ARK (EnableCheats),
// of Minecraft, Rust and BattlEye (password after rcon, .rcon or RCon).
var names = [...]name{
	{"password", plain, variable},
	{"passwd", plain, variable},
	{"passphrase", plain, variable},
	{"pwd", plain, variable},
	{"pass", plain, ordinary}, // longer words that end so are ordinary: compass
	{"_pass", variable, variable},
	{"rconpass", variable, variable},
	{"adminpass", variable, variable},
	{"serverpass", variable, variable},
	{"_pw", variable, variable},
	{"secret", plain, ordinary},
	{"_secret", variable, variable},
	{"logsecret", variable, variable},
	{"token", plain, ordinary},
	{"_token", variable, variable},
	{"accesstoken", variable, variable},
	{"authtoken", variable, variable},
	{"steamaccount", variable, variable},
	{"authkey", variable, variable},
	{"apikey", variable, variable},
	{"api_key", variable, variable},
	{"adminlogin", variable, variable},
	{"enablecheats", variable, variable},
	{"passwort", plain, variable},
	{"passe", plain, ordinary}, // mot de passe
	{"senha", plain, ordinary},
	{"haslo", plain, ordinary},
	{"login", login, ordinary},
	{"_login", variable, variable},
	{"auth", login, ordinary},
	{"register", login, ordinary},
	{"identify", login, ordinary},
	{"rcon", request, ordinary},
}

// pairs marks two adjacent letters of each name, at an even and at an odd offset of it, so
// that one of every two bytes of a text shows whether a name can be there. The letters are
// those that are rarest in other words, and an index is both of them, five bits each. Of three
// letters of a name, the first two are marked with firstTwo and the last two with lastTwo.
var pairs = func() (t [0x2000]uint8) {
	for _, p := range [...]string{"pas", "_pw", "pwd", "ecr", "oke", "cco", "hke", "ike", "_ke", "ogi", "ech", "rco", "uth", "gis", "tif", "asl", "nha"} {
		t[pairIndex(p[0], p[1])] |= firstTwo
		t[pairIndex(p[1], p[2])] |= lastTwo
	}
	return
}()

const (
	firstTwo = 1 << iota
	lastTwo
)

func pairIndex(a, b byte) int { return int(a&31) | int(b&31)<<8 }

// findPair returns the offset of the first two bytes of b, from offset at on, that are in
// pairs together with the byte before or after them, or len(b). It looks at every second byte.
func findPair(b []byte, at int) int {
	from := at
	for ; at+8 <= len(b); at += 8 {
		if !hasPair(b[at : at+8]) {
			continue
		}
		for i := at; i < at+8; i += 2 {
			if isPair(b, from, i) {
				return i
			}
		}
	}
	if n := len(b); at < n && at > n-8 && n >= 8 && !hasPair(b[n-8:]) { // what is left, with bytes before it
		return n
	}
	for ; at+1 < len(b); at += 2 {
		if isPair(b, from, at) {
			return at
		}
	}
	return len(b)
}

// hasPair reports whether one of the four pairs of letters in eight bytes is in pairs.
func hasPair(b []byte) bool {
	x := binary.LittleEndian.Uint64(b)
	return pairs[x&0x1f1f]|pairs[x>>16&0x1f1f]|pairs[x>>32&0x1f1f]|pairs[x>>48&0x1f1f] != 0
}

// isPair reports whether the two bytes of b at offset at are in pairs, and so are those that
// begin with the second or, not before offset from, end with the first of them.
func isPair(b []byte, from, at int) bool {
	is := pairs[pairIndex(b[at], b[at+1])]
	return is != 0 && (is&firstTwo != 0 && at+2 < len(b) && pairs[pairIndex(b[at+1], b[at+2])]&lastTwo != 0 ||
		is&lastTwo != 0 && at > from && pairs[pairIndex(b[at-1], b[at])]&firstTwo != 0)
}

// findName returns the first word of b from offset at on that may end with a name, where at
// is not inside of a word; lo is len(b) if there is none.
func findName(b []byte, at int) (lo, hi int) {
	for {
		p := findPair(b, at)
		if p == len(b) {
			return p, p
		}
		for lo = p; lo > at && wordBytes[b[lo-1]]; {
			lo--
		}
		if hi = wordEnd(b, p); lo < hi && mayName(b, lo, hi) {
			return lo, hi
		}
		at = max(hi, p+1)
	}
}

// endings marks the last two letters of names.
var endings = func() (t [32 * 32]bool) {
	for _, n := range names {
		t[endingIndex(n.text[len(n.text)-2], n.text[len(n.text)-1])] = true
	}
	return
}()

func endingIndex(a, b byte) int { return int(a&31)<<5 | int(b&31) }

// mayName reports whether the word [lo,hi) of b, which is not empty, ends like a name when
// the digits at its end, or what withoutEnding takes, are removed.
func mayName(b []byte, lo, hi int) bool {
	const shortest = len("_pw")
	if isDigit(b[hi-1]) {
		hi = lo + len(withoutNumber(b[lo:hi]))
	}
	if hi > lo && (b[hi-1] == '_' || b[hi-1]|0x20 == 's') {
		if n := len(withoutEnding(b[lo:hi])); n >= shortest && endings[endingIndex(b[lo+n-2], b[lo+n-1])] {
			return true
		}
	}
	return hi-lo >= shortest && endings[endingIndex(b[hi-2], b[hi-1])]
}

// withoutNumber returns word without the digits at its end and an underscore before them.
func withoutNumber(word []byte) []byte {
	n := len(word)
	for n > 0 && isDigit(word[n-1]) {
		n--
	}
	if n > 0 && n < len(word) && word[n-1] == '_' {
		n--
	}
	return word[:n]
}

// byLast is names by their last letter.
var byLast = func() (t [32][]name) {
	for _, n := range names {
		last := n.text[len(n.text)-1] & 31
		t[last] = append(t[last], n)
	}
	return
}()

// classOf returns the class of the word [lo,hi) of b. Digits at its end do not count, as
// in sv_password_2; neither do those of a colour code before it, as in ^2rcon.
func classOf(b []byte, lo, hi int) class {
	word := b[lo:hi]
	if c := lookUp(word); c != ordinary {
		return c
	}
	if n := colourTail(b, lo, word); n > 0 && n < len(word) {
		if c := lookUp(word[n:]); c != ordinary {
			return c
		}
	}
	if c := classOfBase(word); c != ordinary {
		return c
	}
	var buf [maxFolded]byte
	if folded, ok := foldWord(&buf, b[lo:hi]); ok {
		return classOfName(folded)
	}
	return ordinary
}

// classOfName returns the class of a word without what precedes it.
func classOfName(word []byte) class {
	if c := lookUp(word); c != ordinary {
		return c
	}
	return classOfBase(word)
}

// classOfBase returns the class of a word without the digits at its end, or, of the name of a variable, without
// an s or underscores there, which make it another variable, or several.
func classOfBase(word []byte) class {
	if base := withoutNumber(word); len(base) > 0 && len(base) < len(word) {
		if c := lookUp(base); c == variable || c == plain {
			return c
		}
		word = base
	}
	if base := withoutEnding(word); len(base) > 0 && len(base) < len(word) && lookUp(base) == variable {
		return variable
	}
	return ordinary
}

// withoutEnding returns word without underscores at its end, one s, and underscores before that.
func withoutEnding(word []byte) []byte {
	word = bytes.TrimRight(word, "_")
	if n := len(word); n > 0 && word[n-1]|0x20 == 's' && !bytes.HasSuffix(word, []byte("ss")) {
		word = bytes.TrimRight(word[:n-1], "_")
	}
	return word
}

// lookUp returns the class of a word that is not empty.
func lookUp(word []byte) class {
	if word[len(word)-1] < 'A' {
		return ordinary // a digit
	}
	for _, n := range byLast[word[len(word)-1]&31] {
		switch {
		case len(word) < len(n.text) || !equalFold(word[len(word)-len(n.text):], n.text):
		case len(word) > len(n.text) && n.longer != ordinary:
			return n.longer
		case len(word) == len(n.text):
			return n.exact
		}
	}
	return ordinary
}

// equalFold reports whether b, as long as the lower-case s, is s in any case.
func equalFold(b []byte, s string) bool {
	for i := range b {
		if x := b[i]; x != s[i] && (x|0x20 != s[i] || x < 'A' || x > 'Z') {
			return false
		}
	}
	return true
}

// connectors are words between a plain name and its value: the password was changed to.
var connectors = [...]string{"is", "to", "was", "now", "ist"}

func isConnector(word []byte) bool {
	for _, s := range connectors {
		if len(word) == len(s) && equalFold(word, s) {
			return true
		}
	}
	return false
}

// proseWords are words that follow the name of a secret, or one of connectors, in the sentences that servers
// print. A password that is one of them is shown there, so that words which people choose are not in the list.
var proseWords = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range bytes.Fields([]byte(`
		a accepted access after again and any are area as at be been before but by can cannot changed check command commands connect continue correct
		could denied did disabled do does empty enable enabled enter entered expired failed field for found from get given had has have if in incorrect
		invalid is it join length long may members mismatch missing must my necessary need needed needs no not now of off on only or our
		play protected refused rejected removed required requires reset revealed set short should sign that the their then this to
		too unknown unset until use valid was were when while will with without would wrong you your`)) {
		words[string(w)] = true
	}
	return words
}()

// isProseWord reports whether word is in proseWords, in any case.
func isProseWord(word []byte) bool {
	var buf [16]byte
	if len(word) > len(buf) {
		return false
	}
	for i, c := range word {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		buf[i] = c
	}
	return proseWords[string(buf[:len(word)])]
}

// HoldsSecret reports whether the value of a variable called name is a secret: one of
// the words of name is in the list.
func HoldsSecret(name []byte) bool {
	if lo, _ := findFolded(name, 0); lo < len(name) {
		return true
	}
	for lo, hi := findName(name, 0); lo < len(name); lo, hi = findName(name, hi) {
		if c := classOf(name, lo, hi); c == variable || c == plain {
			return true
		}
	}
	return false
}

// yesOrNo lists values that mean that a password is set, or not, and do not show it.
var yesOrNo = [...]string{"0", "1", "no", "yes", "false", "true"}

// HidesPair reports whether the value of a pair is a secret. An empty value is none, nor
// is one of yesOrNo: in lists, engines and games show only whether a password is set.
func HidesPair(name, value []byte) bool {
	return len(value) > 0 && !isYesOrNo(value) && HoldsSecret(name) // the name takes longest
}

func isYesOrNo(value []byte) bool {
	return slices.ContainsFunc(yesOrNo[:], func(s string) bool { return len(value) == len(s) && equalFold(value, s) })
}

// wordEnd returns the offset after the word that has the byte at offset at.
func wordEnd(b []byte, at int) int {
	for at < len(b) && wordBytes[b[at]] {
		at++
	}
	return at
}

// common lists words that are met in the texts of all consoles: names of commands, and what
// engines write about them, players and logins. They say nothing about who wrote the text.
var common = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range bytes.Fields([]byte(`
		accepted account active add address addons admin after alive all allow already and any ask asked attack authenticated auth
		bad ban banid bans bot bots but buy by cannot cfg challenge changelevel chat client clients command commands config connect
		connected console crash cvar cvarlist damage death default denied description disconnect disconnected does done down echo empty
		end ended enter entered entry error exec exit failed fast file find flood flooding for forever found frags free frequent frequently from full game get give global
		group has have headshot help host hostname ids info invalid item join joined keep kick kicked killed last left level limit list
		listening live load loaded log logaddress logged logging login lost main many map maps max maxplayers message minutes mode
		name need net network next not off often old one only open option or other out password period ping player playerlist players please
		plugin plugins port print private protected public queries query quit rate ratelimit reason record refused reload remove request requests reset restart result
		role round rules run running sample save say score seconds secret secure send sent server servers set show shutdown slow sorry source
		spam spectator start started stats status steam stop success suicide team terrorist text the this time timeleft timelimit to token too
		total triggered type unban unknown unnamed unset until update uptime use user userid users value variable version vote wait warn
		warning was welcome with world writing wrong you your`)) {
		words[string(w)] = true
	}
	for _, n := range names {
		words[n.text] = true
	}
	return words
}()

// IsCommonWord reports whether a word, without digits and signs, is one that texts of
// consoles have wherever they are from, or is a part of the name of a secret.
func IsCommonWord(w []byte) bool {
	var buf [32]byte
	if len(w) > len(buf) {
		return false
	}
	low := buf[:len(w)]
	for i, c := range w {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		low[i] = c
	}
	if common[string(low)] {
		return true
	}
	for i := range names {
		if n := &names[i]; n.longer != ordinary && bytes.HasSuffix(low, []byte(n.text)) || n.text == string(low) {
			return true
		}
	}
	return false
}
