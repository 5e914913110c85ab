package goldsource

import (
	"bytes"

	"qsniff/dissect"
	"qsniff/internal/base/console"
)

// text is a message after its FF FF FF FF, as a probe looks at it.
type text struct {
	b    []byte
	wire int // its length as sent
	// asked and challenged are what the flow showed: questions to the server that
	// sent this, and whether the one it goes to gave out an rcon challenge.
	asked      dissect.Asked
	challenged bool
}

func newText(c *dissect.Context, b []byte) text {
	return text{b: b[headerLen:], wire: max(c.Wire, len(b)) - headerLen,
		asked: c.FromServer.Asked, challenged: c.ToServer.RconChallenge != 0}
}

func (t text) cut() bool { return t.wire > len(t.b) }

// word is a message that begins with a word. rate rates it by what follows the word.
type word struct {
	text     []byte
	typ      *dissect.Type // of a message that the capture cut within the word
	maxAfter int           // how much can follow the word then, at most
	rate     func(t text, rest []byte) (dissect.Confidence, *dissect.Type)
}

// A request's word is followed by a terminator of one or two bytes.
const (
	terminatorMax = 2
	restMax       = 1 << 16
)

// Words that no neighbour uses are believed. Quake and its descendants have the
// others too, so those need a second witness.
var words = [...]word{
	newRequestWord("details", &typeDetails, dissect.Likely),
	newRequestWord("infostring", &typeInfostring, dissect.Likely),
	newRequestWord("players", &typePlayers, dissect.Likely),
	newRequestWord("rules", &typeRules, dissect.Likely),
	newRequestWord("ping", &typePing, dissect.Maybe),
	newRequestWord("listen", &typeListen, dissect.Maybe),
	{[]byte("info"), &typeInfoReq, terminatorMax, rateInfo},
	{[]byte("infostringresponse"), &typeInfostringReply, restMax, rateInfostring},
	{[]byte("netinfo"), &typeNetinfo, restMax, rateNetinfo},
	{[]byte("getchallenge"), &typeGetChallenge, restMax, rateGetChallenge},
	{[]byte("challenge"), &typeRconChallengeReq, len(rconWord) + terminatorMax, rateRconChallenge},
	{[]byte("rcon"), &typeRcon, restMax, rateRcon},
	{[]byte("log"), &typeLog, restMax, rateLog},
	{[]byte("print"), &typePrint, restMax, ratePrintWord},
}

// wordLetters marks, in both cases, the first letters of words and the second ones. The opcode of
// S2A_INFO is a letter that words begin with, so the second letter distinguishes most replies from words.
var wordLetters = func() (t [2][256]bool) {
	const lower = 0x20
	for i := range words {
		for j, c := range words[i].text[:2] {
			t[j][c], t[j][c&^lower] = true, true
		}
	}
	return
}()

func newRequestWord(w string, typ *dissect.Type, k dissect.Confidence) word {
	return word{[]byte(w), typ, terminatorMax, func(_ text, rest []byte) (dissect.Confidence, *dissect.Type) {
		if !isTerminator(rest) {
			return dissect.No, nil
		}
		return k, typ
	}}
}

// rateWord looks for a word at the start of t. ok reports whether there is one; then
// the message is no opcode with letters after it.
func (t text) rateWord() (k dissect.Confidence, typ *dissect.Type, ok bool) {
	if len(t.b) == 0 || !wordLetters[0][t.b[0]] || len(t.b) > 1 && !wordLetters[1][t.b[1]] { // nearly all messages are none
		return dissect.No, nil, false
	}
	for i := range words {
		w := &words[i]
		if !hasPrefixFold(t.b, w.text) {
			continue
		}
		if rest := t.b[len(w.text):]; len(rest) == 0 || isTerminator(rest[:1]) {
			k, typ = w.rate(t, rest)
			return k, typ, true
		}
	}
	if t.cut() {
		k, typ = t.rateCutWord()
		return k, typ, k != dissect.No
	}
	return dissect.No, nil, false
}

