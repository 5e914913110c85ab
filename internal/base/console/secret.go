package console

import "bytes"

// FindSecret returns the first range of b that must not be shown, or -1, -1. For the
// next range, call it with what is after hi.
//
// Secrets are the password of an rcon request wherever it is quoted, and what
// follows the name of a variable that holds one, see names. Punctuation and colour
// codes may stand between the two. Where the line ends before a value came, the next
// line is hidden. Where a text can be read in two ways, more is hidden rather than less.
func FindSecret(b []byte) (lo, hi int) { return findSecret(b, false) }

// findSecret is FindSecret. isOutput is set of what a server prints: there the names of secrets are words
// of sentences, too. "rcon" hides something only where the rest looks like a request, and "password x" only
// where more than a blank stands between, or where x is no word that sentences go on with, see proseWords.
func findSecret(b []byte, isOutput bool) (lo, hi int) {
	k := walk{b: b, isOutput: isOutput, hasLookAlikes: hasLookAlikes(b), atStart: true}
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
	b        []byte
	isOutput bool // see findSecret
	// hasLookAlikes is set where a name may have letters of another alphabet.
	hasLookAlikes bool
	// atStart is set where only marks precede in the command or line.
	atStart bool
	// expectsValue is set where a plain name precedes in the line, with words after it.
	expectsValue bool
}

// skipToName returns the first word from offset i on that may end with a name, or an empty
// one at the end of the text. Other words mean nothing where no value is expected.
func (k *walk) skipToName(i int) (lo, hi int) {
	lo, hi = findName(k.b, i)
	if k.hasLookAlikes {
		if from, to := findFolded(k.b, i); from <= lo {
			lo, hi = from, to
		}
	}
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
		return k.findValue(end, start)
	case plain:
		s := Span{-1, -1}
		if k.isOutput {
			start = start && (end == len(k.b) || followsCommand(k.b, i)) || isTable(k.b, end) || followsRcon(k.b, i)
		}
		if start || isMember(k.b, i) || hasSeparator(k.b, end) || isMixed(k.b, end) {
			s = k.findValue(end, start)
		}
		k.expectsValue = true
		return s
	case login:
		if i > 0 && bytes.IndexByte(loginMarks, k.b[i-1]) >= 0 {
			return k.findValue(end, false)
		}
	case request:
		if hasArguments(k.b, i, end) && (!k.isOutput || isRequest(k.b, i, end)) {
			return k.findAfterRcon(end)
		}
	case ordinary:
		if k.expectsValue && isConnector(k.b[i:end]) {
			return k.findValue(end, true)
		}
	}
	return Span{-1, -1}
}

// findValue returns the value after the name, or the word, that ends at offset end. In output there is none
// where a sentence goes on; a value may follow later in it.
func (k *walk) findValue(end int, expectsNext bool) Span {
	if k.isOutput && isProse(k.b, end) {
		k.expectsValue = true
		return Span{-1, -1}
	}
	return findValue(k.b, end, expectsNext)
}

// isProse reports whether a sentence goes on after the word that ends at offset end: one blank, and a word of
// proseWords.
func isProse(b []byte, end int) bool {
	if end+1 >= len(b) || b[end] != ' ' {
		return false
	}
	lo := end + 1
	hi := wordEnd(b, lo)
	return isProseWord(b[lo:hi]) && (hi == len(b) || isBlank(b[hi]) || isEnd(b[hi]) || isStop(b[hi]))
}

// isTable reports whether what follows the word that ends at offset end is the next column of a table, or what
// the word in brackets is a label of.
func isTable(b []byte, end int) bool {
	return bytes.HasPrefix(b[end:], []byte("  ")) || bytes.HasPrefix(b[end:], []byte("] ")) && !isProse(b, end+1)
}

// isMixed reports whether a word with digits among its letters follows the one that ends at offset end.
func isMixed(b []byte, end int) bool {
	lo := skipBlanks(b, end)
	word := b[lo:wordEnd(b, lo)]
	i := bytes.IndexFunc(word, func(r rune) bool { return '0' <= r && r <= '9' })
	return lo > end && (i > 0 || i == 0 && len(withoutNumber(word)) > 0)
}

