package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"qsniff/dissect"
	"qsniff/dissect/protocols"
	"qsniff/internal/base/display"
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
	reg := protocols.NewRegistry()
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
	p.status = reportError(&errs, readDefaults().printMessages(context.Background(), tee, []string{name}, streams{&out, &errs}))
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

// agree fails t unless the rows and the tables of a capture have what its lines of JSON have: each byte
// and where fields begin, each cell. A text that is not UTF-8 is not compared: its value in JSON is not its
// bytes.
func agree(t *testing.T, lines []jsonLine, dump, table, wide string) {
	t.Helper()
	rows, inRows := rowsOf(dump), 0
	cells, wideCells := cellsOf(t, table), cellsOf(t, wide)
	n, wideN := 0, 0
	for i := range lines {
		m := &lines[i]
		if want := inRowsOf(m); want != (dumped{}) {
			if inRows == len(rows) {
				t.Fatalf("frame %d: no rows", m.Frame)
			}
			if got := rows[inRows]; got != want {
				t.Errorf("frame %d in rows, then in JSON:\n%.4000q\n%.4000q", m.Frame, got, want)
			}
			inRows++
		}
		if m.Record != "" && m.Record != "finding" {
			continue // the tables have no row for it
		}
		if m.Record == "" {
			n++
		}
		if wideN++; n >= len(cells) || wideN >= len(wideCells) {
			t.Fatalf("%d and %d rows of tables, too few", len(cells), len(wideCells))
		}
		for j, name := range cells[0] {
			if want, known := cellOf(m, name); m.Record == "" && known && cells[n][j] != want {
				t.Errorf("frame %d, %s: %q in the table, %q in JSON", m.Frame, name, cells[n][j], want)
			}
		}
		values := fieldCells(m)
		values["record"] = cmp.Or(m.Record, "message")
		for j, name := range wideCells[0][1:] {
			if got := wideCells[wideN][j+1]; got != values[name] && !strings.ContainsRune(values[name], '\uFFFD') {
				t.Errorf("frame %d, %s: %q in the table, %q in JSON", m.Frame, name, got, values[name])
			}
		}
	}
	if inRows != len(rows) || n+1 != len(cells) || wideN+1 != len(wideCells) {
		t.Errorf("%d messages in rows, %d and %d rows of tables; want %d, %d and %d", len(rows), len(cells)-1, len(wideCells)-1, inRows, n, wideN)
	}
}

// dumped is a message in rows: its bytes, at which of them fields begin, and the bytes as characters.
type dumped struct{ digits, starts, chars string }

// dump builds a dumped: long messages have thousands of pieces.
type dump struct{ digits, starts, chars []byte }

// addStart notes that a field begins at a byte.
func (d *dump) addStart(at int) { d.starts = strconv.AppendInt(append(d.starts, ' '), int64(at), 10) }

func (d *dump) dumped() dumped { return dumped{string(d.digits), string(d.starts), string(d.chars)} }

// rowBytes is how many bytes a row has in the width that tests have.
const rowBytes = 8

// rowsOf reads what -o hex printed. After the rows of a message are those of fields that were computed:
// they begin where others do, too.
func rowsOf(text string) (all []dumped) {
	var x dump
	for line := range strings.Lines(text) {
		if line == "\n" && len(x.digits) > 0 {
			all, x = append(all, x.dumped()), dump{}
		}
		at := row.FindStringSubmatchIndex(line)
		if at == nil || line[at[2]:at[3]] != strconv.Itoa(len(x.digits)/2) {
			continue
		}
		bytes, chars := line[at[4]:at[5]], line[min(at[4]+rowBytes*3+2, len(line)):]
		for i := 0; i < len(bytes); i += 3 {
			if bytes[i] == '|' {
				x.addStart(len(x.digits) / 2)
			}
			x.digits = append(x.digits, bytes[i+1:i+3]...)
		}
		x.chars = append(x.chars, chars[:min(len(chars), len(bytes)/3)]...)
	}
	return all
}

// inRowsOf returns the rows of m, by its layout.
func inRowsOf(m *jsonLine) dumped {
	var x dump
	for _, l := range m.Layout {
		if l.Aux {
			continue
		}
		x.addStart(l.Offset)
		x.digits = append(x.digits, l.Hex...)
		b, err := hex.DecodeString(l.Hex)
		if err != nil {
			x.chars = append(x.chars, strings.Repeat("*", l.Length)...)
		}
		for _, c := range b {
			if c < ' ' || c > '~' {
				c = '.'
			}
			x.chars = append(x.chars, c)
		}
	}
	return x.dumped()
}

