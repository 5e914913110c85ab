package manual

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// proto is a protocol that declares one of everything.
type proto struct{}

var (
	defState = dissect.Def{Name: "toy.state", Kind: dissect.Uint, Flags: dissect.Hex | dissect.Framing, Doc: "what it does, and not what it could do",
		Values: func(v uint64) string { return [3]string{"off", "on", "on"}[min(v, 2)] }}
	defKind = dissect.Def{Name: "toy.kind", Kind: dissect.Char, Doc: "what it is",
		Values: func(v uint64) string {
			if v|0x20 == 'x' {
				return "a toy"
			}
			return ""
		}}
	defSign = dissect.Def{Name: "toy.sign", Kind: dissect.Int, Doc: "a number",
		Values: func(v uint64) string {
			if int64(v) == -1 {
				return "none"
			}
			return ""
		}}
	defKey  = dissect.Def{Name: "toy.key", Kind: dissect.Text, Flags: dissect.Secret, Doc: "opens it"}
	defTime = dissect.Def{Name: "toy.time", Kind: dissect.Float, Unit: "s", Doc: "how long it lasts"}
	toy     = dissect.Proto{Name: "toy", Doc: "a protocol for tests", Defs: []*dissect.Def{&defState, &defKind, &defSign, &defKey, &defTime},
		Types: []*dissect.Type{{Name: "ASK", Doc: "asks"}, {Name: "ANSWER", Doc: "answers", Reply: true, Summary: []*dissect.Def{&defTime}}}}
)

func (proto) Proto() *dissect.Proto { return &toy }

