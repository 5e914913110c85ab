package ase

import (
	"math/bits"

	"qsniff/dissect"
	"qsniff/reassembly/wire"
)

// knownFlags are the player flags with a meaning.
const knownFlags = wire.EyePlayerFlags

// byFlag lists what the bits of a player's flags announce, lowest first: their
// order on the wire. MTA's sources spell the last two as hexadecimal 16 and 32,
// which adds up to the same 3F.
var byFlag = [...]*dissect.Def{&defPlayerName, &defPlayerTeam, &defPlayerSkin, &defPlayerScore, &defPlayerPing, &defPlayerTime}

// passwordField is the name of the field that says whether a password is needed.
var passwordField = []byte("password")

// readFull reads the body of EYE1.
func (r *reader) readFull() {
	r.readText(&defGame)
	r.readPort()
	r.readText(&defName)
	r.readText(&defGametype)
	r.readText(&defMap)
	r.readText(&defVersion)
	switch s := r.readSecretText(&defFullPassword, &defFullSecret, passwordField); {
	case len(s) == 1 && s[0] == '0':
		r.Note("not needed")
	case len(s) == 1 && s[0] == '1':
		r.Note("needed")
	}
	r.readText(&defFullPlayers)
	r.readText(&defFullMax)
	if r.readRules() {
		r.readPlayers()
	}
}

// readRules reads pairs of texts up to the empty name that ends them. It reports
// false where the capture ends first, so that nothing is known of players.
func (r *reader) readRules() bool {
	const empty = 1 // length byte of an empty text
	r.Push(&defRules, dissect.Undeclared)
	for i := 0; r.OK() && r.Left() > 0 && r.Peek(1)[0] != empty; i++ {
		r.Push(&defRule, i)
		name := r.readText(&defRuleName)
		r.readSecretText(&defRuleValue, &defRuleSecret, name)
		r.Pop()
	}
	r.Pop()
	if !r.OK() || r.Left() == 0 {
		return r.OK() && !r.Cut()
	}
	r.Take(&defRulesEnd, 1)
	return true
}

// readPlayers reads records to the end of the datagram, or to flags of 0. A length of
// 0, which no text can have, ends them too.
func (r *reader) readPlayers() {
	r.Push(&defList, dissect.Undeclared)
	whole := true
	for i := 0; whole && r.OK() && r.Left() > 0 && !r.isAtZero(); i++ {
		r.Push(&defPlayer, i)
		whole = r.readPlayer()
		r.Pop()
	}
	r.Pop()
	r.readEndOfPlayers(whole)
}

// readPlayer reads the texts that the flags announce. It reports false where one of
// them has a length of 0.
func (r *reader) readPlayer() bool {
	flags := r.U8(&defFlags)
	at := r.Fields() - 1
	if flags&^knownFlags != 0 {
		r.Note("flags of unknown meaning among them")
	}
	n := uint64(0)
	for f := flags & knownFlags; f != 0 && r.OK(); f &= f - 1 {
		if r.isAtZero() {
			return false
		}
		none := r.LeftOnWire() == 0
		r.readText(byFlag[bits.TrailingZeros8(f)])
		if none && !r.OK() {
			r.ExpertAt(&codeFlags, codeFlags.Severity, at, uint64(flags), n)
		}
		n++
	}
	return true
}
