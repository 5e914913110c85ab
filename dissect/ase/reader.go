package ase

import (
	"qsniff/dissect"
	"qsniff/internal/console"
)

// reader is a Cursor that says what is wrong with a text.
type reader struct {
	*dissect.Cursor
	c *dissect.Context
}

// text reads a string after its length byte.
func (r *reader) text(d *dissect.Def) []byte {
	left := r.LeftOnWire()
	length := r.Peek(1)
	was := r.OK()
	s := r.PString(d)
	if was && !r.OK() && len(length) == 1 && (length[0] == 0 || int(length[0]) > left) {
		r.Expert(&codeLength, uint64(length[0]), uint64(left))
	}
	return s
}

// secretText is text for the value of a pair: of secret where the name says that it is
// one, and the value is neither 0 nor 1, else of d.
func (r *reader) secretText(d, secret *dissect.Def, name []byte) []byte {
	b := r.Peek(r.Left())
	switch whole := len(b) > 0 && int(b[0]) <= len(b); {
	case whole && b[0] > 0 && console.HidesPair(name, b[1:b[0]]), !whole && console.HoldsSecret(name):
		d = secret
	}
	return r.text(d)
}

// port reads the game's port and says so where the query port is the one that
// belongs to it.
func (r *reader) port() {
	s := r.text(&defPort)
	if n, ok := decimal(s); ok && n+portOffset == int(r.c.Src.Port()) {
		r.Note("the query port is this plus 123")
	}
}

// decimal returns the number that s says in up to five digits.
func decimal(s []byte) (n int, ok bool) {
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

// endOfPlayers reads the byte of 0 that ends a list of players, if one does. It is
// right where flags are due and wrong where the length of a text is.
func (r *reader) endOfPlayers(right bool) {
	left := r.LeftOnWire()
	if !r.OK() || r.Left() == 0 {
		return
	}
	r.Take(&defPlayersEnd, 1)
	if !right {
		r.Expert(&codeLength, 0, uint64(left))
	}
}

// at0 reports whether the next byte is 0.
func (r *reader) at0() bool {
	b := r.Peek(1)
	return len(b) == 1 && b[0] == 0
}
