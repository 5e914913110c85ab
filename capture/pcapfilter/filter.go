package pcapfilter

import (
	"errors"
	"fmt"

	"golang.org/x/net/bpf"

	"qsniff/capture"
)

// Filter is an expression that chooses packets of captures.
type Filter struct {
	text     string
	libpcap  Compiler
	expr     *Expr               // nil: libpcap compiles it
	programs map[uint16]*Program // by link type
}

// Compiler is libpcap's, for the packets of a link type.
type Compiler func(link uint16, text string) ([]bpf.RawInstruction, error)

// NewFilter parses an expression. Rare words are left to libpcap, which is nil in builds that have none.
func NewFilter(text string, libpcap Compiler) (*Filter, error) {
	f := &Filter{text: text, libpcap: libpcap, programs: map[uint16]*Program{}}
	var err error
	if f.expr, err = Parse(text); err != nil && !(libpcap != nil && isUnsupported(err)) {
		return nil, err
	}
	return f, nil
}

func isUnsupported(err error) bool {
	var wrong *Error
	return errors.As(err, &wrong) && wrong.Unsupported
}

// Keep reports whether a packet passes. It fails if the expression asks for what the packets of
// a link type do not have: with an Error, or a LinkError.
func (f *Filter) Keep(p *capture.Packet) (bool, error) {
	link := LinkOf(p.Link, p.Data)
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

func (f *Filter) compile(link uint16) (*Program, error) {
	at, known := File(link)
	if known && f.expr != nil {
		return f.expr.Compile(at, capture.MaxCaptured)
	}
	if f.libpcap == nil {
		return nil, &LinkError{Text: f.text, Link: link}
	}
	raw, err := f.libpcap(link, f.text)
	if err != nil {
		return nil, &LinkError{Text: f.text, Link: link, Err: err}
	}
	return NewProgram(raw)
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
