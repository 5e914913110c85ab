package ase

import (
	"bytes"
	"math/bits"

	"qsniff/dissect"
	"qsniff/internal/base/console"
	"qsniff/reassembly"
	"qsniff/reassembly/eye"
	"qsniff/reassembly/wire"
)

// reader is a Cursor that raises a finding for a text whose length is impossible.
type reader struct {
	*dissect.Cursor
	c *dissect.Context
}

// readText reads a string after its length byte.
func (r *reader) readText(d *dissect.Def) []byte {
	left := r.LeftOnWire()
	length := r.Peek(1)
	was := r.OK()
	s := r.PString(d)
	if was && !r.OK() && len(length) == 1 && (length[0] == 0 || int(length[0]) > left) {
		r.Expert(&codeLength, uint64(length[0]), uint64(left))
	}
	return s
}

// readSecretText is text for the value of a pair: of secret where the name says that it is
// one, and the value is neither 0 nor 1, else of d.
func (r *reader) readSecretText(d, secret *dissect.Def, name []byte) []byte {
	b := r.Peek(r.Left())
	switch whole := len(b) > 0 && int(b[0]) <= len(b); {
	case !r.SeeksSecrets():
	case whole && b[0] > 0 && console.HidesPair(name, b[1:b[0]]), !whole && console.HoldsSecret(name):
		d = secret
	}
	return r.readText(d)
}

// readPort reads the game's port and notes where the query port is the one that
// belongs to it.
func (r *reader) readPort() {
	s := r.readText(&defPort)
	if n, ok := parseDecimal(s); ok && n+portOffset == int(r.c.Src.Port()) {
		r.Note("the query port is this plus 123")
	}
}

// parseDecimal returns the value of s, a decimal number of up to five digits.
func parseDecimal(s []byte) (n int, ok bool) {
	if len(s) == 0 || len(s) > 5 {
		return 0, false
	}
	for _, x := range s {
		if !isDigit(x) {
			return 0, false
		}
		n = n*10 + int(x-'0')
	}
	return n, true
}

func isDigit(x byte) bool { return x >= '0' && x <= '9' }

// readEndOfPlayers reads the byte of 0 that ends a list of players, if one does. It is
// right where flags are due and wrong where the length of a text is.
func (r *reader) readEndOfPlayers(right bool) {
	left := r.LeftOnWire()
	if !r.OK() || r.Left() == 0 {
		return
	}
	r.Take(&defPlayersEnd, 1)
	if !right {
		r.Expert(&codeLength, 0, uint64(left))
	}
}

// isAtZero reports whether the next byte is 0.
func (r *reader) isAtZero() bool {
	b := r.Peek(1)
	return len(b) == 1 && b[0] == 0
}

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

// The items after the map, by what kind of reply they are in.
var (
	lightItems = []*dissect.Def{&defMap, &defOnline, &defBuildType, &defBuildNumber, &defPingStatus,
		&defNetRoute, &defUptime, &defHTTPPort}
	xfireItems = []*dissect.Def{&defMap, &defOnline}
)

// readLight reads the body of EYE2, or of EYE3, which lacks port, serials and players.
func (r *reader) readLight(eye2 bool) {
	r.readText(&defGame)
	if eye2 {
		r.readPort()
	}
	r.readText(&defName)
	r.readText(&defGametype)
	if eye2 {
		r.readMapField(lightItems)
	} else {
		r.readMapField(xfireItems)
	}
	r.readText(&defVersion)
	r.U8(&defPassword)
	if eye2 {
		r.U8(&defSerials)
	}
	r.U8(&defPlayers)
	r.U8(&defMax)
	if eye2 {
		r.readNames()
	}
}

// readMapField reads the map and the items after it. They share one length byte and
// are divided by NULs; clients that do not know the items show the map alone,
// because their strings end at the first NUL.
func (r *reader) readMapField(known []*dissect.Def) {
	const empty = 1
	length := 0
	if b := r.Peek(1); len(b) == 1 {
		length = int(b[0])
	}
	if length <= empty || length > r.LeftOnWire() {
		r.readText(&defMap)
		return
	}
	r.U8(&defMapLength)
	end := r.Offset() + length - 1
	for _, d := range known {
		r.readItem(d, end)
	}
	if r.OK() && r.Offset() < end {
		r.Push(&defExtras, dissect.Undeclared)
		for r.OK() && r.Offset() < end {
			r.readItem(&defExtra, end)
		}
		r.Pop()
	}
}

// readItem reads one item of the map field, which ends at offset end. After the last
// one there is no NUL.
func (r *reader) readItem(d *dissect.Def, end int) {
	n := end - r.Offset()
	if !r.OK() || n <= 0 {
		return
	}
	if i := bytes.IndexByte(r.Peek(n), 0); i >= 0 {
		r.Span(d, 0, i, 1)
		return
	}
	r.Take(d, n)
}

// readNames reads the players to the end of the datagram. A length of 0, which no text
// can have, ends them too.
func (r *reader) readNames() {
	r.Push(&defNames, dissect.Undeclared)
	for i := 0; r.OK() && r.Left() > 0 && !r.isAtZero(); i++ {
		r.Push(&defNameGroup, i)
		r.readText(&defNick)
		r.Pop()
	}
	r.Pop()
	r.readEndOfPlayers(false)
}
