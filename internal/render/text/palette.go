package text

import (
	"strings"

	"github.com/fatih/color"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// fieldStyles is how many colours fields take in turn. Chosen: with five, the few fields
// of a row have different ones.
const fieldStyles = 5

// style is the escape sequences before and after a text.
type style struct{ on, off string }

// Palette holds the escape sequences of each role a text can have. The zero
// value is no colour. A Palette is never changed and may be shared.
type Palette struct {
	head    style // what a message is
	dim     style // offsets and bytes: there to be looked up, not read
	name    style
	value   style // the terminal's own colour: nothing is easier to read
	meaning style

	fields [fieldStyles]style // of fields side by side, in turn
	lit    style              // of the bytes that Bytes marks

	severity [finding.Error + 1]style
	status   [dissect.Fragment + 1]style
}

// NewPalette returns colours that are readable on dark and on light
// backgrounds, or none. It uses no bright variants: bright yellow on
// white cannot be read. Sequences are computed here, once, because color's
// printing functions allocate.
func NewPalette(on bool) Palette {
	if !on {
		return Palette{}
	}
	warn := newStyle(color.FgYellow)
	return Palette{
		head:    newStyle(color.Bold),
		dim:     newStyle(color.Faint),
		name:    newStyle(color.FgCyan),
		meaning: newStyle(color.FgGreen),
		fields: [...]style{newStyle(color.FgCyan), newStyle(color.FgGreen), newStyle(color.FgMagenta),
			newStyle(color.FgYellow), newStyle(color.FgBlue)},
		lit: newStyle(color.ReverseVideo),
		severity: [...]style{
			finding.Chat:  newStyle(color.Faint),
			finding.Note:  newStyle(color.FgCyan),
			finding.Warn:  warn,
			finding.Error: newStyle(color.FgRed, color.Bold),
		},
		status: [...]style{
			dissect.Truncated: warn,
			dissect.Malformed: newStyle(color.FgRed, color.Bold),
			dissect.Fragment:  warn,
		},
	}
}

// newStyle returns the sequences that package color writes around a text with attributes.
func newStyle(attributes ...color.Attribute) style {
	const mark = "\x00"
	c := color.New(attributes...)
	c.EnableColor() // on decides; package color would look at standard output
	on, off, _ := strings.Cut(c.Sprint(mark), mark)
	return style{on, off}
}
