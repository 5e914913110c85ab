package rcon

import (
	"bytes"

	"qsniff/internal/console"
)

// masker finds the secrets in a body. The first can depend on the packets in front:
// the name of a variable in one, its value in the next.
type masker struct {
	lo, hi int // the first secret; lo is -1 if there is none
	done   bool
}

// next is the finder for Cursor.Pieces.
func (k *masker) next(b []byte) (lo, hi int) {
	if !k.done {
		k.done = true
		return k.lo, k.hi
	}
	return console.Secret(b)
}

// mask prepares to hide the secrets of body, which begins a text.
func mask(body []byte) masker {
	lo, hi := console.Secret(body)
	return masker{lo: lo, hi: hi}
}

// maskCut is mask for a body whose begin may be the rest of a line in bytes that
// are missing: that rest is hidden.
func maskCut(body []byte) masker {
	n := lineEnd(body[:min(len(body), cutLine)], 0)
	if n == 0 {
		return mask(body)
	}
	return masker{lo: 0, hi: n}
}

// maskRest is mask for a body that continues the text of r. room is memory to work
// in; it is returned, because it may have grown.
func maskRest(r *reply, body, room []byte) (masker, []byte) {
	k := mask(body)
	if r.secret {
		at := 0
		for at < len(body) && (body[at] == '\r' || body[at] == '\n') { // the value may stand in the next line
			at++
		}
		return k.with(0, lineEnd(body, at)), room
	}
	room = append(append(room[:0], r.tail[:r.ntail]...), body[:min(len(body), maxWindow)]...)
	for at := 0; ; {
		lo, hi := console.Secret(room[at:])
		if lo < 0 {
			return k, room
		}
		lo, hi, at = lo+at, hi+at, hi+at
		if hi <= r.ntail {
			continue
		}
		lo, hi = max(lo-r.ntail, 0), hi-r.ntail
		if hi == maxWindow {
			hi = lineEnd(body, hi)
		}
		return k.with(lo, hi), room
	}
}

// with adds a range in front of or around the first secret.
func (k masker) with(lo, hi int) masker {
	if lo == hi {
		return k
	}
	if k.lo < 0 || hi < k.lo {
		return masker{lo: lo, hi: hi}
	}
	return masker{lo: min(lo, k.lo), hi: max(hi, k.hi)}
}

// lineEnd is the offset of the first end of line in b from offset at on.
func lineEnd(b []byte, at int) int {
	if i := bytes.IndexAny(b[at:], "\r\n\x00"); i >= 0 {
		return at + i
	}
	return len(b)
}
