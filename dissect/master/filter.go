package master

import "bytes"

// scanner takes a filter apart, one pair a step.
type scanner struct {
	rest       []byte
	key, value []byte
	group      []byte // word of the group that this pair is negated by; nil: none
	note       string // what is odd about the value; a constant
	isGlued    bool   // the separator before the key is missing

	openWord []byte // of the open group
	left     int    // pairs that still belong to it
}

// next steps to the next pair, and reports false after the last.
func (s *scanner) next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.note, s.isGlued = "", s.rest[0] != separator
	s.key = s.cutPiece()
	if n := groupWord(s.key); s.isGlued && n > 0 && n < len(s.key) && isNumber(s.key[n:]) {
		s.key, s.value = s.key[:n], s.key[n:]
	} else {
		s.readValue()
	}
	s.group = nil
	if s.left > 0 {
		s.group = s.openWord
		s.left--
	}
	if n := groupWord(s.key); n > 0 && n == len(s.key) {
		s.openGroup()
	}
	return true
}

// count is how many pairs are left.
func (s scanner) count() int {
	n := 0
	for s.next() {
		n++
	}
	return n
}

// cutPiece cuts off what stands before the next separator, without the separator
// before it.
func (s *scanner) cutPiece() []byte {
	b := s.rest
	if b[0] == separator {
		b = b[1:]
	}
	i := bytes.IndexByte(b, separator)
	if i < 0 {
		i = len(b)
	}
	s.rest = b[i:]
	return b[:i]
}

func (s *scanner) readValue() {
	s.value = nil
	if len(s.rest) == 0 {
		s.note = "value missing"
		return
	}
	text := s.rest[1:]
	s.value = s.cutPiece()
	if i := gluedWord(s.value, s.rest); i > 0 {
		s.value, s.rest = text[:i], text[i:]
	}
}

// openGroup begins the group whose word and count are the pair at hand.
func (s *scanner) openGroup() {
	const digits = 4 // more pairs than a datagram holds need five
	if len(s.value) > digits || !isNumber(s.value) {
		s.note = "not a number of pairs"
		return
	}
	s.openWord, s.left = s.key, 0
	for _, x := range s.value {
		s.left = s.left*10 + int(x-'0')
	}
}

// meaning returns what the pair asks for; a constant.
func (s *scanner) meaning() string {
	switch {
	case s.isGlued:
		return "separator before it missing"
	case groupWord(s.key) != len(s.key):
		return keyMeaning(s.key)
	case bytes.HasSuffix(s.key, []byte("and")):
		return "leaves out servers that match all of the next pairs"
	}
	return "leaves out servers that match any of the next pairs"
}

// groupWord returns the length of the group word that b starts with, 0 if none:
// a negation, or its old spelling.
func groupWord(b []byte) int {
	for _, w := range [...]string{"nand", "nor", "and", "or"} {
		if len(b) >= len(w) && string(b[:len(w)]) == w {
			return len(w)
		}
	}
	return 0
}

// gluedWord returns where in value a group word stands whose separator is
// missing, 0 if none does: "240nand" before "\2", or "240nand2". rest is
// what follows value. Old spellings were never seen like this, and "or" ends
// too many honest words.
func gluedWord(value, rest []byte) int {
	end := len(value)
	for end > 0 && isDigit(value[end-1]) {
		end--
	}
	i := end
	switch {
	case bytes.HasSuffix(value[:end], []byte("nand")):
		i -= len("nand")
	case bytes.HasSuffix(value[:end], []byte("nor")):
		i -= len("nor")
	default:
		return 0
	}
	if len(rest) == 0 {
		return 0
	}
	if end < len(value) {
		return i
	}
	n := 1
	for n < len(rest) && isDigit(rest[n]) {
		n++
	}
	if n > 1 && (n == len(rest) || rest[n] == separator) {
		return i
	}
	return 0
}

func isDigit(x byte) bool { return x >= '0' && x <= '9' }

// isNumber reports whether b is a decimal number.
func isNumber(b []byte) bool {
	for _, x := range b {
		if !isDigit(x) {
			return false
		}
	}
	return len(b) > 0
}
