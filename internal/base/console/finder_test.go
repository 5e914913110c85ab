package console

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/consoletest"
)

// hideWith replaces what a Finder finds by stars.
func hideWith(k Finder, s string) string {
	var out strings.Builder
	for b := []byte(s); ; {
		lo, hi := k.Next(b)
		if lo < 0 {
			out.Write(b)
			return out.String()
		}
		out.Write(b[:lo])
		out.WriteString("***")
		b = b[hi:]
	}
}

func TestPasswords(t *testing.T) {
	long := strings.Repeat("Zq", maxPassword)
	for _, tc := range []struct{ name, password, in, want string }{
		{"as it is", "Zq-8", "Invalid login Zq-8, bye Zq-8", "Invalid login ***, bye ***"},
		{"in a word", "Zq-8", "xZq-8y", "x***y"},
		{"in another case", "Zq-8", "ZQ-8 zq-8", "*** ***"},
		{"none", "Zq-8", "Zq-7 Zq- Z", "Zq-7 Zq- Z"},
		{"together with a variable", "Zq-8", "rcon_password Zq-8\nZq-8 x", "rcon_password ***\n*** x"},
		{"overlaps itself", "abab", "ababab abab", "***ab ***"},
		{"a start that fails", "aab8", "aaab8", "a***"},
		{"with a backslash", `a\b8`, `a\b8 a\\b8 ab8`, "*** *** ***"},
		{"escaped", `a"&<8`, `a\"\u0026\x3c8 a%22%26%3C8 a&quot;&amp;&lt;8 a&#34;&#38;&#60;8`, "*** *** *** ***"},
		{"escaped by the client", `a%228`, `a"8`, "***"},
		{"no escapes", "a%&8", `a%&8 \u00 %2 &#;`, `*** \u00 %2 &#;`},
		{"short, alone", "a1", "a1 (a1) ba1 a1_ a12", "*** (***) ba1 a1_ a12"},
		{"longer than what is kept", long, "x " + long + " and more\ny", "x ***\ny"},
		{"empty", "", "x", "x"},
	} {
		var said Passwords
		said.Add([]byte(tc.password), false)
		if got := hideWith(Finder{Passwords: &said}, tc.in); got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// TestFindPlain: the search in a text without escapes finds what the one that decodes finds.
func TestFindPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = "aAbB1_ "[r.IntN(7)]
		}
		return b
	}
	for range 20000 {
		var said Passwords
		said.Add(text(standAlone+r.IntN(6)), r.IntN(4) == 0)
		w, b, least := &said.list[0], text(r.IntN(120)), 1+r.IntN(leastStart)
		lo, hi := w.find(b, least, true)
		if wantLo, wantHi := w.find(b, least, false); lo != wantLo || hi != wantHi {
			t.Fatalf("%q in %q, at least %d: [%d,%d), decoded [%d,%d)", w.text[:w.n], b, least, lo, hi, wantLo, wantHi)
		}
	}
}

// TestFindName: each name is found at the end of a word wherever it stands, also where two
// of its letters are at an odd offset.
func TestFindName(t *testing.T) {
	for _, n := range names {
		for before := range 20 {
			b := append(bytes.Repeat([]byte(". "), before)[before:], strings.ToUpper(n.text)+"_2 is x"...)
			if lo, hi := findName(b, 0); lo != before || hi != before+len(n.text)+2 {
				t.Errorf("%q: [%d,%d), want it at %d", b, lo, hi, before)
			}
		}
	}
}