// followsCommand reports whether a semicolon ends another command before the word at offset at.
func followsCommand(b []byte, at int) bool {
	return bytes.HasSuffix(bytes.TrimRight(b[:at], " \t"), []byte{';'})
}

// followsRcon reports whether the word before the one at offset at is rcon: together they name a variable.
func followsRcon(b []byte, at int) bool {
	const rcon = "rcon"
	n := at - 1 - len(rcon)
	return n >= 0 && b[at-1] == ' ' && equalFold(b[n:at-1], rcon) && (n == 0 || !wordBytes[b[n-1]])
}

// isRequest reports whether the word rcon at [lo,end) of what a server prints begins a request: a quote stands
// before it or after it, a challenge after it, or the line before announces it. Servers that print a wrong
// request do so in these forms.
func isRequest(b []byte, lo, end int) bool {
	if lo > 0 && isQuote(b[lo-1]) {
		return true
	}
	if line := bytes.TrimRight(b[:lo], "\r\n"); len(line) < lo && bytes.HasSuffix(line, []byte{':'}) {
		return true
	}
	at := skipBlanks(b, end)
	if at < len(b) && isQuote(b[at]) {
		return true
	}
	hi := wordEnd(b, at)
	return hi < len(b) && isBlank(b[hi]) && mayBeChallenge(b[at:hi])
}

// mayBeChallenge reports whether a word is long enough for a random number, in decimal or hexadecimal.
func mayBeChallenge(word []byte) bool {
	word = bytes.TrimPrefix(word, []byte("0x"))
	hasDigit := false
	for _, x := range word {
		hasDigit = hasDigit || isDigit(x)
		if x |= 0x20; !isDigit(x) && (x < 'a' || x > 'f') {
			return false
		}
	}
	return hasDigit && len(word) >= leastChallenge
}

