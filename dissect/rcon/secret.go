package rcon

import (
	"bytes"

	"qsniff/internal/console"
)

// secretFinder returns what finds the secrets in a text of this connection. cut is set
// where the end of the text is missing.
func (s *session) secretFinder(cut bool) console.Finder {
	return console.Finder{Passwords: &s.passwords, IsCut: cut}
}

// findAcross completes k for a body that continues the text of the open reply: what precedes
// the body can be the name of a variable whose value it begins with. room is memory to
// work in; it is returned, because it may have grown.
func (s *session) findAcross(k console.Finder, body, room []byte) (console.Finder, []byte) {
	r := &s.cur
	if r.secret {
		at := 0
		for at < len(body) && (body[at] == '\r' || body[at] == '\n') { // the value may stand in the next line
			at++
		}
		k.First = console.Span{Lo: 0, Hi: max(lineEnd(body, at), console.FindTorn(body).Hi)}
	}
	window := min(len(body), maxWindow)
	room = append(append(room[:0], r.tail[:r.ntail]...), body[:window]...)
	across := s.secretFinder(false)
	for at := 0; ; {
		lo, hi := across.Next(room[at:])
		if lo < 0 {
			return k, room
		}
		lo, hi, at = lo+at, hi+at, hi+at
		if hi <= r.ntail {
			continue
		}
		lo, hi = max(lo-r.ntail, 0), hi-r.ntail
		if hi == window {
			hi = lineEnd(body, window)
		}
		if k.First.Lo < k.First.Hi { // the start of the body
			lo, hi = 0, max(k.First.Hi, hi)
		}
		k.First = console.Span{Lo: lo, Hi: hi}
		return k, room
	}
}

// lineEnd is the offset of the first end of line in b from offset at on.
func lineEnd(b []byte, at int) int {
	if i := bytes.IndexAny(b[at:], "\r\n\x00"); i >= 0 {
		return at + i
	}
	return len(b)
}
