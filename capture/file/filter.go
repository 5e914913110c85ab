package file

import (
	"errors"
	"fmt"

	"qsniff/capture"
	"qsniff/capture/pcapfilter"
)

// Filter is an expression in tcpdump's language that chooses packets of captures.
type Filter struct {
	text     string
	expr     *pcapfilter.Expr               // nil: libpcap compiles it
	programs map[uint16]*pcapfilter.Program // by link type
}

// NewFilter parses an expression. Rare words are left to libpcap in builds that have it.
func NewFilter(text string) (*Filter, error) {
	f := &Filter{text: text, programs: map[uint16]*pcapfilter.Program{}}
	var err error
	if f.expr, err = pcapfilter.Parse(text); err != nil && !(HasLibpcap && isUnsupported(err)) {
		return nil, err
	}
	return f, nil
}

func isUnsupported(err error) bool {
	var wrong *pcapfilter.Error
	return errors.As(err, &wrong) && wrong.Unsupported
}

// Keep reports whether a packet passes. It fails if the expression asks for what the packets of
// a link type do not have: with a pcapfilter.Error, or a LinkError.
func (f *Filter) Keep(p *capture.Packet) (bool, error) {
	link := pcapfilter.LinkOf(p.Link, p.Data)
	program := f.programs[link]
	if program == nil {
		var err error
		if program, err = f.compile(link); err != nil {
			return false, err
		}
		f.programs[link] = program
	}
	return program.Match(p.Data, p.Wire) > 0, nil
}

func (f *Filter) compile(link uint16) (*pcapfilter.Program, error) {
	at, known := pcapfilter.File(link)
	if known && f.expr != nil {
		return f.expr.Compile(at, capture.MaxCaptured)
	}
	if !HasLibpcap {
		return nil, &LinkError{Text: f.text, Link: link}
	}
	raw, err := CompileFilter(link, f.text)
	if err != nil {
		return nil, &LinkError{Text: f.text, Link: link, Err: err}
	}
	return pcapfilter.NewProgram(raw)
}

// LinkError is that there is no filter for the packets of a link type.
type LinkError struct {
	Text string // the expression
	Link uint16
	Err  error // of libpcap; nil: this build has none
}

// Error returns one line.
func (e *LinkError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: libpcap: %v", e.Text, e.Err)
	}
	return fmt.Sprintf("%s: no filter for packets of link type %d", e.Text, e.Link)
}

// Unwrap returns Err.
func (e *LinkError) Unwrap() error { return e.Err }
