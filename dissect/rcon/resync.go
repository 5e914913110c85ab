package rcon

import (
	"bytes"

	"qsniff/dissect"
)

// enoughInRow is how many packets in a row make an offset believable as a border: a
// packet has no mark, and within a text chance can make a header or two.
const enoughInRow = 3

// Resync looks for three packets in a row, or for two that end with the last byte
// that is there. At the start of b, which is mostly where a segment began, one
// that ends with the last byte of the direction is enough.
func (*Dissector) Resync(c *dissect.Context, b []byte, last bool) (skip, need int) {
	dir := viewOf(c).dir
	for i := range b {
		found, want, exact := countPackets(dir, b[i:])
		switch {
		case found >= enoughInRow, exact && (found == enoughInRow-1 || last && i == 0):
			return i, 0
		case want > 0 && !last:
			return i, want
		}
	}
	if last {
		return len(b), 0
	}
	return len(b), headerLen
}

// countPackets counts the believable packets at the start of b, up to enough. want is how
// many bytes it needs to judge the next one, 0 if that is refuted; exact tells that
// b ends with a packet.
func countPackets(dir dissect.Direction, b []byte) (found, want int, exact bool) {
	at, empty := 0, false
	for found < enoughInRow {
		rest := b[at:]
		if len(rest) == 0 {
			return found, at + headerLen, found > 0
		}
		n, more := believablePacket(dir, rest)
		switch {
		case n > 0:
			found++
			empty = n == minLen && parseHeader(rest).num == numValue && dir != dissect.ToServer
			at += n
		case empty && len(rest) >= strayLen && beginsStray(rest) && (more == 0 || len(rest) == strayLen):
			empty = false
			at += strayLen
		case more > 0:
			return found, at + more, false
		default:
			return found, 0, false
		}
	}
	return found, 0, at == len(b)
}

// believablePacket returns the length of the packet at the start of b, or 0 and how many
// bytes it wants to tell, or 0 twice where there is none: size and type are usual,
// text has no NUL and two NULs end it. Bodies with a NUL exist, but in a run of
// short packets they would make a size of any two bytes.
func believablePacket(dir dissect.Direction, b []byte) (n, want int) {
	h := parseHeader(b)
	if !h.fits(usualSize) || !h.hasUsualType(dir) {
		return 0, 0
	}
	if !h.whole() {
		return 0, headerLen
	}
	n = h.length()
	body := b[headerLen:max(headerLen, min(len(b), n-endLen))]
	if bytes.IndexByte(body, 0) >= 0 && !isTrailerStart(h, body) && h.size != minSize+1 {
		return 0, 0
	}
	switch {
	case len(b) < n:
		return 0, n
	case endsWithNULs(b, n):
		return n, 0
	case dir == dissect.ToServer:
		return 0, 0
	}
	return wideEnd(b, h)
}

// isTrailerStart reports whether body is that of the packet with which servers of the
// Source engine end their answer to an end probe, as far as it goes.
func isTrailerStart(h header, body []byte) bool {
	return h.size == trailerSize && h.num == numValue && bytes.HasPrefix(trailerBody, body)
}
