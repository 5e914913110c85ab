package goldsource

import (
	"bytes"
	"strconv"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/console"
)

// refused is B of codeOldConsole where the server refused the challenge.
const refused = 1

// codeOldConsole is raised by a command of UDP rcon whose challenge is A nanoseconds old, 0 if
// that is unknown: the server refused it (B), or did not answer.
var codeOldConsole = finding.Code{ID: "RCN-06", Severity: finding.Warn, Fault: finding.Client,
	Seen:   "\"Bad challenge\" in answer to a command of UDP rcon, or no answer to one whose challenge is more than 30 s old",
	Means:  "the challenge is not valid any more: HLTV forgets challenges after about 30 s and then answers nothing; game servers keep them longer",
	Owner:  "nothing: challenges have to expire",
	Client: "ask for a new challenge (\"challenge rcon\") before each command, or when one stays without an answer",
	Ref:    "koraktor/steam-condenser#2",
	Text: func(dst []byte, e *finding.Expert) []byte {
		if e.B == refused {
			dst = append(dst, "the server refused the challenge of a command"...)
		} else {
			dst = append(dst, "no answer to a command with a challenge"...)
		}
		if e.A > 0 {
			dst = append(dst, ", which is "...)
			dst = append(strconv.AppendUint(dst, e.A/1e9, 10), " s old"...)
		}
		return finding.AppendUnsure(dst, e)
	}}

// separator stands before every key and every value.
const separator = '\\'

// readPairsReply reads an answer that is a word and keys and values:
//
//	infostringresponse NUL \key\value... NUL
//	info LF \key\value...                           Xash3D
//	netinfo <context> <type> \key\value... LF       older Xash3D
//	netinfo <context> 3 (N\name\frags\time\)... LF  still older Xash3D
//
// Xash3D complains in a sentence where the pairs would be.
func readPairsReply(c *dissect.Context, cur *dissect.Cursor) {
	numbers := wordLen(cur) == len("netinfo")
	if numbers {
		readWord(cur)
		readNumber(cur, &defNetContext)
		readNumber(cur, &defNetType)
	} else {
		readHeadword(cur)
	}
	b := cur.Peek(cur.Left())
	if len(b) == 0 {
		return
	}
	n, tail := bytes.IndexByte(b, 0), 1
	if n < 0 {
		n, tail = len(b), 0
	}
	if numbers && !cur.Cut() {
		for n > 0 && isTerminator(b[n-1:n]) {
			n, tail = n-1, tail+1
		}
	}
	if numbers && beginsPlayers(b[:n]) {
		readOldPlayers(cur, n, tail)
		return
	}
	if text := skipBlanks(b[:n]); len(text) > 0 && text[0] != separator && !isTerminator(text) {
		k := console.Finder{Passwords: c.Passwords, IsCut: cur.Cut()}
		if c.Disputed {
			k.First.Hi = n
		}
		cur.Pieces(&defText, &defTextSecret, n, tail, k.Next)
		return
	}
	readPairs(cur, n, tail)
}

// readPairs reads keys and values in the next n bytes, which tail bytes end.
func readPairs(cur *dissect.Cursor, n, tail int) {
	separators := bytes.Count(cur.Peek(n), []byte{separator})
	cur.Push(&defPairs, (separators+1)/2)
	for i := 0; n > 0 && cur.OK(); i++ {
		cur.Push(&defPair, i)
		size, name := readPart(cur, &defPairName, n, tail)
		n -= size
		value := &defPairValue
		if cur.SeeksSecrets() && hidesValue(name, cur.Peek(n), cur.Cut() && n == cur.Left()) {
			value = &defPairSecret
		}
		switch {
		case n > 0:
			size, _ = readPart(cur, value, n, tail)
			n -= size
		case tail > 0:
			cur.Note("without a value")
		case !cur.Cut():
			cur.Take(&defPairValue, 1)
		}
		cur.Pop()
	}
	cur.Pop()
}

// readOldPlayers reads players in the next n bytes, which tail bytes end: each is four texts, with a
// separator after each. The one with number 0 is not there where numbers are bytes, as it ends the text.
func readOldPlayers(cur *dissect.Cursor, n, tail int) {
	cur.Push(&defOldPlayers, (bytes.Count(cur.Peek(n), []byte{separator})+3)/4)
	for i := 0; n > 0 && cur.OK(); i++ {
		cur.Push(&defOldPlayer, i)
		for _, d := range [...]*dissect.Def{&defOldNumber, &defOldName, &defOldFrags, &defOldTime} {
			if n == 0 {
				break
			}
			b := cur.Peek(n)
			skip := len(b) - len(skipBlanks(b))
			size := bytes.IndexByte(b[skip:], separator)
			after := 1
			if size < 0 {
				size, after = n-skip, 0
			}
			if n -= skip + size + after; n == 0 {
				after += tail
			}
			cur.Run(d, skip, size, after)
		}
		cur.Pop()
	}
	cur.Pop()
}

// hidesValue reports whether the value that b starts with, after its separator, is a
// secret. Where cut is set the capture cut b: one digit may be the start of more.
func hidesValue(name, b []byte, cut bool) bool {
	value, _, ended := bytes.Cut(bytes.TrimPrefix(skipBlanks(b), []byte{separator}), []byte{separator})
	if cut && !ended {
		return console.HoldsSecret(name)
	}
	return console.HidesPair(name, value)
}

// readPart reads a key or a value of at most n bytes, with the separator
// before it, and returns how many bytes of n that was, and its value. The last
// one takes the tail.
func readPart(cur *dissect.Cursor, d *dissect.Def, n, tail int) (int, []byte) {
	b := cur.Peek(n)
	rest := skipBlanks(b)
	skip := 0
	if len(rest) > 0 && rest[0] == separator {
		skip = len(b) - len(rest) + 1
	}
	size := bytes.IndexByte(b[skip:], separator)
	if size < 0 {
		size = n - skip
	} else {
		tail = 0
	}
	value := b[skip : skip+size]
	cur.Run(d, skip, size, tail)
	return skip + size, value
}
