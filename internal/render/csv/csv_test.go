package csv

import (
	stdcsv "encoding/csv"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/render"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/race"
)

var (
	defName   = dissect.Def{Name: "t.name", Kind: dissect.Text, Role: dissect.ServerName}
	defCount  = dissect.Def{Name: "t.count", Kind: dissect.Uint, Role: dissect.PlayerCount}
	defInt    = dissect.Def{Name: "t.int", Kind: dissect.Int}
	defFloat  = dissect.Def{Name: "t.float", Kind: dissect.Float}
	defLetter = dissect.Def{Name: "t.letter", Kind: dissect.Char}
	defRaw    = dissect.Def{Name: "t.raw", Kind: dissect.Bytes}
	defPad    = dissect.Def{Name: "t.pad", Kind: dissect.Bytes, Flags: dissect.Size}
	defAddr   = dissect.Def{Name: "t.addr", Kind: dissect.Addr}
	defSecret = dissect.Def{Name: "t.password", Kind: dissect.Text, Flags: dissect.Secret}
	defHidden = dissect.Def{Name: "t.name_secret", Kind: dissect.Text, Flags: dissect.Secret, PartOf: &defName}
	defs      = []*dissect.Def{&defName, &defCount, &defInt, &defFloat, &defLetter, &defRaw, &defAddr, &defSecret, &defHidden}
	proto     = dissect.Proto{Name: "t", Defs: defs}
)

func event(t testing.TB, data string, wire int, read func(*dissect.Cursor)) *render.Event {
	t.Helper()
	m := new(dissect.Message)
	m.Reset(&proto, []byte(data))
	c := m.Cursor(&dissect.Context{Wire: wire})
	read(c)
	return &render.Event{Frame: 7, File: -1, Iface: -1, Nanos: 1_700_000_000_000_370_000, Start: 1_700_000_000_000_000_000,
		Src: dissecttest.Client, Dst: dissecttest.Server, Msg: m}
}

// column returns the renderer with one column.
func column(t testing.TB, name string, opt Options) *Renderer {
	t.Helper()
	c, ok := ColumnNamed(name, []*dissect.Proto{&proto})
	if !ok {
		t.Fatalf("no column %s", name)
	}
	opt.Columns = []Column{c}
	return New(opt)
}

