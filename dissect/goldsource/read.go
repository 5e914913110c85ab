package goldsource

import (
	"bytes"

	"qsniff/dissect"
	"qsniff/internal/base/console"
)

// readText reads the message of type t after its FF FF FF FF.
func readText(c *dissect.Context, cur *dissect.Cursor, m *dissect.Message) {
	switch m.Type {
	case &typePing, &typeInfostring, &typeDetails, &typePlayers, &typeRules:
		readWord(cur)
		cur.Expert(&dissect.Deprecated, 0, 0)
	case &typeListen:
		readWord(cur)
	case &typeRconChallengeReq, &typeRconChallenge:
		readWord(cur)
		m.Learn.RconChallenge = readRconChallenge(cur)
		m.PairBy(&defChallenge)
	case &typeInfoReq:
		readWord(cur)
		if _, ok := readNumber(cur, &defVersion); !ok {
			cur.Expert(&dissect.Deprecated, 0, 0)
		}
	case &typeNetinfo:
		readWord(cur)
		readNumber(cur, &defVersion)
		readNumber(cur, &defNetContext)
		readNumber(cur, &defNetType)
	case &typeGetChallenge:
		readWord(cur)
		readToken(cur, &defAuth)
	case &typeRcon:
		readWord(cur)
		readRcon(c, cur)
		m.PairBy(&defChallenge)
	case &typeLog:
		readHeadword(cur)
		readConsole(c, cur, &defLine, &defLineSecret)
	case &typeInfostringReply, &typeXashInfo:
		readPairsReply(c, cur)
	case &typePrint:
		if b := cur.Peek(2); len(b) > 0 && b[0] == opPrint {
			cur.U8(&defOpcode)
		} else {
			readHeadword(cur)
		}
		m.Refused = refusesChallenge(cur.Peek(cur.Left()))
		readConsole(c, cur, &defText, &defTextSecret)
	case &typeProxyListen, &typeProxyRedirect:
		cur.U8(&defOpcode)
		readToken(cur, &defProxyAddress)
	case &typeConnectChallenge:
		readConnectChallenge(cur)
	}
	readTerminator(c, cur)
}

// What servers print for a command whose challenge they do not take: ReHLDS both.
var (
	badPassword  = []byte("Bad rcon_password.\n")
	badChallenge = []byte("Bad challenge")
)

// refusesChallenge reports whether a server prints that the challenge of a command is wrong.
func refusesChallenge(text []byte) bool {
	if hasPrefixFold(text, badPassword) {
		text = text[len(badPassword):]
	}
	return hasPrefixFold(text, badChallenge)
}

// wordLen is how many letters what is left begins with.
func wordLen(cur *dissect.Cursor) int {
	const longest = len("infostringresponse")
	b := cur.Peek(longest)
	n := 0
	for n < len(b) && b[n]|0x20 >= 'a' && b[n]|0x20 <= 'z' {
		n++
	}
	return n
}

// readWord reads the word that names the kind of message.
func readWord(cur *dissect.Cursor) { cur.Run(&defWord, 0, wordLen(cur), 0) }

// readHeadword reads a word and the one byte that parts it from what follows.
func readHeadword(cur *dissect.Cursor) {
	n := wordLen(cur)
	cur.Run(&defWord, 0, n, min(1, cur.Left()-n))
}

// readNumber reads a decimal number after blanks, if there is one.
func readNumber(cur *dissect.Cursor, d *dissect.Def) (v uint64, ok bool) {
	b := cur.Peek(cur.Left())
	if skipNumber(b) == nil {
		return 0, false
	}
	return cur.Digits(d, len(b)-len(skipBlanks(b))), true
}

// readToken reads text after blanks up to the next of them, if there is any.
func readToken(cur *dissect.Cursor, d *dissect.Def) {
	b := cur.Peek(cur.Left())
	rest := skipBlanks(b)
	n := 0
	for n < len(rest) && !isTerminator(rest[n:n+1]) {
		n++
	}
	if n > 0 {
		cur.Run(d, len(b)-len(rest), n, 0)
	}
}

// readTerminator reads what is left if it only ends the text, or if it is more
// text with a password in it. Other bytes stay for Trailing.
func readTerminator(c *dissect.Context, cur *dissect.Cursor) {
	b := cur.Peek(cur.Left())
	if isTerminator(b) {
		cur.Rest(&defTerminator)
	} else if k := (console.Finder{Passwords: c.Passwords, IsCut: cur.Cut()}); holdsSecret(&k, b) {
		cur.Rest(&defHidden)
	}
}

