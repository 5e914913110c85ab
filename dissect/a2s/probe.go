package a2s

import (
	"bytes"
	"encoding/binary"
	"math"

	"qsniff/dissect"
	"qsniff/internal/base/console"
	"qsniff/reassembly/wire"
)

// probe looks at the body of a message, after the opcode.
type probe struct {
	b      []byte // what was captured of it
	length int    // its length as sent
	cut    bool   // the capture holds less than was sent
	asked  dissect.Asked
	// isKnown is set if the receiver has been a server of this flow before.
	isKnown bool
}

// fitsExactly reports whether the structure ends where the bytes do: what is asked of a
// message without FF FF FF FF, because any packet of a game can begin with one of
// the letters.
func (p *probe) fitsExactly(op byte) bool {
	switch op {
	case opInfo:
		return p.rateInfo() == dissect.Certain
	case opRules:
		return p.rateRules() == dissect.Certain
	case opPlayers:
		n, off, ok := p.walkPlayers()
		left := len(p.b) - off
		return ok && n > 0 && n == int(p.b[0]) && (left == 0 || left == shipEntry*n)
	}
	return false
}

func (p *probe) rate(op byte) dissect.Confidence {
	switch op {
	case opInfoReq:
		return p.rateInfoRequest()
	case opPlayersReq, opRulesReq, opGetChallenge:
		return p.rateChallengeRequest()
	case opPing:
		return p.rateShort(dissect.Maybe, 0, 1)
	case opAck:
		return p.rateAck()
	case opChallenge:
		if p.length != challengeLen {
			return dissect.No
		}
		return dissect.Likely
	case opInfo:
		return p.rateInfo()
	case opPlayers:
		return p.ratePlayers()
	case opRules:
		return p.rateRules()
	case opLog, opLogSecret:
		return p.rateLog(op)
	}
	return dissect.No
}

// rateShort accepts bodies of lo to hi bytes.
func (p *probe) rateShort(k dissect.Confidence, lo, hi int) dissect.Confidence {
	if p.length < lo || p.length > hi {
		return dissect.No
	}
	for _, x := range p.b {
		if x != 0 && x != '\n' {
			return dissect.No
		}
	}
	return k
}

func (p *probe) rateInfoRequest() dissect.Confidence {
	switch {
	case bytes.HasPrefix(p.b, infoText):
		return dissect.Certain
	case p.cut && bytes.HasPrefix(infoText, p.b), hasChallengeFirst(p.b, p.cut):
		return dissect.Likely
	case p.length == challengeLen || p.length == 0: // a retry that lost its text
		return dissect.Maybe
	case p.length < len(infoText) && p.isMostlyText(p.b): // HLTV looks at the letter only
		return dissect.Maybe
	}
	return dissect.No
}

// rateChallengeRequest: 5 bytes in all, 9 with a challenge, more with zeros. The two
// placeholders are what every client starts with. Real clients (npm steam-server-query 1.1.3)
// send a whole reply back in place of a challenge: that is one only where the flow shows it.
func (p *probe) rateChallengeRequest() dissect.Confidence {
	switch {
	case p.length == challengeLen && len(p.b) == challengeLen:
		if v := int32(binary.LittleEndian.Uint32(p.b)); v == -1 || v == 0 {
			return dissect.Certain
		}
		return dissect.Likely
	case p.length > challengeLen && len(p.b) >= challengeLen && isZeros(p.b[challengeLen:]):
		return dissect.Likely
	case p.length <= 16 || p.isKnown: // nothing, a piece, a number as text; or anything
		return dissect.Maybe
	}
	return dissect.No
}

// rateAck: an empty string (GoldSource), fourteen '0' and a NUL (Source), or nothing.
func (p *probe) rateAck() dissect.Confidence {
	const sourceLen = 15
	if p.length == sourceLen && bytes.Count(p.b, []byte{'0'}) >= len(p.b)-1 {
		return dissect.Likely
	}
	return p.rateShort(dissect.Maybe, 0, 1)
}

// skipTexts steps over n strings from offset off and returns the offset after the
// last NUL, or -1 if one does not end.
func (p *probe) skipTexts(off, n int) int {
	for range n {
		i := bytes.IndexByte(p.b[off:], 0)
		if i < 0 {
			return -1
		}
		off += i + 1
	}
	return off
}

