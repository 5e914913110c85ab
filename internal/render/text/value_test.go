package text

import (
	"math"
	"strings"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/test/hextest"
)

func f32(v float32) uint64 { return uint64(math.Float32bits(v)) }

// names is a Def.Values for tests.
func names(v uint64) string {
	if v == 7 {
		return "seven"
	}
	return ""
}

func TestValue(t *testing.T) {
	def := func(k dissect.Kind, flags dissect.DefFlags, unit string) *dissect.Def {
		return &dissect.Def{Name: "x.y", Label: "y", Kind: k, Flags: flags, Unit: unit, Values: names}
	}
	minus := uint64(math.MaxUint64) // -1, sign-extended
	tests := []struct {
		name, data string
		f          dissect.Field
		want       string
		meaning    string
		brief      string
	}{
		{"uint", "07", dissect.Field{Def: def(dissect.Uint, 0, ""), Num: 7, Len: 1}, "7", "seven", "7"},
		{"unit", "05", dissect.Field{Def: def(dissect.Uint, 0, "s"), Num: 5, Len: 1}, "5 s", "", "5"},
		{"largest", "ff ff ff ff ff ff ff ff", dissect.Field{Def: def(dissect.Uint, 0, ""), Num: minus, Len: 8},
			"18446744073709551615", "", "18446744073709551615"},
		{"int", "ff ff ff ff", dissect.Field{Def: def(dissect.Int, 0, ""), Num: minus, Len: 4}, "-1", "", "-1"},
		{"int in hex", "fe ff ff ff", dissect.Field{Def: def(dissect.Int, dissect.Hex, ""), Num: minus - 1, Len: 4},
			"-2 (0xfffffffe)", "", "-2"},
		{"uint in hex", "01", dissect.Field{Def: def(dissect.Uint, dissect.Hex, ""), Num: 1, Len: 1}, "1 (0x01)", "", "1"},
		{"float", "48 21 7c 43", dissect.Field{Def: def(dissect.Float, 0, "s"), Num: f32(252.13), Len: 4},
			"252.13 s", "0:04:12", "252.13"},
		{"hours", "", dissect.Field{Def: def(dissect.Float, 0, "s"), Num: math.Float64bits(36_061.5)}, "36061.5 s", "10:01:01", "36061.5"},
		{"float minus one", "00 00 80 bf", dissect.Field{Def: def(dissect.Float, 0, "s"), Num: f32(-1), Len: 4}, "-1 s", "", "-1"},
		{"float large", "", dissect.Field{Def: def(dissect.Float, 0, "s"), Num: math.Float64bits(1e300)}, "1e+300 s", "", "1e+300"},
		{"not a number", "00 00 c0 7f", dissect.Field{Def: def(dissect.Float, 0, ""), Num: f32(float32(math.NaN())), Len: 4},
			"not a number", "", "not a number"},
		{"infinity", "00 00 80 ff", dissect.Field{Def: def(dissect.Float, 0, ""), Num: f32(float32(math.Inf(-1))), Len: 4},
			"-infinity", "", "-infinity"},
		{"letter", "64", dissect.Field{Def: def(dissect.Char, 0, ""), Num: 'd', Len: 1}, "'d'", "", "'d'"},
		{"no letter", "07", dissect.Field{Def: def(dissect.Char, 0, ""), Num: 7, Len: 1}, "0x07", "seven", "0x07"},
		{"quote as letter", "27", dissect.Field{Def: def(dissect.Char, 0, ""), Num: '\'', Len: 1}, `'\''`, "", `'\''`},
		{"text", "41 22 0a 00", dissect.Field{Def: def(dissect.Text, 0, ""), Num: 3, Len: 4}, `"A\"\n"`, "", `"A\"\n"`},
		{"text cut", "41 42", dissect.Field{Def: def(dissect.Text, 0, ""), Num: 2, Len: 2, Flags: dissect.Cut},
			`"AB"`, "cut after 2 bytes", `"AB"…`},
		{"number cut", "07 00", dissect.Field{Def: def(dissect.Uint, 0, "s"), Len: 2, Flags: dissect.Cut}, "cut after 2 bytes", "", "cut"},
		{"bytes", "01 02", dissect.Field{Def: def(dissect.Bytes, 0, ""), Num: 2, Len: 2}, "2 bytes", "", "0102"},
		{"one byte", "01", dissect.Field{Def: def(dissect.Bytes, 0, ""), Num: 1, Len: 1}, "1 byte", "", "01"},
		{"padding", "00 00 00", dissect.Field{Def: def(dissect.Bytes, dissect.Size, "bytes"), Num: 3, Len: 3},
			"3 bytes, all 00", "", "3B"},
		{"piece of its bytes", "02 61 62", dissect.Field{Def: def(dissect.Bytes, 0, ""), Num: 1<<32 | 2, Len: 3}, "61 62", "", "6162"},
		{"secret", "70 77 00", dissect.Field{Def: def(dissect.Text, dissect.Secret, ""), Num: 2, Len: 3}, "<redacted>", "", "<redacted>"},
		{"secret number", "07", dissect.Field{Def: def(dissect.Uint, dissect.Secret|dissect.Hex, ""), Num: 7, Len: 1},
			"<redacted>", "", "<redacted>"},
		{"secret cut", "70", dissect.Field{Def: def(dissect.Text, dissect.Secret, ""), Num: 1, Len: 1, Flags: dissect.Cut},
			"<redacted>", "", "<redacted>"},
		{"name and note", "07", dissect.Field{Def: def(dissect.Uint, 0, ""), Num: 7, Len: 1, Note: "by default", Flags: dissect.Generated},
			"7", "seven; by default; computed", "7"},
	}
	for _, tt := range tests {
		m := &dissect.Message{Data: hextest.Bytes(t, tt.data)}
		var o Options
		l := NewLine(o)
		if got := string(appendValue(nil, &o, m, &tt.f)); got != tt.want {
			t.Errorf("%s: value:\n got %s\nwant %s", tt.name, got, tt.want)
		}
		if got := string(appendMeaning(nil, &o, &tt.f)); got != tt.meaning {
			t.Errorf("%s: meaning:\n got %s\nwant %s", tt.name, got, tt.meaning)
		}
		if got := string(appendBrief(nil, &l.opt, m, &tt.f)); got != tt.brief {
			t.Errorf("%s: brief:\n got %s\nwant %s", tt.name, got, tt.brief)
		}
	}
}

