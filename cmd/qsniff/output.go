package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"qsniff/dissect"
	"qsniff/internal/base/display"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
	"qsniff/internal/render/csv"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/text"
)

// clocks are the values of -t.
var clocks = map[string]render.Clock{
	"a": render.Absolute, "r": render.Relative, "d": render.Delta, "e": render.Epoch,
}

// dedups are the values of --dedup.
var dedups = map[string]pipeline.Dedup{"auto": pipeline.DedupAuto, "on": pipeline.DedupOn, "off": pipeline.DedupOff}

// check reports flags that do not go together.
func (o *readOptions) check() error {
	switch {
	case o.layout && o.output != "json":
		return &usageError{fmt.Errorf("--layout goes with -o json, not with -o %s", o.output), "-o tree and -o hex show every byte to people"}
	case o.columns != "" && strings.TrimSpace(o.columns) == "":
		return &usageError{errors.New("-e: no column is named"), "leave -e out for the usual columns"}
	case o.columns == "help":
		return &usageError{errors.New("-e help: -e takes the names of fields"), "qsniff fields lists them all, qsniff fields 'a2s.info.*' those of a message"}
	case o.columns != "" && o.output != "csv":
		return &usageError{fmt.Errorf("-e goes with -o csv, not with -o %s", o.output), "add -o csv"}
	case o.clock != "a" && o.output == "json":
		return &usageError{errors.New("-t goes with text, tree, hex and csv, not with -o json"), "JSON has the absolute time, for programs to subtract"}
	case o.jobs < 1:
		return &usageError{fmt.Errorf("--jobs %d: at least 1 is needed", o.jobs), "leave it out for one a processor"}
	case o.count < 0:
		return &usageError{fmt.Errorf("-c %d: not a number of messages", o.count), "0 reads to the end"}
	}
	return nil
}

// newRenderer returns the renderer that -o names, or nil for none.
func (o *readOptions) newRenderer(out io.Writer, protos []*dissect.Proto) (render.Renderer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	switch o.output {
	case "none":
		return nil, nil
	case "json":
		return jsonl.New(jsonl.Options{Layout: o.layout, ShowSecrets: o.showsSecrets}), nil
	case "csv":
		columns, err := o.parseColumns(protos)
		return csv.New(csv.Options{Columns: columns, Clock: clocks[o.clock], ShowSecrets: o.showsSecrets}), err
	}
	return o.newTextRenderer(o.textOptions(out)), nil
}

// textOptions returns the options for what is printed for people.
func (o *readOptions) textOptions(out io.Writer) text.Options {
	return text.Options{UTC: o.utc, Micros: o.isLive(), Clock: clocks[o.clock], Width: width(out),
		Palette: text.NewPalette(o.wantsColor(out)), ShowSecrets: o.showsSecrets}
}

// newTextRenderer returns the renderer for people that -o names.
func (o *readOptions) newTextRenderer(opt text.Options) render.Renderer {
	switch o.output {
	case "tree":
		return text.NewTree(opt)
	case "hex":
		return text.NewHex(opt)
	}
	return text.NewLine(opt)
}

// parseColumns returns the columns that -e names, or nil for the usual ones.
func (o *readOptions) parseColumns(protos []*dissect.Proto) ([]csv.Column, error) {
	if o.columns == "" {
		return nil, nil
	}
	var columns []csv.Column
	for name := range strings.SplitSeq(o.columns, ",") {
		c, ok := csv.ColumnNamed(strings.TrimSpace(name), protos)
		if !ok {
			return nil, &usageError{fmt.Errorf("-e %s: no field has that name", name), "qsniff fields lists them; a list is named by its members, as in a2s.player.players.name"}
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// writeHeader writes what comes before the first message, if r has a header.
func writeHeader(out io.Writer, r render.Renderer) error {
	h, ok := r.(interface{ AppendHeader([]byte) []byte })
	if !ok {
		return nil
	}
	return write(out, h.AppendHeader(nil))
}

func write(out io.Writer, b []byte) error {
	_, err := out.Write(b)
	return err
}

func (o *readOptions) wantsColor(out io.Writer) bool {
	switch o.color {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func isTerminal(f any) bool {
	x, ok := f.(*os.File)
	return ok && term.IsTerminal(int(x.Fd()))
}

// width returns how many columns out has: those of the terminal, else COLUMNS, else 80.
func width(out io.Writer) int {
	const usual = 80
	if f, ok := out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w > 0 {
		return w
	}
	return usual
}

// errLines is a standard error that is safe for terminals. Each Write, which is each call of
// fmt.Fprintf and its kin, is one line: it escapes what could act on a terminal or look
// like another line of ours. Messages contain names of files, of interfaces and of fields,
// arguments, and errors of the system and of libraries, any of which may be hostile.
type errLines struct{ to io.Writer }

// Write writes p as one line. It returns len(p), and not what the escaped line has.
func (m errLines) Write(p []byte) (int, error) {
	text, end := p, ""
	if n := len(p); n > 0 && p[n-1] == '\n' {
		text, end = p[:n-1], "\n"
	}
	line := display.AppendVisible(make([]byte, 0, len(p)), text)
	if _, err := m.to.Write(append(line, end...)); err != nil {
		return 0, err
	}
	return len(p), nil
}
