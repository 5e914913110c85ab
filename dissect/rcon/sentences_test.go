package rcon

import (
	"fmt"
	"strings"
	"testing"

	"qsniff/dissect"
)

// The variants that a sentence tells apart.
func TestSentences(t *testing.T) {
	for _, tc := range []struct {
		name  string
		steps []say
		want  string // of the last message that has a finding
	}{
		{"empty packet first", []say{c(5, numAuth, "x"), s(5, numValue, ""), s(5, numAuthResponse, "")},
			"an empty RESPONSE_VALUE came before this answer to the login"},
		{"no empty packet", []say{c(5, numAuth, "x"), s(5, numAuthResponse, "")},
			"no empty RESPONSE_VALUE came before this answer to the login"},
		{"refused without a login", []say{c(5, numExec, "x"), s(-1, numAuthResponse, "")},
			"refused, though no login waits for an answer"},
		{"refused", []say{c(5, numAuth, "x"), s(-1, numAuthResponse, "")}, "login refused: wrong password"},
		{"command first", []say{c(5, numExec, "x")}, "command without a login"},
		{"command too early", []say{c(5, numAuth, "x"), c(5, numExec, "x")}, "command before the login was answered"},
		{"command too late", []say{c(5, numAuth, "x"), s(-1, numAuthResponse, ""), c(5, numExec, "x")}, "command after a refused login"},
		{"goes on", append(login[:2:2], c(5, numExec, "x"), s(5, numValue, "1"), c(6, numExec, "y"), s(5, numValue, "2")),
			"the reply continues with part 2 after the client's next command"},
		{"full", append(login[:2:2], c(5, numExec, "x"), s(5, numValue, fullText), c(6, numExec, "y")),
			"next command, but the last packet of the open reply was full: 4086 bytes"},
		{"not mirrored", append(login[:2:2], c(5, numExec, "x"), c(-7, numValue, ""), s(5, numValue, "1"), c(6, numExec, "y"), s(6, numValue, "2")),
			"end probe with id -7 was not mirrored"},
		{"large", append(login[:2:2], c(5, numExec, "x"), s(5, numValue, strings.Repeat("x", 4097))), "size 4107 is more than the usual 4,106"},
		{"impossible", append(login[:2:2], raw(t, `ffffffff 00000000 00000000`)), "size -1 is impossible: 10 to 1,048,572 are allowed"},
		{"text before the answer", []say{c(5, numAuth, "x"), s(5, numValue, "hello"), s(5, numAuthResponse, "")},
			"a RESPONSE_VALUE of 5 bytes came before this answer to the login"},
		{"banned", []say{c(5, numAuth, "x"), s(5, numValue, "You are banned."), s(-1, numAuthResponse, "")},
			"login refused: the address is banned, as the 15 bytes of text before it say"},
		{"urban", []say{c(5, numAuth, "x"), s(5, numValue, "urban rules"), s(-1, numAuthResponse, "")}, "login refused: wrong password"},
		{"two with one id", append(login[:2:2], c(5, numExec, "x"), c(5, numExec, "y")), "2 commands with id 5 wait for answers"},
		{"impossible, hidden", []say{{dir: dissect.ToServer, in: []byte("password1234")}}, "impossible size: 10 to 1,048,572 are allowed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			for _, m := range talk(t, tc.steps...).Messages {
				for i := range m.Expert {
					if text := string(m.Expert[i].AppendText(nil)); m.Expert[i].Code.ID != "RCN-02" || !strings.Contains(got, "refused") {
						got = text
					}
				}
			}
			if got != tc.want {
				t.Errorf("\ngot  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// Requests and replies carry the number of the request.
func TestKeys(t *testing.T) {
	v := talk(t, append(login[:2:2], c(9, numExec, "a"), c(9, numExec, "b"), s(0, numValue, "1"), s(0, numValue, "2"), s(0, numValue, "3"))...)
	got := ""
	for _, m := range v.Messages {
		got += fmt.Sprint(m.Key, " ")
	}
	if want := "1 1 2 3 2 3 3 3 "; got != want {
		t.Errorf("\ngot  %s\nwant %s", got, want)
	}
}
