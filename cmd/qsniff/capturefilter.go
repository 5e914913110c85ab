package main

import (
	"errors"
	"fmt"
	"strings"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/capture/packet"
	"qsniff/capture/pcapfilter"
	"qsniff/internal/pipeline/filter"
)

// fileFilter is the expression of -f for the packets of captures.
type fileFilter struct {
	text     string
	expr     *pcapfilter.Expr               // nil: libpcap compiles it
	programs map[uint16]*pcapfilter.Program // by link type
}

// newFileFilter parses the expression of -f. Rare words are left to libpcap in builds that have it.
func newFileFilter(text string) (*fileFilter, error) {
	f := &fileFilter{text: text, programs: map[uint16]*pcapfilter.Program{}}
	var err error
	if f.expr, err = pcapfilter.Parse(text); err != nil && !(file.HasLibpcap && isUnsupported(err)) {
		return nil, captureFilterError(err)
	}
	return f, nil
}

// keep reports whether a packet passes. It fails if the expression asks for what the packets of
// a link type do not have.
func (f *fileFilter) keep(p *capture.Packet) (bool, error) {
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

func (f *fileFilter) compile(link uint16) (*pcapfilter.Program, error) {
	at, known := pcapfilter.File(link)
	if known && f.expr != nil {
		p, err := f.expr.Compile(at, capture.MaxCaptured)
		return p, captureFilterError(err)
	}
	if !file.HasLibpcap {
		return nil, &usageError{fmt.Errorf("-f %s: no filter for packets of %s", f.text, packet.LinkName(link)), "-Y chooses messages of all link types"}
	}
	raw, err := file.CompileFilter(link, f.text)
	if err != nil {
		return nil, &usageError{fmt.Errorf("-f %s: libpcap: %w", f.text, err), "docs/filters.md has the language"}
	}
	return pcapfilter.NewProgram(raw)
}

func isUnsupported(err error) bool {
	var wrong *pcapfilter.Error
	return errors.As(err, &wrong) && wrong.Unsupported
}

// captureFilterError returns the error of an expression of -f, with its place.
func captureFilterError(err error) error {
	var wrong *pcapfilter.Error
	if !errors.As(err, &wrong) {
		return err
	}
	hint := wrong.Hint
	switch {
	case wrong.Unsupported:
		hint = "write it in other words, or as bytes such as ether[12:2] = 0x8847; builds with libpcap have it"
	case hint == "":
		hint = `the language is that of tcpdump (docs/filters.md): "udp port 27015 or tcp port 27015"`
	}
	e := &placedError{usageError: usageError{fmt.Errorf("-f: %s", wrong.Message), hint}}
	isPlain := !strings.ContainsFunc(wrong.Text, func(r rune) bool { return r < ' ' || r > '~' })
	if isPlain && (wrong.End > wrong.At || wrong.At > 0) { // a line of what is none would be a forged one
		page := strings.Split((&filter.Error{Text: wrong.Text, From: wrong.At, To: wrong.End}).Page(), "\n")
		e.lines = page[:len(page)-1]
	}
	return e
}

// addCaptureFilter adds an expression to the one of -f.
func (o *captureOptions) addCaptureFilter(text string) {
	if o.filter != "" {
		text = "(" + o.filter + ") and (" + text + ")"
	}
	o.filter = text
}
