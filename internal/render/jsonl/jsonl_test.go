package jsonl

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/dissect/a2s"
	"qsniff/dissect/finding"
	"qsniff/internal/render"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
	"qsniff/internal/test/race"
	"qsniff/reassembly/wire"
)

var (
	defNum    = dissect.Def{Name: "t.num", Kind: dissect.Uint}
	defID     = dissect.Def{Name: "t.id", Kind: dissect.Uint, Flags: dissect.AsString}
	defInt    = dissect.Def{Name: "t.int", Kind: dissect.Int}
	defFloat  = dissect.Def{Name: "t.float", Kind: dissect.Float}
	defLetter = dissect.Def{Name: "t.letter", Kind: dissect.Char}
	defText   = dissect.Def{Name: "t.text", Kind: dissect.Text}
	defRaw    = dissect.Def{Name: "t.raw", Kind: dissect.Bytes}
	defPad    = dissect.Def{Name: "t.pad", Kind: dissect.Bytes, Flags: dissect.Size}
	defHead   = dissect.Def{Name: "t.head", Kind: dissect.Int, Flags: dissect.Framing}
	defSecret = dissect.Def{Name: "t.password", Kind: dissect.Text, Flags: dissect.Secret}
	defList   = dissect.Def{Name: "t.things", Kind: dissect.List}
	defThing  = dissect.Def{Name: "t.things.thing", Kind: dissect.Group}
	defMore   = dissect.Def{Name: "t.more", Kind: dissect.List, Joins: &defList}
	defOne    = dissect.Def{Name: "t.more.one", Kind: dissect.Group}
	proto     = dissect.Proto{Name: "t"}
)

func event(m *dissect.Message) *render.Event {
	return &render.Event{Frame: 1, File: -1, Iface: -1, Src: dissecttest.Client, Dst: dissecttest.Server, Msg: m}
}

// fields returns the "fields" object of a message read by read.
func fields(t *testing.T, opt Options, data string, wire int, read func(*dissect.Cursor)) string {
	t.Helper()
	m := new(dissect.Message)
	m.Reset(&proto, []byte(data))
	c := m.Cursor(&dissect.Context{Wire: wire})
	read(c)
	c.Done()
	line := New(opt).Append(nil, event(m))
	var out struct{ Fields json.RawMessage }
	if err := json.Unmarshal(line, &out); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return string(out.Fields)
}

// TestCopy: a renderer that remembers what it wrote writes what one does that remembers
// nothing, whatever came before.
func TestCopy(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	types := []*dissect.Type{nil, {Name: "A"}, {Name: "B"}}
	plain := New(Options{})
	remembers := plain.Copy()
	for range 5000 {
		m := &dissect.Message{Proto: &proto, Type: types[r.IntN(3)], Conf: dissect.Confidence(1 + r.IntN(3)), Status: dissect.Status(r.IntN(4))}
		e := event(m)
		e.TCP, e.Reply = r.IntN(2) == 0, r.IntN(2) == 0
		e.Nanos = r.Int64N(3e9) - 1e9
		if r.IntN(2) == 0 {
			e.Nanos -= e.Nanos % 1000
		}
		if r.IntN(5) == 0 {
			e.Record = "reply"
		}
		got, want := string(remembers.Append(nil, e)), string(plain.Append(nil, e))
		if got != want {
			t.Fatalf("\ngot  %s\nwant %s", got, want)
		}
	}
}

