package master

import (
	"bytes"
	"hash/crc32"

	"qsniff/dissect"
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
