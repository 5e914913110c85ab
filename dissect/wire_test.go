package dissect

import (
	"testing"

	"qsniff/internal/test/hextest"
)

func TestMatch(t *testing.T) {
	placed := Begins("abcd")
	placed.Offset = 2
	for _, tc := range []struct {
		name string
		p    Pattern
		in   string
		wire int // 0: all was captured
		want bool
	}{
		{"begins", Begins("EYE1"), `"EYE1" 05`, 0, true},
		{"begins otherwise", Begins("EYE1"), `"EYE2" 05`, 0, false},
		{"too short", Begins("EYE1"), `"EYE"`, 0, false},
		{"cut within", Begins("EYE1"), `"EYE"`, 20, false},
		{"exact length", Begins("s").Sized(1, 1), `"s"`, 0, true},
		{"longer than that", Begins("s").Sized(1, 1), `"st"`, 0, false},
		{"longer than that, and cut", Begins("s").Sized(1, 1), `"s"`, 2, false},
		{"shorter than the least", Begins("s").Sized(3, 0), `"st"`, 0, false},
		{"no bound above", Begins("s").Sized(3, 0), `"stuvwxyz"`, 0, true},
		{"masked", BeginsMasked("1\x00\x30", "\xff\x00\xf0"), `31 a5 37`, 0, true},
		{"masked, another value", BeginsMasked("1\x00\x30", "\xff\x00\xf0"), `31 a5 47`, 0, false},
		{"either case", BeginsFold("\xffinfo 1"), `ff "InFo 1"`, 0, true},
		{"either case, another digit", BeginsFold("\xffinfo 1"), `ff "InFo q"`, 0, false},
		{"at an offset", placed, `0000 "abcd"`, 0, true},
		{"at an offset, too short", placed, `0000 "abc"`, 0, false},
		{"nothing", Begins("a"), ``, 0, false},
	} {
		b := hextest.Bytes(t, tc.in)
		if tc.wire == 0 {
			tc.wire = len(b)
		}
		if got := tc.p.Match(b, tc.wire); got != tc.want {
			t.Errorf("%s\ngot  %v\nwant %v", tc.name, got, tc.want)
		}
	}
}

func TestToken(t *testing.T) {
	token := &Token{FromEnd: 5, Len: 4} // a NUL follows it
	gives := &Type{Name: "G", Reply: true, Asks: AskChallenge | AskStatus, Token: token}
	brings := &Type{Name: "B", Asks: AskStatus, Token: token}
	for _, tc := range []struct {
		name  string
		types []*Type
		want  Proof
		roles Asked
	}{
		{"both", []*Type{gives, brings}, TokenProof, AskChallenge | AskStatus},
		{"nobody brings it back", []*Type{gives, {Name: "Q"}}, NoProof, AskChallenge | AskStatus},
		{"nobody gives it", []*Type{brings, {Name: "R", Reply: true}}, NoProof, 0},
	} {
		p := &Proto{Types: tc.types}
		if got, roles := p.Proof(), p.TokenRoles(); got != tc.want || roles != tc.roles {
			t.Errorf("%s\ngot  %v, %b\nwant %v, %b", tc.name, got, roles, tc.want, tc.roles)
		}
	}
	for _, tc := range []struct {
		typ           *Type
		in            string
		before, after string
	}{
		{brings, "abTOKN\x00", "ab", "\x00"},
		{brings, "TOKN\x00", "", "\x00"},
		{brings, "TOK", "TOK", ""},
		{&Type{}, "abcdefgh", "abcdefgh", ""},
		{nil, "abcdefgh", "abcdefgh", ""},
	} {
		if before, after := tc.typ.WithoutToken([]byte(tc.in)); string(before) != tc.before || string(after) != tc.after {
			t.Errorf("%q\ngot  %q, %q\nwant %q, %q", tc.in, before, after, tc.before, tc.after)
		}
	}
}

// TestNeeded: of patterns that cover each other, the wider ones are left.
func TestNeeded(t *testing.T) {
	a, b := Pattern{Value: []byte("ab")}, Pattern{Value: []byte("abc")}
	sized, bits := Pattern{Value: []byte("ab"), MaxLen: 5}, Pattern{Value: []byte("ag"), Mask: []byte("\xff\xfc")}
	later := Pattern{Offset: 1, Value: []byte("b"), MinLen: 2}
	for _, tc := range []struct {
		name string
		in   []Pattern
		want int
	}{
		{"the longer one", []Pattern{a, b}, 1}, {"the longer one, first", []Pattern{b, a}, 1}, {"the same", []Pattern{a, a}, 1},
		{"of some lengths", []Pattern{a, sized}, 1}, {"of some lengths, the longer one is not", []Pattern{sized, b}, 2},
		{"fewer bits", []Pattern{a, bits}, 2}, {"at an offset", []Pattern{a, later}, 1}, {"at an offset, of some lengths", []Pattern{later, sized}, 1},
		{"none", nil, 0},
	} {
		if got := Needed(tc.in); len(got) != tc.want {
			t.Errorf("%s\ngot  %+v\nwant %d", tc.name, got, tc.want)
		}
	}
}