func TestValues(t *testing.T) {
	nan := "\x00\x00\xc0\x7f"
	for _, tc := range []struct {
		name, data string
		wire       int
		read       func(*dissect.Cursor)
		want       string
	}{
		{"numbers", "\x07\xfe\xff\xff\xff", 5, func(c *dissect.Cursor) { c.U8(&defNum); c.I32(&defInt) }, `{"num":7,"int":-2}`},
		{"64-bit id", "\xff\xff\xff\xff\xff\xff\xff\xff", 8, func(c *dissect.Cursor) { c.U64(&defID) }, `{"id":"18446744073709551615"}`},
		{"float", "\x00\x00\xc0\x3f", 4, func(c *dissect.Cursor) { c.F32(&defFloat) }, `{"float":1.5}`},
		{"float without a number", nan, 4, func(c *dissect.Cursor) { c.F32(&defFloat) }, `{"float":null,"float_hex":"0000c07f"}`},
		{"letter", "d", 1, func(c *dissect.Cursor) { c.U8(&defLetter) }, `{"letter":"d"}`},
		{"letter that is none", "\x00", 1, func(c *dissect.Cursor) { c.U8(&defLetter) }, `{"letter":"\u0000"}`},
		{"letter outside ASCII", "\xe9", 1, func(c *dissect.Cursor) { c.U8(&defLetter) }, "{\"letter\":\"\ufffd\",\"letter_hex\":\"e9\"}"},
		{"text", "caf\xc3\xa9\x00", 6, func(c *dissect.Cursor) { c.CString(&defText) }, "{\"text\":\"caf\u00e9\"}"},
		{"text that is not UTF-8", "a\xff\xfeb\x00", 5, func(c *dissect.Cursor) { c.CString(&defText) }, "{\"text\":\"a\ufffd\ufffdb\",\"text_hex\":\"61fffe62\"}"},
		{"text cut", "ab", 5, func(c *dissect.Cursor) { c.CString(&defText) }, `{"text":"ab","text_cut":true}`},
		{"text cut in a character", "a\xc3", 5, func(c *dissect.Cursor) { c.CString(&defText) }, "{\"text\":\"a\ufffd\",\"text_hex\":\"61c3\",\"text_cut\":true}"},
		{"bytes cut", "\x01", 2, func(c *dissect.Cursor) { c.Take(&defRaw, 2) }, `{"raw":"01","raw_cut":true}`},
		{"number cut", "\x01\x02", 4, func(c *dissect.Cursor) { c.I32(&defInt) }, `{"int":null,"int_hex":"0102","int_cut":true}`},
		{"bytes", "\x01\xff", 2, func(c *dissect.Cursor) { c.Take(&defRaw, 2) }, `{"raw":"01ff"}`},
		{"padding cut", "\x00", 3, func(c *dissect.Cursor) { c.Rest(&defPad) }, `{"pad":3}`},
		{"list of texts, cut", "a\x00b", 9, func(c *dissect.Cursor) { c.Push(&defList, 2); c.CString(&defText); c.CString(&defText); c.Pop() }, `{"things":["a","b"],"things_cut":true}`},
		{"padding", "\x00\x00\x00", 3, func(c *dissect.Cursor) { c.Rest(&defPad) }, `{"pad":3}`},
		{"framing, trailing", "\xff\xff\xff\xff\x09", 5, func(c *dissect.Cursor) { c.I32(&defHead) }, `{"trailing":"09"}`},
		{"empty list", "", 0, func(c *dissect.Cursor) { c.Push(&defList, 0); c.Pop() }, `{"things":[]}`},
		{"list that another joins", "\x01\x02\x03", 3, func(c *dissect.Cursor) {
			c.Push(&defList, 2)
			for i := range 2 {
				c.Push(&defThing, i)
				c.U8(&defNum)
				c.Pop()
			}
			c.Pop()
			c.Push(&defMore, 2)
			c.Push(&defOne, 0)
			c.U8(&defLetter)
			c.Pop()
			c.Pop()
		}, `{"things":[{"num":1,"letter":"\u0003"},{"num":2}]}`},
	} {
		if got := fields(t, Options{}, tc.data, tc.wire, tc.read); got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// A secret shows in no part of a line, whole or in part, as text or as hex.
func TestSecrets(t *testing.T) {
	const secret = "hunter2\xff"
	m := new(dissect.Message)
	m.Reset(&proto, []byte(secret+"\x00"))
	c := m.Cursor(&dissect.Context{})
	c.CString(&defSecret)
	c.Done()
	hidden := string(New(Options{Layout: true}).Append(nil, event(m)))
	for _, s := range []string{"hunter", "unter2", "68756e", "746572"} {
		if strings.Contains(hidden, s) {
			t.Errorf("%q in %s", s, hidden)
		}
	}
	if !strings.Contains(hidden, `"password":"<redacted>"`) || !strings.Contains(hidden, `"hex":"******************"`) {
		t.Errorf("got %s", hidden)
	}
	shown := string(New(Options{Layout: true, ShowSecrets: true}).Append(nil, event(m)))
	if !strings.Contains(shown, `"password_hex":"68756e74657232ff"`) {
		t.Errorf("asked for, not shown: %s", shown)
	}
}

func TestLine(t *testing.T) {
	b := hextest.Bytes(t, `ffffffff 45 0200 "a" 00 "1" 00`)
	m := dissecttest.Run(a2s.New(), dissecttest.Context(len(b)), b)
	e := &render.Event{Frame: 12, Frames: []uint64{7, 12}, Nanos: 1700000000_000370_000, File: 1, Iface: 2,
		Src: dissecttest.Server, Dst: dissecttest.Client, Reply: true, Msg: m,
		Split: &render.Split{Engine: wire.Source, ID: 343, Total: 2, Received: 2, Size: 1248}}
	got := string(New(Options{}).Append(nil, e))
	want := `{"schema":1,"frame":12,"frames":[7,12],"file":1,"interface":2,"time":"2023-11-14T22:13:20.000370Z",` +
		`"transport":"udp","src":"198.18.0.1:27015","dst":"10.64.0.1:40001","community_id":"1:iJWlKpd2vZbo/8j0WcvlHoCeqPU=",` +
		`"protocol":"a2s","message":"S2A_RULES","direction":"reply","status":"complete","length":11,` +
		`"split":{"engine":"source","id":343,"total":2,"received":2,"size_field":1248,"compressed":false},` +
		`"fields":{"count":2,"rules":[{"name":"a","value":"1"}]},` +
		`"findings":[{"id":"A2S-S07","severity":"warn","fault":"server","text":"a2s.rules.count at byte 5 says 2, the reply holds 1 whole entry"}]}` + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

// A set that never completed has no type; its line says so and is still JSON.
func TestFragment(t *testing.T) {
	m := new(dissect.Message)
	m.Reset(&proto, []byte("abc"))
	m.Status = dissect.Fragment
	m.Append(&dissect.Part, 0, 3, "")
	e := event(m)
	e.WhyIncomplete = "IP fragments overlap"
	got := string(New(Options{Layout: true}).Append(nil, e))
	for _, want := range []string{`"message":null`, `"status":"fragment"`, `"fields":{}`, `"incomplete":"IP fragments overlap"`, `"hex":"616263"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

// FuzzAppend renders whatever a dissector makes of bytes, and reads it back with
// encoding/json: one object a line, every finding's text as it was.
func FuzzAppend(f *testing.F) {
	f.Add(hextest.Bytes(f, `ffffffff 45 0200 "a" 00 "1" 00`), uint16(0))
	f.Add(hextest.Bytes(f, `ffffffff 44 01 00 "\" 00 00000000 0000c07f`), uint16(3))
	f.Add(hextest.Bytes(f, `ffffffff 45 0100 0101 00 02010201020102 01014433221104 04b0ef5c 024346 0101 024346 00`), uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, missing uint16) {
		m := dissecttest.Run(a2s.New(), dissecttest.Context(len(b)+int(missing)), b)
		line := New(Options{Layout: true}).Append(nil, event(m))
		if bytes.IndexByte(line, '\n') != len(line)-1 {
			t.Fatalf("not one line: %q", line)
		}
		var out struct {
			Length   int
			Findings []struct{ Text string }
			Layout   []struct {
				Offset, Length int
				Aux            bool
			}
		}
		if err := json.Unmarshal(line, &out); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if out.Length != len(b)+int(missing) || len(out.Findings) != len(m.Expert) {
			t.Errorf("length %d, %d findings", out.Length, len(out.Findings))
		}
		for i := range out.Findings {
			if want := string(m.Expert[i].AppendText(nil)); out.Findings[i].Text != want {
				t.Errorf("got  %q\nwant %q", out.Findings[i].Text, want)
			}
		}
		next := 0
		for _, l := range out.Layout {
			if l.Aux {
				continue
			}
			if l.Offset != next {
				t.Fatalf("layout jumps from %d to %d", next, l.Offset)
			}
			next += l.Length
		}
		if next != len(b) {
			t.Errorf("layout covers %d of %d bytes", next, len(b))
		}
	})
}

func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	b := hextest.Bytes(t, `ffffffff 45 0300 "a" 00 "1" 00`)
	m := dissecttest.Run(a2s.New(), dissecttest.Context(len(b)), b)
	m.Expert = append(m.Expert, finding.Expert{Code: &dissect.TooManyFields, A: math.MaxUint64, B: math.MaxUint64, Field: -1})
	r, e, dst := New(Options{Layout: true}), event(m), []byte(nil)
	if n := testing.AllocsPerRun(100, func() { dst = r.Append(dst[:0], e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

var (
	defLine       = dissect.Def{Name: "t.line", Kind: dissect.Text}
	defLineSecret = dissect.Def{Name: "t.line_secret", Kind: dissect.Text, Flags: dissect.Secret, PartOf: &defLine}
)

// A text with a secret in it is one string, and its bytes are one too.
func TestPieces(t *testing.T) {
	for _, tc := range []struct {
		name, data string
		show       bool
		want       string
	}{
		{"hidden", "say <pw> now", false, `{"line":"say \u003c<redacted>\u003e now"}`},
		{"shown", "say <pw> now", true, `{"line":"say \u003cpw\u003e now"}`},
		{"not UTF-8, hidden", "\xff <pw>", false, "{\"line\":\"\ufffd \\u003c<redacted>\\u003e\",\"line_hex\":\"ff203c****3e\"}"},
		{"not UTF-8, shown", "\xff <pw>", true, "{\"line\":\"\ufffd \\u003cpw\\u003e\",\"line_hex\":\"ff203c70773e\"}"},
		{"the secret is not UTF-8", "a <\xff\xff>", false, `{"line":"a \u003c<redacted>\u003e"}`},
	} {
		got := fields(t, Options{ShowSecrets: tc.show}, tc.data, len(tc.data), func(c *dissect.Cursor) {
			c.Pieces(&defLine, &defLineSecret, len(tc.data), 0, bracketed)
		})
		if got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// bracketed finds what is between < and >.
func bracketed(b []byte) (lo, hi int) {
	lo = bytes.IndexByte(b, '<')
	if lo < 0 {
		return -1, -1
	}
	return lo + 1, bytes.IndexByte(b, '>')
}

func TestExchange(t *testing.T) {
	m := new(dissect.Message)
	m.Reset(&proto, nil)
	for _, tc := range []struct {
		name  string
		in    render.Exchange
		reply bool
		train int64
		bare  bool
		want  string
	}{
		{"none", render.Exchange{RTT: -1, ChallengeRTT: -1}, true, 0, false, ""},
		{"request", render.Exchange{ID: 5, RTT: -1, ChallengeRTT: -1}, false, 0, false, `"exchange":{"id":5},`},
		{"reply", render.Exchange{ID: 5, Request: 5, RTT: 1_240_000, ChallengeRTT: -1}, true, 0, false,
			`"exchange":{"id":5,"request_frame":5,"rtt_ms":1.24},`},
		{"after a challenge", render.Exchange{ID: 5, Request: 7, RTT: 1, ChallengeRTT: 20_000_000}, true, 0, false,
			`"exchange":{"id":5,"request_frame":7,"rtt_ms":0.000001,"challenge_ms":20},`},
		{"clock set back", render.Exchange{ID: 5, Request: 7, RTT: -1, ChallengeRTT: -1}, true, 0, false, `"exchange":{"id":5,"request_frame":7},`},
		{"cause not in the capture", render.Exchange{ID: 5, RTT: -1, ChallengeRTT: -1}, true, 0, false, `"exchange":{"id":5},`},
		{"several packets", render.Exchange{RTT: -1, ChallengeRTT: -1}, true, 350_000, false, `"frames_ms":0.35,`},
		{"payloads have no times", render.Exchange{ID: 5, Request: 5, RTT: 7, ChallengeRTT: -1}, true, 7, true, ""},
	} {
		e := event(m)
		e.Exchange, e.Reply, e.Train = tc.in, tc.reply, tc.train
		got := string(New(Options{Bare: tc.bare}).Append(nil, e))
		if !json.Valid([]byte(got)) || !strings.Contains(got, tc.want) ||
			tc.want == "" && (strings.Contains(got, "exchange") || strings.Contains(got, "_ms")) {
			t.Errorf("%s\ngot  %s\nwant %s in it", tc.name, got, tc.want)
		}
	}
}
