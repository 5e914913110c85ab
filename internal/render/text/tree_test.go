package text

import (
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/clipperhouse/displaywidth"
	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/display"
	"qsniff/internal/render"
	"qsniff/reassembly/wire"
)

// checkWidth reports lines that are wider than width.
func checkWidth(t *testing.T, name string, out []byte, width int) {
	t.Helper()
	for line := range strings.Lines(string(sequence.ReplaceAll(out, nil))) {
		line = strings.TrimSuffix(line, "\n")
		sum := 0
		for _, r := range line {
			sum += display.RuneCells(r)
		}
		if w := max(sum, displaywidth.String(line)); w > width {
			t.Errorf("%s: a line of %d cells, the limit is %d:\n%s", name, w, width, line)
		}
	}
}

func TestEveryWidth(t *testing.T) {
	for _, x := range examples(t) {
		for width := minWidth; width <= 200; width++ {
			checkWidth(t, x.name, NewTree(Options{Width: width, UTC: true}).Append(nil, x.e), width)
		}
	}
	x := examples(t)[0]
	for width, want := range map[int]int{-1: minWidth, 0: defaultWidth, 7: minWidth, minWidth: minWidth} {
		got, wanted := NewTree(Options{Width: width}).Append(nil, x.e), NewTree(Options{Width: want}).Append(nil, x.e)
		if diff := cmp.Diff(string(wanted), string(got)); diff != "" {
			t.Errorf("width %d is not shown as %d (-want +got):\n%s", width, want, diff)
		}
	}
}

// lines renders the fields of a message and returns the lines below the headline.
func lines(m *dissect.Message, o Options) string {
	m.Proto = &dissect.Proto{Name: "x"}
	e := &render.Event{Frame: 1, File: -1, Iface: -1, Msg: m}
	o.UTC = true
	out := string(NewTree(o).Append(nil, e))
	_, out, _ = strings.Cut(out, "\n")
	for strings.HasPrefix(out, "  ") && out[2] != ' ' { // the rest of the headline
		_, out, _ = strings.Cut(out, "\n")
	}
	return out
}

var (
	defText   = dissect.Def{Name: "x.text", Label: "text", Kind: dissect.Text}
	defNumber = dissect.Def{Name: "x.list.number", Label: "number", Kind: dissect.Uint}
	defData   = dissect.Def{Name: "x.data", Label: "data", Kind: dissect.Bytes}
	defSecret = dissect.Def{Name: "x.password", Label: "password", Kind: dissect.Text, Flags: dissect.Secret}
	defList   = dissect.Def{Name: "x.list", Label: "list", Kind: dissect.List}
	defGroup  = dissect.Def{Name: "x.list.item", Label: "item", Kind: dissect.Group}
	defObject = dissect.Def{Name: "x.object", Label: "object", Kind: dissect.Group}

	codeQuote = finding.Code{ID: "X-01", Severity: finding.Error, Text: func(dst []byte, e *finding.Expert) []byte {
		return append(dst, "quotes \x1b[2J the wire"...)
	}}
)

