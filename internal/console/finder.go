package console

// Finder finds what must not be shown of one text, in order: its Next is for
// Cursor.Pieces. The walk over a text of any length is one walk for each password,
// however many ranges it has.
type Finder struct {
	// Said are the passwords of the connection, or nil.
	Said *Passwords
	// Cut is set where the end of the text is missing: a password that begins there is
	// hidden as far as it goes.
	Cut bool
	// Continued is set where the text goes on in a later message: likewise, for a start
	// of leastStart bytes or more.
	Continued bool
	// First is hidden besides what is found, if it is not empty: what precedes the
	// text can say that it begins with a secret. See Torn.
	First Span

	begun bool
	size  int                        // of the text
	next  [1 + 1 + maxPasswords]Span // First, of Secret and each password, from the start of the text
}

// Next returns the first range of b that must not be shown, or -1, -1. b is the text,
// then what follows hi in it.
func (f *Finder) Next(b []byte) (lo, hi int) {
	if !f.begun {
		f.begun, f.size = true, len(b)
		clear(f.next[:])
		if f.next[0] = f.First; f.First.Lo >= f.First.Hi {
			f.next[0] = Span{-1, -1}
		}
	}
	at := f.size - len(b)
	for i := range f.next {
		s := &f.next[i]
		switch {
		case !s.Any() || s.Lo >= at && s.Hi > s.Lo:
		case s.Hi > at:
			s.Lo = at
		default:
			*s = f.scan(i, b, at)
		}
	}
	return f.first(at)
}

// scan looks for the next range of source i in b, which starts at offset at of the
// text.
func (f *Finder) scan(i int, b []byte, at int) Span {
	lo, hi := -1, -1
	switch k := i - 2; {
	case i == 1:
		lo, hi = Secret(b)
	case k >= 0 && f.Said != nil && k < int(f.Said.n):
		lo, hi = f.Said.list[k].find(b, f.leastStart())
	}
	if lo < 0 {
		return Span{-1, -1}
	}
	return Span{at + lo, at + hi}
}

// leastStart is from how many bytes on the start of a password is hidden at the end of a
// continued text. Output that fills a packet ends anywhere: one letter is that of the
// password in one of twenty, and hiding it would hide the next packet's first line too.
const leastStart = 3

// leastStart returns how many bytes of a password's start are hidden at the end of the
// text at least; 0 for none.
func (f *Finder) leastStart() int {
	switch {
	case f.Cut:
		return 1
	case f.Continued:
		return leastStart
	}
	return 0
}

// first returns the first of the ranges, together with those that overlap or touch it,
// from offset at on.
func (f *Finder) first(at int) (lo, hi int) {
	s := Span{-1, -1}
	for _, x := range f.next {
		if x.Any() && (!s.Any() || x.Lo < s.Lo) {
			s = x
		}
	}
	if !s.Any() {
		return -1, -1
	}
	for range f.next { // each pass takes in one more, or none is left
		for _, x := range f.next {
			if x.Any() && x.Lo <= s.Hi {
				s.Hi = max(s.Hi, x.Hi)
			}
		}
	}
	return s.Lo - at, s.Hi - at
}

// Torn returns what at the start of b can be the rest of a secret, or the value after
// the rest of a name, where bytes are missing before b: a line, and the next where the
// first is unfinished. Where strings end with NULs, as in the list of rules, every
// second one is a name: two are hidden, or three where the first is so short that it
// may be a number of the part's header.
func Torn(b []byte) Span {
	head := b[:min(len(b), maxTorn)]
	n := nextEnd(head, 0)
	for (unfinished(head[:n]) || onlyMarks(head[:n])) && n < len(head) && head[n] != 0 {
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