// leastChallenge is how many digits a number after rcon has, at least, to be a challenge. Chosen: sentences have
// shorter ones, and of random numbers of 31 bits one in 200,000 has fewer.
const leastChallenge = 4

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
	} else if !r.Challenge.IsFound() && mayBeChallenge(inner[s.Lo:s.Hi]) { // a hexadecimal one
		if next, _, _ := nextToken(inner, r.End); next.IsFound() {
			s.Hi = next.Hi
		}
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

// Finder finds the ranges of one text that must not be shown, in order: its Next is for
// Cursor.Pieces. A text of any length, with any number of ranges, is walked once for its
// secrets and once for each password of the connection.
type Finder struct {
	// Passwords are those that the connection showed so far, or nil.
	Passwords *Passwords
	// IsCut is set where the end of the text is missing: a password that begins there is
	// hidden as far as it goes. At any other end it is from leastStart bytes on: the text
	// may go on in a later message.
	IsCut bool
	// IsOutput is set of what a server prints, see findSecret.
	IsOutput bool
	// First is hidden besides what is found, unless it is empty: the caller may have
	// learned from what precedes the text that it begins with a secret. See FindTorn.
	First Span

	hasBegun bool
	isPlain  bool                         // no byte of the text begins an escape
	size     int                          // of the text
	next     [sources + maxPasswords]Span // the next range of First, of FindSecret, of an address and of each password, as offsets into the text
}

// Next returns the first range of b that must not be shown, or -1, -1. b is the whole
// text in the first call, and what follows hi of the call before in the others.
func (f *Finder) Next(b []byte) (lo, hi int) {
	if !f.hasBegun {
		f.hasBegun, f.size = true, len(b)
		f.isPlain = f.Passwords != nil && f.Passwords.n > 0 && !hasEscapes(b)
		clear(f.next[:])
		if f.next[0] = f.First; f.First.Lo >= f.First.Hi {
			f.next[0] = Span{-1, -1}
		}
	}
	at := f.size - len(b)
	for i := range f.next {
		s := &f.next[i]
		switch {
		case !s.IsFound() || s.Lo >= at && s.Hi > s.Lo:
		case s.Hi > at:
			s.Lo = at
		default:
			*s = f.findNext(i, b, at)
		}
	}
	return f.firstRange(at)
}

// findNext returns the next range of source i, an index of f.next, in b, which starts at
// offset at of the text.
func (f *Finder) findNext(i int, b []byte, at int) Span {
	lo, hi := -1, -1
	switch k := i - sources; {
	case i == 1:
		lo, hi = findSecret(b, f.IsOutput)
	case i == 2:
		lo, hi = findInAddress(b)
	case k >= 0 && f.Passwords != nil && k < int(f.Passwords.n):
		lo, hi = f.Passwords.list[k].find(b, f.leastHidden(), f.isPlain)
	}
	if lo < 0 {
		return Span{-1, -1}
	}
	return Span{at + lo, at + hi}
}

// sources are what finds a range besides the passwords of the connection.
const sources = 3

// findInAddress returns the first range of b that is the password in an address of the web or of Steam:
// http://user:PASSWORD@host, steam://connect/host:port/PASSWORD. It returns -1, -1 if there is none.
func findInAddress(b []byte) (lo, hi int) {
	const connect = "connect/"
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte("://"))
		if i < 0 {
			return -1, -1
		}
		at += i + len("://")
		end := at
		for end < len(b) && !isBlank(b[end]) && !isEnd(b[end]) && !isQuote(b[end]) && b[end] != '<' && b[end] != '>' {
			end++
		}
		if rest, ok := bytes.CutPrefix(b[at:end], []byte(connect)); ok {
			if i := bytes.IndexByte(rest, '/'); i >= 0 && i+1 < len(rest) {
				return end - len(rest) + i + 1, end
			}
		}
		host := b[at:end]
		if i := bytes.IndexByte(host, '/'); i >= 0 {
			host = host[:i]
		}
		if user, last := bytes.IndexByte(host, ':'), bytes.LastIndexByte(host, '@'); user >= 0 && user+1 < last {
			return at + user + 1, at + last
		}
	}
}

// leastStart is how many bytes of a password the end of a text has to show to be hidden.
// Output that fills a packet ends anywhere: its last letter is the first of the password
// in one of twenty packets, and hiding it would hide the next packet's first line too.
const leastStart = 3

// leastHidden returns the least number of bytes of a password's start that are hidden at
// the end of the text.
func (f *Finder) leastHidden() int {
	if f.IsCut {
		return 1
	}
	return leastStart
}

// firstRange returns the first of the ranges, together with those that overlap or touch it,
// from offset at on.
func (f *Finder) firstRange(at int) (lo, hi int) {
	s := Span{-1, -1}
	for _, x := range f.next {
		if x.IsFound() && (!s.IsFound() || x.Lo < s.Lo) {
			s = x
		}
	}
	if !s.IsFound() {
		return -1, -1
	}
	for range f.next { // each pass takes in one more, or none is left
		for _, x := range f.next {
			if x.IsFound() && x.Lo <= s.Hi {
				s.Hi = max(s.Hi, x.Hi)
			}
		}
	}
	return s.Lo - at, s.Hi - at
}

// FindTorn returns the range at the start of b that has to be hidden because bytes are
// missing before b: it can be the rest of a secret, or the rest of a name and its value.
// That is a line, and the next one where the first is unfinished. Where strings end with
// NULs, as in the list of rules, every second one is a name: two are hidden, or three
// where the first is so short that it may be a number of the part's header.
func FindTorn(b []byte) Span {
	head := b[:min(len(b), maxTorn)]
	n := nextEnd(head, 0)
	for (isUnfinished(head[:n]) || hasOnlyMarks(head[:n])) && n < len(head) && head[n] != 0 {
		n = nextEnd(head, n+1)
	}
	strings := 1
	if n <= 1 {
		strings++
	}
	for ; strings > 0 && n < len(b) && b[n] == 0; strings-- {
		n = nextEnd(b[:min(len(b), n+1+maxTorn)], n+1)
	}
	return Span{0, n}
}

