package goldsource

import (
	"bytes"

	"qsniff/dissect"
)

// How many fixed bytes follow the five texts at least.
const (
	fixedDetailed = 7 // players, max_players, protocol, server_type, environment, visibility, mod
	fixedInfo     = 3 // players, max_players, protocol
)

const (
	texts        = 5  // address, name, map, folder, game
	modTexts     = 3  // url, download_url, hl_version
	modFixed     = 10 // mod_version, mod_size, mod_type, mod_dll
	spectatorLen = 8
)

// rateInformation judges what both info forms share: five texts, the first an address,
// then bytes from small sets. b is what was captured of them, and wire how many bytes
// they had as sent.
func rateInformation(b []byte, wire, fixed int) dissect.Confidence {
	off := skipText(b, texts)
	if off < 0 || len(b)-off < fixed {
		switch {
		case !looksLikeAddress(b):
			return dissect.No
		case wire > len(b): // the capture cut it
			return dissect.Likely
		}
		return dissect.Maybe
	}
	if fixed == fixedDetailed {
		serverType, environment := b[off+3], b[off+4]
		if dissect.ServerTypeName(uint64(serverType)) == "" || dissect.EnvironmentName(uint64(environment)) == "" {
			return dissect.No
		}
		if b[off+5] > 1 || b[off+6] > 1 {
			return dissect.Maybe
		}
		if looksLikeAddress(b) {
			return dissect.Certain
		}
		return dissect.Likely
	}
	left := wire - off - fixed
	if looksLikeAddress(b) && (left == 0 || left == spectatorLen) {
		return dissect.Certain
	}
	return dissect.No
}

// looksLikeAddress reports whether b starts with the text "ip:port" or LOOPBACK.
func looksLikeAddress(b []byte) bool {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	if bytes.EqualFold(b, []byte("loopback")) {
		return true
	}
	dots := 0
	for _, x := range b {
		switch {
		case x == '.', x == ':':
			dots++
		case x < '0' || x > '9':
			return false
		}
	}
	return dots > 0 && len(b) >= len("0.0.0.0")
}

// skipText returns the offset after n texts, or -1.
func skipText(b []byte, n int) int {
	off := 0
	for range n {
		i := bytes.IndexByte(b[off:], 0)
		if i < 0 {
			return -1
		}
		off += i + 1
	}
	return off
}

// readCommon reads what 'm' and 'C' share.
func readCommon(cur *dissect.Cursor) {
	cur.CString(&defAddress)
	cur.CString(&defName)
	cur.CString(&defMap)
	cur.CString(&defDir)
	cur.CString(&defGame)
	cur.U8(&defPlayers)
	cur.U8(&defMaxPlayers)
	cur.U8(&defProtocol)
}

// readDetailed reads the body of S2A_INFO_DETAILED.
func readDetailed(cur *dissect.Cursor) {
	readCommon(cur)
	cur.U8(&defServerType)
	cur.U8(&defEnvironment)
	cur.U8(&defVisibility)
	if cur.U8(&defMod) == 1 {
		if hasModBlock(cur) {
			readModBlock(cur)
		} else {
			cur.Note("but no block about it follows")
		}
	}
	readTail(cur)
}

// hasModBlock reports whether what is left starts with a mod block, whole or cut.
// What is as long as the tail alone is the tail of a server that left it out.
func hasModBlock(cur *dissect.Cursor) bool {
	n, b := cur.LeftOnWire(), cur.Peek(cur.Left())
	switch n {
	case 0, 1, 2, 1 + spectatorLen, 2 + spectatorLen:
		return false
	}
	off := skipText(b, modTexts)
	if off >= 0 && len(b)-off >= modFixed || cur.Cut() && n >= modTexts+modFixed {
		return true
	}
	return len(b) > 0 && b[0] > 1 // text, cut by the sender; VAC is 0 or 1
}

func readModBlock(cur *dissect.Cursor) {
	cur.CString(&defURL)
	cur.CString(&defDownload)
	cur.CString(&defHLVersion)
	cur.I32(&defModVersion)
	cur.I32(&defModSize)
	cur.U8(&defModType)
	cur.U8(&defModDLL)
}

// readTail reads what follows the mod block; its length decides what it is.
func readTail(cur *dissect.Cursor) {
	n := cur.LeftOnWire()
	if n == 0 {
		return
	}
	cur.U8(&defVAC)
	if n > 1 && n != 1+spectatorLen {
		cur.U8(&defBots)
	}
	readSpectators(cur)
}

// readSpectators reads HLTV's pair, if exactly that is left.
func readSpectators(cur *dissect.Cursor) {
	if cur.LeftOnWire() != spectatorLen {
		return
	}
	cur.I32(&defSpectators)
	cur.I32(&defSpecSlots)
}

// readInfo reads the body of S2A_INFO.
func readInfo(cur *dissect.Cursor) {
	readCommon(cur)
	readSpectators(cur)
}
