package filter

import (
	"fmt"
	"strings"

	"qsniff/internal/base/display"
	"qsniff/internal/render/manual"
)

// Error is what is wrong with an expression, and where.
type Error struct {
	Text     string // the expression
	From, To int    // the place: Text[From:To], empty at the end
	Message  string // without a place
	Hint     string // what to write; empty if there is nothing to propose
}

// Error returns the message and the hint in one line.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + ": " + e.Hint
}

// Page returns the line of the expression with the place marked under it, and the message:
//
//	a2s.info.playerz > 10
//	^~~~~~~~~~~~~~~~
//	no field is called a2s.info.playerz: did you mean a2s.info.players?
func (e *Error) Page() string {
	start := strings.LastIndexByte(e.Text[:e.From], '\n') + 1
	line, _, _ := strings.Cut(e.Text[start:], "\n")
	to := min(e.To, start+len(line))
	indent := display.Cells(visible(e.Text[start:e.From]))
	width := max(display.Cells(visible(e.Text[e.From:max(to, e.From)])), 1)
	return fmt.Sprintf("%s\n%s^%s\n%s", visible(line), strings.Repeat(" ", indent), strings.Repeat("~", width-1), e.Error())
}

// visible returns text that people typed in a form that cannot harm a terminal.
func visible(s string) []byte { return display.AppendVisible(nil, []byte(s)) }

// at returns an error about text[from:to].
func at(text string, from, to int, format string, args ...any) *Error {
	return &Error{Text: text, From: from, To: max(from, to), Message: fmt.Sprintf(format, args...)}
}

// withHint sets the hint of e and returns e.
func (e *Error) withHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// suggest sets a hint with the names that are most like word, if any are.
func (e *Error) suggest(word string, names []string) *Error {
	if len(word) > maxName {
		return e
	}
	if near := manual.Nearest(word, names); len(near) > 0 {
		e.Hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return e
}