// rateCutWord looks at a message whose word the capture cut. The length as sent
// chooses among the words that can be meant.
func (t text) rateCutWord() (dissect.Confidence, *dissect.Type) {
	const enough = 4 // letters; fewer may be an opcode and other bytes
	if len(t.b) < enough {
		return dissect.No, nil
	}
	for i := range words {
		w := &words[i]
		if len(t.b) < len(w.text) && hasPrefixFold(w.text, t.b) && t.wire >= len(w.text) && t.wire <= len(w.text)+w.maxAfter {
			return dissect.Maybe, w.typ
		}
	}
	return dissect.No, nil
}

// rateInfo distinguishes the request "info", with the protocol 47 to 49 from Xash3D, from
// Xash3D's answer, a line feed and pairs or a complaint. Quake 2 has both too,
// with protocol 34 and without pairs.
func rateInfo(t text, rest []byte) (dissect.Confidence, *dissect.Type) {
	n := len(skipBlanks(rest))
	body, version := rest[len(rest)-n:], 0
	for n = 0; n < len(body) && n < 2 && body[n] >= '0' && body[n] <= '9'; n++ {
		version = version*10 + int(body[n]-'0')
	}
	switch {
	case t.cut() && len(rest) == 1 && rest[0] == '\n' && t.wire > len(t.b)+1:
		return dissect.Maybe, &typeXashInfo
	case isTerminator(body[n:]) && version >= 47 && version <= 49:
		return dissect.Likely, &typeInfoReq
	case isTerminator(body[n:]):
		return dissect.Maybe, &typeInfoReq
	case rest[0] != '\n':
		return dissect.No, nil
	case rest[1] == '\\':
		return dissect.Likely, &typeXashInfo
	case t.asked&dissect.AskInfo != 0:
		return dissect.Maybe, &typeXashInfo
	}
	return dissect.No, nil
}

func rateInfostring(_ text, rest []byte) (dissect.Confidence, *dissect.Type) {
	if len(rest) > 1 && rest[1] == '\\' {
		return dissect.Certain, &typeInfostringReply
	}
	return dissect.Likely, &typeInfostringReply
}

// rateNetinfo: three numbers are the question, two and pairs or a list of players the answer.
func rateNetinfo(_ text, rest []byte) (dissect.Confidence, *dissect.Type) {
	n := 0
	var first []byte // what follows the second number
	for ; n < 3; n++ {
		if n == 2 {
			first = rest
		}
		after := skipNumber(rest)
		if after == nil {
			break
		}
		rest = after
	}
	switch {
	case n == 3 && isTerminator(rest):
		return dissect.Likely, &typeNetinfo
	case n == 2 && (isTerminator(rest) || skipBlanks(rest)[0] == '\\'), beginsPlayers(first):
		return dissect.Likely, &typeXashInfo
	}
	return dissect.No, nil
}

// beginsPlayers reports whether b is a blank and then the list of players of old servers, of which each
// begins with its number: in digits, or as one byte.
func beginsPlayers(b []byte) bool {
	list := skipBlanks(b)
	n := 0
	for n < len(list) && list[n] >= '0' && list[n] <= '9' {
		n++
	}
	if n == 0 && len(list) > 0 && list[0] > 0 && list[0] < ' ' {
		n = 1
	}
	return n > 0 && len(list) < len(b) && n < len(list) && list[n] == separator
}

// rateGetChallenge: Quake 3 asks with the bare word as well.
func rateGetChallenge(_ text, rest []byte) (dissect.Confidence, *dissect.Type) {
	if arg := skipBlanks(rest); hasPrefixFold(arg, steamWord) && isTerminator(arg[len(steamWord):]) {
		return dissect.Likely, &typeGetChallenge
	}
	if !isText(rest) {
		return dissect.No, nil
	}
	return dissect.Maybe, &typeGetChallenge
}

var (
	rconWord  = []byte(" rcon")
	steamWord = []byte("steam")
)

