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
		if !wordBytes[b[i]] {
			i++
			continue
		}
		end := i
		for end < len(b) && wordBytes[b[end]] {
			end++
		}
		if !suspect(b[i:end]) {
			i = end
			continue
		}
		s := Span{-1, -1}
		switch word := b[i:end]; {
		case bytes.EqualFold(word, wordRcon) && hasArguments(b, i, end):
			s = quotedRcon(b, end)
		case holdsSecret(word), bytes.EqualFold(word, wordPassword) && (isMember(b, i) || bytes.HasPrefix(b[end:], blankQuote)):
			s = value(b, end)
		}
		if s.Lo < s.Hi {
			return s.Lo, s.Hi
		}
		i = end
	}
	return -1, -1
}

// suspect tells whether a word can be one of those below: few words of a text have
// their last letters, and looking at that first saves a comparison with each.
func suspect(word []byte) bool {
	last := word[len(word)-1] | 0x20
	return last == 'n' && len(word) == len(wordRcon) || last == 'd' || last == 't'
}

var (
	wordRcon     = []byte("rcon")
	wordPassword = []byte("password")
	wordSecret   = []byte("logsecret")
	endSecret    = []byte("_secret")
	quote        = []byte(`"`)
	quoteFrom    = []byte(`" from "`)
	blankQuote   = []byte(` "`)
	fromQuote    = []byte(` from "`)
	quoteCommand = []byte(`": command "`)
)

// HoldsSecret tells whether name is that of a variable whose value is a secret.
func HoldsSecret(name []byte) bool {
	word := bytes.TrimSpace(name)
	return len(word) > 0 && suspect(word) && holdsSecret(word)
}

// holdsSecret tells whether word is the name of a variable whose value is a
// secret. The plain word "password" stands in sentences: "No password set".
func holdsSecret(word []byte) bool {
	return len(word) > len(wordPassword) && hasSuffixFold(word, wordPassword) || hasSuffixFold(word, wordSecret) || hasSuffixFold(word, endSecret)
}

// isMember tells whether the word at offset at is the last part of a name: Rust
// and Minecraft have rcon.password.
func isMember(b []byte, at int) bool {
	return at > 1 && (b[at-1] == '.' || b[at-1] == '-') && wordBytes[b[at-2]]
}

func hasSuffixFold(b, suffix []byte) bool {
	return len(b) >= len(suffix) && bytes.EqualFold(b[len(b)-len(suffix):], suffix)
}

// hasArguments tells whether the word rcon at [lo,end) stands in front of its
// arguments: in the quotes of a log line even where a line feed follows it.
func hasArguments(b []byte, lo, end int) bool {
	return end < len(b) && (isBlank(b[end]) || isEnd(b[end]) && lo > 0 && b[lo-1] == '"')
}

// quotedRcon returns the secret of the rcon request whose arguments start at
// offset at: the password, and the number in front of it that may be one.
func quotedRcon(b []byte, at int) Span {
	args := b[at:]
	if isLogged(args) {
		return Span{-1, -1}
	}
	if i := bytes.IndexAny(args, "\n\x00"); i > 0 && !odd(args[:i]) && bytes.Count(args[:i], quote)%2 == 0 {
		args = args[:i] // the line ends, and with it the request
	}
	// A log line puts the request in quotes and goes on with who sent it.
	inner := args
	if i := bytes.LastIndex(args, quoteFrom); i >= 0 {
		inner = args[:i]
	} else if i := bytes.LastIndexByte(args, '"'); i >= 0 && bytes.HasPrefix(args[i:], []byte(`" from`)) {
		inner = args[:i]
	}
	r := ParseRcon(inner)
	if !r.Password.Any() {
		return r.Password
	}
	s := r.Password
	if r.Challenge.Any() && !r.Sure {
		s.Lo = r.Challenge.Lo
	}
	s = Span{at + s.Lo, at + s.Hi}
	// The quote behind a word closes the one in front of rcon.
	if s.Hi > s.Lo && bytes.HasPrefix(b[s.Hi-1:], quoteFrom) {
		s.Hi--
	}
	return s
}

// isLogged tells whether args go on as a log line of Source does, which has no
// password: rcon from "192.0.2.1:27005": command "status". Nothing is looked for
// behind the quotes: in hostile text the word rcon stands thousands of times.
func isLogged(args []byte) bool {
	if !bytes.HasPrefix(args, fromQuote) {
		return false
	}
	address := args[len(fromQuote):]
	end := bytes.IndexByte(address, '"')
	return end >= 0 && bytes.HasPrefix(address[end:], quoteCommand)
}

// value returns what stands behind the name of a variable that ends at offset
// at: the rest of the command or line. Output says "rcon_password" is "x",
// tables say rcon_password : x, and no list of such words would be complete.
func value(b []byte, at int) Span {
	lo := at
	for lo < len(b) && isBetween(b[lo]) {
		lo++
	}
	// the value may stand in the next line: rcon_password LF : x
	if next := skipEnd(b, lo); next > lo && next < len(b) && (b[next] == ':' || b[next] == '=' || b[next] == '"') {
		for lo = next; lo < len(b) && isBetween(b[lo]); {
			lo++
		}
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
	if hi > lo && (b[hi-1] == ':' || b[hi-1] == '=') { // "rcon_password" is: LF "x"
		for hi = skipEnd(b, hi); hi < len(b) && !isEnd(b[hi]); {
			hi++
		}
	}
	// A log line quotes the command and goes on with who sent it.
	if i := bytes.LastIndex(b[lo:hi], quoteFrom); i >= 0 {
		hi = lo + i
	} else if open && hi > lo && b[hi-1] == '"' {
		hi--
	}
	return Span{lo, hi}
}

// isBetween tells whether x can stand between the name of a variable and its
// value.
func isBetween(x byte) bool {
	return x <= ' ' && !isEnd(x) || bytes.IndexByte([]byte("\"=:,'()->\\"), x) >= 0
}

// skipEnd returns the offset behind one end of line at offset at.
func skipEnd(b []byte, at int) int {
	if at < len(b) && b[at] == '\r' {
		at++
	}
	if at < len(b) && b[at] == '\n' {
		at++
	}
	return at
}
