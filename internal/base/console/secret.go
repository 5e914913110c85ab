package console

import "bytes"

// FindSecret returns the first range of b that must not be shown, or -1, -1. For the
// next range, call it with what is after hi.
//
// Secrets are the password of an rcon request wherever it is quoted, and what
// follows the name of a variable that holds one, see names. Punctuation and colour
// codes may stand between the two. Where the line ends before a value came, the next
// line is hidden. Where a text can be read in two ways, more is hidden rather than less.
func FindSecret(b []byte) (lo, hi int) {
	k := walk{b: b, atStart: true}
	for i := 0; i < len(b); {
		s, end := Span{-1, -1}, i+1
		switch x := b[i]; {
		case !k.expectsValue:
			if i, end = k.skipToName(i); i < end {
				s = k.readWord(i, end)
			}
		case wordBytes[x]:
			end = wordEnd(b, end)
			s = k.readWord(i, end)
		case !marks[x]:
		case isEnd(x):
			k.atStart, k.expectsValue = true, false
		case k.connects(i):
			s = findValue(b, i, true)
			k.expectsValue = false // where there is none, nothing but marks follows
		default: // a command in quotes, a tag
			k.atStart = true
		}
		if s.Lo < s.Hi {
			return s.Lo, s.Hi
		}
		i = end
	}
	return -1, -1
}

// walk is the state of FindSecret between the words of a text.
type walk struct {
	b []byte
	// atStart is set where only marks precede in the command or line.
	atStart bool
	// expectsValue is set where a plain name precedes in the line, with words after it.
	expectsValue bool
}

// skipToName returns the first word from offset i on that may end with a name, or an empty
// one at the end of the text. Other words mean nothing where no value is expected.
func (k *walk) skipToName(i int) (lo, hi int) {
	lo, hi = findName(k.b, i)
	for at := lo - 1; at >= i && lo < hi; at-- {
		if x := k.b[at]; wordBytes[x] || marks[x] {
			k.atStart = marks[x]
			break
		}
	}
	return lo, hi
}

// marks are the bytes that end a line, or separate what precedes from a command or a
// value.
var marks = [256]bool{0: true, '\n': true, '\r': true, ';': true, '"': true, '\'': true, '`': true, ':': true, '=': true, '>': true}

// connects reports whether the mark at offset i can stand between a name in a
// sentence and its value: = or : or ->, but not the colon of an address or a time.
func (k *walk) connects(i int) bool {
	b := k.b
	switch b[i] {
	case '=':
		return true
	case ':':
		return i+1 == len(b) || !isDigit(b[i+1]) || i == 0 || !isDigit(b[i-1])
	case '>':
		return i > 0 && b[i-1] == '-'
	}
	return false
}

// readWord reads the word [i,end), and returns the secret after it, if there is one.
func (k *walk) readWord(i, end int) Span {
	start := k.atStart
	k.atStart = false
	switch classOf(k.b, i, end) {
	case variable:
		return findValue(k.b, end, start)
	case plain:
		s := Span{-1, -1}
		if start || isMember(k.b, i) || hasSeparator(k.b, end) {
			s = findValue(k.b, end, start)
		}
		k.expectsValue = true
		return s
	case login:
		if i > 0 && bytes.IndexByte(loginMarks, k.b[i-1]) >= 0 {
			return findValue(k.b, end, false)
		}
	case request:
		if hasArguments(k.b, i, end) {
			return k.findAfterRcon(end)
		}
	case ordinary:
		if k.expectsValue && isConnector(k.b[i:end]) {
			return findValue(k.b, end, true)
		}
	}
	return Span{-1, -1}
}

// findAfterRcon returns the secret after the word rcon, which ends at offset end. Where
// the name of a secret follows, "rcon password is x" can be a sentence, or a request
// with that password.
func (k *walk) findAfterRcon(end int) Span {
	lo := skipBlanks(k.b, end)
	if next := wordEnd(k.b, lo); next > lo {
		if c := classOf(k.b, lo, next); (c == variable || c == plain) && !bytes.HasPrefix(k.b[next:], quoteFrom) {
			if s := findValue(k.b, next, false); s.Lo < s.Hi {
				return Span{lo, s.Hi}
			}
		}
	}
	return findPassword(k.b, end)
}

// loginMarks are what commands to a game begin with: #login of BattlEye, /login.
var loginMarks = []byte("#/!.\\")

var (
	quote        = []byte(`"`)
	quoteFrom    = []byte(`" from "`)
	fromQuote    = []byte(` from "`)
	quoteCommand = []byte(`": command "`)
)

// isMember reports whether the word at offset at is the last part of a name: Rust
// and Minecraft have rcon.password.
func isMember(b []byte, at int) bool {
	return at > 1 && (b[at-1] == '.' || b[at-1] == '-') && wordBytes[b[at-2]]
}

// hasArguments reports whether the word rcon at [lo,end) stands before its
// arguments. After the quote of a log line the end of a line may stand between.
func hasArguments(b []byte, lo, end int) bool {
	return end < len(b) && (isBlank(b[end]) || isEnd(b[end]) && lo > 0 && b[lo-1] == '"')
}

// findPassword returns the secret of the rcon request whose arguments start at
// offset at: the password, and the number before it that may be one.
func findPassword(b []byte, at int) Span {
	args := b[at:]
	if isLogged(args) {
		return Span{-1, -1}
	}
	if i := bytes.IndexAny(args, "\n\x00"); i > 0 && !isUnusual(args[:i]) && bytes.Count(args[:i], quote)%2 == 0 {
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
	if !r.Password.IsFound() {
		return r.Password
	}
	s := r.Password
	if r.Challenge.IsFound() && !r.IsCertain {
		s.Lo = r.Challenge.Lo
	}
	s = Span{at + s.Lo, at + s.Hi}
	// The quote after a word closes the one before rcon.
	if s.Hi > s.Lo && bytes.HasPrefix(b[s.Hi-1:], quoteFrom) {
		s.Hi--
	}
	return s
}

// isLogged reports whether args are those of Source's log line about a command, which
// has no password: rcon from "192.0.2.1:27005": command "status". It does not
// search what follows the quotes: hostile text has the word rcon thousands of times, and
// each search would walk to its end.
func isLogged(args []byte) bool {
	if !bytes.HasPrefix(args, fromQuote) {
		return false
	}
	address := args[len(fromQuote):]
	end := bytes.IndexByte(address, '"')
	return end >= 0 && bytes.HasPrefix(address[end:], quoteCommand)
}
