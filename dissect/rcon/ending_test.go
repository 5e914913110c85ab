package rcon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
)

// TestReportEnd: which finding an unanswered request has, by how its connection ended.
func TestReportEnd(t *testing.T) {
	const second = int64(time.Second)
	closed := func(by dissect.Direction, after int64) dissect.Ending { return dissect.Ending{By: by, Nanos: after} }
	for _, tc := range []struct {
		name  string
		steps []say
		end   dissect.Ending // Nanos: after the last request
		want  string
	}{
		{"login, closed", []say{c(1, numAuth, "x")}, closed(dissect.ToClient, second),
			"RCN-15 the server closed the connection 1 s after the login, without an answer"},
		{"command, reset", append(login[:2:2], c(2, numExec, "info")), dissect.Ending{By: dissect.ToClient, IsReset: true, Nanos: second},
			"RCN-15 the server reset the connection 1 s after the command, without an answer: info"},
		{"two commands", append(login[:2:2], c(2, numExec, "a"), c(3, numExec, "b")), closed(dissect.ToClient, second),
			"RCN-15 the server closed the connection 1 s after the command, without an answer, 1 more request waits: a"},
		{"client, soon", append(login[:2:2], c(2, numExec, "a")), closed(dissect.ToServer, second),
			"RCN-17 the client closed the connection 1 s after the command, before the answer: a"},
		{"client, patient", append(login[:2:2], c(2, numExec, "a")), closed(dissect.ToServer, 3*second),
			"RCN-16 the command got no answer in 3 s; then the client closed the connection: a"},
		{"nobody, soon", append(login[:2:2], c(2, numExec, "a")), closed(dissect.Unsure, 9*second), ""},
		{"nobody, long", append(login[:2:2], c(2, numExec, "a")), closed(dissect.Unsure, 10*second), "RCN-16 the command got no answer in 10 s: a"},
		{"asked to quit", append(login[:2:2], c(2, numExec, "quit")), closed(dissect.ToClient, second), ""},
		{"answered", append(login[:2:2], c(2, numExec, "a"), s(2, numValue, "")), closed(dissect.ToClient, second), ""},
		{"a later one answered", append(login[:2:2], c(2, numExec, "a"), c(3, numExec, "b"), s(3, numValue, "x")), closed(dissect.ToClient, second), ""},
		{"its probe answered", append(login[:2:2], c(2, numExec, "a"), c(3, numValue, ""), s(3, numValue, "")), closed(dissect.ToClient, second), ""},
		{"a push since", append(login[:2:2], c(2, numExec, "a"), s(0, numOutput, "x")), closed(dissect.ToClient, second), ""},
		{"nothing asked", login[:2:2], closed(dissect.ToClient, second), ""},
		{"ban told", []say{c(1, numAuth, "x"), s(1, numValue, "banned")}, closed(dissect.ToClient, second),
			"RCN-22 login refused: the address is banned, as the 6 bytes of text before it say"},
		{"bytes missing before", append(login[:2:2], loseDown, c(2, numExec, "a"), c(3, numExec, "b"), loseDown), closed(dissect.ToClient, second),
			"RCN-15 the server closed the connection 1 s after the command, without an answer, 1 more request waits, unless packets that the capture lacks say otherwise: a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := dissecttest.NewConversation(t, New(), 1<<20)
			for _, step := range tc.steps {
				v.Stream.Nanos = 1000
				v.Stream.Gap = step.lost
				if step.lost {
					v.Lose(step.dir)
					v.Stream.Gap = true
				} else {
					v.Send(step.dir, step.in)
				}
			}
			v.Stream.Dir = dissect.ToClient
			tc.end.Nanos += 1000
			got := ""
			if x, text, ok := New().ReportEnd(&dissect.Context{Stream: &v.Stream}, tc.end); ok {
				got = x.Code.ID + " " + string(x.AppendText(nil))
				if len(text) > 0 {
					got += ": " + string(text)
				}
			}
			if got != tc.want {
				t.Errorf("\ngot  %s\nwant %s", got, tc.want)
			}
		})
	}
}

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
		{"large", append(login[:2:2], c(5, numExec, "x"), s(5, numValue, strings.Repeat("x", 4097))), "rcon.size 4107 at byte 0 is more than the usual 4,106"},
		{"impossible", append(login[:2:2], raw(t, `ffffffff 00000000 00000000`)), "rcon.size -1 at byte 0 is impossible: 10 to 1,048,572 are allowed"},
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
