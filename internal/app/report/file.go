package report

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"qsniff/capture/file"
	"qsniff/internal/base/digits"
	"qsniff/internal/render"
	"qsniff/internal/render/html"
	"qsniff/internal/render/jsonl"
)

// File is where a report goes: a file, or standard output.
type File struct {
	out    io.Writer
	file   *os.File // nil: standard output
	isJSON bool
	size   int // bytes that were written
}

// NewFile returns a File that writes to out, which it does not close.
func NewFile(out io.Writer, isJSON bool) *File { return &File{out: out, isJSON: isJSON} }

// CreateFile creates a file, for JSON if its name says so. With force it overwrites one that is there.
func CreateFile(name string, force bool) (*File, error) {
	f, err := file.CreateFile(name, force)
	if err != nil {
		return nil, err
	}
	return &File{out: f, file: f, isJSON: strings.HasSuffix(name, ".json")}, nil
}

// WriteReport writes a report in the form that the file has.
func (x *File) WriteReport(r *render.Report) error {
	writeJSON := func(out io.Writer) error { return jsonl.WriteReport(out, r) }
	if x.isJSON {
		return writeJSON(x)
	}
	title := "qsniff report"
	if len(r.Files) > 0 {
		title += ": " + r.Files[0].Name
	}
	return html.WriteReport(x, title, writeJSON)
}

// Write writes a piece of the report, and counts its bytes.
func (x *File) Write(b []byte) (int, error) {
	n, err := x.out.Write(b)
	x.size += n
	return n, err
}

// PrintWritten prints what was written to a file, and how much of the report is missing.
func (x *File) PrintWritten(w io.Writer, left *render.ReportLeft) {
	if x.file == nil {
		return
	}
	fmt.Fprintf(w, "qsniff: wrote %s, %s", x.file.Name(), digits.Bytes(float64(x.size)))
	if left.Exchanges > 0 {
		fmt.Fprintf(w, ", without the details of %s (--max-size)", digits.Count(left.Exchanges, "exchange"))
	}
	fmt.Fprintln(w)
}

// Close closes a file, and removes it if there is nothing in it.
func (x *File) Close() error {
	if x.file == nil {
		return nil
	}
	err := x.file.Close()
	if x.size == 0 {
		err = cmp.Or(err, os.Remove(x.file.Name()))
	}
	return err
}
