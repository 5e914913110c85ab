package a2s

import (
	"math/bits"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// readBohemia decodes the binary rules in s. count is the index of the field that
// counts the rules.
func readBohemia(c *dissect.Context, cur *dissect.Cursor, s *pages, count int) {
	if !s.areBinaryRules(c, cur) {
		return
	}
	run := s.leading()
	if len(run) == 0 {
		s.raiseFindings(cur, count)
		return
	}
	in := cur.Inner(run, &escape)
	group := cur.Fields()
	arma := isArma3(c, in)
	in.Open(&defBohemia, 0)
	readBinaryRules(&in, arma)
	last := cur.Fields() - 1
	in.Pop()
	s.raiseFindings(cur, group)
	if at, size, ok := in.Stopped(); ok && hasBinaryRules(c) && s.isComplete() && !cur.Cut() {
		cur.ExpertAt(&codeDamage, codeDamage.Severity, last, uint64(at), uint64(size))
	}
}

// raiseFindings raises what is wrong with the pages, about the field at index field. What
// the capture cut is nobody's fault.
func (s *pages) raiseFindings(cur *dissect.Cursor, field int) {
	read := len(s.leading())
	if s.cut != 0 && read == int(s.cut) {
		read--
	}
	switch {
	case cur.Cut():
	case !s.isComplete():
		cur.ExpertAt(&codePages, codePages.Severity, field, uint64(read), uint64(s.total))
	case s.contradict:
		cur.ExpertAt(&codePages, finding.Note, field, uint64(read), uint64(s.total))
	}
}

// isArma3 reports whether the pages have Arma 3's form and not DayZ's. Version 3 is
// Arma 3's alone; version 2 is DayZ's, and Arma 3 1.66 still sent it, with its
// settings. Where the flow's game is unknown, the form that ends where the
// bytes do is right. in is a copy.
func isArma3(c *dissect.Context, in dissect.Inner) bool {
	flow := &c.FromServer
	switch {
	case in.Peek() == versionArma3:
		return true
	case flow.HasApp && flow.AppID == appArma3:
		return true
	case flow.HasApp && flow.AppID == appDayZ:
		return false
	}
	return !fitsForm(in, false) && fitsForm(in, true)
}

// fitsForm walks over the pages and reports whether they end with the last value.
func fitsForm(in dissect.Inner, arma bool) bool {
	const settings, hash = 2, 4
	in.Skip(1 + 1) // version, flags
	n := bits.OnesCount8(in.Peek())
	in.Skip(1)
	n += bits.OnesCount8(in.Peek())
	in.Skip(1)
	if arma {
		in.Skip(settings)
	}
	in.Skip(hash * n)
	n = int(in.Peek())
	in.Skip(1)
	for ; n > 0 && in.OK(); n-- {
		in.Skip(hash)
		in.Skip(1 + int(in.Peek()&idLenMask))
		in.Skip(1 + int(in.Peek()))
	}
	n = int(in.Peek())
	in.Skip(1)
	for ; n > 0 && in.OK(); n-- {
		in.Skip(1 + int(in.Peek()))
	}
	if !arma && in.Left() > 0 {
		in.Skip(1 + int(in.Peek()))
	}
	return in.OK() && in.Left() == 0
}

// readBinaryRules reads what the pages hold when joined, in Arma 3's form or DayZ's.
func readBinaryRules(in *dissect.Inner, arma bool) {
	version := in.U8(&defBohVersion)
	if version != versionDayZ && version != versionArma3 {
		in.Rest(&defBohTrailing)
		return
	}
	in.U8(&defBohFlags)
	mask := in.U16(&defDLCMask)
	if arma {
		readDifficulty(in)
		in.U8(&defCrosshair)
	}
	readDLCs(in, mask)
	readMods(in)
	n := in.List(&defSignatures)
	for i := 0; i < n && in.OK(); i++ {
		in.Counted(&defSignature)
	}
	in.Pop()
	if !arma && in.Left() > 0 {
		in.Counted(&defDescription)
	}
	in.Rest(&defBohTrailing)
}

// readDifficulty reads the byte of Arma 3's settings: level in bits 0 to 2, that of
// the AI in 3 to 5, then one bit each.
func readDifficulty(in *dissect.Inner) {
	v := uint64(in.U8(&defDifficulty))
	if !in.OK() {
		return
	}
	in.Bits(&defLevel, v&7)
	in.Bits(&defAILevel, v>>3&7)
	in.Bits(&defFlight, ^v>>6&1) // set: the simple flight model
	in.Bits(&defThirdPerson, v>>7&1)
}

// readDLCs reads one hash for each bit of mask, the lowest first.
func readDLCs(in *dissect.Inner, mask uint16) {
	in.Open(&defDLCs, bits.OnesCount16(mask))
	for i := 0; mask != 0 && in.OK(); i++ {
		in.Open(&defDLC, i)
		in.U32(&defDLCHash)
		if in.OK() {
			in.Bits(&defDLCBit, uint64(bits.TrailingZeros16(mask)))
		}
		in.Pop()
		mask &= mask - 1
	}
	in.Pop()
}

// The byte before a mod's id.
const (
	idLenMask = 0x0f
	idCreator = 0x10
	longestID = 8
)

func readMods(in *dissect.Inner) {
	n := in.List(&defMods)
	for i := 0; i < n && in.OK(); i++ {
		in.Open(&defMod, i)
		in.U32(&defModHash)
		kind := in.U8(&defModIDLen)
		switch n := int(kind & idLenMask); {
		case n > longestID:
			in.Fail()
		case n > 0:
			in.Uint(&defModID, n)
		}
		if kind&idCreator != 0 && in.OK() {
			in.Bits(&defModCreator, 1)
		}
		in.Counted(&defModName)
		in.Pop()
	}
	in.Pop()
}

// Fields in the binary rules of Arma 3 and DayZ.
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
