package a2s

import (
	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/reassembly/wire"
)

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
	x.raiseWrongFlags(cur)
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

// raiseWrongFlags raises flags that announce more or less than there is.
func (x *extras) raiseWrongFlags(cur *dissect.Cursor) {
	if x.flagsField > 0 && !cur.Cut() && (!cur.OK() || cur.Left() > 0) {
		cur.ExpertAt(&codeEDF, codeEDF.Severity, x.flagsField, uint64(x.edf), uint64(cur.Left()))
	}
}
