package master

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// startLen is the length of the start number that the older query has in place
// of region and seed.
const startLen = 4

// readQuery reads the body of A2M_GET_SERVERS_BATCH2, and returns which page it asks for.
func readQuery(cur *dissect.Cursor) (page dissect.Page) {
	odd := false
	if isOldQuery(cur.Peek(cur.Left())) {
		cur.U32(&defNext)
	} else {
		region := cur.U8(&defRegion)
		seed := cur.CString(&defSeed)
		page = dissect.Page{List: hashOf(byte(region), cur.Peek(cur.Left())), At: packSeed(seed)}
		odd = cur.OK() && len(seed) > 0 && !isAddress(seed)
	}
	switch none := cur.LeftOnWire() == 0; {
	case odd && none:
		cur.Note("not an address, and no filter follows")
		return page
	case none:
		cur.Note("no filter follows")
		return page
	case odd:
		cur.Note("not an address")
	}
	filter := cur.LastCString(&defFilter)
	if len(filter) > maxFilter {
		cur.Note("longer than masters are known to take")
	}
	addConditions(cur, filter)
	return page
}

// hashOf returns a hash of what a query asks for, whatever page of it.
func hashOf(region byte, filter []byte) uint32 {
	return crc32.ChecksumIEEE(filter) + uint32(region)
}

// packSeed returns the IPv4 address and port in a seed as dissect.Page has them, 0 if it has none.
func packSeed(seed []byte) (v uint64) {
	if !isAddress(seed) || seed[0] == '[' || bytes.IndexByte(seed, ':') < 0 {
		return 0
	}
	n := uint64(0)
	for _, x := range seed {
		if isDigit(x) {
			n = 10*n + uint64(x-'0')
			continue
		}
		v, n = v<<8|n&0xff, 0
	}
	return v<<16 | n&0xffff
}

// isOldQuery reports whether b has the form with a start number: four bytes, then the
// filter or nothing. A seed begins with a digit; an empty one has the filter
// right after its NUL.
func isOldQuery(b []byte) bool {
	switch {
	case len(b) < startLen, b[1] == 0 && b[2] == separator:
		return false
	case len(b) == startLen:
		return !isDigit(b[1])
	}
	return b[startLen] == separator
}

// addConditions lists the pairs of a filter. All bytes of it are in the field of the
// filter, so these are derived.
func addConditions(cur *dissect.Cursor, filter []byte) {
	s := scanner{rest: filter}
	cur.Push(&defConditions, s.count())
	for i := 0; cur.OK() && s.next(); i++ {
		cur.Push(&defCondition, i)
		cur.Derived(&defKey, s.key)
		cur.Note(s.meaning())
		cur.Derived(&defValue, s.value)
		cur.Note(s.note)
		if s.group != nil {
			cur.Derived(&defGroup, s.group)
		}
		if s.left > 0 && len(s.rest) == 0 {
			cur.Note("fewer pairs follow than the group announces")
		}
		cur.Pop()
	}
	cur.Pop()
}

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

// The lengths of an entry: an address and its big-endian port.
const (
	entryV4 = 6
	entryV6 = 18
)

const (
	tagLen = 4 // of the tag in a reply
	keyLen = 6 // mark, key, reserved byte

	keyMark = 0x7F
)

// readBatch reads the body of A2M_GET_SERVERS_BATCH: a tag of three bytes, of which
// replies have four.
func readBatch(cur *dissect.Cursor) {
	if cur.LeftOnWire() == tagLen {
		cur.U32(&defNext)
		return
	}
	cur.U24(&defNext)
}

// readPage reads the body of M2A_SERVER_BATCH, and returns the address from which the list goes on.
func readPage(c *dissect.Context, cur *dissect.Cursor) (page dissect.Page) {
	if cur.U8(&defForm) == formTag {
		if next := cur.U32(&defNext); next == 0 {
			cur.Note("the list ends here")
		} else {
			cur.Note("tag of the next page")
		}
		readServers(cur, entryV4)
		return page
	}
	if cur.Cut() && cur.Left() == 0 {
		return page // a key or a list: unknown in this capture
	}
	if hasKey(cur.Peek(keyLen)) {
		cur.U8(&defKeyMark)
		cur.U32(&defListKey)
		cur.U8(&defReserved)
	}
	size := entryLen(isV6(c), cur.LeftOnWire())
	at := cur.Fields()
	n, last, ended := readServers(cur, size)
	if !cur.OK() || cur.Cut() || ended {
		return page
	}
	if n < fullPage {
		cur.ExpertAt(&codeChain, finding.Chat, at, uint64(n), 0)
	}
	if len(last) == entryV4 {
		page.At = uint64(binary.BigEndian.Uint32(last))<<16 | uint64(binary.BigEndian.Uint16(last[4:]))
	}
	return page
}

// hasKey reports whether a list begins with Xash3D's key. 7F also begins the
// loopback addresses that a master on one machine lists: 127.0.x.x is taken for
// one of these.
func hasKey(b []byte) bool {
	return len(b) > 0 && b[0] == keyMark && !bytes.HasPrefix(b, []byte{keyMark, 0})
}

// entryLen returns the length of an entry: that of the master's own address family,
// but the short one where only short ones fill a list of n bytes.
func entryLen(v6 bool, n int) int {
	if v6 && (n%entryV6 == 0 || n%entryV4 != 0) {
		return entryV6
	}
	return entryV4
}

// readServers reads entries of size bytes to the end of the message, and returns how
// many there were and whether the end mark was among them. Port 0 is the mark;
// masters send it with an address of zeros. Clients stop there, so what follows
// is not seen by them.
func readServers(cur *dissect.Cursor, size int) (n int, last []byte, ended bool) {
	cur.Push(&defServers, cur.LeftOnWire()/size)
	for ; cur.OK() && cur.Left() > 0; n++ {
		b := cur.Addr(&defServer, size)
		last = b
		if len(b) == size && b[size-2] == 0 && b[size-1] == 0 {
			cur.Note("end of the list")
			ended = true
		}
	}
	cur.Pop()
	return n, last, ended
}

const (
	// limit: fullPage is how many entries a page has that the master filled: 1,392
	// bytes. A shorter one without the end mark is worth a word.
	fullPage = 231

	// limit: maxFilter is the longest filter that masters are known to take, in bytes.
	maxFilter = 190
)