// hasSeparator reports whether a mark follows the plain name that ends at offset at, where
// sentences have none: password: x, "password":"x", but not "Wrong password, ...".
func hasSeparator(b []byte, at int) bool {
	if at == len(b) {
		return false
	}
	switch x := b[at]; {
	case x == 0, x == '\t':
		return true
	case x != ' ':
		for at < len(b) && isStop(b[at]) {
			at++
		}
		if at < len(b) && b[at] != ' ' {
			return !isEnd(b[at]) || b[at] == 0 || continuesBelow(b, at)
		}
		at = skipBlanks(b, at)
		return at < len(b) && isSeparator(b[at:])
	}
	at = skipBlanks(b, at)
	return at < len(b) && !wordBytes[b[at]] && !isEnd(b[at]) && !isStop(b[at])
}

// isStop reports whether x ends a sentence or a part of one.
func isStop(x byte) bool { return bytes.IndexByte([]byte(",.!?;)]}"), x) >= 0 }

// findValue returns the value after the name of a variable that ends at offset at: the
// rest of the command or line. Output is like "rcon_password" is "x", tables are like
// rcon_password : x, and no list of such words would be complete. If expectsNext is set
// and the line has no value, the next line is the value.
func findValue(b []byte, at int, expectsNext bool) Span {
	first := findOpening(b, at)
	hi, closed := first.findEnd(b)
	line := b[first.lo:hi]
	attached := first.lo == first.marks && first.quote == 0
	none := Span{-1, -1}
	s := Span{first.lo, hi}
	switch {
	case first.quote != 0 && closed && (len(line) == 0 || line[0] == first.quote && len(bytes.Trim(line[1:], " \t")) == 0): // ""
		return none
	case len(line) == 0 || attached && hasOnlyMarks(line): // a sentence ends: Bad rcon_password.
		s = none
		expectsNext = expectsNext || first.isSeparated || isUnfinished(line) || continuesBelow(b, hi) || hi < len(b) && b[hi] == 0
	case hi < len(b) && !isEnd(b[hi]): // another command follows, or who sent this
		expectsNext = false
	default:
		expectsNext = !closed || isUnfinished(line) || first.isSeparated && hasOnlyMarks(line)
	}
	for next := hi; expectsNext && next < len(b); {
		l := lineAfter(b, next)
		if l.lo == len(b) {
			break
		}
		if !s.IsFound() {
			s.Lo = l.lo
		}
		next = nextEnd(b, l.lo)
		s.Hi = next
		expectsNext = isUnfinished(b[l.lo:next]) || hasOnlyMarks(b[l.lo:next])
	}
	if s.IsFound() && s.Hi == hi && first.quote != 0 && hi > s.Lo && b[hi-1] == first.quote {
		s.Hi--
	}
	return s
}

// opening is the start of a value.
type opening struct {
	lo          int  // offset of the value
	marks       int  // offset after the marks that are attached to the name
	isSeparated bool // by more than blanks from the name
	quote       byte // before the value; 0 for none
}

// findOpening skips what stands between a name that ends at offset at and its value
// in the same line: marks that close what opened before the name, blanks, separators,
// one quote.
func findOpening(b []byte, at int) opening {
	o := opening{lo: at}
	for o.lo < len(b) {
		n := closingLen(b[o.lo:])
		if n == 0 {
			break
		}
		o.lo += n
	}
	o.marks = o.lo
	for ; o.lo < len(b) && !isEnd(b[o.lo]); o.lo++ {
		x := b[o.lo]
		sep := isSeparator(b[o.lo:])
		if x > ' ' && !sep || x == escape {
			break
		}
		o.isSeparated = o.isSeparated || sep
	}
	if o.lo+1 < len(b) && b[o.lo] == '\\' && isQuote(b[o.lo+1]) {
		o.lo++
	}
	if o.lo < len(b) && isQuote(b[o.lo]) {
		o.quote = b[o.lo]
		o.lo++
	}
	return o
}

