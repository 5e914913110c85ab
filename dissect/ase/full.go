package ase

import (
	"math/bits"

	"qsniff/dissect"
	"qsniff/wire"
)

// knownFlags are the player flags with a meaning.
const knownFlags = wire.EyePlayerFlags

// byFlag lists what the bits of a player's flags announce, lowest first: their
// order on the wire. MTA's sources spell the last two as hexadecimal 16 and 32,
// which adds up to the same 3F.
var byFlag = [...]*dissect.Def{&defPlayerName, &defPlayerTeam, &defPlayerSkin, &defPlayerScore, &defPlayerPing, &defPlayerTime}

// passwordField is the name of the field that says whether a password is needed.
var passwordField = []byte("password")

// full reads the body of EYE1.
func (r *reader) full() {
	r.text(&defGame)
	r.port()
	r.text(&defName)
	r.text(&defGametype)
	r.text(&defMap)
	r.text(&defVersion)
	switch s := r.secretText(&defFullPassword, &defFullSecret, passwordField); {
	case len(s) == 1 && s[0] == '0':
		r.Note("not needed")
	case len(s) == 1 && s[0] == '1':
		r.Note("needed")
	}
	r.text(&defFullPlayers)
	r.text(&defFullMax)
	if r.rules() {
		r.players()
	}
}

// rules reads pairs of texts up to the empty name that ends them. It reports
// false where the capture ends first, so that nothing is known of players.
func (r *reader) rules() bool {
	const empty = 1 // length byte of an empty text
	r.Push(&defRules, dissect.Undeclared)
	for i := 0; r.OK() && r.Left() > 0 && r.Peek(1)[0] != empty; i++ {
		r.Push(&defRule, i)
		name := r.text(&defRuleName)
		r.secretText(&defRuleValue, &defRuleSecret, name)
		r.Pop()
	}
	r.Pop()
	if !r.OK() || r.Left() == 0 {
		return r.OK() && !r.Cut()
	}
	r.Take(&defRulesEnd, 1)
	return true
}

// players reads records to the end of the datagram, or to flags of 0. A length of
// 0, which no text can have, ends them too.
func (r *reader) players() {
	r.Push(&defList, dissect.Undeclared)
	whole := true
	for i := 0; whole && r.OK() && r.Left() > 0 && !r.at0(); i++ {
		r.Push(&defPlayer, i)
		whole = r.player()
		r.Pop()
	}
	r.Pop()
	r.endOfPlayers(whole)
}

// player reads the texts that the flags announce. It reports false where one of
// them has a length of 0.
func (r *reader) player() bool {
	flags := r.U8(&defFlags)
	at := r.Fields() - 1
	if flags&^knownFlags != 0 {
		r.Note("flags of unknown meaning among them")
	}
	n := uint64(0)
	for f := flags & knownFlags; f != 0 && r.OK(); f &= f - 1 {
		if r.at0() {
			return false
		}
		none := r.LeftOnWire() == 0
		r.text(byFlag[bits.TrailingZeros8(f)])
		if none && !r.OK() {
			r.ExpertAt(&codeFlags, codeFlags.Severity, at, uint64(flags), n)
		}
		n++
	}
	return true
}
