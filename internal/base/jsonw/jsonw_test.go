package jsonw

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"qsniff/internal/base/display"
)

// FuzzString holds String against encoding/json: both must read back the same
// text, and whole must say whether that is the input.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "de_dust2", "a\"b\\c", "\x00\x1b[31m\x7f", "\xff\xfe", "日本\u202egnp.exe", "<script>&", "\u2028\u2029\ufeff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		out, whole := String(nil, b)
		var got string
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%q: %v in %s", b, err, out)
		}
		if want := strings.ToValidUTF8(expand(b), "\ufffd"); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if whole != utf8.Valid(b) {
			t.Errorf("whole %v for %q", whole, b)
		}
		if want := plainly(b); string(out) != want {
			t.Errorf("got  %s\nwant %s", out, want)
		}
		for _, r := range string(out) {
			if r < 0x20 || r == 0x7f || r >= 0x80 && !display.Visible(r) {
				t.Errorf("unescaped %U in %s", r, out)
			}
		}
	})
}

// TestInvisible: what text escapes, JSON does, too, with the same value to a parser.
func TestInvisible(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"tag", "a\U000e0041b", `"a\udb40\udc41b"`},
		{"soft hyphen", "a\u00adb", `"a\u00adb"`},
		{"filler", "\u3164", `"\u3164"`},
		{"variation selector", "\U000e0100", `"\udb40\udd00"`},
		{"private use", "\U0010fffd", `"\udbff\udffd"`},
		{"override", "\u202e", `"\u202e"`},
		{"C1", "\u009b", `"\u009b"`},
		{"line separator", "\u2028", `"\u2028"`},
		{"letters", "Zürich 東京 😀", `"Zürich 東京 😀"`},
	} {
		got, whole := String(nil, []byte(tc.in))
		if string(got) != tc.want || !whole {
			t.Errorf("%s, whole %v\ngot  %s\nwant %s", tc.name, whole, got, tc.want)
		}
		var back string
		if err := json.Unmarshal(got, &back); err != nil || back != tc.in {
			t.Errorf("%s reads back as %q (%v), want %q", tc.name, back, err, tc.in)
		}
	}
}

// expand replaces each invalid byte by itself one replacement character, because
// ToValidUTF8 makes one of a run.
func expand(b []byte) string {
	var s strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		s.WriteRune(r)
		b = b[n:]
	}
	return s.String()
}

func FuzzFloat(f *testing.F) {
	for _, v := range []float64{0, -1, 514.37036, math.NaN(), math.Inf(-1), 1e-7, 1e21, math.MaxFloat64} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		out, ok := Float(nil, v, 64)
		if !ok {
			if string(out) != "null" || !math.IsNaN(v) && !math.IsInf(v, 0) {
				t.Fatalf("%v gave %s", v, out)
			}
			return
		}
		var got float64
		if err := json.Unmarshal(out, &got); err != nil || got != v {
			t.Errorf("got  %v (%v)\nwant %v", got, err, v)
		}
		small, ok := Float(nil, float64(float32(v)), 32)
		var back float32
		if ok {
			if err := json.Unmarshal(small, &back); err != nil || back != float32(v) {
				t.Errorf("32 bits: got %v (%v), want %v", back, err, float32(v))
			}
		}
	})
}

// FuzzUsualFloat holds that what has a way of its own is what strconv makes of it.
func FuzzUsualFloat(f *testing.F) {
	for _, v := range []float32{0, 1, 1.0000001, 516.224, 1051.9934, 61.74919, 0.99999994, 8388607.5, 8388608, 16777215, 16777216, -2.5, 3e38} {
		f.Add(math.Float32bits(v))
	}
	f.Fuzz(func(t *testing.T, x uint32) { testUsualFloat(t, x) })
}

func testUsualFloat(t *testing.T, x uint32) {
	v := math.Float32frombits(x)
	out, ok := appendUsualFloat(nil, v)
	if want := strconv.AppendFloat(nil, float64(v), 'f', -1, 32); ok && string(out) != string(want) {
		t.Fatalf("%#x: got %s, want %s", x, out, want)
	}
}

// TestUsualFloats looks at each exponent, at numbers with few bits, at those around them, and at
// others. All numbers of 32 bits were compared once.
func TestUsualFloats(t *testing.T) {
	usual := 0
	for exponent := uint32(126); exponent <= 151; exponent++ {
		random := rand.New(rand.NewPCG(uint64(exponent), 1))
		for range 5_000 {
			x := exponent<<23 | random.Uint32()&(1<<23-1)
			testUsualFloat(t, x)
			testUsualFloat(t, x|1<<31)
			testUsualFloat(t, x&^0xffff+random.Uint32N(3)-1)
			if _, ok := appendUsualFloat(nil, math.Float32frombits(x)); ok {
				usual++
			}
		}
	}
	if usual < 23*5_000 {
		t.Errorf("%d numbers have a way of their own, want most of those of 24 exponents", usual)
	}
}

