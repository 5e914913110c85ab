package a2s

import (
	"bytes"
	"encoding/binary"

	"qsniff/dissect"
	"qsniff/reassembly/wire"
)

// dialectOf returns how game app writes its keywords, or nil if it has no way of
// its own. The applications were seen to do so in recorded replies.
func dialectOf(app uint32) *dialect {
	switch app {
	case appRust:
		return &rust
	case appArma3, 33930: // and Arma 2: Operation Arrowhead
		return &arma
	case appDayZ:
		return &dayZ
	case 4000:
		return &garrysMod
	case 346110, 393380, 440900, 489940, // ARK, Squad, Conan Exiles, Battalion 1944
		529180, 593600, 686810, 736220: // Dark and Light, PixARK, Hell Let Loose, Post Scriptum
		return &unreal
	case 240, 300, 320, 440, 500, 550, 730: // Counter-Strike, Day of Defeat, Half-Life 2, Team Fortress, Left 4 Dead
		return &source
	}
	return nil
}

const appRust = 252490

var rust = dialect{seps: ",", tags: []tag{
	{lead: "mp", form: number, def: &defTagMaxPlayers},
	{lead: "cp", form: number, def: &defTagPlayers},
	{lead: "qp", form: number, def: &defTagQueue},
	{lead: "v", form: number, def: &defTagProtocol},
	{lead: "born", form: number, def: &defTagBorn},
	{lead: "gm", form: text, def: &defTagMode},
	{lead: "h", form: hexText, def: &defTagHash},
	{lead: "pt", form: text, def: &defTagPT},
}}

var arma = dialect{seps: ",", tags: []tag{
	{lead: "b", form: yes, def: &defTagBattlEye},
	{lead: "r", form: number, def: &defTagRequired},
	{lead: "n", form: number, def: &defTagBuild},
	{lead: "s", form: number, def: &defTagState},
	{lead: "i", form: signed, def: &defTagDifficulty},
	{lead: "m", form: yes, def: &defTagEqualMods},
	{lead: "l", form: yes, def: &defTagLock},
	{lead: "v", form: yes, def: &defTagVerify},
	{lead: "d", form: yes, def: &defTagDedicated},
	{lead: "t", form: text, def: &defTagGameType},
	{lead: "g", form: number, def: &defTagLanguage},
	{lead: "h", form: hexText, def: &defTagHash},
	{lead: "c", form: point, def: &defTagLongitude, also: &defTagLatitude},
	{lead: "p", form: letter, def: &defTagPlatform},
	{lead: "e", form: number, def: &defTagMinutes},
	{lead: "f", form: number, def: &defTagPatching},
	{lead: "o", form: text, def: &defTagCountry},
	{lead: "y", form: text, def: &defTagIsland},
	{lead: "j", form: signed, def: &defTagParam1},
	{lead: "k", form: signed, def: &defTagParam2},
}}

var dayZ = dialect{seps: ",", tags: []tag{
	{lead: "battleye", form: exact, def: &defTagBattlEye},
	{lead: "no3rd", form: exact, def: &defTagNo3rd},
	{lead: "external", form: exact, def: &defTagExternal},
	{lead: "privHive", form: exact, def: &defTagPrivate},
	{lead: "mod", form: exact, def: &defTagMod},
	{lead: "whitelisting", form: exact, def: &defTagWhitelist},
	{lead: "allowedFilePatching", form: exact, def: &defTagAllowed},
	{lead: "isDLC", form: exact, def: &defTagDLC},
	{lead: "shard", form: text, def: &defTagShard},
	{lead: "lqs", form: number, def: &defTagQueue},
	{lead: "etm", form: decimal, def: &defTagTime},
	{lead: "entm", form: decimal, def: &defTagNight},
	{lead: "port", form: number, def: &defTagPort},
	{lead: "", form: clock, def: &defTagClock},
}}

// garrysMod puts blanks between elements.
var garrysMod = dialect{seps: ", ", tags: []tag{
	{lead: "gm:", form: text, def: &defTagGamemode},
	{lead: "gmws:", form: number, def: &defTagWorkshop},
	{lead: "gmc:", form: text, def: &defTagCategory},
	{lead: "loc:", form: text, def: &defTagLocation},
	{lead: "ver:", form: text, def: &defTagVersion},
}}

var unreal = dialect{seps: ",", free: "OWNINGNAME:", tags: []tag{
	{lead: "BUILDID:", form: number, def: &defTagBuild},
	{lead: "OWNINGID:", form: number, def: &defTagOwner},
	{lead: "OWNINGNAME:", form: text, def: &defTagOwnerName},
	{lead: "NUMOPENPUBCONN:", form: number, def: &defTagOpen},
	{lead: "NUMOPENPRIVCONN:", form: number, def: &defTagOpenPrivate},
	{lead: "P2PADDR:", form: text, def: &defTagP2PAddr},
	{lead: "P2PPORT:", form: number, def: &defTagP2PPort},
	{lead: "SESSIONFLAGS:", form: number, def: &defTagSession},
}}

var source = dialect{seps: ",", tags: []tag{
	{lead: "*grp:", form: group, def: &defTagGroup},
}}

// Frontlines: Fuel of War asks for challenge, players and rules with the bytes of
// A2S. Its servers are known by two answers with a layout of their own, and its
// clients by the word that they ask for information with.

var frontlinesAsks = []byte("FLSQ")

// Foreign reports whether b is one of those messages.
func (*Dissector) Foreign(c *dissect.Context, b []byte) (reply, ok bool) {
	if len(b) < bodyOff || !wire.IsSingle(b) {
		return false, false
	}
	if bytes.HasPrefix(b[headerLen:], frontlinesAsks) {
		return false, true
	}
	p := probe{b: b[bodyOff:], cut: c.Wire > len(b), length: max(c.Wire, len(b)) - bodyOff}
	switch b[headerLen] {
	case opInfo:
		return true, p.isFrontlinesInfo()
	case opRules:
		return true, p.isFrontlinesRules()
	}
	return false, false
}

// isFrontlinesInfo: version 2, six texts (name, map, mod, mode, description,
// version), the game's port, players, slots, and the letters for kind and system.
func (p *probe) isFrontlinesInfo() bool {
	const version, texts, fixed = 2, 6, 6
	if len(p.b) < 1 || p.b[0] != version {
		return false
	}
	off := p.skipTexts(1, texts)
	if off < 0 || len(p.b)-off < fixed {
		return false
	}
	kind, system := p.b[off+4], p.b[off+5]
	return dissect.ServerTypeName(uint64(kind)) != "" && dissect.EnvironmentName(uint64(system)) != ""
}

// isFrontlinesRules: as many pairs as a big-endian count says, and not as the same
// bytes say in A2S.
func (p *probe) isFrontlinesRules() bool {
	if len(p.b) < 2 || p.cut {
		return false
	}
	n, off := 0, 2
	for off < len(p.b) {
		if off = p.skipTexts(off, 2); off < 0 {
			return false
		}
		n++
	}
	return n > 0 && n == int(binary.BigEndian.Uint16(p.b)) && n != int(binary.LittleEndian.Uint16(p.b))
}