// TestFields pins how fields look that the protocols of the golden files do not have.
func TestFields(t *testing.T) {
	long := strings.Repeat("0123456789", 5)
	tests := []struct {
		name string
		m    dissect.Message
		opt  Options
		want string
	}{
		{"list of values", dissect.Message{Data: []byte{5, 6}, Fields: []dissect.Field{
			{Def: &defList, Num: 2, Len: 2},
			{Def: &defNumber, Num: 5, Len: 1, Depth: 1},
			{Def: &defNumber, Num: 6, Off: 1, Len: 1, Depth: 1},
		}}, Options{}, `
   0                           list          2 entries
   0  05                         [0] number  5
   1  06                         [1] number  6

`},
		{"object and empty list", dissect.Message{Data: []byte{5}, Fields: []dissect.Field{
			{Def: &defObject, Len: 1},
			{Def: &defNumber, Num: 5, Len: 1, Depth: 1},
			{Def: &defList, Off: 1, Num: 3, Depth: 1},
		}}, Options{}, `
   0                           object
   0  05                         number     5
   1                             list       0 entries, 3 declared

`},
		{"group with a note, group in a group", dissect.Message{Data: []byte{5, 6}, Fields: []dissect.Field{
			{Def: &defList, Num: 1, Len: 2},
			{Def: &defGroup, Len: 2, Depth: 1, Note: "odd"},
			{Def: &defNumber, Num: 5, Len: 1, Depth: 2},
			{Def: &defObject, Off: 1, Len: 1, Depth: 2},
			{Def: &defNumber, Num: 6, Off: 1, Len: 1, Depth: 3},
		}}, Options{}, `
   0                           list            1 entry
   0                             [0] item      odd
   0  05                             number    5
   1                                 object
   1  06                               number  6

`},
		{"secret", dissect.Message{Data: []byte("hunter2\x00"), Fields: []dissect.Field{{Def: &defSecret, Num: 7, Len: 8}}},
			Options{}, `
   0  **                       password     <redacted>

`},
		{"secret that is shown", dissect.Message{Data: []byte("hunter2\x00"), Fields: []dissect.Field{{Def: &defSecret, Num: 7, Len: 8}}},
			Options{ShowSecrets: true}, `
   0  68 75 6e 74 65 72 32 00  password     "hunter2"

`},
		{"long secret that is cut", dissect.Message{Data: []byte(long), Fields: []dissect.Field{
			{Def: &defSecret, Num: 50, Len: 50, Flags: dissect.Cut}}}, Options{}, `
   0  **                       password     <redacted>

`},
		{"long value", dissect.Message{Data: []byte(long + "\x00"), Fields: []dissect.Field{{Def: &defText, Num: 50, Len: 51}}},
			Options{}, `
   0  30 31 32 33 34 … 51 B    text         "01234567890123456789012345678901234
                                            567890123456789"

`},
		{"decoded from elsewhere", dissect.Message{Aux: []byte(long), Fields: []dissect.Field{
			{Def: &defText, Num: 5<<32 | 3, Flags: dissect.Aux}, {Def: &defData, Num: 2, Flags: dissect.Aux}}},
			Options{}, `
                               text         "567"
                               data         30 31

`},
		{"finding that quotes the wire", dissect.Message{Data: []byte{1}, Fields: []dissect.Field{
			{Def: &defNumber, Num: 1, Len: 1, Flags: dissect.HasExpert}},
			Expert: []finding.Expert{
				{Code: &codeQuote, Severity: finding.Error, Field: 0, Frames: [2]uint64{3, 9}},
				{Code: &codeQuote, Severity: finding.Chat, Field: -1, Frames: [2]uint64{4}}}},
			Options{}, `
   0  01                       number       1
      ! error X-01  quotes \x1b[2J the wire (frames 3, 9)
  ! chat X-01  quotes \x1b[2J the wire (frame 4)

`},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want[1:], lines(&tt.m, tt.opt)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestStop(t *testing.T) {
	deep := dissect.Def{Name: "x.info.map"}
	fields := []dissect.Field{{Def: &defNumber, Num: 5, Len: 1}, {Def: &deep, Off: 1, Len: 1, Flags: dissect.Cut}}
	tests := []struct {
		name  string
		m     dissect.Message
		split *render.Split
		want  string
	}{
		{"complete", dissect.Message{}, nil, ""},
		{"capture, inside a value", dissect.Message{Status: dissect.Truncated, Stopped: &deep, StoppedAt: 2, Fields: fields, Wire: 9}, nil,
			"  stopped at byte 2: the capture cut the message inside info.map (2 of 9 bytes\n    captured)\n"},
		{"capture, before a value", dissect.Message{Status: dissect.Truncated, Stopped: &deep, StoppedAt: 2, Fields: fields[:1], Wire: 9}, nil,
			"  stopped at byte 2: the capture cut the message before info.map (2 of 9 bytes\n    captured)\n"},
		{"capture, between values", dissect.Message{Status: dissect.Truncated, Wire: 9}, nil,
			"  stopped at byte 2: the capture cut the message (2 of 9 bytes captured)\n"},
		{"sender", dissect.Message{Status: dissect.Malformed, Stopped: &deep, StoppedAt: 2, Fields: fields, Wire: 2}, nil,
			"  malformed: ends at byte 2 inside info.map\n"},
		{"fragment", dissect.Message{Status: dissect.Fragment}, &render.Split{Total: 6, Received: 2},
			"  incomplete: 2 of 6 parts came, 4 are missing\n"},
		{"fragment that stopped", dissect.Message{Status: dissect.Fragment, Stopped: &deep, StoppedAt: 2}, &render.Split{Total: 3, Received: 2},
			"  incomplete: 2 of 3 parts came, 1 is missing; decoding ended at byte 2 before\n    info.map\n"},
		{"fragment of unknown parts", dissect.Message{Status: dissect.Fragment}, nil,
			"  incomplete: the rest of the message never came\n"},
	}
	for _, tt := range tests {
		tt.m.Data = []byte{5, 6}
		o := Options{}.withDefaults()
		p := page{opt: &o, m: &tt.m}
		p.writeStop(&render.Event{Msg: &tt.m, Split: tt.split})
		if got := string(p.dst); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

func TestHead(t *testing.T) {
	typ := dissect.Type{Name: "PING"}
	m := &dissect.Message{Proto: &dissect.Proto{Name: "x"}, Wire: 1, Data: []byte{1}}
	v4, v6 := netip.MustParseAddrPort("192.0.2.1:1"), netip.MustParseAddrPort("[2001:db8:1234:5678:9abc:def0:1234:5678]:27015")
	tests := []struct {
		name string
		e    render.Event
		typ  *dissect.Type
		want string
	}{
		{"unknown message", render.Event{Frame: 1, File: -1, Iface: -1, Src: v4, Dst: v4}, nil, `
frame 1  1970-01-01 00:00:00.000000Z  192.0.2.1:1 > 192.0.2.1:1
  x unknown message  request  1 byte
`},
		{"input and interface", render.Event{Frame: 1, File: 0, Iface: 2, Src: v4, Dst: v4}, &typ, `
frame 1  input 0  interface 2  1970-01-01 00:00:00.000000Z
  192.0.2.1:1 > 192.0.2.1:1  x PING  request  1 byte
`},
		{"IPv6", render.Event{Frame: 1, File: -1, Iface: -1, Src: v6, Dst: v6}, &typ, `
frame 1  1970-01-01 00:00:00.000000Z
  [2001:db8:1234:5678:9abc:def0:1234:5678]:27015
  > [2001:db8:1234:5678:9abc:def0:1234:5678]:27015  x PING  request  1 byte
`},
		{"IP fragments", render.Event{Frame: 3, Frames: []uint64{1, 3}, File: -1, Iface: -1, Src: v4, Dst: v4}, &typ, `
frame 3  1970-01-01 00:00:00.000000Z  192.0.2.1:1 > 192.0.2.1:1  x PING  request
  1 byte
  joined from IP fragments, frames 1, 3
`},
		{"compressed in one part", render.Event{Frame: 3, File: -1, Iface: -1, Src: v4, Dst: v4,
			Split: &render.Split{Engine: wire.SourceOld, ID: 7, Total: 1, Received: 1, Compressed: true}}, &typ, `
frame 3  1970-01-01 00:00:00.000000Z  192.0.2.1:1 > 192.0.2.1:1  x PING  request
  1 byte
  joined from 1 of 1 part: Source split without size field, id 7, bzip2
`},
	}
	for _, tt := range tests {
		m.Type = tt.typ
		tt.e.Msg = m
		got := string(NewTree(Options{UTC: true}).Append(nil, &tt.e))
		if diff := cmp.Diff(tt.want[1:]+"\n", got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestLineBounds(t *testing.T) {
	typ := dissect.Type{Name: "T", Summary: []*dissect.Def{&defText, &defData, &defSecret}}
	for _, wire := range []string{strings.Repeat("\u202e", 20_000), strings.Repeat("e\u0301\u0301\u0301\u0301\u0301", 5_000), strings.Repeat("東", 97)} {
		n := len(wire)
		m := &dissect.Message{Proto: &dissect.Proto{Name: "x"}, Type: &typ, Data: []byte(wire), Wire: n, Fields: []dissect.Field{
			{Def: &defText, Num: uint64(n), Len: uint32(n)},
			{Def: &defData, Num: uint64(n), Len: uint32(n)},
			{Def: &defSecret, Num: uint64(n), Len: uint32(n)},
		}}
		m.Expert = make([]finding.Expert, 9)
		for i := range m.Expert {
			m.Expert[i].Code = &codeQuote
		}
		got := string(NewLine(Options{UTC: true}).Append(nil, &render.Event{Frame: 1, Msg: m}))
		value, _, ok := strings.Cut(got[strings.Index(got, `text="`)+len(`text="`):], `"… data=`)
		if w := display.Cells([]byte(value)); !ok || w > maxBriefCells || w < maxBriefCells-minValueW {
			t.Errorf("text in the line: got %d cells, want about %d and an ellipsis:\n%s", w, maxBriefCells, got)
		}
		if want := "… password=<redacted> "; !strings.Contains(got, want) {
			t.Errorf("long bytes, then a secret:\n got %s\nwant %s in it", got, want)
		}
		if want := strings.Repeat(" chat:X-01", maxBriefFindings) + " +5 text="; !strings.Contains(got, want) {
			t.Errorf("many findings:\n got %s\nwant %s in it", got, want)
		}
	}
}

// TestShared renders with one renderer on several goroutines, as partitions do;
// the race detector judges.
func TestShared(t *testing.T) {
	tree, line := NewTree(Options{UTC: true}), NewLine(Options{UTC: true})
	var wg sync.WaitGroup
	for _, x := range examples(t) {
		want := string(line.Append(tree.Append(nil, x.e), x.e))
		for range 2 {
			wg.Go(func() {
				e := *x.e // a renderer leaves a note in the event
				if got := string(line.Append(tree.Append(nil, &e), &e)); got != want {
					t.Errorf("%s:\n got %s\nwant %s", x.name, got, want)
				}
			})
		}
	}
	wg.Wait()
}
