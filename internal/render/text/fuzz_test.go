package text

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/display"
	"qsniff/internal/render"
	"qsniff/reassembly/wire"
)

// fuzzDefs has each kind of definition once.
var fuzzDefs = []*dissect.Def{
	{Name: "f.text", Label: "text", Kind: dissect.Text},
	{Name: "f.number", Label: "number", Kind: dissect.Uint, Values: names},
	{Name: "f.list", Label: "list", Kind: dissect.List},
	{Name: "f.list.item", Label: "item", Kind: dissect.Group},
	{Name: "f.data", Label: "data", Kind: dissect.Bytes},
	{Name: "f.int", Label: "int", Kind: dissect.Int, Flags: dissect.Hex, Unit: "points"},
	{Name: "f.float", Label: "float", Kind: dissect.Float, Unit: "s"},
	{Name: "f.char", Label: "char", Kind: dissect.Char},
	{Name: "f.padding", Label: "padding", Kind: dissect.Bytes, Flags: dissect.Size},
	{Name: "f.password", Label: "password", Kind: dissect.Text, Flags: dissect.Secret},
	{Name: "f.token", Label: "a_name_of_some_length", Kind: dissect.Uint, Flags: dissect.Secret | dissect.Hex},
}

// fuzzType makes Line show every field.
var fuzzType = dissect.Type{Name: "FUZZ", Summary: fuzzDefs}

// fuzzMessage makes a message of data: for each field, layout has its definition,
// length, depth and flags.
func fuzzMessage(data, layout []byte) *dissect.Message {
	m := &dissect.Message{Proto: &dissect.Proto{Name: "f"}, Type: &fuzzType, Data: data, Wire: len(data)}
	quote := &finding.Code{ID: "F-01", Text: func(dst []byte, _ *finding.Expert) []byte { return append(dst, data...) }}
	off := 0
	for ; len(layout) >= 4; layout = layout[4:] {
		d := fuzzDefs[int(layout[0])%len(fuzzDefs)]
		f := dissect.Field{Def: d, Off: uint32(off), Len: uint32(min(int(layout[1]), len(data)-off)),
			Depth: layout[2] % 16, Flags: dissect.FieldFlags(layout[3]) & (dissect.Cut | dissect.HasExpert)}
		switch {
		case d.Kind == dissect.Group || d.Kind == dissect.List:
			f.Num = uint64(layout[3])
		case d.Kind == dissect.Text && f.Len > 0:
			f.Num = uint64(f.Len - 1)
			off += int(f.Len)
		case d.Kind == dissect.Text || d.Kind == dissect.Bytes:
			f.Num = uint64(f.Len)
			off += int(f.Len)
		default:
			f.Num = uint64(layout[1]) * 0x0101_0101_0101_0101
			off += int(f.Len)
		}
		if f.Flags&dissect.HasExpert != 0 {
			m.Expert = append(m.Expert, finding.Expert{Code: quote, Severity: finding.Severity(layout[3] % 4), Field: int32(len(m.Fields))})
		}
		m.Fields = append(m.Fields, f)
	}
	if off < len(data) {
		m.Append(&dissect.Unread, uint32(off), uint32(len(data)-off), "")
		m.Status, m.Stopped, m.StoppedAt = dissect.Malformed, fuzzDefs[0], uint32(off)
	}
	return m
}

