package console

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
	// First is hidden besides what is found, unless it is empty: the caller may have
	// learned from what precedes the text that it begins with a secret. See FindTorn.
	First Span

	hasBegun bool
	isPlain  bool                       // no byte of the text begins an escape
	size     int                        // of the text
	next     [1 + 1 + maxPasswords]Span // the next range of First, of FindSecret and of each password, as offsets into the text
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
	switch k := i - 2; {
	case i == 1:
		lo, hi = FindSecret(b)
	case k >= 0 && f.Passwords != nil && k < int(f.Passwords.n):
		lo, hi = f.Passwords.list[k].find(b, f.leastHidden(), f.isPlain)
	}
	if lo < 0 {
		return Span{-1, -1}
	}
	return Span{at + lo, at + hi}
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
