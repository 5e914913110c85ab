package rcon

import (
	"bytes"

	"qsniff/dissect"
)

// Bytes by which the sizes of known servers are wrong.
const (
	uncountedNUL    = 1  // one of the two NULs
	uncountedNULs   = 2  // both: the size goes up to the first
	uncountedHeader = 8  // id and type
	uncountedAll    = 10 // the body is counted alone
	countedItself   = 4  // too much: the size
)

// findMiscounted finds a server's packet whose size is wrong: it is too large for a body that was cut, as where a length in
// characters is used for bytes, or leaves something out. Bodies are text: the two NULs after it are where the packet ends, if
// the next one begins there or nothing follows. What a size says is never waited for alone: each piece that comes is
// looked at. ok is false where the size is right as far as it can be told.
func (v *view) findMiscounted(b []byte, h header) (r dissect.Record, ok bool) {
	if !h.whole() || !h.hasUsualType(dissect.ToClient) || h.size > maxSize {
		return r, false
	}
	r = dissect.Record{Conf: dissect.Likely, Type: h.typeOf(dissect.ToClient), Len: h.length()}
	n := h.length()
	i := bytes.IndexByte(b[headerLen:], 0)
	if i < 0 {
		switch {
		case v.last:
		case h.size < minSize && len(b) < n+uncountedAll:
			return dissect.Record{Conf: dissect.Maybe, Type: r.Type, Need: n + uncountedAll}, true
		case h.size >= minSize && len(b) < n:
			r.Need = min(n, nextLook(len(b)))
			return r, true
		}
		return r, false
	}
	end := headerLen + i + endLen
	switch {
	case end > len(b) && !v.last && end < n:
		r.Need = end
		return r, true
	case end > len(b) || b[end-1] != 0 || end == n:
		return r, false
	case end > n:
		return v.findUncounted(b, h, end)
	}
	found, want := believablePacket(dissect.ToClient, b[end:])
	switch {
	case end == len(b) && v.last, found > 0:
		r.Len = end
		return r, true
	case v.last || len(b) >= n:
		return r, false
	case end == len(b), want > 0:
		r.Need = min(n, end+max(want, headerLen))
		return r, true
	}
	r.Need = min(n, nextLook(len(b)))
	return r, true
}

// nextLook returns how many bytes there must be before a packet of which n came is looked at again. Short ones are looked
// at with each segment, long ones after a sixteenth more: so a byte of a sender who sends single ones costs little.
func nextLook(n int) int { return n + 1 + n/16*min(n/eachSegment, 1) }

// eachSegment is up to how many bytes of a packet it is looked at with each segment. Chosen: two of the usual packets.
const eachSegment = 8 << 10

// findUncounted returns the record of a packet that ends after its size says, at end.
func (v *view) findUncounted(b []byte, h header, end int) (r dissect.Record, ok bool) {
	r = dissect.Record{Conf: dissect.Likely, Type: h.typeOf(dissect.ToClient), Len: end}
	switch end - h.length() {
	default:
		return r, false
	case uncountedNUL, uncountedNULs, uncountedHeader, uncountedAll:
	}
	if wide, _ := wideEnd(b, h); wide > 0 {
		return r, false
	}
	if h.size >= minSize {
		if found, _ := believablePacket(dissect.ToClient, b[h.length():]); found > 0 {
			return r, false
		}
	}
	next := parseHeader(b[end:])
	isNext := next.n == 0 || next.fits(usualSize+uncountedAll) || next.n >= sizeLen && next.size < minSize
	return r, isNext && (next.n < headerLen || next.hasUsualType(dissect.ToClient))
}

// isMiscounted reports whether b, of a server, is a packet that findMiscounted found: its first NULs are its last bytes, and
// the size says something else.
func isMiscounted(b []byte, h header) bool {
	if !h.whole() || len(b) < minLen || len(b) == h.length() || !endsWithNULs(b, len(b)) {
		return false
	}
	if bytes.IndexByte(b[headerLen:], 0) != len(b)-minLen {
		return false
	}
	if wide, _ := wideEnd(b, h); wide > 0 {
		return false
	}
	switch more := len(b) - h.length(); more {
	case uncountedNUL, uncountedNULs, uncountedHeader, uncountedAll:
		return true
	default:
		return more < 0
	}
}