func TestCells(t *testing.T) {
	text := func(c *dissect.Cursor) { c.CString(&defName) }
	for _, tc := range []struct {
		name, column, data string
		wire               int
		read               func(*dissect.Cursor)
		want               string
	}{
		{"plain text", "t.name", "de_dust2\x00", 9, text, "de_dust2"},
		{"comma", "t.name", "a,b\x00", 4, text, `"a,b"`},
		{"quotes", "t.name", `say "hi"` + "\x00", 9, text, `"say ""hi"""`},
		{"only quotes", "t.name", `""` + "\x00", 3, text, `""""""`},
		{"formula", "t.name", "=1+1\x00", 5, text, `"'=1+1"`},
		{"formula with plus", "t.name", "+1\x00", 3, text, `"'+1"`},
		{"formula with at", "t.name", "@SUM(1)\x00", 8, text, `"'@SUM(1)"`},
		{"formula with minus and quotes", "t.name", `-2+abc&"/c"` + "\x00", 12, text, `"'-2+abc&""/c"""`},
		{"formula after a tab", "t.name", "\t=1\x00", 4, text, `"'\t=1"`},
		{"line feed", "t.name", "a\nb\x00", 4, text, `a\nb`},
		{"terminal escape", "t.name", "\x1b[31mred\x00", 9, text, `\x1b[31mred`},
		{"bidi override", "t.name", "\u202egnp\x00", 7, text, `\u202egnp`},
		{"tag and soft hyphen", "t.name", "a\U000e0041\u00ad\x00", 8, text, `a\U000e0041\u00ad`},
		{"accent", "t.name", "e\u0301\x00", 4, text, "e\u0301"},
		{"backslash stays", "t.name", `\o/` + "\x00", 4, text, `\o/`},
		{"not UTF-8", "t.name", "a\xff\x00", 3, text, `a\xff`},
		{"letters", "t.name", "é東\x00", 6, text, "é東"},
		{"by role", "server_name", "x\x00", 2, text, "x"},
		{"text cut", "t.name", "ab", 9, text, "ab"},
		{"name of a text that is cut", "cut", "ab", 9, text, "t.name"},
		{"nothing cut", "cut", "ab\x00", 3, text, ""},
		{"cut between two values", "cut", "ab\x00", 9, func(c *dissect.Cursor) { c.CString(&defName); c.U8(&defCount) }, ""},
		{"name of a number that is cut", "cut", "ab\x00\xfe", 9, func(c *dissect.Cursor) { c.CString(&defName); c.I32(&defInt) }, "t.int"},
		{"bytes cut by the sender", "cut", "\x01", 1, func(c *dissect.Cursor) { c.Take(&defRaw, 2) }, "t.raw"},
		{"a length is whole", "cut", "\x00\x00", 9, func(c *dissect.Cursor) { c.Rest(&defPad) }, ""},
		{"cut within a text with secrets", "cut", "set pw", 11, func(c *dissect.Cursor) {
			c.Pieces(&defName, &defHidden, 6, 0, func(b []byte) (int, int) { return strings.Index(string(b), "pw"), len(b) })
		}, "t.name"},
		{"two values", "t.count", "\x01\x02", 2, func(c *dissect.Cursor) { c.U8(&defCount); c.U8(&defCount) }, "1;2"},
		{"first by role", "players", "\x01\x02", 2, func(c *dissect.Cursor) { c.U8(&defCount); c.U8(&defCount) }, "1"},
		{"negative number is no formula", "t.int", "\xfe\xff\xff\xff", 4, func(c *dissect.Cursor) { c.I32(&defInt) }, "-2"},
		{"number cut", "t.int", "\xfe", 4, func(c *dissect.Cursor) { c.I32(&defInt) }, ""},
		{"float", "t.float", "\x00\x00\xc0\x3f", 4, func(c *dissect.Cursor) { c.F32(&defFloat) }, "1.5"},
		{"no number", "t.float", "\x00\x00\xc0\x7f", 4, func(c *dissect.Cursor) { c.F32(&defFloat) }, ""},
		{"letter", "t.letter", "d", 1, func(c *dissect.Cursor) { c.U8(&defLetter) }, "d"},
		{"bytes", "t.raw", "\x01\xff", 2, func(c *dissect.Cursor) { c.Take(&defRaw, 2) }, "01ff"},
		{"address", "t.addr", "\x0a\x00\x00\x01\x69\x87", 6, func(c *dissect.Cursor) { c.Addr(&defAddr, 6) }, "10.0.0.1:27015"},
		{"absent", "t.name", "\x01", 1, func(c *dissect.Cursor) { c.U8(&defCount) }, ""},
		{"secret", "t.password", "pw\x00", 3, func(c *dissect.Cursor) { c.CString(&defSecret) }, "<redacted>"},
		{"secret within a text", "t.name", "set pw now\x00", 11, func(c *dissect.Cursor) {
			c.Pieces(&defName, &defHidden, 10, 1, func(b []byte) (int, int) { return strings.Index(string(b), "pw"), strings.Index(string(b), "pw") + 2 })
		}, "set <redacted> now"},
		{"length", "length", "ab", 9, text, "9"},
		{"status", "status", "ab", 9, text, "truncated"},
		{"time", "time", "", 0, func(*dissect.Cursor) {}, "2023-11-14T22:13:20.000370Z"},
	} {
		r := column(t, tc.column, Options{})
		if got := string(r.Append(nil, event(t, tc.data, tc.wire, tc.read))); got != tc.want+"\r\n" {
			t.Errorf("%s\ngot  %q\nwant %q", tc.name, got, tc.want+"\r\n")
		}
	}
}

// A number that was decoded from text has 64 bits, however few digits it has.
func TestDecodedFloat(t *testing.T) {
	e := event(t, "2.50", 4, func(c *dissect.Cursor) { c.Take(&defFloat, 4) })
	e.Msg.Fields[0] = dissect.Field{Def: &defFloat, Num: math.Float64bits(2.5), Len: 4, Flags: dissect.Aux}
	if got := string(column(t, "t.float", Options{}).Append(nil, e)); got != "2.5\r\n" {
		t.Errorf("got  %q\nwant %q", got, "2.5\r\n")
	}
}

func TestShowSecrets(t *testing.T) {
	e := event(t, "pw\x00", 3, func(c *dissect.Cursor) { c.CString(&defSecret) })
	if got := string(column(t, "t.password", Options{ShowSecrets: true}).Append(nil, e)); got != "pw\r\n" {
		t.Errorf("got  %q\nwant %q", got, "pw\r\n")
	}
}

