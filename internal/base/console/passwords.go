package console

import "bytes"

// Passwords holds the passwords that the ends of a connection showed so far. Servers
// repeat them: in a refusal, in their log, as the value of a variable that is not in the
// list of names. The zero value is empty and ready for use. A nil *Passwords is empty,
// too, and Add must not be called on it.
type Passwords struct {
	Tail      Tail // of the server
	n, oldest uint8
	list      [maxPasswords]password
}

// password is a text to find, as decodeByte reads it, in lower case.
type password struct {
	n         uint8
	continues bool // the password is longer than text
	text      [maxPassword]byte
	// border is, for each byte of text, the length of the longest proper start of text
	// that ends there, too. A comparison that fails goes on after that start, so that
	// hostile texts cost no more than others (Knuth, Morris, Pratt).
	border [maxPassword]uint8
}

// Add adds a password, of which text is the start if cut is set.
func (p *Passwords) Add(text []byte, more bool) {
	p.add(text, more, escaped)
	if hasEscapes(text) { // or what looks like some: both forms are looked for
		p.add(text, more, literal)
	}
}

// add adds a password in a form, unless it is known.
func (p *Passwords) add(text []byte, more bool, f form) {
	w := password{continues: more}
	for at := 0; at < len(text); {
		x, n := f.readByte(text[at:])
		at += n
		switch {
		case x == skipped:
		case w.n == maxPassword:
			w.continues, at = true, len(text)
		default:
			w.text[w.n] = byte(x)
			w.n++
		}
	}
	if w.n == 0 || w.continues && w.n < standAlone {
		return
	}
	for i := range p.list[:p.n] {
		if q := &p.list[i]; q.n == w.n && q.text == w.text && q.continues == w.continues {
			return
		}
	}
	for i, k := 1, uint8(0); i < int(w.n); i++ {
		for k > 0 && w.text[i] != w.text[k] {
			k = w.border[k-1]
		}
		if w.text[i] == w.text[k] {
			k++
		}
		w.border[i] = k
	}
	if p.n < maxPasswords {
		p.list[p.n] = w
		p.n++
		return
	}
	p.list[p.oldest] = w
	p.oldest = (p.oldest + 1) % maxPasswords
}

// find returns the first range of b that is w, or -1, -1. A start of w at the end of b
// counts if it has at least least bytes.
// isPlain is set where no byte of b begins an escape.
func (w *password) find(b []byte, least int, isPlain bool) (lo, hi int) {
	if !isPlain || w.n < standAlone {
		return w.findEscaped(b, least)
	}
	n := int(w.n)
	lo = w.findPlain(b)
	switch {
	case lo >= 0 && w.continues:
		return lo, nextEnd(b, lo+n)
	case lo >= 0:
		return lo, lo + n
	}
	end := max(0, len(b)-n+1) // a start of w is shorter than w
	if lo, hi = w.findDecoded(b[end:], least, literal); lo >= 0 {
		lo, hi = end+lo, end+hi
	}
	return lo, hi
}

// findEscaped is find for a b with bytes that escapes begin with, which may be some or not: "%0001" holds the password
// 0001, and as part of a URL it holds a NUL and 01.
func (w *password) findEscaped(b []byte, least int) (lo, hi int) {
	lo, hi = w.findDecoded(b, least, escaped)
	if l, h := w.findDecoded(b, least, literal); l >= 0 && (lo < 0 || l < lo || l == lo && h > hi) {
		return l, h
	}
	return lo, hi
}

// hasText reports whether b, each byte of which stands for itself, is text but for case.
func hasText(b, text []byte) bool {
	for i, x := range text {
		if fold(b[i]) != x {
			return false
		}
	}
	return true
}

// hasEscapes reports whether b has a byte that escapes begin with.
func hasEscapes(b []byte) bool {
	return bytes.IndexByte(b, '\\') >= 0 || bytes.IndexByte(b, '%') >= 0 || bytes.IndexByte(b, '&') >= 0
}

// findPlain returns the offset of the first w in b, or -1. Each byte of b stands for
// itself. It looks at one byte of each len(text) of a usual text, and at none more than
// maxPassword times (Horspool).
func (w *password) findPlain(b []byte) int {
	last := int(w.n) - 1
	text := w.text[:w.n]
	// By the low five bits of the byte of b that is compared with the last one of text: how
	// far the search goes on, which is to the last such byte of text before that.
	var shift [32]uint8
	for i := range shift {
		shift[i] = w.n
	}
	for i, x := range text[:last] {
		shift[x&31] = uint8(last - i)
	}
	for end := last; end < len(b); end += int(shift[b[end]&31]) {
		if fold(b[end]) == text[last] && hasText(b[end-last:], text[:last]) {
			return end - last
		}
	}
	return -1
}

