package goldsource

import (
	"bytes"

	"qsniff/dissect"
)

// The opcodes before text.
const (
	opPrint            = 'l'
	opProxyListen      = 'G'
	opProxyRedirect    = 'L'
	opConnectChallenge = 'A'
)

// connectZeros follow the opcode of a challenge for joining.
var connectZeros = []byte("00000000")

// rateLetter looks at a message of text after an opcode.
func (t text) rateLetter() (dissect.Confidence, *dissect.Type) {
	if len(t.b) == 0 {
		return dissect.No, nil
	}
	body := t.b[1:]
	switch t.b[0] {
	case opPrint:
		return t.ratePrint(body), &typePrint
	case opProxyListen:
		return t.rateAddress(body), &typeProxyListen
	case opProxyRedirect:
		return t.rateAddress(body), &typeProxyRedirect
	case opConnectChallenge:
		return t.rateConnectChallenge(body), &typeConnectChallenge
	}
	return dissect.No, nil
}

// ratePrint: text, its NUL, and on game servers one NUL more. QuakeWorld has the
// letter too, without text.
func (t text) ratePrint(body []byte) dissect.Confidence {
	end := bytes.IndexByte(body, 0)
	if end < 0 {
		end = len(body)
	}
	said, rest := body[:end], body[end:]
	switch {
	case isTerminator(said) || !isText(said) || len(bytes.Trim(rest, "\x00")) > 0:
		return dissect.No
	case len(rest) > 0 && said[end-1] == '\n', len(rest) > 1:
		return dissect.Likely
	}
	return dissect.Maybe
}

// rateAddress: digits, dots and a colon, and the end of the line.
func (t text) rateAddress(body []byte) dissect.Confidence {
	body = skipBlanks(body)
	n, dots, colons := 0, 0, 0
	for ; n < len(body); n++ {
		switch x := body[n]; {
		case x == '.' && n > 0:
			dots++
		case x == ':' && n > 0:
			colons++
		case x < '0' || x > '9':
			if dots == 3 && colons <= 1 && isTerminator(body[n:]) {
				return dissect.Likely
			}
			return dissect.No
		}
	}
	if dots == 3 && colons <= 1 || t.cut() && n > 0 && dots <= 3 && colons <= 1 {
		return dissect.Maybe
	}
	return dissect.No
}

// rateConnectChallenge: eight zeros in ASCII and a number. A2S has its challenge
// of four bytes after the same letter.
func (t text) rateConnectChallenge(body []byte) dissect.Confidence {
	const a2sLen = 5
	switch {
	case t.cut() && t.wire != a2sLen && len(body) > 0 && len(body) <= len(connectZeros) && bytes.HasPrefix(connectZeros, body):
		return dissect.Maybe
	case !bytes.HasPrefix(body, connectZeros):
		return dissect.No
	case skipNumber(body[len(connectZeros):]) != nil:
		return dissect.Certain
	case t.cut():
		return dissect.Likely
	}
	return dissect.No
}
