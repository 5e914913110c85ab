package goldsource

import (
	"bytes"

	"qsniff/dissect"
	"qsniff/internal/base/console"
)

// readRcon reads the arguments of rcon. The number before the password is
// shown as a challenge if quotes around the password or an earlier challenge of
// this server say that it is one; else it can be the password of a dialect
// without challenges, and the command stands where the password would.
func readRcon(c *dissect.Context, cur *dissect.Cursor) {
	b := cur.Peek(cur.Left())
	r := console.ParseRcon(b)
	at := 0
	if r.Challenge.IsFound() {
		d := &defMaybeChallenge
		if r.IsCertain || isGivenChallenge(c, b[r.Challenge.Lo:r.Challenge.Hi]) {
			d = &defChallenge
		}
		cur.Digits(d, r.Challenge.Lo)
		at = r.Challenge.Hi
	}
	var said console.Passwords
	if c.Passwords != nil {
		said = *c.Passwords
	}
	if r.Password.IsFound() {
		said.Add(b[r.Password.Lo:r.Password.Hi], false) // the command may repeat it
		blanks := len(b[r.End:]) - len(skipBlanks(b[r.End:]))
		cur.Run(&defPassword, r.Password.Lo-at, r.Password.Hi-r.Password.Lo, r.End-r.Password.Hi+blanks)
		at = r.End + blanks
	}
	command := b[at:]
	if i := bytes.IndexByte(command, 0); i >= 0 {
		command = command[:i]
	}
	if n := len(bytes.TrimRight(command, "\r\n")); n > 0 && r.Password.IsFound() {
		k := console.Finder{Passwords: &said, IsCut: cur.Cut()}
		cur.Pieces(&defCommand, &defCommandSecret, n, 0, k.Next)
	}
	if rest := cur.Peek(cur.Left()); len(bytes.Trim(rest, "\r\n\x00")) > 0 { // part of the password, for all we know
		cur.Rest(&defPassword)
	}
}

// isGivenChallenge reports whether the server gave out this challenge.
func isGivenChallenge(c *dissect.Context, digits []byte) bool {
	v := uint64(0)
	for _, x := range digits {
		v = v*10 + uint64(x-'0')
	}
	return v != 0 && v == uint64(c.ToServer.RconChallenge)
}
