package a2s

import "qsniff/dissect"

// What the binary rules of Arma 3 and DayZ hold.
var (
	defBohemia    = dissect.Def{Name: "a2s.rules.bohemia", Label: "bohemia", Kind: dissect.Group, Doc: "Arma 3, DayZ: what the binary pages among the rules hold"}
	defBohVersion = dissect.Def{Name: "a2s.rules.bohemia.version", Label: "version", Kind: dissect.Uint, Values: bohemiaName,
		Doc: "version of the format"}
	defBohFlags = dissect.Def{Name: "a2s.rules.bohemia.flags", Label: "flags", Kind: dissect.Uint, Flags: dissect.Hex,
		Doc: "which lists the server cut because they were too long; 0 in recorded replies"}
	defDLCMask = dissect.Def{Name: "a2s.rules.bohemia.dlc_mask", Label: "dlc_mask", Kind: dissect.Uint, Flags: dissect.Hex,
		Doc: "DLC of the server, a bit each"}
	defDifficulty = dissect.Def{Name: "a2s.rules.bohemia.difficulty", Label: "difficulty", Kind: dissect.Uint, Flags: dissect.Hex,
		Doc: "Arma 3: settings of the game, packed: the next four fields"}
	defLevel = dissect.Def{Name: "a2s.rules.bohemia.difficulty_level", Label: "difficulty_level", Kind: dissect.Uint,
		Values: difficultyName, Doc: "Arma 3: preset of the difficulty"}
	defAILevel = dissect.Def{Name: "a2s.rules.bohemia.ai_level", Label: "ai_level", Kind: dissect.Uint,
		Values: aiLevelName, Doc: "Arma 3: skill of computer players"}
	defFlight = dissect.Def{Name: "a2s.rules.bohemia.advanced_flight", Label: "advanced_flight", Kind: dissect.Uint,
		Values: yesNo, Doc: "Arma 3: advanced flight model; its bit on the wire is inverted"}
	defThirdPerson = dissect.Def{Name: "a2s.rules.bohemia.third_person", Label: "third_person", Kind: dissect.Uint,
		Values: yesNo, Doc: "Arma 3: third person view"}
	defCrosshair = dissect.Def{Name: "a2s.rules.bohemia.crosshair", Label: "crosshair", Kind: dissect.Uint,
		Values: yesNo, Doc: "Arma 3: crosshair of weapons"}
	defDLCs    = dissect.Def{Name: "a2s.rules.bohemia.dlcs", Label: "dlcs", Kind: dissect.List, Doc: "DLC of the server, lowest bit of the mask first"}
	defDLC     = dissect.Def{Name: "a2s.rules.bohemia.dlcs.dlc", Label: "dlc", Kind: dissect.Group, Doc: "one DLC"}
	defDLCHash = dissect.Def{Name: "a2s.rules.bohemia.dlcs.hash", Label: "hash", Kind: dissect.Uint, Flags: dissect.Hex, Doc: "hash of its content"}
	defDLCBit  = dissect.Def{Name: "a2s.rules.bohemia.dlcs.bit", Label: "bit", Kind: dissect.Uint, Doc: "number of its bit in the mask"}

	defMods    = dissect.Def{Name: "a2s.rules.bohemia.mods", Label: "mods", Kind: dissect.List, Doc: "mods that the server runs"}
	defMod     = dissect.Def{Name: "a2s.rules.bohemia.mods.mod", Label: "mod", Kind: dissect.Group, Doc: "one mod"}
	defModHash = dissect.Def{Name: "a2s.rules.bohemia.mods.hash", Label: "hash", Kind: dissect.Uint, Flags: dissect.Hex, Doc: "hash of its content"}

	defModIDLen = dissect.Def{Name: "a2s.rules.bohemia.mods.id_length", Label: "id_length", Kind: dissect.Uint, Flags: dissect.Framing | dissect.Hex,
		Doc: "bytes of the id in the lower half; 10 marks a Creator DLC"}
	defModID = dissect.Def{Name: "a2s.rules.bohemia.mods.id", Label: "id", Kind: dissect.Uint, Flags: dissect.AsString,
		Values: creatorName, Doc: "its number in the Steam Workshop; of a Creator DLC, the Steam application"}
	defModCreator = dissect.Def{Name: "a2s.rules.bohemia.mods.creator_dlc", Label: "creator_dlc", Kind: dissect.Uint,
		Values: yesNo, Doc: "1: a Creator DLC of Arma 3"}
	defModName = dissect.Def{Name: "a2s.rules.bohemia.mods.name", Label: "name", Kind: dissect.Text, Doc: "its name"}

	defSignatures  = dissect.Def{Name: "a2s.rules.bohemia.signatures", Label: "signatures", Kind: dissect.List, Doc: "keys whose signatures the server accepts"}
	defSignature   = dissect.Def{Name: "a2s.rules.bohemia.signatures.signature", Label: "signature", Kind: dissect.Text, Flags: dissect.Identifying, Doc: "name of one key"}
	defDescription = dissect.Def{Name: "a2s.rules.bohemia.description", Label: "description", Kind: dissect.Text, Flags: dissect.Identifying, Doc: "DayZ: text about the server"}
	defBohTrailing = dissect.Def{Name: "a2s.rules.bohemia.trailing", Label: "trailing", Kind: dissect.Bytes,
		Doc: "decoded bytes after the last field that the format defines"}
)

var bohemiaDefs = []*dissect.Def{
	&defBohemia, &defBohVersion, &defBohFlags, &defDLCMask, &defDifficulty, &defLevel, &defAILevel, &defFlight, &defThirdPerson,
	&defCrosshair, &defDLCs, &defDLC, &defDLCHash, &defDLCBit, &defMods, &defMod, &defModHash, &defModIDLen, &defModID,
	&defModCreator, &defModName, &defSignatures, &defSignature, &defDescription, &defBohTrailing,
}

func bohemiaName(v uint64) string {
	switch v {
	case versionDayZ:
		return "DayZ, old Arma 3"
	case versionArma3:
		return "Arma 3"
	}
	return "unknown"
}

// difficultyName and aiLevelName: the words of the game's own menus.
func difficultyName(v uint64) string {
	names := [...]string{"recruit", "regular", "veteran", "custom"}
	if v < uint64(len(names)) {
		return names[v]
	}
	return ""
}

func aiLevelName(v uint64) string {
	names := [...]string{"novice", "normal", "expert", "custom"}
	if v < uint64(len(names)) {
		return names[v]
	}
	return ""
}

// creatorName names the Creator DLC of Arma 3 by their Steam applications. No
// Workshop item has so low a number.
func creatorName(v uint64) string {
	switch v {
	case 0:
		return "not from the Workshop"
	case 1042220:
		return "Global Mobilization"
	case 1175380:
		return "Spearhead 1944"
	case 1227700:
		return "S.O.G. Prairie Fire"
	case 1294440:
		return "CSLA Iron Curtain"
	case 1681170:
		return "Western Sahara"
	case 2647760:
		return "Reaction Forces"
	case 2647830:
		return "Expeditionary Forces"
	}
	return ""
}

// yesNo names a switch; other bits of its byte mean nothing known.
func yesNo(v uint64) string {
	if v&1 != 0 {
		return "yes"
	}
	return "no"
}