// findEnd returns the offset where the value ends, in its line: at a semicolon outside of
// quotes that a blank follows, or where a log line closes its quote and names the sender of
// the command. closed reports whether the quote before the value, if there is one, is
// closed.
func (o opening) findEnd(b []byte) (hi int, closed bool) {
	delim := o.quote
	if delim == 0 {
		delim = '"'
	}
	quoted := o.quote != 0
	for hi = o.lo; hi < len(b) && !isEnd(b[hi]); hi++ {
		switch x := b[hi]; {
		case x == delim && (hi == o.lo || b[hi-1] != '\\'):
			quoted = !quoted
		case x == ';' && !quoted && (o.quote != 0 || hi+1 < len(b) && isBlank(b[hi+1])):
			return hi, true
		}
	}
	if i := bytes.LastIndex(b[o.lo:hi], quoteFrom); i >= 0 {
		return o.lo + i, true
	}
	return hi, o.quote == 0 || !quoted
}

// isUnfinished reports whether the value goes on in the next line: "rcon_password is:".
func isUnfinished(line []byte) bool {
	line = trimMarks(line)
	if len(line) == 0 {
		return false
	}
	if bytes.IndexByte([]byte(":=>|,-[{(<\\"), line[len(line)-1]) >= 0 {
		return true
	}
	lo := len(line)
	for lo > 0 && wordBytes[line[lo-1]] && len(line)-lo <= len("was") {
		lo--
	}
	return isConnector(line[lo:])
}

// continuesBelow reports whether the line after the one that ends at offset at begins
// with a separator or a quote: rcon_password LF : x
func continuesBelow(b []byte, at int) bool {
	at = skipBlanks(b, nextLine(b, at))
	return at < len(b) && (isSeparator(b[at:]) || isQuote(b[at]))
}

// lineAfter returns the opening of the next line with something in it.
func lineAfter(b []byte, at int) opening {
	for at < len(b) && b[at] <= ' ' && b[at] != escape {
		at++
	}
	return findOpening(b, at)
}

// nextLine returns the offset after the end of line at offset at: one of LF, CR,
// CR LF, NUL.
func nextLine(b []byte, at int) int {
	if at+1 < len(b) && b[at] == '\r' && b[at+1] == '\n' {
		at++
	}
	return min(at+1, len(b))
}

// nextEnd returns the offset of the first end of line from at on.
func nextEnd(b []byte, at int) int {
	for at < len(b) && !isEnd(b[at]) {
		at++
	}
	return at
}

func skipBlanks(b []byte, at int) int {
	for at < len(b) && isBlank(b[at]) {
		at++
	}
	return at
}

func isQuote(x byte) bool { return x == '"' || x == '\'' || x == '`' }

// isSeparator reports whether b starts with a mark that separates a name from its value.
// A minus is one only before a blank or in an arrow, because values begin with it, too.
func isSeparator(b []byte) bool {
	switch b[0] {
	case ':', '=', '>', ',', '|':
		return true
	case '-':
		return len(b) > 1 && (b[1] == '>' || b[1] == '-' || isBlank(b[1]) || isEnd(b[1]))
	}
	return false
}

// closingLen returns the length of what b starts with that can be attached to the end
// of a name: a mark that closes what opened before it, emphasis, a colour code. A
// letter after ^ or & may begin the value.
func closingLen(b []byte) int {
	switch x := b[0]; {
	case isQuote(x) || bytes.IndexByte([]byte(")]}*\\"), x) >= 0:
		return 1
	case isBlank(x), (x == '^' || x == '&') && (len(b) < 2 || !isDigit(b[1])):
		return 0
	}
	return colourLen(b)
}

// limit: maxTorn is how many bytes of each line FindTorn hides at most: no password is longer.
const maxTorn = 256
