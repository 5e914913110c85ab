package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"qsniff/capture/file"
	"qsniff/internal/base/digits"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
	"qsniff/internal/render/html"
	"qsniff/internal/render/jsonl"
)

// reportFile is where a report goes: a file, or standard output.
type reportFile struct {
	out    io.Writer
	file   *os.File // nil: standard output
	isJSON bool
	size   int // bytes that were written
}

// create creates the file that -o names, which is none of the captures.
func (o *reportOptions) create(args []string, s streams) (*reportFile, error) {
	if o.output == "json" || o.output == stdin {
		return &reportFile{out: s.out, isJSON: o.output == "json"}, nil
	}
	inputs, _, err := o.listInputs(args)
	if err != nil {
		return nil, err
	}
	if isSameFile(o.output, inputs) {
		return nil, &usageError{fmt.Errorf("-o %s: that is the capture which is read", o.output), "choose another name"}
	}
	f, err := file.CreateFile(o.output, o.force)
	if err != nil {
		return nil, err
	}
	return &reportFile{out: f, file: f, isJSON: strings.HasSuffix(o.output, ".json")}, nil
}

// write writes a report in the form that the name asks for.
func (x *reportFile) write(r *render.Report) error {
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
func (x *reportFile) Write(b []byte) (int, error) {
	n, err := x.out.Write(b)
	x.size += n
	return n, err
}

// printWritten prints what was written, and how much of it is missing.
func (x *reportFile) printWritten(w io.Writer, left *render.ReportLeft) {
	if x.file == nil {
		return
	}
	fmt.Fprintf(w, "qsniff: wrote %s, %s", x.file.Name(), digits.Bytes(float64(x.size)))
	if left.Exchanges > 0 {
		fmt.Fprintf(w, ", without the details of %s (--max-size)", count(left.Exchanges, "exchange"))
	}
	fmt.Fprintln(w)
}

// close closes the file, and removes it if there is nothing in it.
func (x *reportFile) close() error {
	err := x.file.Close()
	if x.size == 0 {
		err = cmp.Or(err, os.Remove(x.file.Name()))
	}
	return err
}

// prepareAnonymized is prepareAll over packets that another run anonymises at the same time.
// That one chooses messages.
func (o *reportOptions) prepareAnonymized(ctx context.Context, args []string, s streams) (*job, error) {
	in, out := io.Pipe()
	first := o.readOptions
	first.output, first.write = "none", writeOptions{path: stdin, anonymize: o.anonymize}
	first.servers, first.memory, first.result = "", first.memory/2, &o.captured
	done := make(chan error, 1)
	go func() {
		err := readCaptures(ctx, &first, args, streams{out, io.Discard})
		done <- err
		out.CloseWithError(cmp.Or(err, io.EOF))
	}()
	src, err := file.NewReader(in, "anonymised packets")
	if err != nil { // the other run returns why a capture cannot be read
		in.CloseWithError(err)
		return nil, cmp.Or(<-done, err)
	}
	reg, err := newRegistry()
	if err != nil {
		return nil, err
	}
	as, err := parseDecodeAs(o.as, reg)
	if err != nil {
		return nil, err
	}
	ctx, release := withGrace(ctx, true)
	printNotHidden(s.err)
	return &job{ctx: ctx, io: s, src: input{Source: src}, release: func() { release(); in.Close() },
		cfg: pipeline.Config{Source: src, Out: s.out, Registry: reg, Jobs: o.jobs, Memory: int64(o.memory), DecodeAs: as, Dedup: dedups[o.dedup], Sampled: uint32(o.sampled)}}, nil
}
