// Package text renders for people at a terminal. Of messages, Line makes one line each, to
// scan; Tree and Hex show every byte, to study; Dialogue puts those of an exchange
// together. AppendStats, AppendFloods, AppendProven, AppendLimits and AppendRules make a
// page each of what a command has found. All of it is made from the definitions of fields,
// and no protocol is named. The package does no I/O and asks no terminal for its width or
// colours. What it prints is not meant to be parsed: package jsonl is for programs.
//
// Nothing that came from the network reaches the output unescaped; see package
// display.
package text

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fatih/color"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/render"
)

// Options choose how messages look. The zero value is plain text, 80 columns
// wide, in local time.
type Options struct {
	Width    int            // columns, for Tree; 0 is 80, and less than 40 is 40
	UTC      bool           // times in UTC, marked with Z
	Location *time.Location // of the times if UTC is not set; nil is local time
	Clock    render.Clock   // how times are written
	// Micros cuts times to microseconds. Times from an interface have nanoseconds, of which
	// one in a thousand is a whole microsecond and would be written shorter than the rest.
	Micros      bool
	Date        bool // Line: the day before the time; Tree always has it
	Palette     Palette
	ShowSecrets bool // print the values and bytes of secret fields
	// BytesElsewhere is for Tree where Bytes has the bytes beside it: no line shows any, nor
	// an offset.
	BytesElsewhere bool
	// Bare is for payloads that came without packets: frames are called payloads, and
	// there is no time, no address and no interface.
	Bare bool
}

// withDefaults returns o with values for what is not set.
func (o Options) withDefaults() Options {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	o.Width = max(o.Width, minWidth)
	if o.Location == nil {
		o.Location = time.Local
	}
	if o.Location == time.UTC {
		o.UTC = true
	}
	if o.UTC {
		o.Location = time.UTC
	}
	return o
}

// hides reports whether values of d must not be shown.
func (o *Options) hides(d *dissect.Def) bool { return d.Flags&dissect.Secret != 0 && !o.ShowSecrets }

// clockW is the width of a time in seconds: of up to 9,999 with six decimals.
const clockW = 11

// appendClockTime appends a time by o's clock. Where that is relative to something that is
// not known yet, it appends blanks and sets h.
func (o *Options) appendClockTime(dst []byte, nanos, start int64, date bool, h *render.Hole) []byte {
	if o.Clock == render.Absolute {
		return o.appendTime(dst, nanos, date)
	}
	if o.Micros {
		nanos, start = render.TruncateMicros(nanos), render.TruncateMicros(start)
	}
	return o.Clock.AppendSeconds(dst, nanos, start, clockW, h)
}

// unit returns the word for what frame numbers count.
func (o *Options) unit() string {
	if o.Bare {
		return "payload"
	}
	return "frame"
}

// appendTime appends a Unix time in nanoseconds. The last three digits are shown only where
// they are not zero: most captures have a resolution of microseconds.
func (o *Options) appendTime(dst []byte, nanos int64, date bool) []byte {
	if o.Micros {
		nanos = render.TruncateMicros(nanos)
	}
	t := time.Unix(0, nanos).In(o.Location)
	if date {
		dst = append(t.AppendFormat(dst, time.DateOnly), ' ')
	}
	if nanos%1000 == 0 {
		dst = t.AppendFormat(dst, "15:04:05.000000")
	} else {
		dst = t.AppendFormat(dst, "15:04:05.000000000")
	}
	if o.UTC {
		dst = append(dst, 'Z')
	}
	return dst
}

// appendTitle appends the protocol and the message type, or what kind of record the event
// is.
func appendTitle(dst []byte, e *render.Event) []byte {
	m := e.Msg
	dst = append(dst, m.Proto.Name...)
	dst = append(dst, ' ')
	switch {
	case e.Record != "":
		return append(append(dst, "joined "...), e.Record...)
	case m.Type == nil:
		return append(dst, "unknown message"...)
	}
	return append(dst, m.Type.Name...)
}

// appendSize appends the length of the message as it was sent, after that of the captured
// part if that is less.
func appendSize(dst []byte, m *dissect.Message, unit string) []byte {
	if len(m.Data) < m.Wire {
		dst = strconv.AppendInt(dst, int64(len(m.Data)), 10)
		dst = append(dst, " of "...)
	}
	dst = strconv.AppendInt(dst, int64(m.Wire), 10)
	return append(dst, unit...)
}

// appendParts appends how many parts of a split message came.
func appendParts(dst []byte, s *render.Split) []byte {
	dst = strconv.AppendInt(dst, int64(s.Received), 10)
	dst = append(dst, " of "...)
	dst = strconv.AppendInt(dst, int64(s.Total), 10)
	return append(dst, plural(s.Total, " part", " parts")...)
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

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

// WantsColor reports whether output gets colours: by mode, which is always, never or auto, and with auto by the
// environment, and by whether it goes to a terminal.
func WantsColor(mode string, isTerminal bool) bool {
	switch mode {
	case "always":
		return true
	case "never":
		return false
	}
	isSet := func(name string) bool { v := os.Getenv(name); return v != "" && v != "0" }
	switch {
	case os.Getenv("NO_COLOR") != "":
		return false
	case isSet("CLICOLOR_FORCE") || isSet("FORCE_COLOR"):
		return true
	}
	return isTerminal && os.Getenv("CLICOLOR") != "0" && os.Getenv("TERM") != "dumb"
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

const (
	// limit: defaultWidth is the usual width of a terminal, in which everything must be readable.
	defaultWidth = 80

	// limit: minWidth is the narrowest layout: columns for offset, four bytes, a name
	// and a value that holds the longest escape. Narrower terminals wrap.
	minWidth = 40
)
