package console

import (
	"strings"
	"testing"

	"qsniff/internal/test/consoletest"
)

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
