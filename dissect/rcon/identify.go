package rcon

import (
	"bytes"
	"unicode/utf8"

	"qsniff/dissect"
)

// ratePacket returns how sure it is, by the packet alone, that it is RCON's.
// b is what came from its start on, n its length. Types are the standard ones and
// those of dialects, text is text: a length before it is what many protocols have.
func ratePacket(dir dissect.Direction, b []byte, n int) dissect.Confidence {
	h := parseHeader(b)
	most := uint32(usualSize)
	if dir == dissect.ToServer {
		most = maxFirstSize
	}
	if !h.fits(most) || !h.hasUsualType(dir) {
		return dissect.No
	}
	if !h.whole() {
		return dissect.Maybe
	}
	whole := len(b) >= n
	if whole && !endsWithNULs(b, n) {
		return dissect.No
	}
	body := b[headerLen:max(headerLen, min(len(b), n-endLen))]
	if h.size == minSize+1 && dir == dissect.ToClient && len(bytes.Trim(body, "\x00")) == 0 {
		body = nil // a failed login with a NUL too much
	}
	if !isPrintable(body, dir == dissect.ToClient) {
		return dissect.No
	}
	if dir == dissect.ToServer {
		return rateRequest(h, body, whole, b[min(len(b), n):])
	}
	return rateReply(h, len(body))
}

// rateRequest judges a client's packet. A password is the best evidence there is:
// type 3 and nothing else makes sense, its text ends where the size says, and what
// follows is the next packet or nothing.
func rateRequest(h header, body []byte, whole bool, next []byte) dissect.Confidence {
	switch {
	case h.size == minSize && h.num != numAuth:
		return dissect.Maybe
	case h.num == numAuth && whole && len(body) > 0 && utf8.Valid(body):
		if follows := parseHeader(next); follows.fits(maxSize) && follows.hasUsualType(dissect.ToServer) {
			return dissect.Certain
		}
		return dissect.Maybe
	case h.num == numAuth, h.num == numExec:
		return dissect.Likely
	}
	return dissect.Maybe
}

// rateReply judges a server's packet with n bytes of text.
func rateReply(h header, n int) dissect.Confidence {
	switch {
	case h.num == numAuthResponse && n == 0, h.num == numValue && n >= longText:
		return dissect.Likely
	}
	return dissect.Maybe
}

// isPrintable reports whether b is text: no control characters, apart from those of a
// console's output.
func isPrintable(b []byte, output bool) bool {
	const escape = 0x1b // of colours
	for _, x := range b {
		if x < ' ' && !(output && (x == '\n' || x == '\r' || x == '\t' || x == escape)) || x == 0x7f {
			return false
		}
	}
	return true
}
