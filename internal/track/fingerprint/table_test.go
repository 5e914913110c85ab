package fingerprint

import (
	"slices"
	"strings"
	"testing"

	"qsniff/dissect"
)

// TestTable: what a program needs to be recognised makes it that program and no other, with
// everything that it may show besides, and neither with one sign less nor with one that it does
// not show.
func TestTable(t *testing.T) {
	for i := range Table {
		f := &Table[i]
		if f.Needs == 0 || f.Needs&^f.Shows != 0 || len(f.Programs) == 0 || f.Confidence == dissect.No || f.Why == "" {
			t.Errorf("row %d: %+v", i, f)
		}
		for _, p := range f.Programs {
			if p.Name == "" || p.Source == "" {
				t.Errorf("%s: %+v", f.Name(), p)
			}
		}
		if got, k := f.Needs.Name(); got != f.Name() || k != f.Confidence {
			t.Errorf("what it needs\ngot  %s, %v\nwant %s, %v", got, k, f.Name(), f.Confidence)
		}
		for bit := Signs(1); bit < Every; bit <<= 1 {
			if s := f.Needs | bit; bit&^f.Shows != 0 && bit&header == 0 && s.find() == f {
				t.Errorf("%s: recognised with %v, which it does not show", f.Name(), namesOf(bit))
			}
			if s := f.Needs &^ bit; bit&f.Needs != 0 && s.find() == f {
				t.Errorf("%s: recognised without %v, which it needs", f.Name(), namesOf(bit))
			}
		}
	}
}

func namesOf(s Signs) (all []string) {
	for name := range s.All() {
		all = append(all, name)
	}
	return all
}

// TestHeaders: what a router could have done to packets renames no client, known or not.
func TestHeaders(t *testing.T) {
	for i := range Table {
		if f := &Table[i]; f.Needs&header == 0 && f.Needs&^anyQuestion != 0 {
			if got := (f.Needs | header).find(); got != f {
				t.Errorf("%s: with headers of a scanner %v", f.Name(), got)
			}
		}
	}
	const asks = InfoBare | PageOnes | OnePort // of no program
	plain, _ := asks.Name()
	if got, k := (asks | header).Name(); got != plain || k != dissect.No {
		t.Errorf("got  %s\nwant %s", got, plain)
	}
	for s, want := range map[Signs]string{InfoBare | StartTTL: "masscan or zmap", InfoBare | header: "zmap", InfoBare | FixedID: "unknown-19e3", InfoBare: "unknown-19e3"} {
		if got, _ := s.Name(); got != want {
			t.Errorf("%v: %s, want %s", namesOf(s), got, want)
		}
	}
}

// TestUnknown: equal signs have one name, which stays: captures of years are compared by it.
func TestUnknown(t *testing.T) {
	for _, tt := range []struct {
		signs Signs
		want  string
	}{
		{InfoBare, "unknown-19e3"},
		{PageBare, "unknown-785d"},
		{InfoBare | Padded, "unknown-8b73"},
	} {
		if got, k := tt.signs.Name(); got != tt.want || k != dissect.No {
			t.Errorf("%v\ngot  %s, %v\nwant %s", namesOf(tt.signs), got, k, tt.want)
		}
	}
}

// TestAppendNameAllocatesNothing: filters ask for the name of every message.
func TestAppendNameAllocatesNothing(t *testing.T) {
	b := make([]byte, 0, 200)
	for _, s := range []Signs{InfoBare, Table[0].Needs} {
		if n := testing.AllocsPerRun(100, func() { s.AppendName(b) }); n > 0 {
			t.Errorf("%v: %v allocations", namesOf(s), n)
		}
	}
}

// FuzzName: every set of signs has one name, that of a row whose conditions it fits or one made
// of the signs, and AppendName keeps what precedes it.
func FuzzName(f *testing.F) {
	for i := range Table {
		f.Add(uint32(Table[i].Needs))
		f.Add(uint32(Table[i].Shows))
	}
	f.Add(uint32(InfoToken | PageZero | header))
	f.Fuzz(func(t *testing.T, n uint32) {
		s := Signs(n) & Every
		name, k := s.Name()
		b, again := s.AppendName([]byte("x"))
		if string(b) != "x"+name || k != again {
			t.Errorf("%v: %s and %s", namesOf(s), name, b)
		}
		row := slices.IndexFunc(Table, func(f Fingerprint) bool {
			others := s &^ f.Shows
			if f.Needs&header == 0 { // an operating system, or what is between, may make these
				others &^= header
			}
			return f.Needs&^s == 0 && others == 0
		})
		if isKnown := row >= 0; isKnown != (k != dissect.No) || isKnown && Table[row].Name() != name ||
			!isKnown && (!strings.HasPrefix(name, UnknownPrefix) || len(name) != len(UnknownPrefix)+4) {
			t.Errorf("%v: %s, %v; row %d", namesOf(s), name, k, row)
		}
	})
}
