package a2s

import (
	"qsniff/dissect"
	"qsniff/internal/splithdr"
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

// info reads the body of S2A_INFO_SRC.
func info(cur *dissect.Cursor, m *dissect.Message) {
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
	if cur.OK() && (n == byteLimit || slots == byteLimit || slots < n) {
		cur.Expert(&codeLimit, uint64(n), uint64(slots))
	}
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
	if cur.OK() && cur.Left() > 0 {
		extra(cur, m)
	}
	if m.Learn.HasApp || protocol == protocolGold || protocol == protocolHLTV {
		m.Learn.Engine = engineOf(protocol, m.Learn.AppID)
	}
}

// engineOf says how a server splits, as far as its information tells: a hint for
// parts whose own bytes do not prove it.
func engineOf(protocol uint8, app uint32) splithdr.Engine {
	switch {
	case protocol == protocolGold, protocol == protocolHLTV, app >= 10 && app <= 80:
		return splithdr.GoldSource
	}
	switch app {
	case 215, 17550, 17700, 244630, 253530: // SDK Base 2006, Eternal Silence, Insurgency, Neotokyo, Fortress Forever
		return splithdr.SourceOld
	case 240: // Counter-Strike: Source, before its engine was renewed
		if protocol == protocolOld {
			return splithdr.SourceOld
		}
	}
	return splithdr.Source
}

// extra reads the fields that the extra data flags announce, in wire order.
func extra(cur *dissect.Cursor, m *dissect.Message) {
	edf := cur.U8(&defEDF)
	flags := cur.Fields() - 1
	if edf&edfPort != 0 {
		cur.U16(&defPort)
	}
	if edf&edfSteamID != 0 {
		cur.U64(&defSID)
	}
	if edf&edfTV != 0 {
		cur.U16(&defTVPort)
		cur.CString(&defTVName)
	}
	if edf&edfKeywords != 0 {
		cur.CString(&defKeys)
	}
	if edf&edfGameID != 0 {
		id := cur.U64(&defGameID)
		if app := uint32(id & 0xff_ffff); cur.OK() && app != 0 {
			m.Learn.AppID, m.Learn.HasApp = app, true
		}
	}
	if !cur.Cut() && (!cur.OK() || cur.Left() > 0) {
		cur.ExpertAt(&codeEDF, codeEDF.Severity, flags, uint64(edf), uint64(cur.Left()))
	}
}
