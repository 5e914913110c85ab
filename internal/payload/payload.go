// Package payload reads the bytes of datagrams from text that people copy: what a
// program printed, a dump, a line of a packet analyzer. It recognises the form by the
// text alone. It decodes no protocol; that is the pipeline's work.
//
// The forms, in the order in which they are tried:
//
//	Dump     rows of offset, bytes and perhaps text: tcpdump -x -X -xx -XX, xxd,
//	         hexdump -C, od -tx1, Wireshark, Go's hex.Dump
//	Array    numbers in brackets or between commas: C, Go, Rust, JavaScript, Java
//	Escaped  a string with \x, \u00 and octal escapes: C, Go, Python, JavaScript, PHP
//	Hex      digits, in pairs or not, with spaces, colons or dashes between them
//	Base64   of either alphabet, padded or not
//
// Text that fits two forms has the first of them: DEADBEEF is Hex. Offsets of a Dump
// rise by the number of bytes in the rows, which also distinguishes hexadecimal from
// octal ones. The text column beside the bytes is skipped only if it shows the same
// bytes.
//
// A blank line ends a payload, and so do an offset that begins again, a closing
// bracket, and a comma between strings. Lines of the other forms are one payload if they
// look wrapped (all are equally long but the last) and none begins with one of
// the caller's Marks; otherwise each line is a payload.
//
// Input that is no text is one payload as it is.
package payload

import (
	"fmt"
	"strings"
)

// Form is how a payload was written.
type Form uint8

// The forms.
const (
	Hex Form = iota
	Base64
	Escaped
	Array
	Dump
	Raw // the bytes themselves: see Read
)

var forms = [...]string{"hexadecimal", "base64", "escaped string", "array", "dump", "raw bytes"}

func (f Form) String() string { return forms[f] }

// Payload is one payload.
type Payload struct {
	Data []byte
	Form Form
	Line int // of the text, from 1, where it begins
}

// Error is what is wrong with a text, and where. It quotes one character at most: the
// text may hold a password. It has no Hint where the text has none of the forms.
type Error struct {
	Line, Col int // from 1; 0 if the whole text, or line, is meant
	What      string
	Hint      string
}

func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return e.What
	case e.Col == 0:
		return fmt.Sprintf("line %d: %s", e.Line, e.What)
	}
	return fmt.Sprintf("line %d, character %d: %s", e.Line, e.Col, e.What)
}

// Forms lists what Read reads, for hints.
const Forms = `hexadecimal (xxd -p FILE | qsniff decode), base64, a dump with offsets, a "\xff" string, {0xff, ...}, or raw bytes (--raw)`

// line is one line of the text, without white space at its ends.
type line struct {
	text   string
	indent int // white space before it
	no     int // from 1
}

// Parse reads the payloads in text. marks separate payloads in consecutive lines; nil is
// valid. An error is an *Error.
func Parse(text string, marks Marks) ([]Payload, error) {
	if len(text) > MaxText {
		return nil, &Error{What: fmt.Sprintf("more than %d MiB of text", MaxText>>20), Hint: "is it a capture? qsniff read takes those"}
	}
	var out []Payload
	var block []line
	no := 0
	end := func() error {
		if len(block) == 0 {
			return nil
		}
		ps, err := parseBlock(block, marks)
		block = block[:0]
		if err != nil {
			return err
		}
		out = append(out, ps...)
		return nil
	}
	for s := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		no++
		trimmed := strings.TrimSpace(s)
		if trimmed != "" {
			if len(block) == maxLines {
				return nil, &Error{Line: no, What: fmt.Sprintf("more than %d lines without a blank one", maxLines),
					Hint: "put a blank line between two payloads"}
			}
			block = append(block, line{trimmed, strings.Index(s, trimmed), no})
			continue
		}
		if err := end(); err != nil {
			return nil, err
		}
		if len(out) > MaxPayloads { // few characters of a dump can stand for 64 KiB
			break
		}
	}
	if err := end(); err != nil {
		return nil, err
	}
	return checkLimits(out)
}

// parseBlock reads lines without a blank one between them.
func parseBlock(lines []line, marks Marks) ([]Payload, error) {
	if isDump(lines) {
		return parseDump(lines)
	}
	if ps, ok, err := parseArray(lines); ok || err != nil {
		return ps, err
	}
	for _, l := range lines {
		if strings.ContainsAny(l.text, `\"'`) {
			return parseEscaped(lines, marks)
		}
	}
	return parsePlain(lines, marks)
}

// checkLimits returns ps, or an error if there is none, are too many, or one is empty or
// too long.
func checkLimits(ps []Payload) ([]Payload, error) {
	if len(ps) == 0 {
		return nil, &Error{What: "no payload"}
	}
	if len(ps) > MaxPayloads {
		return nil, &Error{Line: ps[MaxPayloads].Line, What: fmt.Sprintf("more than %d payloads", MaxPayloads),
			Hint: "a capture has room for more: qsniff read takes those"}
	}
	for i := range ps {
		switch n := len(ps[i].Data); {
		case n == 0:
			return nil, &Error{Line: ps[i].Line, What: "an empty payload"}
		case n > MaxPayload:
			return nil, &Error{Line: ps[i].Line, What: fmt.Sprintf("a payload of %d bytes: no datagram has more than %d", n, MaxPayload),
				Hint: "put a blank line between two payloads"}
		}
	}
	return ps, nil
}
