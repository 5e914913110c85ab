package display

import (
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestAppendEscaped(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "de_dust2 [24/7]", "de_dust2 [24/7]"},
		{"letters", "Zürich Москва 東京 서버 ขอนแก่น", "Zürich Москва 東京 서버 ขอนแก่น"},
		{"emoji", "😀🎮", "😀🎮"},
		{"quote and backslash", `a"b\c'd`, `a\"b\\c'd`},
		{"line breaks", "a\r\nb\tc", `a\r\nb\tc`},
		{"controls", "\x00\x01\x07\x08\x7f", `\x00\x01\x07\x08\x7f`},
		{"clear screen", "\x1b[2J\x1b[H", `\x1b[2J\x1b[H`},
		{"set the title", "\x1b]0;x\x07", `\x1b]0;x\x07`},
		{"C1 as UTF-8", "\u009b31m\u0085", `\u009b31m\u0085`},
		{"C1 as bytes", "\x9b31m", `\x9b31m`},
		{"not UTF-8", "a\xff\xc3", `a\xff\xc3`},
		{"overlong NUL", "\xc0\x80", `\xc0\x80`},
		{"surrogate", "\xed\xa0\x80", `\xed\xa0\x80`},
		{"replacement character itself", "\ufffd", "\ufffd"},
		{"bidi override", "a\u202egnp.exe\u202c", `a\u202egnp.exe\u202c`},
		{"bidi isolates and marks", "\u2066\u2067\u2068\u2069\u200e\u200f\u061c", `\u2066\u2067\u2068\u2069\u200e\u200f\u061c`},
		{"zero width", "a\u200bb\u200cc\u200dd\u2060e\ufefff", `a\u200bb\u200cc\u200dd\u2060e\ufefff`},
		{"no ink", "\u00ad\u034f\u115f\u3164\uffa0\u2800", `\u00ad\u034f\u115f\u3164\uffa0\u2800`},
		{"variation selectors", "❤\ufe0f\U000e0100", `❤\ufe0f\U000e0100`},
		{"tags", "\U000e0041", `\U000e0041`},
		{"foreign spaces", "a\u00a0b\u3000c\u2028d", `a\u00a0b\u3000c\u2028d`},
		{"private and unassigned", "\ue000\U0010fffd\u0378", `\ue000\U0010fffd\u0378`},
		{"accent stays", "e\u0301", "e\u0301"},
		{"accent with nothing to sit on", "\u0301e", `\u0301e`},
		{"accent after an escape", "\x01\u0301", `\x01\u0301`},
		{"stack of marks", "e" + strings.Repeat("\u0301", 6), "e" + strings.Repeat("\u0301", 4) + `\u0301\u0301`},
	}
	for _, tt := range tests {
		if got := string(AppendEscaped(nil, []byte(tt.in), '"')); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestVisible: the short way says of every character what the tables say, and no
// format, private, surrogate or ignorable one is visible.
func TestVisible(t *testing.T) {
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if got, want := Visible(r), isVisibleInTables(r); got != want {
			t.Fatalf("%U: got %v, want %v", r, got, want)
		}
		if Visible(r) && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Z, unicode.Bidi_Control) {
			t.Fatalf("%U is visible", r)
		}
	}
}

// TestAppendVisible: text that was escaped stays as it is, so does one with backslashes.
func TestAppendVisible(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`C:\captures "a"`, `C:\captures "a"`},
		{"a\x1b[2J\nb\u202e\U000e0041\x00", `a\x1b[2J\nb\u202e\U000e0041\x00`},
		{`a\x1b[2J\nb`, `a\x1b[2J\nb`},
	} {
		if got := string(AppendVisible(nil, []byte(tc.in))); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

func FuzzEscaped(f *testing.F) {
	for _, s := range []string{"de_dust2", "\x1b[2J", "a\u202eb", "e\u0301\u0301\u0301\u0301\u0301", "\xff\\\"", "\U000e0041"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := string(AppendEscaped(nil, b, '"'))
		if !utf8.ValidString(got) {
			t.Fatalf("not UTF-8: %q", got)
		}
		for _, r := range got {
			if r != ' ' && !strconv.IsGraphic(r) || r >= utf8.RuneSelf && !Visible(r) {
				t.Fatalf("%U in %q", r, got)
			}
		}
		back, err := strconv.Unquote(`"` + got + `"`)
		if err != nil || back != string(b) {
			t.Fatalf("escaped text does not read back:\n got %q (%v)\nwant %q", back, err, b)
		}
		total := 0
		for rest := []byte(got); len(rest) > 0; {
			n, w := Fit(rest, WidestUnit)
			if w > WidestUnit {
				t.Fatalf("a line of %d cells, the limit is %d: %q", w, WidestUnit, rest[:n])
			}
			if total += n; !utf8.Valid(rest[:n]) {
				t.Fatalf("line break inside a character: %q", rest[:n])
			}
			rest = rest[n:]
		}
		if total != len(got) {
			t.Fatalf("lines hold %d bytes of %d", total, len(got))
		}
	})
}

func TestFit(t *testing.T) {
	tests := []struct {
		name, in string
		width    int
		want     string
		words    bool
	}{
		{"all", "abc", 3, "abc", false},
		{"anywhere", "ab cd", 4, "ab c", false},
		{"at a space", "ab cd", 4, "ab", true},
		{"space is next", "ab cd", 2, "ab", true},
		{"word too long", "abcdef", 4, "abcd", true},
		{"a unit stays with its number", "for 13.8 s, known", 8, "for", true},
		{"the same at the end", "up to 50 %", 8, "up to", true},
		{"what is counted may go on", "up to 50 servers", 8, "up to 50", true},
		{"no other place", "13.8 ms", 5, "13.8 ", true},
		{"wide", "東京都", 5, "東京", false},
		{"a flag has two cells", "\U0001F1E9\U0001F1EAx", 2, "\U0001F1E9\U0001F1EA", false},
		{"marks stay with their letter", "ae\u0301\u0302b", 2, "ae\u0301\u0302", false},
		{"escape whole", `ab\xffcd`, 5, `ab`, false},
		{"escape fits", `ab\xffcd`, 6, `ab\xff`, false},
		{"long escape", `a\U000e0041b`, 10, `a`, false},
		{"escaped quote", `a\"b`, 2, `a`, false},
		{"never nothing", `\u202e`, 2, `\u202e`, false},
	}
	for _, tt := range tests {
		n, w := Fit([]byte(tt.in), tt.width)
		if tt.words {
			n, w = FitWords([]byte(tt.in), tt.width)
		}
		if got := tt.in[:n]; got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
		if want := Cells([]byte(tt.want)); w != want {
			t.Errorf("%s: cells:\n got %d\nwant %d", tt.name, w, want)
		}
	}
}