// readConsole reads text up to and with its NUL, which the end of the datagram
// can stand for, and keeps the passwords in it apart.
func readConsole(c *dissect.Context, cur *dissect.Cursor, d, secret *dissect.Def) {
	k := console.Finder{Passwords: c.Passwords, IsCut: cur.Cut(), IsOutput: d == &defText}
	n, tail := bytes.IndexByte(cur.Peek(cur.Left()), 0), 1
	if n < 0 {
		n, tail = cur.Left(), 0
	}
	if c.Disputed {
		k.First.Hi = n
	} else if d == &defText && c.Passwords != nil {
		k.First = c.Passwords.Tail.FindRest(cur.Peek(n), false, c.Passwords)
	}
	cur.Pieces(d, secret, n, tail, k.Next)
}

// holdsSecret reports whether b has something that must not be shown.
func holdsSecret(k *console.Finder, b []byte) bool {
	lo, _ := k.Next(b)
	return lo >= 0
}

// readRconChallenge reads what follows the word: " rcon", and the number in the
// answer. It returns the number.
func readRconChallenge(cur *dissect.Cursor) uint32 {
	b := cur.Peek(len(rconWord))
	if len(b) == 0 || !hasPrefixFold(rconWord, b) {
		return 0
	}
	cur.Run(&defWord, 1, len(b)-1, 0)
	v, _ := readNumber(cur, &defChallenge)
	return uint32(v)
}

// readConnectChallenge reads the challenge for joining and what follows it:
//
//	A00000000 584425803 3 90071992547409920 1
func readConnectChallenge(cur *dissect.Cursor) {
	cur.U8(&defOpcode)
	if n := min(cur.Left(), len(connectZeros)); n > 0 {
		cur.Run(&defZeros, 0, n, 0)
	}
	for _, d := range connectNumbers {
		if _, ok := readNumber(cur, d); !ok {
			return
		}
	}
}

var connectNumbers = [...]*dissect.Def{&defChallenge, &defAuthProtocol, &defSteamID, &defSecure}

// readRcon reads the arguments of rcon. The number before the password is
// shown as a challenge if quotes around the password or an earlier challenge of
// this server say that it is one; else it can be the password of a dialect
// without challenges, and the command stands where the password would.
func readRcon(c *dissect.Context, cur *dissect.Cursor) {
	b := cur.Peek(cur.Left())
	r := console.ParseRcon(b)
	at := 0
	if r.Challenge.IsFound() {
		d := &defMaybeChallenge
		if r.IsCertain || isGivenChallenge(c, b[r.Challenge.Lo:r.Challenge.Hi]) {
			d = &defChallenge
		}
		cur.Digits(d, r.Challenge.Lo)
		at = r.Challenge.Hi
	}
	var known console.Passwords
	if c.Passwords != nil {
		known = *c.Passwords
	}
	if r.Password.IsFound() {
		known.Add(b[r.Password.Lo:r.Password.Hi], false) // the command may repeat it
		blanks := len(b[r.End:]) - len(skipBlanks(b[r.End:]))
		cur.Run(&defPassword, r.Password.Lo-at, r.Password.Hi-r.Password.Lo, r.End-r.Password.Hi+blanks)
		at = r.End + blanks
	}
	command := b[at:]
	if i := bytes.IndexByte(command, 0); i >= 0 {
		command = command[:i]
	}
	if n := len(bytes.TrimRight(command, "\r\n")); n > 0 && r.Password.IsFound() {
		k := console.Finder{Passwords: &known, IsCut: cur.Cut()}
		cur.Pieces(&defCommand, &defCommandSecret, n, 0, k.Next)
	}
	if rest := cur.Peek(cur.Left()); len(bytes.Trim(rest, "\r\n\x00")) > 0 { // part of the password, for all we know
		cur.Rest(&defPassword)
	}
}

// isGivenChallenge reports whether the server gave out this challenge.
func isGivenChallenge(c *dissect.Context, digits []byte) bool {
	v := uint64(0)
	for _, x := range digits {
		v = v*10 + uint64(x-'0')
	}
	return v != 0 && v == uint64(c.ToServer.RconChallenge)
}
