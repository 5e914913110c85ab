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
