package console_test

import (
	"strings"
	"testing"

	"qsniff/internal/base/console"
)

// TestTail: what is hidden of the start of a text because of the one before it.
func TestTail(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, tt := range []struct {
		name, before string
		isInSecret   bool
		in           string
		want, asPart string // what is hidden, also where in is a part of the same text
	}{
		{"nothing before", "", false, "hunter2 is it", "", ""},
		{"the start of a password before", "it is hun", false, "ter2, he says\n", "ter2", "ter2"},
		{"a whole one before", "it is hunter2", false, ", he says\n", "", ""},
		{"a part of a name before", "sv_passw", false, "ord is geheim\nmap x\n", "ord is geheim", "ord is geheim"},
		{"a name before", "sv_password ", false, "is geheim\nmap x\n", "is geheim", "is geheim"},
		{"a value before", "sv_password is geh", true, "eim\nmap x\n", "eim", "eim"},
		{"a value whose name is far before", long, true, "eim\nmap x\n", "", "eim"},
		{"the line before has ended", "sv_password geheim\n", false, "map x\n", "", ""},
		{"and the next one not", "x\nsv_password geh", true, "eim\nmap x\n", "eim", "eim"},
	} {
		var said console.Passwords
		said.Add([]byte("hunter2"), false)
		for _, isPart := range []bool{false, true} {
			var tail console.Tail
			tail.Add([]byte("sv_password old\n"), false, true) // no part of what follows
			tail.Add([]byte(tt.before), false, tt.isInSecret)
			s, want := tail.FindRest([]byte(tt.in), isPart, &said), tt.want
			if isPart {
				want = tt.asPart
			}
			if got := tt.in[s.Lo:s.Hi]; want != "" && !strings.HasSuffix(want, got) || got == "" != (want == "") {
				t.Errorf("%s, a part: %v\ngot  %q\nwant %q", tt.name, isPart, got, want)
			}
		}
	}
}

// TestTailGrows: the parts of a text are one, of which the end is kept.
func TestTailGrows(t *testing.T) {
	var tail console.Tail
	var said console.Passwords
	tail.Add([]byte(strings.Repeat("x", 300)+"\nsv_"), false, false)
	tail.Add([]byte("pass"), true, false)
	tail.Add(nil, true, false)
	if s := tail.FindRest([]byte("word geheim\n"), true, &said); s.Hi != len("word geheim") {
		t.Errorf("got %v", s)
	}
}

// TestTailOfLine: a secret that begins in one text and ends in the third is found there, unless the
// line ended before.
func TestTailOfLine(t *testing.T) {
	for _, tt := range []struct{ first, second, third, want string }{
		{"sv_pass", "word is Sec", "ret1\nmap x\n", "ret1"},
		{"sv_password ", "is", " Secret1\nmap x\n", "Secret1"},
		{"he says hun", "te", "r2, and goes\n", "r2"},
		{"sv_pass", "word is Secret1\n", "map x\n", ""},
		{"sv_password is Secret1\nplayers", ": ", "3\n", ""},
	} {
		var said console.Passwords
		said.Add([]byte("hunter2"), false)
		var tail console.Tail
		for _, text := range []string{tt.first, tt.second} {
			tail.Add([]byte(text), false, tail.FindRest([]byte(text), false, &said).Hi == len(text))
		}
		if s := tail.FindRest([]byte(tt.third), false, &said); tt.third[s.Lo:s.Hi] != tt.want {
			t.Errorf("%q, %q, %q: got %q, want %q", tt.first, tt.second, tt.third, tt.third[s.Lo:s.Hi], tt.want)
		}
	}
}
