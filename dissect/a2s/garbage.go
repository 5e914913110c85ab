package a2s

import (
	"qsniff/dissect"
	"qsniff/reassembly/wire"
)

// minZeros is how long an answer of zeros is at least, in bytes: as long as the
// shortest answer to a query, a challenge. Games send shorter ones to keep a
// connection alive.
const minZeros = bodyOff + challengeLen

// isEmptyAnswer reports whether a datagram is nothing but zeros: what a server sends
// that forgot to write its answer into the buffer.
func isEmptyAnswer(c *dissect.Context, b []byte) bool {
	return len(b) >= minZeros && c.Wire <= len(b) && c.FromSplit == wire.None && isZeros(b)
}

func readZeros(cur *dissect.Cursor, m *dissect.Message) {
	n := cur.Left()
	cur.Rest(&defZeros)
	cur.Expert(&codeGarbage, garbageZeros, uint64(n))
	cur.Done()
	if m.Status == dissect.Complete {
		m.Status = dissect.Malformed
	}
}

// hasHeaderTwice reports whether b, which has its header, is a reply that has it once more.
func hasHeaderTwice(b []byte) bool {
	if len(b) < doubledOff || !wire.IsSingle(b[headerLen:]) {
		return false
	}
	t := byOpcode[b[doubledOff-1]]
	return t != nil && t.Reply
}

// isMisnamed reports whether a message with the letter of S2A_RULES and length bytes
// after it is as long as a challenge, and holds no rule: after the count there is
// room for an empty one only. Servers send it to clients that asked for a challenge.
func isMisnamed(body []byte, length int, asked dissect.Asked) bool {
	const countLen = 2
	return length == challengeLen && len(body) == challengeLen && asked&typeChallenge.Asks != 0 && !isZeros(body[countLen:])
}
