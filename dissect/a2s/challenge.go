package a2s

import (
	"bytes"

	"qsniff/dissect"
)

// infoText is the fixed payload of an A2S_INFO request.
var infoText = []byte("Source Engine Query")

// challengeLen is the length of a challenge: an opaque 32-bit number.
const challengeLen = 4

// readInfoRequest reads the body of A2S_INFO. The text's NUL may be missing at the
// end of the datagram (old PHP clients send 24 bytes).
func readInfoRequest(c *dissect.Context, cur *dissect.Cursor) {
	have := cur.Peek(len(infoText))
	switch {
	case !bytes.HasPrefix(infoText, have) || len(have) == 0 && !cur.Cut():
		// A retry that sends the challenge alone, or first, or anything else: HLTV
		// answers a letter T whatever follows it.
		sent := cur.LeftOnWire()
		if sent == challengeLen || cur.Cut() && sent == challengeLen+len(infoText)+1 || hasChallengeFirst(cur.Peek(cur.Left()), cur.Cut()) {
			cur.I32(&defChallenge)
		}
		cur.Expert(&codeRetryPayload, 0, 0)
		if rest := cur.Peek(len(infoText)); len(rest) > 0 && bytes.HasPrefix(infoText, rest) {
			cur.LastCString(&defPayload)
		}
		return
	case cur.LeftOnWire() == len(infoText)+challengeLen && bytes.IndexByte(cur.Peek(cur.Left()), 0) != len(infoText):
		cur.Take(&defPayload, len(infoText))
		cur.Note("terminator missing before the challenge")
		cur.Expert(&codeRetryPayload, 0, 0)
		cur.I32(&defChallenge)
		return
	}
	cur.LastCString(&defPayload)
	readChallenge(cur)
}

// hasChallengeFirst reports whether the text stands after a challenge, or in a cut
// capture the part of it that is there.
func hasChallengeFirst(b []byte, cut bool) bool {
	if len(b) < challengeLen+len(infoText) && !cut || len(b) <= challengeLen {
		return false
	}
	rest := b[challengeLen:]
	return bytes.HasPrefix(rest, infoText) || cut && bytes.HasPrefix(infoText, rest)
}

// readChallenge reads what may follow a request: nothing, a challenge, zeros.
func readChallenge(cur *dissect.Cursor) {
	n := cur.Left()
	switch {
	case n == 0:
		return
	case cur.Cut():
		cur.I32(&defChallenge)
	case n < challengeLen:
		text := packText(cur.Peek(n))
		cur.I32(&defChallenge)
		cur.Expert(&codeBadChallenge, uint64(n), text)
		return
	default:
		rest := cur.Peek(n)[challengeLen:]
		if !isZeros(rest) {
			text := packText(cur.Peek(n))
			cur.Take(&dissect.Trailing, n)
			cur.Expert(&codeBadChallenge, uint64(n), text)
			return
		}
		cur.I32(&defChallenge)
	}
	if n = cur.Left(); n > 0 && isZeros(cur.Peek(n)) {
		sent := cur.LeftOnWire()
		cur.Rest(&defPadding)
		cur.Expert(&codePadded, uint64(sent), 0)
	}
}

// packText puts up to eight letters into a number, the first one lowest: what a
// client wrote in place of a challenge. It is 0 if b is no text, as a challenge in
// the wrong place is none.
func packText(b []byte) uint64 {
	v := uint64(0)
	for i, x := range b {
		if x <= ' ' || x >= 0x7f || x == '"' || x == '\\' {
			return 0
		}
		if i < 8 {
			v |= uint64(x) << (8 * i)
		}
	}
	return v
}

func isZeros(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
