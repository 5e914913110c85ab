package rcon

import (
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
