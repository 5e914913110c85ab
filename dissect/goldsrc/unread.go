package goldsrc

import (
	"bytes"

	"qsniff/internal/console"
)

// cutLine is how much of a part is hidden at most because its line began in a part
// that is missing: no password is longer.
const cutLine = 256

// unread finds the passwords in parts of a message that nobody reads. Output of a
// server's console is split too, and where a line began in a missing part the rest
// of it may be one.
func unread(b []byte, cut bool) (lo, hi int) {
	if cut {
		head := b[:min(len(b), cutLine)]
		n := bytes.IndexAny(head, "\n\x00")
		if n < 0 {
			n = len(head)
		}
		if n > 0 {
			return 0, n
		}
	}
	return console.Secret(b)
}