// FuzzFindName holds that no word is skipped that has a meaning.
func FuzzFindName(f *testing.F) {
	for i, n := range names {
		f.Add([]byte(strings.Repeat("a respawn ", i%4) + "x" + n.text[1:] + " " + n.text + "_1 mp_" + n.text + ": rc.pa" + n.text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		at := 0
		for lo, hi := findName(b, 0); ; lo, hi = findName(b, hi) {
			for at < lo {
				end := wordEnd(b, at)
				if end > at && classOf(b, at, end) != ordinary {
					t.Fatalf("%q: [%d,%d) is skipped", b, at, end)
				}
				at = max(end, at+1)
			}
			if lo == len(b) {
				return
			}
			if at != lo || hi != wordEnd(b, lo) {
				t.Fatalf("%q: [%d,%d) is no word", b, lo, hi)
			}
			at = hi
		}
	})
}

// The last passwords are remembered, each once.
func TestPasswordsKept(t *testing.T) {
	var said Passwords
	text := ""
	for i := range maxPasswords + 1 {
		p := fmt.Sprintf("pw-%d", i)
		said.Add([]byte(p), false)
		said.Add([]byte(p), false)
		text += p + " "
	}
	want := "pw-0" + strings.Repeat(" ***", maxPasswords) + " "
	if got := hideWith(Finder{Passwords: &said}, text); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// At the end of a text the start of a password is hidden; where a password
// was cut, what follows its start.
func TestFinderCut(t *testing.T) {
	var said, cut Passwords
	said.Add([]byte("Zq-8Zq"), false)
	cut.Add([]byte("Zq-8"), true)
	for _, tc := range []struct {
		k        Finder
		in, want string
	}{
		{Finder{Passwords: &said, IsCut: true}, "x Zq-8", "x ***"},
		{Finder{Passwords: &said, IsCut: true}, "x Z", "x ***"},
		{Finder{Passwords: &said}, "x Zq-", "x ***"},
		{Finder{Passwords: &said}, "x Zq", "x Zq"},
		{Finder{Passwords: &said}, "x Zq-8 y", "x Zq-8 y"},
		{Finder{Passwords: &cut}, "x Zq-8Zq y\nz", "x ***\nz"},
		{Finder{First: Span{0, 3}}, "abcdef", "***def"},
		{Finder{First: Span{0, 3}, Passwords: &said}, "abZq-8Zqf", "***f"},
		{Finder{}, "abc", "abc"},
	} {
		if got := hideWith(tc.k, tc.in); got != tc.want {
			t.Errorf("%q\ngot  %q\nwant %q", tc.in, got, tc.want)
		}
	}
}

func TestTorn(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"the rest of a line", "Zq8\nhostname: x\n", "***\nhostname: x\n"},
		{"the rest of a name and its value", "word:\nZq8\nmap x", "***\nmap x"},
		{"an end of line", "\nZq8\nmap x", "***\nmap x"},
		{"the rest of a value in a list", "Zq8\x00sv_cheats\x000\x00", "***\x000\x00"},
		{"the rest of a name in a list", "word\x00Zq8\x00sv_cheats\x000\x00", "***\x00sv_cheats\x000\x00"},
		{"a number of the header", "\x1f\x00word\x00Zq8\x00sv_cheats\x000\x00", "***\x00sv_cheats\x000\x00"},
		{"a long line", strings.Repeat("x", maxTorn+9), "***xxxxxxxxx"},
		{"nothing", "", ""},
	} {
		if got := hideWith(Finder{First: FindTorn([]byte(tc.in))}, tc.in); got != tc.want {
			t.Errorf("%s\ngot  %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

// TestFinderIsLinear: names without a value, values that never end, starts of passwords
// cost one walk over the text each. A megabyte took a minute where they did not.
func TestFinderIsLinear(t *testing.T) {
	var said Passwords
	said.Add([]byte(strings.Repeat("a", 40)+"b"), false)
	said.Add([]byte("aaab"), false)
	for _, tc := range []struct{ first, again string }{
		{"", `rcon from "`}, {"", "rcon_password"}, {"", "rcon_password.\n"}, {"", "password "}, {"", "password."}, {"", "password:\n"}, {"", "password\n\n"},
		{"", "password is "}, {"", "\"password\":"}, {"", "\"password\":\"\" "}, {"", "; rcon_password;"}, {"", "rcon password "}, {"", "^7"}, {"", "\x1b[0"},
		{"", strings.Repeat("a", 40) + "c"}, {"", "aaaaaaaaab "}, {"", "\\"}, {"", "&quot;"}, {"", "token=x;y "},
		{"the password x ", ": "}, {"the password x ", "="}, {"the password x ", "\n"}, {"the password x ", ":\n"}, {"rcon_password", "."}, {"rcon_password", " ^7"}, {"the password x ", "-> "},
	} {
		b := []byte(tc.first + strings.Repeat(tc.again, 1<<20/len(tc.again)))
		k := Finder{Passwords: &said}
		began := time.Now()
		for range 64 { // as many ranges as a message has
			_, hi := k.Next(b)
			if hi < 0 {
				break
			}
			b = b[hi:]
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%q %q: a megabyte took %v", tc.first, tc.again, took)
		}
	}
}

func TestFinderAllocations(t *testing.T) {
	var said Passwords
	text := []byte("x rcon_password: y\nZq-8\nsay password is z")
	if n := testing.AllocsPerRun(100, func() {
		said.Add([]byte("Zq-8"), false)
		k := Finder{Passwords: &said}
		for b := text; ; {
			_, hi := k.Next(b)
			if hi < 0 {
				break
			}
			b = b[hi:]
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzFinder holds for any text: ranges lie in it, in order, and no password of the
// connection shows that stands in it as it is.
func FuzzFinder(f *testing.F) {
	f.Add([]byte("Zq-8"), []byte("x Zq-8 rcon_password y\nZq-8"), uint8(0), false)
	f.Add([]byte("0001"), []byte("%0001 &#49;0001 a%00"), uint8(0), true)
	f.Add([]byte(`11%\u`), []byte(`11%\u0000`), uint8(0), false)
	f.Add([]byte("%0d01%"), []byte("%0d01%00"), uint8(0), false)
	f.Add([]byte("aab"), []byte("aaab&amp;\\u0061ab"), uint8(2), true)
	f.Fuzz(func(t *testing.T, password, text []byte, first uint8, cut bool) {
		var said Passwords
		said.Add(password, false)
		k := Finder{Passwords: &said, IsCut: cut, First: Span{0, min(int(first), len(text))}}
		var shown []string
		b := text
		for {
			lo, hi := k.Next(b)
			if lo < 0 {
				shown = append(shown, string(b))
				break
			}
			if lo >= hi || hi > len(b) {
				t.Fatalf("[%d,%d) of %d bytes", lo, hi, len(b))
			}
			shown, b = append(shown, string(b[:lo])), b[hi:]
		}
		for _, s := range shown {
			if len(password) >= standAlone && said.n > 0 && said.list[0].n >= standAlone && strings.Contains(s, string(password)) {
				t.Errorf("%q shows %q", text, password)
			}
		}
		if s := FindTorn(text); s.Hi < 0 || s.Hi > len(text) {
			t.Errorf("torn: %+v of %d bytes", s, len(text))
		}
	})
}

// BenchmarkSecret is a full packet of honest output, and hostile ones.
func BenchmarkSecret(b *testing.B) {
	texts := map[string]string{"output": "cvar_name : 1 : , \"sv\" : text of some length here\n", "rcon": `rcon from "`, "password": "password "}
	for name, line := range texts {
		text := []byte(strings.Repeat(line, 4096/len(line)))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				FindSecret(text)
			}
		})
	}
}

// TestForms goes through every pair of lists, with the others at the first and at a
// fixed other place.
func TestForms(t *testing.T) {
	sizes := consoletest.Sizes()
	for _, plain := range []bool{false, true} {
		for a := range sizes {
			for b := range a {
				for i := range sizes[a] {
					for j := range sizes[b] {
						for rest := range 3 {
							n := [consoletest.Parts]int{rest, rest, rest, rest, 3 * rest, rest}
							n[a], n[b] = i, j
							checkForm(t, plain, n)
						}
					}
				}
			}
		}
	}
}

func checkForm(t *testing.T, plain bool, n [consoletest.Parts]int) {
	t.Helper()
	text := consoletest.Form(plain, n)
	if got := hide(text); strings.Contains(got, consoletest.Mark) {
		t.Fatalf("%q\nshows %q", text, got)
	}
	for _, around := range []string{"status\n", "hostname is \"x\"\n\n", "[12:30:01] ", "a;"} { // the rest of a text changes nothing
		if got := hide(around + text); strings.Contains(got, consoletest.Mark) && (!plain || strings.HasSuffix(around, "\n")) {
			t.Fatalf("%q\nshows %q", around+text, got)
		}
	}
}

// FuzzForms chooses forms, and lets the fuzzer find the text around them.
func FuzzForms(f *testing.F) {
	f.Add(false, byte(0), byte(1), byte(2), byte(0), byte(4), byte(5), []byte("status\n"), []byte("\nx"))
	f.Add(true, byte(3), byte(1), byte(2), byte(0), byte(4), byte(30), []byte("say; "), []byte(" from \""))
	f.Fuzz(func(t *testing.T, plain bool, a, b, c, d, e, g byte, before, after []byte) {
		text := consoletest.Form(plain, [consoletest.Parts]int{int(a), int(b), int(c), int(d), int(e), int(g)})
		if strings.Contains(string(before)+string(after), consoletest.Mark) {
			return
		}
		if got := hide(string(before) + "\n" + text + "\n" + string(after)); strings.Contains(got, consoletest.Mark) {
			t.Errorf("%q %q %q\nshows %q", before, text, after, got)
		}
	})
}

// TestSentences: words may stand between a plain name and its value.
func TestSentences(t *testing.T) {
	for _, before := range []string{"Your new password for the server", "^1The secret of 10.0.0.1:27015", "say the token", "No. Password of team 2"} {
		for _, between := range []string{" is ", " is: ", " is \"", ": ", ":\n", " = ", "=", " -> ", " was changed to ", " has been set to '", " is\n", " now: **"} {
			text := before + between + "Zq8"
			if got := hide(text); strings.Contains(got, consoletest.Mark) {
				t.Errorf("%q\nshows %q", text, got)
			}
		}
	}
}

// What people read stays readable: sentences without a value, what follows a value,
// names that only look alike.
func TestFormsShown(t *testing.T) {
	for _, s := range []string{
		"No password set for this server.", "Bad rcon_password.\nBad challenge.\n", "Denied. password wrong",
		" - Server password for entry into multiplayer games\n", "Wrong password, try again", "Login failed", "login accepted",
		"the compass: north", "tokens: 5", "ban_secretly 1", "Joe (wrong password) 10.0.0.1:27005\n",
		"You passed", "bypass: x", "key: value", "players : 2 humans, 0 bots (24 max)\n",
	} {
		if got := hide(s); got != s {
			t.Errorf("%q\nshows %q", s, got)
		}
	}
}