// rateInfo: four strings, then nine bytes of which four come from small sets.
// Frontlines: Fuel of War has more text where these bytes should be.
func (p *probe) rateInfo() dissect.Confidence {
	const fixed = 9 // app_id to vac
	if len(p.b) < 1 {
		return dissect.Maybe
	}
	off := p.skipTexts(1, 4)
	if off < 0 || len(p.b)-off < fixed {
		if p.cut || p.isMostlyText(p.b[1:]) {
			return dissect.Maybe
		}
		return dissect.No
	}
	f := p.b[off : off+fixed]
	serverType, environment, visibility, vac := f[5], f[6], f[7], f[8]
	if serverType != 0 && dissect.ServerTypeName(uint64(serverType)) == "" || dissect.EnvironmentName(uint64(environment)) == "" {
		return dissect.No
	}
	if visibility > 1 || vac > 1 {
		return dissect.Maybe
	}
	return dissect.Certain
}

// isMostlyText reports whether most of a piece of a message is text.
func (p *probe) isMostlyText(b []byte) bool {
	n := 0
	for _, x := range b {
		if x >= 0x20 || x == 0 {
			n++
		}
	}
	return n*4 >= len(b)*3
}

// walkPlayers steps over as many entries as are counted and there. ok reports whether
// the times are possible: finite and at least -1 in all replies that were recorded.
func (p *probe) walkPlayers() (n, off int, ok bool) {
	const never = 1e9 // seconds: 30 years
	if len(p.b) == 0 {
		return 0, 0, false
	}
	off = 1
	for n < int(p.b[0]) {
		size := playerLen(p.b[off:])
		if size == 0 {
			break
		}
		off += size
		t := math.Float32frombits(binary.LittleEndian.Uint32(p.b[off-4:]))
		if !(t >= -1 && t < never) {
			return n, off, false
		}
		n++
	}
	return n, off, true
}

// ratePlayers: impossible times do not refute, they only do not confirm.
func (p *probe) ratePlayers() dissect.Confidence {
	n, off, ok := p.walkPlayers()
	if !ok || n == 0 {
		return dissect.Maybe
	}
	left := len(p.b) - off
	if n < int(p.b[0]) || left == 0 || left == shipEntry*n {
		return dissect.Likely
	}
	return dissect.Maybe
}

// rateRules counts the pairs: each has two NULs, and walking a list of thousands of them
// costs as much as reading it. A big-endian count that fits exactly is Frontlines:
// Fuel of War's.
func (p *probe) rateRules() dissect.Confidence {
	if len(p.b) < 2 {
		return dissect.Maybe
	}
	count, swapped := int(binary.LittleEndian.Uint16(p.b)), int(binary.BigEndian.Uint16(p.b))
	nuls := bytes.Count(p.b[2:], []byte{0})
	n, whole := nuls/2, nuls%2 == 0 && (len(p.b) == 2 || p.b[len(p.b)-1] == 0)
	switch {
	case n == count && count > 0 && whole:
		return dissect.Certain
	case whole && n == swapped && n != count:
		return dissect.No
	case n == 0 && whole:
		return dissect.Maybe
	case isMisnamed(p.b, p.length, p.asked):
		return dissect.Maybe
	case n == 0 && !p.cut && p.asked&dissect.AskRules == 0:
		return dissect.No // a list without one whole pair is believed if it was asked for
	case !p.hasRuleName():
		return dissect.No
	case n < count:
		return dissect.Likely
	}
	return dissect.Maybe
}

// hasRuleName reports whether the first rule's name looks like one: printable, or the
// two bytes of a binary page.
func (p *probe) hasRuleName() bool {
	name := p.b[2:]
	if i := bytes.IndexByte(name, 0); i >= 0 {
		name = name[:i]
		if len(name) == 2 {
			return true
		}
	}
	for _, x := range name {
		if x < 0x20 || x == 0x7f {
			return false
		}
	}
	return len(name) > 0
}

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

// rateLog looks for the date that every line of a log begins with. The secret stands between
// the opcode and the date; it has any length and no terminator.
func (p *probe) rateLog(op byte) dissect.Confidence {
	const enough = len("L 07/") // of the date, where the capture ends within it
	switch {
	case op == opLog && console.IsWholeLogLine(p.b):
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
	k := console.Finder{IsOutput: true}
	cur.Pieces(&defLine, &defLineSecret, n, tail, k.Next)
	rest := cur.Peek(cur.Left())
	if len(bytes.Trim(rest, "\n\x00")) == 0 {
		cur.Rest(&defLogEnd)
	} else if lo, _ := console.FindSecret(rest); lo >= 0 {
		cur.Rest(&defLogBehind)
	}
}