func registry(t *testing.T) *dissect.Registry {
	t.Helper()
	reg, err := dissect.NewRegistry(proto{})
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func TestFields(t *testing.T) {
	all := Fields(registry(t))
	name := "toy"
	got := all[len(all)-1]
	want := Section[Field]{"toy", "a protocol for tests", []Field{
		// More names than maxValues: every number above 1 is "on".
		{Name: "toy.state", Protocol: &name, Kind: "uint", Flags: []string{"framing", "hex"}, Doc: "what it does, and not what it could do"},
		{Name: "toy.kind", Protocol: &name, Kind: "char", Flags: []string{}, Doc: "what it is", Values: []Value{{"'X'", "a toy"}, {"'x'", "a toy"}}},
		{Name: "toy.sign", Protocol: &name, Kind: "int", Flags: []string{}, Doc: "a number", Values: []Value{{"-1", "none"}}},
		{Name: "toy.key", Protocol: &name, Kind: "text", Flags: []string{"secret"}, Doc: "opens it"},
		{Name: "toy.time", Protocol: &name, Kind: "float", Flags: []string{}, Unit: "s", Doc: "how long it lasts"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if all[0].Rows[0].Name != "schema" || all[1].Rows[0].Name != dissect.Shared[0].Name {
		t.Errorf("got %s and %s first, want what all messages have", all[0].Name, all[1].Name)
	}
}

func TestFieldTable(t *testing.T) {
	toys := Filter(Fields(registry(t)), "toy.[kst]*", func(f Field) string { return f.Name })
	for _, tc := range []struct {
		name  string
		width int
		want  string
	}{
		{"wide", 80, `
toy: a protocol for tests
  FIELD      TYPE   MEANING
  toy.state  uint   what it does, and not what it could do [framing, hex]
  toy.kind   char   what it is; 'X', 'x': a toy
  toy.sign   int    a number; -1: none
  toy.key    text   opens it [secret]
  toy.time   float  how long it lasts, in s
`},
		{"wrapped", 48, `
toy: a protocol for tests
  FIELD      TYPE   MEANING
  toy.state  uint   what it does, and not what
                    it could do [framing, hex]
  toy.kind   char   what it is; 'X', 'x': a toy
  toy.sign   int    a number; -1: none
  toy.key    text   opens it [secret]
  toy.time   float  how long it lasts, in s
`},
		{"below", 32, `
toy: a protocol for tests
  toy.state  uint
      what it does, and not what
      it could do [framing, hex]
  toy.kind   char
      what it is; 'X', 'x': a toy
  toy.sign   int
      a number; -1: none
  toy.key    text
      opens it [secret]
  toy.time   float
      how long it lasts, in s
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := "\n" + string(AppendFields(nil, toys, tc.width))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	got, err := AppendJSON(nil, Rows(Messages(registry(t))))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"name":"ASK","protocol":"toy","direction":"request","doc":"asks","summary":[]}
{"name":"ANSWER","protocol":"toy","direction":"reply","doc":"answers","summary":["toy.time"]}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

func TestFindings(t *testing.T) {
	b := &finding.Code{ID: "TOY-02", Severity: finding.Warn, Fault: finding.Path, Seen: "a toy", Means: "Somebody plays.", Owner: "join", Client: "nothing: toys are for owners", Ref: "a book"}
	a := &finding.Code{ID: "TOY-01", Seen: "\"it\"", Means: "m", Owner: "o", Client: "c"}
	fs := Findings([]*finding.Code{b, a, b})
	if len(fs) != 2 || fs[0].ID != a.ID {
		t.Fatalf("got  %v\nwant TOY-01 and TOY-02", fs)
	}
	const want = `TOY-02  warn, fault: path
  seen    A toy.
  means   Somebody plays.
  owner   Join.
  client  Nothing: toys are for owners.
  see     a book
`
	if diff := cmp.Diff(want, string(AppendFinding(nil, &fs[1], 80))); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "a2s.info.map", true},
		{"map", "a2s.info.map", true},
		{"INFO.M", "a2s.info.map", true},
		{"map", "a2s.info.name", false},
		{"a2s.*", "a2s.info.map", true},
		{"*.map", "a2s.info.map", true},
		{"a2s", "ase.map", false},
		{"info.*", "a2s.info.map", false},
		{"a?s.info.[a-m]ap", "a2s.info.map", true},
		{"[", "[", false},
	} {
		if got := Match(tc.pattern, tc.name); got != tc.want {
			t.Errorf("%q, %q:\ngot  %t\nwant %t", tc.pattern, tc.name, got, tc.want)
		}
	}
}

func TestNear(t *testing.T) {
	names := []string{"a2s.info.map", "a2s.info.name", "a2s.player.players.score", "ase.full.player_list.score", "SPL-01", "SPL-02"}
	for _, tc := range []struct {
		word string
		want []string
	}{
		{"a2s.info.mpa", []string{"a2s.info.map", "a2s.info.name"}},
		{"scoer", []string{"a2s.player.players.score", "ase.full.player_list.score"}},
		{"players.scores", []string{"a2s.player.players.score"}},
		{"spl-03", []string{"SPL-01", "SPL-02"}},
		{"*.scores", []string{"a2s.player.players.score", "ase.full.player_list.score"}},
		{"something else", nil},
	} {
		if diff := cmp.Diff(tc.want, Nearest(tc.word, names)); diff != "" {
			t.Errorf("%q: want -, got +\n%s", tc.word, diff)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"map", "mpa", 2}, {"flaw", "lawn", 2},
	} {
		if got := editDistance(tc.a, tc.b); got != tc.want {
			t.Errorf("%q to %q:\ngot  %d\nwant %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// TestLimits: what is compiled in can be read, and has reasons.
func TestLimits(t *testing.T) {
	all, err := Limits()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Errorf("only %d limits", len(all))
	}
	for _, l := range all {
		if l.Package == "" || l.Name == "" || l.Value == "" || l.Why == "" {
			t.Errorf("incomplete: %+v", l)
		}
	}
}

// FuzzTable: no line is longer than the terminal, unless a word is longer than the
// column, and no word is lost.
func FuzzTable(f *testing.F) {
	f.Add("name", "text", "what it means, in some words", 40)
	f.Add("a.rather.long.name.of.a.field", "", "é ü 東", 20)
	f.Fuzz(func(t *testing.T, name, kind, prose string, width int) {
		width = 2*leastProse + min(max(width, 0), 200)
		one := func(s string) string { return strings.Join(strings.Fields(s), "_") }
		tab := table{head: []string{"A", "B", "C"}}
		tab.add(one(name), one(kind), prose)
		out := string(tab.append(nil, width))
		for _, word := range strings.Fields(fmt.Sprint(one(name), " ", one(kind), " ", prose)) {
			if !strings.Contains(out, word) {
				t.Errorf("%q is lost in\n%s", word, out)
			}
		}
		for line := range strings.Lines(out) {
			words := strings.Fields(line)
			if n := utf8.RuneCountInString(line) - 1; n > width && len(words) > 2 && utf8.RuneCountInString(words[len(words)-1]) <= leastProse {
				t.Errorf("%d of %d columns: %q", n, width, line)
			}
		}
	})
}

// TestJSON: what is printed is JSON whatever is in it.
func TestJSON(t *testing.T) {
	in := []Value{{"<&>", "\"\n"}}
	out, err := AppendJSON([]byte("x"), in)
	if err != nil {
		t.Fatal(err)
	}
	var got Value
	if err := json.Unmarshal(out[1:], &got); err != nil || got != in[0] {
		t.Errorf("got  %v (%v)\nwant %v", got, err, in[0])
	}
	if !strings.Contains(string(out), "<&>") {
		t.Errorf("escaped for pages: %s", out)
	}
}