func cellsOf(t *testing.T, table string) [][]string {
	t.Helper()
	cells, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

// cellOf returns the cell of m in a default column; known is false where the column is a field's.
func cellOf(m *jsonLine, column string) (cell string, known bool) {
	if m.Record == "finding" {
		switch column {
		case "frame":
			return number(m.Frames[len(m.Frames)-1]), true
		case "time":
			return m.Time, true
		case "src":
			return m.Server, true
		case "dst":
			client, _ := m.Client.(string)
			return client, true
		case "findings":
			return m.ID.(string), true
		}
		return "", true
	}
	switch column {
	case "frame":
		return number(m.Frame), true
	case "time":
		return m.Time, true
	case "src":
		return m.Src, true
	case "dst":
		return m.Dst, true
	case "transport":
		return m.Transport, true
	case "protocol":
		return m.Protocol, true
	case "message":
		if m.Message != nil {
			cell = *m.Message
		}
		return cell, true
	case "direction":
		return m.Direction, true
	case "status":
		return m.Status, true
	case "length":
		return strconv.Itoa(m.Length), true
	case "exchange":
		return number(m.Exchange.ID), true
	case "rtt_ms":
		return m.Exchange.RTT.String(), true
	case "findings":
		var ids []string
		for _, f := range m.Findings {
			ids = append(ids, f.ID)
		}
		return strings.Join(ids, ";"), true
	}
	return "", false
}

// number returns n in digits, nothing for 0.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// defs has the definitions of all fields, by name.
var defs = sync.OnceValue(func() map[string]*dissect.Def {
	all := map[string]*dissect.Def{}
	for _, p := range protocols.All() {
		for _, d := range p.Proto().Defs {
			all[d.Name] = d
		}
	}
	for _, d := range dissect.Shared {
		all[d.Name] = d
	}
	return all
})

// fieldCells returns the cells of m in the columns of fields, by its layout.
func fieldCells(m *jsonLine) map[string]string {
	cells := map[string]string{}
	add := func(name, value string) {
		if old, has := cells[name]; has {
			value = old + ";" + value
		}
		cells[name] = value
	}
	for i := 0; i < len(m.Layout); i++ {
		d, value := defs()[m.Layout[i].Name], cellValue(m.Layout[i])
		secret := false
		for j := i + 1; j < len(m.Layout); j++ { // a text with secrets is several fields
			next := defs()[m.Layout[j].Name]
			if next.PartOf != d && (next != d || !secret) {
				break
			}
			piece := cellValue(m.Layout[j])
			if secret = next != d; secret {
				add(next.Name, piece)
			}
			value += piece
			i = j
		}
		add(d.Name, value)
	}
	return cells
}

// cellValue returns the value of a field as a table has it.
func cellValue(l layoutPart) string {
	d := defs()[l.Name]
	switch v := l.Value.(type) {
	case json.Number:
		return v.String()
	case string:
		if d.Kind != dissect.Text && d.Kind != dissect.Char || v == "<redacted>" {
			return v
		}
		apostrophe := ""
		if v != "" && strings.IndexByte("=+-@\t\r\n", v[0]) >= 0 {
			apostrophe = "'"
		}
		return apostrophe + string(display.AppendVisible(nil, []byte(v)))
	}
	return ""
}

// captureInRows lists the captures of which the golden has the rows and the table. The rule: each shape
// that either has in any capture is among them (TestShapes), and a message of each type, and an ordinary
// capture of each group.
var captureInRows = []string{
	"a2s/challenges-mixed-near",
	"a2s/full-poll",
	"a2s/info-extreme-counts",
	"a2s/log",
	"answers/count-never-changes",
	"ase/fragments-missing-secret",
	"ase/full-length-overrun",
	"ase/light-no-map",
	"ase/snaplen",
	"ase/version-odd-port",
	"clients/near-misses",
	"floods/spoofed",
	"goldsource/info-mod-block-missing-trailing",
	"goldsource/infostring-odd",
	"goldsource/listen",
	"goldsource/log",
	"goldsource/log-rcon",
	"goldsource/ping",
	"goldsource/rcon-snaplen",
	"goldsource/rcon-split-missing",
	"goldsource/rcon-split-rewritten",
	"goldsource/words-answered",
	"goldsource/words-any-case",
	"goldsource/xash-netinfo",
	"hostile/bzip2-changed-on-path",
	"hostile/fragments-tiny",
	"hostile/name-ansi",
	"hostile/name-endless",
	"hostile/name-html",
	"hostile/rules-beyond-field-limit",
	"lookalike/challenge-misprint",
	"master/check-md5",
	"master/heartbeat-old",
	"master/list-cut-by-sender",
	"master/old-list",
	"master/other-port",
	"master/snaplen-80",
	"master/xash-heartbeat",
	"net/fragmented-ipv4",
	"net/fragmented-split",
	"net/snaplen-64",
	"rcon/fin-in-answer",
	"rcon/reply-gap",
	"rcon/reply-three-packets",
	"rcon/rust-type-4",
	"rcon/snaplen",
	"recorded/ase-quakestat",
	"recorded/split-rules-woozymasta",
	"split/goldsource-fifteen-parts",
	"split/interleaved-ids",
	"split/missing-first-part",
	"split/missing-middle-part-at-end",
	"split/source-compressed-missing-part",
	"split/source-shuffled",
	"stories/bridge-hides-clients",
	"stories/garbage-replies",
	"stories/proxy-answers",
	"stories/reply-2500-bytes",
	"vantages/far-near",
}

// TestShapes: of each shape that a row of -o hex or of a table has in the head of some capture there is one
// in a golden.
func TestShapes(t *testing.T) {
	var mu sync.Mutex
	kept, seen := map[string]bool{}, map[string]string{} // seen: the capture with the shape
	t.Cleanup(func() {
		for shape, name := range seen {
			if !kept[shape] {
				t.Errorf("%q is in no golden; %s has it: enter that into captureInRows", shape, name)
			}
		}
	})
	n := 0
	eachCapture(t, func(t *testing.T, _ int, name string) {
		p := printedOf(t, name)
		id := strings.TrimSuffix(strings.TrimPrefix(name, pcapfiles+"/"), ".pcap")
		head := func(text string) string { return form{text: text, head: maxGolden}.kept() }
		all := shapesOf(head(p.forms["hex"]), head(p.forms["csv"]))
		mu.Lock()
		defer mu.Unlock()
		for _, shape := range all {
			if old, has := seen[shape]; !has || id < old {
				seen[shape] = id
			}
		}
		if slices.Contains(captureInRows, id) {
			n++
			for _, shape := range all {
				kept[shape] = true
			}
		}
	})
	t.Cleanup(func() { // runs before the other
		if n != len(captureInRows) {
			t.Errorf("%d of %d captures in captureInRows are there", n, len(captureInRows))
		}
	})
}

// shapesOf lists what kinds of rows there are. Of -o hex: with the number of a frame, with the first byte of
// a field, with stars, with names, with the index of a list, cut short. Of a table: which cells are
// not empty, and how they are quoted.
func shapesOf(dump, table string) (all []string) {
	for _, m := range row.FindAllStringSubmatch(dump, -1) {
		shape := "hex"
		add := func(has bool, what string) {
			if has {
				shape += " " + what
			}
		}
		add(len(strings.Fields(m[0][:strings.Index(m[0], m[2])])) > 1, "frame")
		add(strings.Contains(m[2], "|"), "field")
		add(strings.Contains(m[2], "*"), "stars")
		add(len(m[3]) > rowBytes+2, "names")
		add(strings.Contains(m[3], "["), "index")
		add(len(m[2]) < 3*rowBytes, "short")
		all = append(all, shape)
	}
	for _, line := range strings.Split(strings.TrimSpace(table), "\n") {
		cells, err := csv.NewReader(strings.NewReader(line)).Read()
		if err != nil {
			continue // of a head, the digest
		}
		shape := "csv"
		for i, cell := range cells {
			if cell != "" {
				shape += " " + strconv.Itoa(i)
			}
		}
		all = append(all, shape)
		for _, quoted := range []string{`"'`, `""`, `,"`} {
			if strings.Contains(line, quoted) {
				all = append(all, "csv "+quoted)
			}
		}
	}
	return slices.Compact(all)
}
