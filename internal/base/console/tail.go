package console

import "bytes"

// Tail is the end of what a sender printed, by which secrets are found that lie across texts.
// Consoles print in pieces, and a piece ends anywhere. The zero value is that of a sender who
// has sent nothing.
type Tail struct {
	n          int16
	isInSecret bool // the text ends in a secret
	text       [maxTail]byte
}

// Add adds a text. Of those before it stays what it is a part of, or what it may be: a line that
// did not end. isInSecret is set where it ends in a secret.
func (t *Tail) Add(text []byte, isPart, isInSecret bool) {
	if !isPart {
		t.n = int16(copy(t.text[:], t.line()))
	}
	t.isInSecret = isInSecret || isPart && len(text) == 0 && t.isInSecret
	text = text[max(len(text)-maxTail, 0):]
	over := max(int(t.n)+len(text)-maxTail, 0)
	n := copy(t.text[:], t.text[over:t.n])
	t.n = int16(n + copy(t.text[n:], text))
}

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
	var room [maxTail + maxWindow]byte
	n, window := copy(room[:], last), min(len(b), maxWindow)
	both := room[:n+copy(room[n:], b[:window])]
	across := Finder{Passwords: said}
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