// findDecoded is find for a b of a form, in which several bytes may stand for one.
func (w *password) findDecoded(b []byte, least int, f form) (lo, hi int) {
	var from [maxPassword]int // where the last bytes compared begin, as a ring
	k, count, first := uint8(0), 0, int16(w.text[0])
	for at := 0; at < len(b); {
		if k == 0 {
			for at < len(b) && folds[b[at]] != first && folds[b[at]] != mayStand {
				at++
			}
			if at == len(b) {
				break
			}
		}
		x, n := f.readByte(b[at:])
		if x == skipped {
			at += n
			continue
		}
		from[count%maxPassword] = at
		count++
		at += n
		for k > 0 && w.text[k] != byte(x) {
			k = w.border[k-1]
		}
		if w.text[k] == byte(x) {
			k++
		}
		if k < w.n {
			continue
		}
		lo = from[(count-int(w.n))%maxPassword]
		switch {
		case w.continues:
			return lo, nextEnd(b, at)
		case w.n >= standAlone || !(lo > 0 && wordBytes[b[lo-1]] || at < len(b) && wordBytes[b[at]]):
			return lo, at
		}
		k = w.border[k-1]
	}
	if int(k) >= least {
		return from[(count-int(k))%maxPassword], len(b)
	}
	return -1, -1
}

// skipped stands for a backslash before a byte that needs none.
const skipped = -1

// folds holds each byte in lower case, or mayStand for the bytes that escapes begin with.
var folds = func() (t [256]int16) {
	for i := range t {
		t[i] = int16(fold(byte(i)))
	}
	t['\\'], t['%'], t['&'] = mayStand, mayStand, mayStand
	return
}()

// mayStand stands in folds for a byte that may begin the escape of another one.
const mayStand = -1

// decodeByte returns the byte that the start of b stands for, in lower case, and the
// number of bytes that it is written with. JSON, C, URLs and XML escape some bytes: \" and \u0022 and \x22,
// %22, &quot; and &#34;. A backslash before anything else is skipped, in texts and
// in passwords, so that a password is found with and without it.
func decodeByte(b []byte) (x, n int) {
	switch {
	case folds[b[0]] != mayStand:
	case b[0] == '\\':
		switch {
		case len(b) > 1 && b[1] == 'u' && hexLen(b[2:], 4) == 4 && b[2] == '0' && b[3] == '0':
			return int(fold(decodeHexByte(b[4:]))), 6
		case len(b) > 1 && b[1] == 'x' && hexLen(b[2:], 2) == 2:
			return int(fold(decodeHexByte(b[2:]))), 4
		}
		return skipped, 1
	case b[0] == '%' && hexLen(b[1:], 2) == 2:
		return int(fold(decodeHexByte(b[1:]))), 3
	case b[0] == '&':
		return decodeEntity(b)
	}
	return int(fold(b[0])), 1
}

// form is how a text is read.
type form uint8

const (
	escaped form = iota // with the escapes of decodeByte
	literal             // each byte as it is, but for backslashes, which are skipped as well
)

// readByte returns the byte that the start of b stands for, as decodeByte does.
func (f form) readByte(b []byte) (x, n int) {
	switch {
	case f == escaped:
		return decodeByte(b)
	case b[0] == '\\':
		return skipped, 1
	}
	return int(fold(b[0])), 1
}