func TestExchange(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   render.Exchange
		want string
	}{
		{"none", render.Exchange{RTT: -1}, ",,\r\n"},
		{"request", render.Exchange{ID: 5, RTT: -1}, "5,,\r\n"},
		{"repeated", render.Exchange{ID: 5, RTT: -1, Verb: "follows unanswered"}, "5,,follows unanswered\r\n"},
		{"reply", render.Exchange{ID: 5, Request: 7, RTT: 1_240_000, Verb: "answers"}, "5,1.24,answers\r\n"},
		{"clock set back", render.Exchange{ID: 5, Request: 7, RTT: -1, Verb: "answers"}, "5,,answers\r\n"},
	} {
		e := event(t, "", 0, func(*dissect.Cursor) {})
		e.Exchange = tc.in
		var columns []Column
		for _, name := range []string{"exchange", "rtt_ms", "verb"} {
			c, _ := ColumnNamed(name, nil)
			columns = append(columns, c)
		}
		if got := string(New(Options{Columns: columns}).Append(nil, e)); got != tc.want {
			t.Errorf("%s\ngot  %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

func TestClocks(t *testing.T) {
	for _, tc := range []struct {
		clock render.Clock
		want  string
	}{{render.Relative, "0.000370"}, {render.Epoch, "1700000000.000370"}, {render.Delta, ""}} {
		e := event(t, "", 0, func(*dissect.Cursor) {})
		if got := string(column(t, "time", Options{Clock: tc.clock}).Append(nil, e)); got != tc.want+"\r\n" {
			t.Errorf("clock %d\ngot  %q\nwant %q", tc.clock, got, tc.want)
		}
		if e.Hole.IsSet != (tc.clock == render.Delta) {
			t.Errorf("clock %d: hole %+v", tc.clock, e.Hole)
		}
	}
}

// TestLines: a line has as many cells as the header; one of a finding too, which there is only where a column says
// what it is. A reply that was joined from messages has no line.
func TestLines(t *testing.T) {
	r := New(Options{Columns: append(DefaultColumns(), Column{Name: "record", meta: metaRecord})})
	e := event(t, "x\x00\x05", 3, func(c *dissect.Cursor) { c.CString(&defName); c.U8(&defCount) })
	e.Msg.Expert = []finding.Expert{{Code: &dissect.TooManyFields}, {Code: &dissect.Deprecated}}
	out := r.Append(r.AppendHeader(nil), e)
	out = r.AppendRecord(out, &render.Record{Nanos: 1, Frames: []uint64{3, 9}, Expert: &finding.Expert{Code: &dissect.TooManyFields}, Server: dissecttest.Server})
	e.Record = "reply"
	out = r.Append(out, e)
	rows, err := stdcsv.NewReader(strings.NewReader(string(out))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		strings.Split("frame,time,src,dst,transport,protocol,message,direction,status,length,exchange,rtt_ms,server_name,map,players,max_players,findings,record", ","),
		{"7", "2023-11-14T22:13:20.000370Z", "10.64.0.1:40001", "198.18.0.1:27015", "udp", "t", "", "request", "complete", "3", "", "", "x", "", "5", "", "LIM-01;" + dissect.Deprecated.ID, "message"},
		{"9", "1970-01-01T00:00:00.000000001Z", "198.18.0.1:27015", "", "", "", "", "", "", "", "", "", "", "", "", "", "LIM-01", "finding"},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if out := New(Options{}).AppendRecord(nil, &render.Record{Expert: &finding.Expert{Code: &dissect.TooManyFields}}); len(out) > 0 {
		t.Errorf("without the column: %q", out)
	}
}

func TestUnknownColumns(t *testing.T) {
	for _, name := range []string{"", "name", "t.", "frames"} {
		if _, ok := ColumnNamed(name, []*dissect.Proto{&proto}); ok {
			t.Errorf("%q is a column", name)
		}
	}
}

// FuzzText: whatever a name holds, a reader of CSV gets one cell of it, nothing in
// it acts on a terminal, and no spreadsheet takes it for a formula.
func FuzzText(f *testing.F) {
	for _, s := range []string{"=1+1", "a\"b", "\x1b[2J", "\u202ex", "'", "a,b\r\nc", "\xff"} {
		f.Add(s)
	}
	r := column(f, "t.name", Options{})
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ReplaceAll(s, "\x00", "")
		out := string(r.Append(nil, event(t, s+"\x00", len(s)+1, func(c *dissect.Cursor) { c.CString(&defName) })))
		rows, err := stdcsv.NewReader(strings.NewReader(out)).ReadAll()
		switch {
		case s == "":
			return // an empty line is no row to the reader
		case err != nil || len(rows) != 1 || len(rows[0]) != 1:
			t.Fatalf("%q: %v %v", out, rows, err)
		}
		cell := rows[0][0]
		if slices.Contains([]byte("=+-@\t\r\n"), cell[0]) {
			t.Errorf("a formula: %q", cell)
		}
		for _, c := range strings.TrimSuffix(out, "\r\n") {
			if unicode.IsControl(c) || unicode.In(c, unicode.Bidi_Control) {
				t.Errorf("%U in %q", c, out)
			}
		}
	})
}

func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	r := New(Options{})
	e := event(t, "=x,\"y\"\x00\x05", 8, func(c *dissect.Cursor) { c.CString(&defName); c.U8(&defCount) })
	dst := r.Append(nil, e)
	if n := testing.AllocsPerRun(100, func() { dst = r.Append(dst[:0], e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
