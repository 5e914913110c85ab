package dissect

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"qsniff/internal/test/hextest"
)

var (
	innerNum  = Def{Name: "t.num", Kind: Uint}
	innerText = Def{Name: "t.text", Kind: Text}
	innerRaw  = Def{Name: "t.raw", Kind: Bytes}
	innerList = Def{Name: "t.list", Kind: List}
	innerItem = Def{Name: "t.list.item", Kind: Group}

	testEscape = Escape{Lead: '\\', Pairs: []Pair{{'n', '\n'}, {'\\', '\\'}}}
)

func innerOf(data []byte, pieces []Extent, code *Escape) (*Message, Inner) {
	m := new(Message)
	m.Reset(&Proto{}, data)
	return m, m.Cursor(&Context{}).Inner(pieces, code)
}

// A string that was escaped and cut anywhere, with its pieces in any order, is read
// back as it was, and every byte is found where it stands.
func TestInnerModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		plain := make([]byte, rnd.IntN(40))
		for i := range plain {
			plain[i] = `\na`[rnd.IntN(3)]
			if rnd.IntN(4) == 0 {
				plain[i] = '\n'
			}
		}
		coded := bytes.ReplaceAll(plain, []byte(`\`), []byte(`\\`))
		coded = bytes.ReplaceAll(coded, []byte("\n"), []byte(`\n`))
		var parts [][]byte
		for len(coded) > 0 {
			n := rnd.IntN(min(len(coded), 5) + 1) // pieces may be empty
			parts, coded = append(parts, coded[:n]), coded[n:]
		}
		pieces, data := make([]Extent, len(parts)), []byte(nil)
		for _, i := range rnd.Perm(len(parts)) {
			data = append(data, "--"...)
			pieces[i] = Extent{uint32(len(data)), uint32(len(parts[i]))}
			data = append(data, parts[i]...)
		}
		m, in := innerOf(data, pieces, &testEscape)
		if in.Left() != len(plain) {
			t.Fatalf("%q in %q: %d bytes\nwant %d", plain, data, in.Left(), len(plain))
		}
		for i, want := range plain {
			if got := in.Peek(); got != want {
				t.Fatalf("peek %d of %q: got %q, want %q", i, plain, got, want)
			}
			if got := in.U8(&innerNum); got != want {
				t.Fatalf("byte %d of %q in %q: got %q, want %q", i, plain, data, got, want)
			}
			f := &m.Fields[i]
			raw := m.Raw(f)
			whole := raw[0] == want && len(raw) == 1 || raw[0] == '\\' && f.Note != "" || raw[0] == '\\' && len(raw) >= 2
			if !whole {
				t.Fatalf("byte %d of %q in %q: extent %q", i, plain, data, raw)
			}
		}
		if in.U8(&innerNum); in.OK() || in.Left() != 0 {
			t.Fatalf("%q: reads on after the end", plain)
		}
	}
}

func TestInnerValues(t *testing.T) {
	data := hextest.Bytes(t, `01 0302 07060504 0100000000000080 02 "hi" 02 aa bb ff`)
	m, in := innerOf(data, []Extent{{0, uint32(len(data))}}, nil)
	if got := in.U8(&innerNum); got != 1 {
		t.Errorf("U8: got %#x", got)
	}
	if got := in.U16(&innerNum); got != 0x0203 {
		t.Errorf("U16: got %#x", got)
	}
	if got := in.U32(&innerNum); got != 0x04050607 {
		t.Errorf("U32: got %#x", got)
	}
	if got := in.Uint(&innerNum, 8); got != 1<<63+1 {
		t.Errorf("Uint: got %#x", got)
	}
	in.Counted(&innerText)
	if f := &m.Fields[len(m.Fields)-1]; string(m.Bytes(f)) != "hi" || string(m.Raw(f)) != "\x02hi" {
		t.Errorf("Counted: got %q of %q", m.Bytes(f), m.Raw(f))
	}
	if n := in.List(&innerList); n != 2 {
		t.Errorf("List: got %d", n)
	}
	list := len(m.Fields) - 1
	for i := range 2 {
		in.Open(&innerItem, i)
		in.U8(&innerNum)
		in.Pop()
	}
	in.Pop()
	if got := m.Raw(&m.Fields[list]); !bytes.Equal(got, []byte{2, 0xaa, 0xbb}) {
		t.Errorf("List: extent %x", got)
	}
	in.Rest(&innerRaw)
	if f := &m.Fields[len(m.Fields)-1]; !bytes.Equal(m.Bytes(f), []byte{0xff}) {
		t.Errorf("Rest: got %x", m.Bytes(f))
	}
	if _, _, failed := in.Stopped(); failed || !in.OK() || in.Left() != 0 {
		t.Error("not all was read, or reading failed")
	}
}

// A failure sticks, keeps what is left as the cut value, says where it began, and
// leaves no group open.
func TestInnerFails(t *testing.T) {
	for _, tc := range []struct {
		name   string
		data   string
		read   func(*Inner)
		at     int
		fields int
		cut    string
	}{
		{"number", "abc", func(in *Inner) { in.U8(&innerNum); in.U32(&innerNum) }, 1, 2, "bc"},
		{"text", "\x05ab", func(in *Inner) { in.Counted(&innerText) }, 0, 1, "\x05ab"},
		{"nothing left", "", func(in *Inner) { in.U8(&innerNum) }, 0, 0, ""},
		{"no count", "", func(in *Inner) { in.List(&innerList); in.Open(&innerItem, 0); in.Pop(); in.Pop() }, 0, 0, ""},
		{"in a group", "\x02a", func(in *Inner) {
			in.List(&innerList)
			in.Open(&innerItem, 0)
			in.U16(&innerNum)
			in.Open(&innerItem, 1)
			in.U8(&innerNum)
			in.Pop()
			in.Pop()
			in.Pop()
		}, 1, 3, "a"},
		{"told to", "ab", func(in *Inner) { in.U8(&innerNum); in.Fail(); in.U8(&innerNum); in.Rest(&innerRaw) }, 1, 1, ""},
		{"looking ahead", "ab", func(in *Inner) { in.Skip(1); in.Skip(2) }, 1, 0, ""},
	} {
		m, in := innerOf([]byte(tc.data), []Extent{{0, uint32(len(tc.data))}}, nil)
		tc.read(&in)
		at, size, failed := in.Stopped()
		if !failed || in.OK() || at != tc.at || size != len(tc.data) {
			t.Errorf("%s: stopped at %d of %d, %v\nwant %d of %d", tc.name, at, size, failed, tc.at, len(tc.data))
		}
		if in.depth != 0 || in.unopened != 0 {
			t.Errorf("%s: groups are open", tc.name)
		}
		if len(m.Fields) != tc.fields {
			t.Errorf("%s: %d fields, want %d", tc.name, len(m.Fields), tc.fields)
			continue
		}
		var cut string
		if n := len(m.Fields); n > 0 && m.Fields[n-1].Flags&Cut != 0 {
			cut = string(m.Raw(&m.Fields[n-1]))
		}
		if cut != tc.cut {
			t.Errorf("%s\ngot  %q\nwant %q", tc.name, cut, tc.cut)
		}
	}
}

// Both limits end it once, with a finding, and with room for what the cursor has
// to add.
func TestPartsLimits(t *testing.T) {
	data := bytes.Repeat([]byte("x"), 100)
	at := Extent{10, 1}
	for _, tc := range []struct {
		name string
		add  func(*Parts)
	}{
		{"fields", func(p *Parts) { p.Num(&innerNum, at, 1) }},
		{"bytes", func(p *Parts) { p.Text(&innerText, at, data) }},
	} {
		m := new(Message)
		m.Reset(&Proto{}, data)
		c := m.Cursor(&Context{})
		c.Take(&innerRaw, 50)
		p := c.Parts(Extent{0, 50})
		p.Push(&innerItem, 0, Extent{})
		for range 2 * MaxFields {
			tc.add(&p)
		}
		p.Push(&innerItem, 1, Extent{})
		p.Pop()
		p.Pop()
		c.Done()
		if len(m.Fields) > MaxFields || len(m.Aux) > maxAux {
			t.Errorf("%s: %d fields, %d bytes", tc.name, len(m.Fields), len(m.Aux))
		}
		if last := &m.Fields[len(m.Fields)-1]; last.Off+last.Len != 100 {
			t.Errorf("%s: the cursor's rest is missing", tc.name)
		}
		if len(m.Expert) == 0 || m.Expert[0].Code != &TooManyFields || m.Expert[0].B != 40 {
			t.Errorf("%s: findings %+v", tc.name, m.Expert)
		}
	}
}

var (
	defPiece  = Def{Name: "t.line", Kind: Text}
	defSecret = Def{Name: "t.line_secret", Kind: Text, Flags: Secret, PartOf: &defPiece}
)

// stars finds a run of '*' and counts as the finder of secrets.
func stars(b []byte) (lo, hi int) {
	lo = bytes.IndexByte(b, '*')
	for hi = lo; hi >= 0 && hi < len(b) && b[hi] == '*'; {
		hi++
	}
	return lo, hi
}

// A text with secrets in it becomes several fields, which together are its value
// and have every byte once.
func TestPieces(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		n, tail  int
		wire     int
		want     string // a piece each, secrets in <>, ~ where it is cut
	}{
		{"no secret", "abc\x00", 3, 1, 4, "abc|"},
		{"in the middle", "a**c\x00", 4, 1, 5, "a|<**>|c|"},
		{"in front", "**c\x00", 3, 1, 4, "<**>|c|"},
		{"at the end", "a**\x00", 3, 1, 4, "a|<**>|"},
		{"nothing else, no end", "**", 2, 0, 2, "<**>|"},
		{"two", "*b*d", 4, 0, 4, "<*>|b|<*>|d|"},
		{"empty", "\x00", 0, 1, 1, "|"},
		{"nothing", "", 0, 0, 0, ""},
		{"cut in the text", "a*c", 3, 0, 9, "a|<*>|c~|"},
		{"cut in the secret", "a**", 3, 0, 9, "a|<**>~|"},
		{"cut after the end", "a*\x00", 2, 1, 9, "a|<*>|"},
	} {
		m, c := message([]byte(tc.in), tc.wire)
		c.Pieces(&defPiece, &defSecret, tc.n, tc.tail, stars)
		got := ""
		for i := range m.Fields {
			f := &m.Fields[i]
			s := string(m.Bytes(f))
			if f.Def == &defSecret {
				s = "<" + s + ">"
			}
			if f.Flags&Cut != 0 {
				s += "~"
			}
			got += s + "|"
		}
		if got != tc.want || c.Left() != 0 {
			t.Errorf("%s\ngot  %s, %d bytes left\nwant %s", tc.name, got, c.Left(), tc.want)
		}
		if n := len(m.Fields); n > 0 && m.Fields[0].Def == &defPiece {
			if m.Pieces(0) != n || string(m.Joined(0, n)) != tc.in[:tc.n] {
				t.Errorf("%s: %d pieces, %q together", tc.name, m.Pieces(0), m.Joined(0, n))
			}
		}
	}
}

// Many secrets make no more fields than a few, and the last of them is not shown.
func TestManyPieces(t *testing.T) {
	in := bytes.Repeat([]byte("a*"), 2*MaxFields)
	m, c := message(in, len(in))
	c.Pieces(&defPiece, &defSecret, len(in), 0, stars)
	if n := len(m.Fields); n > 2*maxSecrets+1 || m.Fields[n-1].Def != &defSecret || c.Left() != 0 {
		t.Errorf("%d fields, the last %s, %d bytes left", n, m.Fields[n-1].Def.Name, c.Left())
	}
}

// Values of one definition that follow each other in a list are not pieces.
func TestPiecesOfList(t *testing.T) {
	m, c := message([]byte("a\x00b\x00"), 4)
	c.CString(&defPiece)
	c.CString(&defPiece)
	if m.Pieces(0) != 1 || m.Index(&defPiece) != 0 || m.Index(&defU8) != -1 {
		t.Errorf("%d pieces, at %d", m.Pieces(0), m.Index(&defPiece))
	}
}

func TestDigits(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		skip     int
		wire     int
		want     uint64
		status   Status
		left     int
	}{
		{"number", "42", 0, 2, 42, Complete, 0},
		{"after a blank", " 42 x", 1, 5, 42, Complete, 2},
		{"largest", "18446744073709551615", 0, 20, 18446744073709551615, Complete, 0},
		{"too large", "18446744073709551616", 0, 20, 0, Malformed, 0},
		{"too many digits", "0000000000000000000001", 0, 22, 0, Malformed, 0},
		{"no digits", " x", 1, 2, 0, Malformed, 0},
		{"nothing", "", 0, 0, 0, Malformed, 0},
		{"shorter than what is skipped", " ", 3, 1, 0, Malformed, 0},
		{"digits may be missing", "42", 0, 5, 0, Truncated, 0},
		{"digits are whole", "42 ", 0, 5, 42, Complete, 1},
	} {
		m, c := message([]byte(tc.in), tc.wire)
		got := c.Digits(&defU64, tc.skip)
		if got != tc.want || m.Status != tc.status || c.Left() != tc.left {
			t.Errorf("%s\ngot  %d %v, %d left\nwant %d %v, %d left", tc.name, got, m.Status, c.Left(), tc.want, tc.status, tc.left)
		}
	}
}

// Where another game was seen, only the unmistakable is believed: what that game
// cannot send, and what one forged packet must not hide.
func TestBelieveForeign(t *testing.T) {
	info, rules := &Type{Name: "I", Reply: true, Asks: AskInfo, Unmistakable: true}, &Type{Name: "R", Reply: true, Asks: AskRules}
	d := &fake{Proto{Name: "t", Ports: []uint16{27015}, Types: []*Type{info, rules}}}
	reg, err := NewRegistry(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		conf Confidence
		typ  *Type
		want bool
	}{
		{"weak, from the port", Maybe, rules, false}, {"strong", Likely, rules, false}, {"certain", Certain, rules, false},
		{"unmistakable", Likely, info, false}, {"unmistakable and certain", Certain, info, true},
	} {
		c := &Context{Src: ap(27015), Dst: ap(1), FromServer: FlowFacts{Foreign: true, Asked: AskRules}}
		v := Verdict{Dissector: d, Type: tc.typ, Conf: tc.conf}
		if got := reg.Believe(c, &v); got != tc.want {
			t.Errorf("%s\ngot  %v\nwant %v", tc.name, got, tc.want)
		}
	}
	if _, ok := reg.Foreign(&Context{}, []byte("x")); ok {
		t.Error("a registry without neighbours knows one")
	}
}
