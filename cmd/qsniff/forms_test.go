package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"qsniff/internal/render"
)

// forms are the ways in which read prints messages, which TestGolden compares.
var forms = []struct {
	name string
	args []string
}{
	{"text", []string{"--utc"}},
	{"tree", []string{"--utc", "-o", "tree"}},
	{"hex", []string{"--utc", "-o", "hex"}},
	{"csv", []string{"-o", "csv"}},
	{"wide", []string{"-o", "csv", "-e", everyColumn()}},
	{"json", []string{"-o", "json", "--layout"}},
}

// printed is what read prints of a capture: by form, and on standard error.
type printed struct {
	forms   map[string]string
	remarks string
	status  int
}

// printedAll has what was printed of captures, for all tests that want it.
var printedAll sync.Map

// printedOf returns what read prints of a capture in all forms. With -short one run
// decodes it for all of them; else each form has its own.
func printedOf(t testing.TB, name string) *printed {
	t.Helper()
	p, _ := printedAll.LoadOrStore(name, sync.OnceValue(func() *printed {
		if testing.Short() {
			return printedTogether(t, name)
		}
		p := &printed{forms: map[string]string{}}
		for _, f := range forms {
			out, errs, status := output(t, append([]string{"read", name}, f.args...)...)
			p.forms[f.name], p.remarks, p.status = out, errs, max(p.status, status)
		}
		return p
	}))
	return p.(func() *printed)()
}

// printedTogether decodes a capture once, for a renderer that has all forms.
func printedTogether(t testing.TB, name string) *printed {
	t.Helper()
	reg, err := newRegistry()
	if err != nil {
		t.Fatal(err)
	}
	p := &printed{forms: map[string]string{}}
	var tee teeRenderer
	for _, f := range forms {
		o, cmd := readDefaults(), new(cobra.Command)
		o.register(cmd)
		if err := cmd.ParseFlags(f.args); err != nil {
			t.Fatal(err)
		}
		r, err := o.newRenderer(nil, reg.Protos())
		if err != nil {
			t.Fatal(err)
		}
		tee = append(tee, r)
		var head bytes.Buffer
		if err := writeHeader(&head, r); err != nil {
			t.Fatal(err)
		}
		p.forms[f.name] = head.String()
	}
	var out, errs bytes.Buffer
	p.status = reportError(&errs, readDefaults().printMessages(context.Background(), reg, tee, []string{name}, streams{&out, &errs}))
	p.remarks = errs.String()
	for i, text := range tee.apart(out.Bytes()) {
		p.forms[forms[i].name] += string(text)
	}
	return p
}

// teeRenderer renders what there is in several forms, one after the other, each after
// its length. None may leave a time to be filled in.
type teeRenderer []render.Renderer

func (r teeRenderer) Append(dst []byte, e *render.Event) []byte {
	return r.each(dst, func(dst []byte, f render.Renderer) []byte { return f.Append(dst, e) })
}

func (r teeRenderer) AppendRecord(dst []byte, x *render.Record) []byte {
	return r.each(dst, func(dst []byte, f render.Renderer) []byte { return f.AppendRecord(dst, x) })
}

func (r teeRenderer) AppendIncident(dst []byte, x *render.IncidentEvent) []byte {
	return r.each(dst, func(dst []byte, f render.Renderer) []byte {
		if f, ok := f.(render.IncidentRenderer); ok {
			return f.AppendIncident(dst, x)
		}
		return dst
	})
}

func (r teeRenderer) each(dst []byte, form func([]byte, render.Renderer) []byte) []byte {
	for _, f := range r {
		text := form(nil, f)
		dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(text))), text...)
	}
	return dst
}

// apart returns the text of each form.
func (r teeRenderer) apart(out []byte) (texts [][]byte) {
	texts = make([][]byte, len(r))
	for i := 0; len(out) > 0; i = (i + 1) % len(r) {
		n := 4 + binary.BigEndian.Uint32(out)
		texts[i] = append(texts[i], out[4:n]...)
		out = out[n:]
	}
	return texts
}
