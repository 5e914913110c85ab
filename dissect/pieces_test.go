package dissect

import (
	"bytes"
	"testing"
)

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