// rateRconChallenge: the number is what the answer has and the question has not.
func rateRconChallenge(t text, rest []byte) (dissect.Confidence, *dissect.Type) {
	if len(rest) <= len(rconWord) && t.cut() && hasPrefixFold(rconWord, rest) {
		if t.wire > len("challenge rcon")+terminatorMax {
			return dissect.Maybe, &typeRconChallenge
		}
		return dissect.Maybe, &typeRconChallengeReq
	}
	if !hasPrefixFold(rest, rconWord) {
		return dissect.No, nil
	}
	rest = rest[len(rconWord):]
	after := skipNumber(rest)
	switch {
	case after != nil && isTerminator(after):
		return dissect.Certain, &typeRconChallenge
	case !isTerminator(rest):
		return dissect.No, nil
	case t.cut() && t.wire > len("challenge rcon")+terminatorMax:
		return dissect.Maybe, &typeRconChallenge
	}
	return dissect.Certain, &typeRconChallengeReq
}

// rateRcon: a challenge before the password is GoldSource's. Quake's family
// has the word without it, and a password that is a number is shorter than nearly
// all challenges, which are random numbers of 31 bits.
func rateRcon(t text, rest []byte) (dissect.Confidence, *dissect.Type) {
	const longNumber = 8 // digits
	if !isText(rest) {
		return dissect.No, nil
	}
	r := console.ParseRcon(rest)
	if r.Challenge.IsFound() && (r.IsQuoted || t.challenged || r.Challenge.Hi-r.Challenge.Lo >= longNumber) {
		return dissect.Likely, &typeRcon
	}
	return dissect.Maybe, &typeRcon
}

func rateLog(t text, rest []byte) (dissect.Confidence, *dissect.Type) {
	const enough = len("L 07/") // of the date, where the capture ends within it
	switch {
	case len(rest) == 0 || rest[0] != ' ' || !console.IsLogLine(rest[1:]):
		return dissect.No, nil
	case console.IsWholeLogLine(rest[1:]):
		return dissect.Certain, &typeLog
	case t.cut() && len(rest) > enough:
		return dissect.Likely, &typeLog
	case t.cut():
		return dissect.Maybe, &typeLog
	}
	return dissect.No, nil
}

// ratePrintWord: Xash3D answers rcon with Quake 3's word for it.
func ratePrintWord(t text, rest []byte) (dissect.Confidence, *dissect.Type) {
	if t.asked&dissect.AskRcon == 0 || len(rest) == 0 || rest[0] != '\n' {
		return dissect.No, nil
	}
	return dissect.Maybe, &typePrint
}

// hasPrefixFold reports whether b starts with prefix; engines accept any case.
func hasPrefixFold(b, prefix []byte) bool {
	return len(b) >= len(prefix) && bytes.EqualFold(b[:len(prefix)], prefix)
}

// isTerminator reports whether b is nothing but what ends text.
func isTerminator(b []byte) bool {
	for _, x := range b {
		if x != 0 && x != '\n' && x != '\r' && x != ' ' && x != '\t' {
			return false
		}
	}
	return true
}

func skipBlanks(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}

// skipNumber returns what is after a blank and a decimal number, or nil.
func skipNumber(b []byte) []byte {
	after := skipBlanks(b)
	n := 0
	for n < len(after) && after[n] >= '0' && after[n] <= '9' {
		n++
	}
	if n == 0 || len(after) == len(b) {
		return nil
	}
	return after[n:]
}

// isText reports whether the start of b is text: no control characters but blanks,
// and a few that games write colours with.
func isText(b []byte) bool {
	const enough, rare = 256, 16
	b = b[:min(len(b), enough)]
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	controls := 0
	for _, x := range b {
		if x < ' ' && x != '\n' && x != '\r' && x != '\t' {
			controls++
		}
	}
	return controls*rare <= len(b)
}

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
	printed, rest := body[:end], body[end:]
	switch {
	case isTerminator(printed) || !isText(printed) || len(bytes.Trim(rest, "\x00")) > 0:
		return dissect.No
	case len(rest) > 0 && printed[end-1] == '\n', len(rest) > 1:
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
