// Package html makes pages of reports: one file with its style, its script and its data, which
// opens from disk, loads nothing and sends nothing. What it shows is written in JavaScript, in
// the folder web of the repository; dist has what make web makes of that.
//
// Everything in the data came from the network or may have. It stands in a script element of
// a type that no browser runs, without a character that could end it, and the front end makes
// text of it, never markup. The policy of the page allows the one script by its hash.
package html

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"slices"

	"qsniff/internal/base/display"
)

var (
	//go:embed dist/index.html
	frame []byte
	//go:embed dist/app.css
	style []byte
	//go:embed dist/app.js
	script []byte
)

// Page is the parts of the front end that differ by where it is shown. Each of them replaces
// a slot of the frame.
type Page struct{ CSP, Title, Style, Report, Script []byte }

// Append appends the frame with the parts of p in place.
func (p *Page) Append(dst []byte) []byte {
	dst = slices.Grow(dst, len(frame)+len(p.Style)+len(p.Report)+len(p.Script))
	return p.fill(dst, frame)
}

// fill appends text with the parts of p in place of its slots.
func (p *Page) fill(dst, text []byte) []byte {
	parts := map[string][]byte{"csp": p.CSP, "title": p.Title, "style": p.Style, "report": p.Report, "script": p.Script}
	for {
		before, after, ok := bytes.Cut(text, []byte("{{"))
		name, next, closed := bytes.Cut(after, []byte("}}"))
		part, isPart := parts[string(name)]
		if !ok || !closed || !isPart { // there is no other
			return append(dst, text...)
		}
		dst = append(append(dst, before...), part...)
		text = next
	}
}

// WriteReport writes a page that shows a report under a title. writeJSON writes the report, an
// object of JSON, in pieces that end with a whole text or number.
func WriteReport(out io.Writer, title string, writeJSON func(io.Writer) error) error {
	p := Page{
		CSP: AppendPolicy(nil, fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; connect-src 'none'; base-uri 'none'; form-action 'none'",
			hash(script), hash(style))),
		Title:  []byte(html.EscapeString(string(display.AppendVisible(nil, []byte(title))))),
		Style:  enclose("<style>", style, "</style>"),
		Script: enclose("<script>", script, "</script>"),
	}
	head, tail, _ := bytes.Cut(frame, []byte("{{report}}"))
	if _, err := out.Write(append(p.fill(nil, head), `<script type="application/json" id="report">`...)); err != nil {
		return err
	}
	if err := writeJSON(escaper{out}); err != nil {
		return err
	}
	_, err := out.Write(p.fill([]byte("</script>"), tail))
	return err
}

// LivePolicy is the policy of the page of a program that watches: what it loads, and asks, comes from
// that program. It is sent with the page.
const LivePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// LivePage returns the page of a program that watches. Beside it the program has Style as app.css, Script as
// app.js, and what internal/web/README.md names.
func LivePage(title string) []byte {
	p := Page{
		Title:  []byte(html.EscapeString(title)),
		Style:  []byte(`<link rel="stylesheet" href="app.css">`),
		Report: []byte(`<template id="live"></template>`),
		Script: []byte(`<script src="app.js" defer></script>`),
	}
	return p.Append(nil)
}

// escaper writes JSON so that it can stand in an element.
type escaper struct{ out io.Writer }

// Write writes a piece of it.
func (e escaper) Write(b []byte) (int, error) {
	if _, err := e.out.Write(escapeJSON(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// AppendPolicy appends a content security policy as an element.
func AppendPolicy(dst []byte, policy string) []byte {
	return fmt.Appendf(dst, `<meta http-equiv="Content-Security-Policy" content="%s">`, policy)
}

// Style and Script return the style sheet and the script of the front end.
func Style() []byte  { return style }
func Script() []byte { return script }

// hash returns what a policy allows an element by: its text, as it stands between its tags.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func enclose(before string, text []byte, after string) []byte {
	return append(append([]byte(before), text...), after...)
}

// escapeJSON returns JSON in which no text can end the element that it stands in, or a line of
// a script. These characters stand in texts only, where an escape means the same.
func escapeJSON(b []byte) []byte {
	if !bytes.ContainsAny(b, "<>&\u2028\u2029") { // as nearly always
		return b
	}
	out := make([]byte, 0, len(b)+len(b)/64)
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '<' || c == '>' || c == '&':
			out = fmt.Appendf(out, `\u%04x`, c)
		case c == 0xe2 && i+2 < len(b) && b[i+1] == 0x80 && b[i+2]&^1 == 0xa8: // U+2028, U+2029
			out = fmt.Appendf(out, `\u20%02x`, b[i+2]-0x80)
			i += 2
		default:
			out = append(out, c)
		}
	}
	return out
}
