package payload

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Read reads the payloads in b: with Parse if b is text, else as one payload. An error
// is an *Error.
func Read(b []byte, marks Marks) ([]Payload, error) {
	if IsText(b) {
		return Parse(string(b), marks)
	}
	if ps, err := Parse(string(b), marks); err == nil && isAll(ps, Dump) { // its text column is in another encoding
		return ps, nil
	}
	return AsIs(b)
}

// AsIs returns b as one payload, whatever is in it.
func AsIs(b []byte) ([]Payload, error) {
	switch n := len(b); {
	case n == 0:
		return checkLimits(nil)
	case n > MaxPayload:
		return nil, &Error{What: fmt.Sprintf("more than %d raw bytes: no datagram has so many", MaxPayload),
			Hint: fmt.Sprintf("is it a capture? qsniff read takes those; for the first bytes: head -c %d FILE | qsniff decode --raw", MaxPayload)}
	}
	return []Payload{{Data: b, Form: Raw}}, nil
}

// IsText reports whether b is UTF-8 without control characters but white space, as all
// forms of text are.
func IsText(b []byte) bool {
	return utf8.Valid(b) && bytes.IndexFunc(b, isControl) < 0
}

func isControl(r rune) bool { return (r < ' ' || r == 0x7f) && (r < '\t' || r > '\r') }

func isAll(ps []Payload, f Form) bool {
	for _, p := range ps {
		if p.Form != f {
			return false
		}
	}
	return true
}
