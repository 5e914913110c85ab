package ase

import (
	"math/bits"

	"qsniff/dissect"
	"qsniff/reassembly"
	"qsniff/reassembly/eye"
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

// lost is why a reply is incomplete, by how its joining ended.
var lost = [...]string{
	eye.Complete: "",
	eye.Alone:    "",
	eye.Expired:  "EYE fragments did not come in time",
	eye.Evicted:  "EYE fragments evicted to stay within memory",
	eye.Ended:    "the capture ended before all EYE fragments came",
	eye.Replaced: "the id of the EYE fragments came again before all were there",
}

// joiner joins the fragments of replies and passes each reply on as a dissect.Joined.
type joiner struct {
	*eye.Assembler
	fragment eye.Datagram
	joined   dissect.Joined
}

// NewAssembler returns what joins the fragments of long replies.
func (*Dissector) NewAssembler(deliver func(*dissect.Joined)) dissect.Assembler {
	j := &joiner{Assembler: eye.New()}
	j.Deliver = func(set *eye.Set) {
		j.joined = dissect.Joined{Src: set.Src, Dst: set.Dst, Cut: "EYE fragments", Lost: lost[set.Outcome], Data: set.Data, Run: set.Run,
			Parts: set.Parts, Frames: set.Frames, First: set.First, Last: set.Last}
		deliver(&j.joined)
	}
	return j
}

// MayTake reports whether b begins like a reply.
func (*joiner) MayTake(b []byte) bool { return wire.EyeNumber(b) != 0 }

// Take takes a datagram that may be a fragment. The short replies that look like
// fragments are told by what the client asked.
func (j *joiner) Take(c *dissect.Context, d *dissect.Datagram) bool {
	const short = dissect.AskBrowse | dissect.AskPresence
	asked := c.FromServer.Asked | c.Waiting
	j.fragment = eye.Datagram{Src: c.Src, Dst: c.Dst, Data: d.Data, Wire: c.Wire, Frame: d.Frame, Pieces: d.Pieces,
		Nanos: d.Nanos, WantsShort: asked.Has(short) && !asked.Has(dissect.AskStatus)}
	return j.Add(&j.fragment)
}

// Counters are what was joined so far.
func (j *joiner) Counters() reassembly.JoinCounters { return j.Assembler.Counters }
