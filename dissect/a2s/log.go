package a2s

import (
	"bytes"

	"qsniff/dissect"
	"qsniff/internal/base/console"
)

// rateLog looks for the date that every line of a log begins with. What is between
// the opcode and the date is the secret, of any length and without an end of its own.
func (p *probe) rateLog(op byte) dissect.Confidence {
	const enough = len("L 07/") // of the date, where the capture ends within it
	switch {
	case op == opLog && len(p.b) >= console.LogLineLen && console.IsLogLine(p.b):
		return dissect.Certain
	case op == opLogSecret && console.FindLogLine(p.b) >= 0:
		return dissect.Certain
	case op == opLog && p.cut && len(p.b) >= enough && console.IsLogLine(p.b):
		return dissect.Likely
	}
	return dissect.No
}

// readLogLine reads the body of S2A_LOGSTRING, or of S2A_LOGSTRING2, which has a secret.
// As long as no line was seen, all of it can be the secret.
func readLogLine(cur *dissect.Cursor, secret bool) {
	b := cur.Peek(cur.Left())
	if secret {
		n := console.FindLogLine(b)
		if n < 0 {
			cur.Rest(&defLogSecret)
			return
		}
		if n > 0 {
			cur.Take(&defLogSecret, n)
		}
		b = b[n:]
	}
	n, tail := bytes.IndexByte(b, 0), 1
	if n < 0 {
		n, tail = len(b), 0
	}
	cur.Pieces(&defLine, &defLineSecret, n, tail, console.FindSecret)
	rest := cur.Peek(cur.Left())
	if len(bytes.Trim(rest, "\n\x00")) == 0 {
		cur.Rest(&defLogEnd)
	} else if lo, _ := console.FindSecret(rest); lo >= 0 {
		cur.Rest(&defLogBehind)
	}
}