func FuzzHex(f *testing.F) {
	f.Add([]byte{0, 0xff, 0x1b})
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := string(Hex(nil, b)), `"`+hex.EncodeToString(b)+`"`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestTime(t *testing.T) {
	for _, tc := range []struct {
		nanos int64
		want  string
	}{
		{0, `"1970-01-01T00:00:00.000000Z"`},
		{1700000000_000370_000, `"2023-11-14T22:13:20.000370Z"`},
		{1700000000_000370_001, `"2023-11-14T22:13:20.000370001Z"`},
		{-1, `"1969-12-31T23:59:59.999999999Z"`},
	} {
		if got := string(Time(nil, tc.nanos)); got != tc.want {
			t.Errorf("%d\ngot  %s\nwant %s", tc.nanos, got, tc.want)
		}
	}
	for n := int64(-5e17); n < 5e18; n += 7_777_777_777_777_000 {
		want := `"` + time.Unix(0, n).UTC().Format("2006-01-02T15:04:05.000000Z") + `"`
		if got := string(Time(nil, n)); got != want {
			t.Errorf("%d\ngot  %s\nwant %s", n, got, want)
		}
	}
}

// escape is String for one byte of ASCII, without quotes.
func escape(c byte) string {
	switch c {
	case '"', '\\':
		return "\\" + string(c)
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	case '<', '>', '&', 0x7f:
		return fmt.Sprintf(`\u%04x`, c)
	}
	if c < 0x20 {
		return fmt.Sprintf(`\u%04x`, c)
	}
	return string(c)
}

// plainly is String, character by character.
func plainly(b []byte) string {
	out := []byte{'"'}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r < utf8.RuneSelf:
			out = append(out, escape(b[0])...)
		case r == utf8.RuneError || display.Visible(r):
			out = utf8.AppendRune(out, r)
		default:
			out = appendRune(out, r)
		}
		b = b[n:]
	}
	return string(out) + `"`
}

// TestRandom compares String with the plain way on texts of all lengths to a few words, made of
// pieces that are treated differently, in memory that is just large enough.
func TestRandom(t *testing.T) {
	pieces := []string{"a", "sv_option", `"`, "&", "<\\>", "|^~", "\n", "\x00", "\x7f", "õ", "Ж", "\u00ad", "\u0378", "★", "京", "\u202e",
		"\ufffd", "😀", "\U000e0041", "\xff", "\xc3", "\xc0\x80", "\xe4\xba", "\xed\xa0\x80", "\xf0\x9f\x98", "\x80"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		var in []byte
		for n := random.IntN(40); len(in) < n; {
			if in = append(in, "abcdefghijk"[:random.IntN(11)]...); random.IntN(2) == 0 {
				in = append(in, pieces[random.IntN(len(pieces))]...)
			}
		}
		in = in[:len(in):len(in)]
		got, whole := String(make([]byte, 0, random.IntN(300)), in)
		if want := plainly(in); string(got) != want || whole != utf8.Valid(in) {
			t.Fatalf("%q, whole %v\ngot  %s\nwant %s", in, whole, got, want)
		}
	}
}

// TestEscapes puts each byte of ASCII at each place among eight and more, beside each other
// byte, and after a text of many words.
func TestEscapes(t *testing.T) {
	test := func(before int, first, second byte, after int) {
		pre, post := strings.Repeat("a", before), strings.Repeat("b", after)
		in := pre + string(first) + string(second) + post
		want := `"` + pre + escape(first) + escape(second) + post + `"`
		if got, whole := String(nil, []byte(in)); string(got) != want || !whole {
			t.Fatalf("%q\ngot  %s\nwant %s", in, got, want)
		}
	}
	for first := range byte(utf8.RuneSelf) {
		for n := range 20 {
			test(n, first, 'x', 20-n)
		}
		for second := range byte(utf8.RuneSelf) {
			test(0, first, second, 6)
			test(1<<10-1, first, second, 9)
		}
	}
}

// BenchmarkString is the texts that replies are made of.
func BenchmarkString(b *testing.B) {
	for _, tc := range []struct{ name, in string }{
		{"value", "1"},
		{"player", "player 512"},
		{"rule", "sm_option_12_enabled"},
		{"output", strings.Repeat("sm_option_12_enabled : 512 : \"sv\", \"nf\" : Option number 12.\n", 66)},
		{"not ASCII", strings.Repeat("Сервер ", 8)},
	} {
		b.Run(tc.name, func(b *testing.B) {
			in, dst := []byte(tc.in), make([]byte, 0, 8192)
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				dst, _ = String(dst[:0], in)
			}
		})
	}
}