// entities are the named entities of XML.
var entities = [...]struct {
	text string
	is   byte
}{{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}

// decodeEntity is decodeByte for a b that starts with an ampersand.
func decodeEntity(b []byte) (x, n int) {
	for _, e := range entities {
		if len(b) >= len(e.text) && equalFold(b[:len(e.text)], e.text) {
			return int(e.is), len(e.text)
		}
	}
	if len(b) > 3 && b[1] == '#' {
		v, i := 0, 2
		for ; i < len(b) && i < len("&#255") && isDigit(b[i]); i++ {
			v = v*10 + int(b[i]-'0')
		}
		if i > 2 && i < len(b) && b[i] == ';' && v < 256 {
			return int(fold(byte(v))), i + 1
		}
	}
	return int(b[0]), 1
}

// fold returns an ASCII letter in lower case, another byte as it is.
func fold(x byte) byte {
	if x >= 'A' && x <= 'Z' {
		return x | 0x20
	}
	return x
}

// decodeHexByte returns the value of the two hexadecimal digits at the start of b.
func decodeHexByte(b []byte) byte { return digitValue(b[0])<<4 | digitValue(b[1]) }

func digitValue(x byte) byte {
	if isDigit(x) {
		return x - '0'
	}
	return x | 0x20 - 'a' + 10
}

// Tail is the end of what a sender printed, by which secrets are found that lie across texts.
// Consoles print in pieces, and a piece ends anywhere. The zero value is that of a sender who
// has sent nothing.
type Tail struct {
	n          int16
	isInSecret bool // the text ends in a secret
	endsInNUL  bool
	text       [maxTail]byte
}

// Add adds a text. Of those before it stays what it is a part of, or what it may be: a line that
// did not end. isInSecret is set where it ends in a secret.
func (t *Tail) Add(text []byte, isPart, isInSecret bool) {
	if !isPart {
		t.n = int16(copy(t.text[:], t.line()))
	}
	t.endsInNUL = false
	t.isInSecret = isInSecret || isPart && len(text) == 0 && t.isInSecret
	text = text[max(len(text)-maxTail, 0):]
	over := max(int(t.n)+len(text)-maxTail, 0)
	n := copy(t.text[:], t.text[over:t.n])
	t.n = int16(n + copy(t.text[n:], text))
}

// AddNUL adds a NUL that is no part of the last text, but separates it from the next part of it as it
// separates a name from a value.
func (t *Tail) AddNUL() { t.endsInNUL = true }

// line returns the line at the end that has not ended: consoles end what they print with a line.
func (t *Tail) line() []byte {
	last := t.text[:t.n]
	return last[bytes.LastIndexAny(last, "\n\r\x00")+1:]
}

// FindRest returns what has to be hidden of the start of the next text b, an empty range if that is
// nothing: what precedes b can be the start of a password, or the name of a variable whose value b
// begins with. Where they are no parts of one text, of that before only a line counts that did not
// end. said are the passwords of the connection.
func (t *Tail) FindRest(b []byte, isPart bool, said *Passwords) Span {
	last, s := t.text[:t.n], Span{}
	if !isPart {
		last = t.line()
	}
	if len(last) == 0 {
		return s
	}
	if isPart && t.isInSecret {
		at := 0
		for at < len(b) && (b[at] == '\r' || b[at] == '\n') { // the value may stand in the next line
			at++
		}
		s.Hi = max(nextEnd(b, at), FindTorn(b).Hi)
	}
	var room [maxTail + 1 + maxWindow]byte
	n, window := copy(room[:], last), min(len(b), maxWindow)
	if isPart && t.endsInNUL {
		n++
	}
	both := room[:n+copy(room[n:], b[:window])]
	across := Finder{Passwords: said, IsOutput: true}
	for at := 0; ; {
		lo, hi := across.Next(both[at:])
		if lo < 0 {
			return s
		}
		lo, hi, at = lo+at, hi+at, hi+at
		if hi <= n {
			continue
		}
		lo, hi = max(lo-n, 0), hi-n
		if hi == window {
			hi = nextEnd(b, window)
		}
		if s.Hi > 0 { // the start of b
			lo, hi = 0, max(s.Hi, hi)
		}
		return Span{lo, hi}
	}
}

// limit: The bounds of Passwords, which is kept for each connection: below 900 bytes.
const (
	// maxPasswords is how many passwords are kept: servers ban or close after a few
	// wrong ones, so the last ones are those that a server can still repeat. A new one
	// evicts the oldest.
	maxPasswords = 4
	// maxPassword is how many bytes of a password are kept. Where the start of a longer
	// one is found, the rest of its line is hidden with it.
	maxPassword = 64
	// standAlone is the length in bytes from which on a password is found within words,
	// too. A shorter one is part of many words, and is found only where neither a
	// letter nor a digit adjoins it.
	standAlone = 4
	// maxTail is how much of a text is looked at again with the next one, for the name of a
	// variable whose value is a secret. The longest known has 20 letters.
	maxTail = 256
	// maxWindow is how much of the next text is looked at together with the tail: a value that
	// is longer hides the rest of its line.
	maxWindow = 1024
)
