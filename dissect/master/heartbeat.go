package master

import (
	"bytes"

	"qsniff/dissect"
	"qsniff/internal/base/console"
)

// separator stands before every name and value of an infostring.
const separator = '\\'

// challengeLen is the length of a challenge: an opaque 32-bit number.
const challengeLen = 4

// readJoin reads the body of S2M_JOIN. Xash3D adds a number of its own, which the
// master must bring back.
func readJoin(cur *dissect.Cursor) {
	if b := cur.Peek(1); len(b) == 1 && b[0] == formXash {
		cur.U8(&defForm)
		if cur.LeftOnWire() > 0 {
			cur.U32(&defChallenge)
		}
		return
	}
	readTerminator(cur)
}

// readChallenge reads the body of M2A_CHALLENGE.
func readChallenge(cur *dissect.Cursor) {
	cur.U8(&defForm)
	cur.U32(&defChallenge)
	if cur.LeftOnWire() >= challengeLen {
		cur.U32(&defEcho)
	}
}

// readHeartbeat reads the body of S2M_HEARTBEAT2: an infostring that ends with a line
// feed. A value may end with the datagram.
func readHeartbeat(cur *dissect.Cursor) {
	cur.U8(&defForm)
	rest := cur.Peek(cur.Left())
	cur.Push(&defPairs, (bytes.Count(rest, []byte{separator})+1)/2)
	for i := 0; cur.OK() && startsPair(cur.Peek(1)); i++ {
		cur.Push(&defPair, i)
		name := cur.Word(&defName, separator, pairEnds)
		cur.Word(valueDef(name, cur.Peek(cur.Left()), cur.Cut()), separator, pairEnds)
		cur.Pop()
	}
	cur.Pop()
	readTerminator(cur)
}

// pairEnds are the bytes that end a name or a value.
const pairEnds = "\\\n\x00"

// valueDef is the definition for the value that b starts with, after its separator.
// Servers say with 0 and 1 whether they have a password.
func valueDef(name, b []byte, cut bool) *dissect.Def {
	b = bytes.TrimPrefix(b, []byte{separator})
	n := bytes.IndexAny(b, pairEnds)
	if n < 0 {
		n = len(b)
		if cut && console.HoldsSecret(name) {
			return &defSecret
		}
	}
	if console.HidesPair(name, b[:n]) {
		return &defSecret
	}
	return &defWhat
}

func startsPair(b []byte) bool { return len(b) == 1 && b[0] == separator }
