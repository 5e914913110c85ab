package console

import "bytes"

// Secret returns the first range of b that must not be shown, or -1, -1. To find
// the next, give it what is behind hi.
//
// Secrets are the password of an rcon request wherever it is quoted, and what
// follows the name of a variable that holds one: rcon_password, sv_password,
// sv_logsecret, HLTV's adminpassword. Where a text can be read in two ways, more
// is hidden rather than less.
func Secret(b []byte) (lo, hi int) {
	for i := 0; i < len(b); {
		if !isWord(b[i]) {
			i++
			continue
		}
		end := i
		for end < len(b) && isWord(b[end]) {
			end++
		}
		s := Span{-1, -1}
		switch word := b[i:end]; {
		case bytes.EqualFold(word, wordRcon) && end < len(b) && isBlank(b[end]):
			s = quotedRcon(b, end)
		case holdsSecret(word):
			s = value(b, end)
		}
		if s.Lo < s.Hi {
			return s.Lo, s.Hi
		}
		i = end
	}
	return -1, -1
}

var (
	wordRcon     = []byte("rcon")
	wordFrom     = []byte("from")
	wordPassword = []byte("password")
	wordSecret   = []byte("logsecret")
	quoteFrom    = []byte(`" from "`)
	blankQuote   = []byte(` "`)
)

// holdsSecret tells whether word is the name of a variable whose value is a
// secret. The plain word "password" stands in sentences: "No password set".
func holdsSecret(word []byte) bool {
	return len(word) > len(wordPassword) && hasSuffixFold(word, wordPassword) || hasSuffixFold(word, wordSecret)
}

func hasSuffixFold(b, suffix []byte) bool {
	return len(b) >= len(suffix) && bytes.EqualFold(b[len(b)-len(suffix):], suffix)
}

// quotedRcon returns the secret of the rcon request whose arguments start at
// offset at: the password, and the number in front of it that may be one.
func quotedRcon(b []byte, at int) Span {
	r := ParseRcon(b[at:])
	if !r.Password.Any() {
		return r.Password
	}
	s := r.Password
	if r.Challenge.Any() && !r.Sure {
		s.Lo = r.Challenge.Lo
	}
	s = Span{at + s.Lo, at + s.Hi}
	// Source logs: rcon from "192.0.2.1:27005": command "status"
	if bytes.EqualFold(b[s.Lo:s.Hi], wordFrom) && !r.Quoted && bytes.HasPrefix(b[s.Hi:], blankQuote) {
		return Span{-1, -1}
	}
	// The quote behind a word closes the one in front of rcon.
	if s.Hi > s.Lo && bytes.HasPrefix(b[s.Hi-1:], quoteFrom) {
		s.Hi--
	}
	return s
}

// value returns what stands behind the name of a variable that ends at offset
// at: the rest of the command or line. Output says "rcon_password" is "x",
// tables say rcon_password : x, and no list of such words would be complete.
func value(b []byte, at int) Span {
	lo := at
	for lo < len(b) && (isBlank(b[lo]) || b[lo] == '"' || b[lo] == '=' || b[lo] == ':') {
		lo++
	}
	if lo == at { // a sentence: Bad rcon_password.
		return Span{-1, -1}
	}
	hi, open := lo, b[lo-1] == '"'
	quoted := open
	for hi < len(b) && !isEnd(b[hi]) && (quoted || b[hi] != ';') {
		if b[hi] == '"' {
			quoted = !quoted
		}
		hi++
	}
	// A log line quotes the command and goes on with who sent it.
	if i := bytes.LastIndex(b[lo:hi], quoteFrom); i >= 0 {
		hi = lo + i
	} else if open && hi > lo && b[hi-1] == '"' {
		hi--
	}
	return Span{lo, hi}
}