// FuzzRender holds for any message: no line is wider than the page, nothing but
// printable characters, line feeds and the palette's sequences comes out, every
// field's offset is there, and so is every byte that no value says.
func FuzzRender(f *testing.F) {
	for _, x := range examples(f) {
		f.Add(x.e.Msg.Data, []byte("\x00\x09\x00\x00\x01\x04\x01\x08\x02\x00\x01\x02\x03\x00\x02\x00\x06\x04\x03\x00\x04\x14\x02\x00"), uint8(40))
	}
	f.Add([]byte(strings.Repeat("\u202e東e\u0301\x1b[31m", 9)), []byte("\x09\x0f\x00\x09\x00\x60\x07\x01"), uint8(0))
	palette := NewPalette(true)
	f.Fuzz(func(t *testing.T, data, layout []byte, wide uint8) {
		if len(data) > 4<<10 || len(layout) > 512 {
			t.Skip("larger than what it takes")
		}
		o := Options{Width: minWidth + int(wide), UTC: true, Palette: palette}
		e := &render.Event{Frame: 7, Frames: []uint64{5, 7}, File: 1, Iface: 1, Msg: fuzzMessage(data, layout),
			Split: &render.Split{Engine: wire.Source, ID: 7, Total: 2, Received: 2}}
		tree := NewTree(o).Append(nil, e)
		line := NewLine(o).Append(nil, e)
		e.Pieces = []render.Piece{{Frame: 5, Off: 0, Len: uint32(len(data) / 3)}, {Frame: 7, Off: uint32(len(data) / 3), Len: uint32(len(data) - len(data)/3)}}
		dump := NewHex(o).Append(nil, e)
		checkWidth(t, "hex", dump, o.Width)
		checkPrintable(t, dump)
		checkRows(t, string(sequence.ReplaceAll(dump, nil)), e.Msg)
		checkWidth(t, "tree", tree, o.Width)
		checkPrintable(t, tree)
		checkPrintable(t, line)
		if n := strings.Count(string(line), "\n"); n != 1 {
			t.Errorf("line: %d line feeds:\n%s", n, line)
		}
		checkBytes(t, string(sequence.ReplaceAll(tree, nil)), e.Msg, o)
	})
}

// rows matches the bytes of a row of Hex.
var rows = regexp.MustCompile(`(?m)^ *(?:\d+ +)?(\d+) ((?:[ |](?:[0-9a-f]{2}|\*\*))+)  `)

// checkRows holds the rows of Hex against the bytes of the message: all of them, in
// order, those of secrets as stars.
func checkRows(t *testing.T, out string, m *dissect.Message) {
	t.Helper()
	want := hex.EncodeToString(m.Data)
	var got strings.Builder
	for _, row := range rows.FindAllStringSubmatch(out, -1) {
		got.WriteString(strings.NewReplacer(" ", "", "|", "").Replace(row[2]))
	}
	if got.Len() != len(want) {
		t.Fatalf("%d digits of %d:\n%s", got.Len(), len(want), out)
	}
	for i := range want {
		if g := got.String()[i]; g != want[i] && g != '*' {
			t.Fatalf("digit %d: %c, want %c:\n%s", i, g, want[i], out)
		}
	}
}

func checkPrintable(t *testing.T, out []byte) {
	t.Helper()
	for i, r := range string(sequence.ReplaceAll(out, nil)) {
		if r != '\n' && (r < ' ' || r == 0x7f || r >= 0x80 && !display.Visible(r)) {
			t.Fatalf("%U at byte %d reaches the terminal: %q", r, i, out)
		}
	}
}

// checkBytes looks for the offset of every field, and for the bytes of those
// whose value does not say them.
func checkBytes(t *testing.T, out string, m *dissect.Message, o Options) {
	t.Helper()
	o = o.withDefaults()
	p := page{opt: &o, m: m}
	p.measureColumns()
	for i := range m.Fields {
		f := &m.Fields[i]
		if want := fmt.Sprintf("\n%*d", p.offsetW, f.Off); !strings.Contains(out, want+" ") && !strings.Contains(out, want+"\n") {
			t.Fatalf("field %d (%s): offset %d is missing:\n%s", i, f.Def.Name, f.Off, out)
		}
		b := m.Raw(f)
		if f.Def.Flags&dissect.Secret != 0 || isTree(f) || valueShowsBytes(m, f) || len(b) == 0 {
			continue
		}
		n := p.dumpN
		if len(b) <= p.rawN {
			n = p.rawN
		}
		for at := 0; at < len(b); at += n {
			want := fmt.Sprintf("\n%*d  % x", p.offsetW, int(f.Off)+at, b[at:min(at+n, len(b))])
			if !strings.Contains(out, want) {
				t.Fatalf("field %d (%s): bytes are missing: %s in\n%s", i, f.Def.Name, want, out)
			}
		}
	}
}