func TestTime(t *testing.T) {
	const at = 1_700_000_000_000_370_000
	east := time.FixedZone("east", 3600)
	tests := []struct {
		name string
		in   Options
		at   int64
		want string
	}{
		{"utc", Options{UTC: true}, at, "2023-11-14 22:13:20.000370Z"},
		{"location utc", Options{Location: time.UTC}, at, "2023-11-14 22:13:20.000370Z"},
		{"utc wins", Options{UTC: true, Location: east}, at, "2023-11-14 22:13:20.000370Z"},
		{"zone", Options{Location: east}, at, "2023-11-14 23:13:20.000370"},
		{"nanoseconds", Options{UTC: true}, at + 1, "2023-11-14 22:13:20.000370001Z"},
		{"before 1970", Options{UTC: true}, -1_000, "1969-12-31 23:59:59.999999Z"},
	}
	for _, tt := range tests {
		o := tt.in.withDefaults()
		if got := string(o.appendTime(nil, tt.at, true)); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
		if got := string(o.appendTime(nil, tt.at, false)); got != tt.want[len("2023-11-14 "):] {
			t.Errorf("%s: without the day:\n got %s\nwant %s", tt.name, got, tt.want[len("2023-11-14 "):])
		}
	}
	x := examples(t)[0]
	if got, want := string(NewLine(Options{UTC: true, Date: true}).Append(nil, x.e)), "   12 2023-11-14 22:13:20.000370Z "; !strings.HasPrefix(got, want) {
		t.Errorf("line with the day:\n got %s\nwant %s in front", got, want)
	}
	if o := (Options{}).withDefaults(); o.Location != time.Local || o.UTC {
		t.Errorf("zero options:\n got %v, UTC %t\nwant local time", o.Location, o.UTC)
	}
}

func TestFrames(t *testing.T) {
	tests := []struct {
		name string
		in   []uint64
		want string
	}{
		{"one", []uint64{7}, "frame 7"},
		{"two", []uint64{7, 8}, "frames 7-8"},
		{"apart", []uint64{7, 9}, "frames 7, 9"},
		{"runs", []uint64{7, 8, 9, 12, 15, 16}, "frames 7-9, 12, 15-16"},
	}
	for _, tt := range tests {
		if got := string((&Options{}).appendFrames(nil, tt.in)); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}
