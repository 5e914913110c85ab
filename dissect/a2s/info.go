package a2s

import (
	"bytes"
	"strconv"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/reassembly/wire"
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
		sent, at := cur.LeftOnWire(), uint64(cur.Offset())
		if sent == challengeLen || cur.Cut() && sent == challengeLen+len(infoText)+1 || hasChallengeFirst(cur.Peek(cur.Left()), cur.Cut()) {
			cur.I32(&defChallenge)
		}
		rest := cur.Peek(len(infoText))
		if len(rest) == 0 || !bytes.HasPrefix(infoText, rest) {
			cur.Expert(&codeRetryPayload, retryWithoutText, at)
			return
		}
		cur.Expert(&codeRetryPayload, retryTextLast, at)
		cur.LastCString(&defPayload)
		return
	case cur.LeftOnWire() == len(infoText)+challengeLen && bytes.IndexByte(cur.Peek(cur.Left()), 0) != len(infoText):
		cur.Take(&defPayload, len(infoText))
		cur.Note("terminator missing before the challenge")
		cur.Expert(&codeRetryPayload, retryWithoutNUL, uint64(cur.Offset()))
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

// The extra data flags.
const (
	edfPort      = 0x80
	edfTV        = 0x40
	edfKeywords  = 0x20
	edfSteamID   = 0x10
	edfGameID    = 0x01
	edfUndefined = 0x0e
)

// Network protocol versions that tell an engine.
const (
	protocolOld  = 7
	protocolHLTV = 47
	protocolGold = 48
)

const (
	appTheShip = 2400
	byteLimit  = 255
)

// readInfo reads the body of S2A_INFO_SRC.
func readInfo(cur *dissect.Cursor, m *dissect.Message) {
	protocol := cur.U8(&defProtocol)
	cur.CString(&defName)
	cur.CString(&defMap)
	cur.CString(&defDir)
	cur.CString(&defGame)
	app := cur.U16(&defAppID)
	if cur.OK() && app != 0 {
		m.Learn.AppID, m.Learn.HasApp = uint32(app), true
	}
	n := cur.U8(&defPlayers)
	slots := cur.U8(&defMaxPlayers)
	counts := cur.OK()
	at := cur.Fields() - 1
	cur.U8(&defBots)
	cur.U8(&defServerType)
	cur.U8(&defEnvironment)
	cur.U8(&defVisibility)
	cur.U8(&defVAC)
	if app == appTheShip {
		cur.U8(&defMode)
		cur.U8(&defWit)
		cur.U8(&defDur)
	}
	cur.LastCString(&defVersion)
	var x extras
	if cur.OK() && cur.Left() > 0 {
		x.read(cur, m)
	}
	if cur.OK() { // else the field that decides the game may be what is missing
		addTags(cur, x.keywords, x.at, m.Learn.AppID)
	}
	if counts {
		raiseLimit(cur, m, at, n, slots)
	}
	x.raiseWrongFlags(cur, m)
	if m.Learn.HasApp || protocol == protocolGold || protocol == protocolHLTV {
		m.Learn.Engine = engineOf(protocol, m.Learn.AppID)
	}
}

// engineOf returns how a server splits, by what its information shows: a hint for
// parts whose own bytes do not prove it.
func engineOf(protocol uint8, app uint32) wire.Engine {
	switch {
	case protocol == protocolGold, protocol == protocolHLTV, app >= 10 && app <= 80:
		return wire.GoldSource
	}
	switch app {
	case 215, 17550, 17700, 244630, 253530: // SDK Base 2006, Eternal Silence, Insurgency, Neotokyo, Fortress Forever
		return wire.SourceOld
	case 240: // Counter-Strike: Source, before its engine was renewed
		if protocol == protocolOld {
			return wire.SourceOld
		}
	}
	return wire.Source
}

// raiseLimit raises what is wrong with counts of one byte, about the field at index at.
// The true ones may stand in the keywords. More players than slots are a note if nothing
// else shows that a count wrapped: recorded servers of Squad (104 of 80), Red Orchestra 2
// (65 of 64) and Killing Floor 2 (7 of 6) count those who wait, or reserved slots.
func raiseLimit(cur *dissect.Cursor, m *dissect.Message, at int, players, slots uint8) {
	a, b := uint64(players), uint64(slots)
	trueCount := func(d *dissect.Def) uint64 {
		if f := m.Find(d); m.Learn.AppID == appRust && f != nil && f.Num > byteLimit && f.Num <= maxCount {
			return f.Num
		}
		return 0
	}
	a |= trueCount(&defTagPlayers) << 8
	b |= trueCount(&defTagMaxPlayers) << 8
	switch {
	case players == byteLimit || slots == byteLimit || a > byteLimit || b > byteLimit:
		cur.ExpertAt(&codeLimit, codeLimit.Severity, at, a, b)
	case slots < players:
		cur.ExpertAt(&codeLimit, finding.Note, at, a, b)
	}
}

// extras are what the extra data flags announce.
type extras struct {
	edf        uint8
	flagsField int // index of the flags' field; 0 if there are none
	keywords   []byte
	at         dissect.Extent // of keywords
}

// read reads the fields that the flags announce, in wire order.
func (x *extras) read(cur *dissect.Cursor, m *dissect.Message) {
	x.edf = cur.U8(&defEDF)
	x.flagsField = cur.Fields() - 1
	if x.edf&edfPort != 0 {
		cur.U16(&defPort)
	}
	if x.edf&edfSteamID != 0 {
		start := cur.Offset()
		if id := cur.U64(&defSID); cur.OK() {
			addSteamID3(cur, id, dissect.Extent{Off: uint32(start), Len: uint32(cur.Offset() - start)})
		}
	}
	if x.edf&edfTV != 0 {
		cur.U16(&defTVPort)
		cur.CString(&defTVName)
	}
	if x.edf&edfKeywords != 0 {
		x.at.Off = uint32(cur.Offset())
		x.keywords = cur.CString(&defKeys)
		x.at.Len = uint32(len(x.keywords))
	}
	if x.edf&edfGameID != 0 {
		id := cur.U64(&defGameID)
		if app := uint32(id & 0xff_ffff); cur.OK() && app != 0 {
			m.Learn.AppID, m.Learn.HasApp = app, true
		}
	}
}

// announced is a field that the extra data flags announce.
type announced struct {
	def  *dissect.Def
	size uint8 // in bytes, 0 for text
}

// extraFields are in wire order.
var extraFields = [...]announced{{&defPort, 2}, {&defSID, 8}, {&defTVPort, 2}, {&defTVName, 0}, {&defKeys, 0}, {&defGameID, 8}}

// raiseWrongFlags raises flags that announce more or less than there is. A is the flags, with the number of
// the field that is cut above them, from 1. B is where that begins, or how many bytes follow the last field.
func (x *extras) raiseWrongFlags(cur *dissect.Cursor, m *dissect.Message) {
	switch {
	case x.flagsField == 0 || cur.Cut() || cur.Limited():
	case !cur.OK():
		for i := range extraFields {
			if at := cur.Offset(); m.Stopped == extraFields[i].def {
				if f := &m.Fields[len(m.Fields)-1]; f.Def == m.Stopped {
					at = int(f.Off)
				}
				cur.ExpertAt(&codeEDF, codeEDF.Severity, x.flagsField, uint64(x.edf)|uint64(i+1)<<8, uint64(at))
			}
		}
	case cur.Left() > 0:
		cur.ExpertAt(&codeEDF, codeEDF.Severity, x.flagsField, uint64(x.edf), uint64(cur.Left()))
	}
}

// announcedBy returns the field that is cut, if a finding about the extra data flags is about one.
func announcedBy(e *finding.Expert) (announced, bool) {
	if i := e.A >> 8; i > 0 {
		return extraFields[i-1], true
	}
	return announced{}, false
}

// appendFlags appends the extra data flags of a finding, their place, and a verb.
func appendFlags(dst []byte, e *finding.Expert, verb string) []byte {
	dst = append(append(dst, e.Place.Name...), " 0x"...)
	dst = e.Place.AppendAt(strconv.AppendUint(dst, e.A&0xff, 16))
	return append(dst, verb...)
}

// A SteamID: account in bits 0 to 31, instance in 32 to 51, type in 52 to 55,
// universe in 56 to 63.
type steamID uint64

func (id steamID) account() uint64  { return uint64(id) & 0xffff_ffff }
func (id steamID) instance() uint64 { return uint64(id) >> 32 & 0xf_ffff }
func (id steamID) kind() uint64     { return uint64(id) >> 52 & 0xf }
func (id steamID) universe() uint64 { return uint64(id) >> 56 }

// hasNoAccount reports whether an id is what servers write before they are logged on.
func hasNoAccount(id uint64) bool { return steamID(id).account() == 0 || steamID(id).universe() == 0 }

// The account types that matter here.
const (
	kindPlayer    = 1
	kindAnonymous = 4
)

// steamKinds has the name of each account type, and the letter that Steam writes
// it with.
var steamKinds = [...]struct {
	name   string
	letter byte
}{
	{"invalid", 'I'}, {"player", 'U'}, {"multiseat", 'M'}, {"persistent game server", 'G'}, {"anonymous game server", 'A'},
	{"pending", 'P'}, {"content server", 'C'}, {"group", 'g'}, {"chat", 'T'}, {"console user", 0}, {"anonymous player", 'a'},
}

// steamIDName names the account type.
func steamIDName(v uint64) string {
	id := steamID(v)
	switch kind := id.kind(); {
	case v == 0:
		return "none"
	case kind == kindAnonymous && id.account() == 0:
		return "anonymous game server, not logged on"
	case kind < uint64(len(steamKinds)):
		return steamKinds[kind].name
	}
	return ""
}

// addSteamID3 adds the SteamID just read as Steam writes it for people: [G:1:123].
// The instance follows where it distinguishes two accounts.
func addSteamID3(cur *dissect.Cursor, v uint64, at dissect.Extent) {
	id := steamID(v)
	kind := id.kind()
	if v == 0 || kind >= uint64(len(steamKinds)) || steamKinds[kind].letter == 0 {
		return
	}
	var buf [32]byte
	b := append(buf[:0], '[', steamKinds[kind].letter, ':')
	b = strconv.AppendUint(b, id.universe(), 10)
	b = append(b, ':')
	b = strconv.AppendUint(b, id.account(), 10)
	const desktop = 1 // the instance of every player
	if kind == kindAnonymous || kind == kindPlayer && id.instance() != desktop {
		b = append(b, ':')
		b = strconv.AppendUint(b, id.instance(), 10)
	}
	p := cur.Parts(at)
	p.Text(&defSID3, at, append(b, ']'))
}

// limit: maxCount bounds the counts that are taken from the keywords in place of the
// reply's own. No game has more slots than that.
const maxCount = 1 << 24
