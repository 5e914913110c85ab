package ase

import (
	"qsniff/dissect"
	"qsniff/internal/base/console"
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
