package clients

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/binary"
	"qsniff/internal/test/responder"
)

// password is what the servers of TestRconClient want to hear.
const password = "SecretOfTheServer"

// rconPacket is a packet of RCON, as qsniff names its parts.
type rconPacket struct {
	Message        string
	Size, ID, Type int
	Body, Role     string
}

// rconPrinted is what rcon.mjs prints: what rcon-client returned for each command,
// the packets that it was sent, and why it gave up.
type rconPrinted struct {
	Answers []string
	Packets []struct {
		ID, Type int
		Body     string
	}
	Error string
}

// TestRconClient has no server that precedes the refusal of a login with an empty
// packet, as the Source engine does: rcon-client 4.2.5 takes that packet for the
// answer, and the login for good.
func TestRconClient(t *testing.T) {
	bodies := map[string][]string{
		"status":   {"hostname: x\nplayers : 2 (16 max)\n"},
		"cvarlist": {"cvar list\n", "sv_gravity : 800\n", "2 total convars\n"},
		"say äöü":  {"Console: äöü\n"},
	}
	commands := []string{"status", "cvarlist", "", "say äöü", "quiet"}
	tests := []struct {
		name      string
		terse     bool
		password  string
		commands  []string
		joined    []string // replies of several packets
		wantError string
	}{
		{"Source", false, password, commands, []string{"cvar list\nsv_gravity : 800\n2 total convars\n"}, ""},
		{"terse login", true, password, commands, []string{"cvar list\nsv_gravity : 800\n2 total convars\n"}, ""},
		{"wrong password", true, "SecretNotOfTheServer", commands, nil, "Authentication failed"},
	}
	needCapture(t)
	node, npm, qsniff := program(t, "node"), modules(t, "rcon-client"), binary.Path(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rcon := &responder.RCON{Password: password, Bodies: bodies, Terse: test.terse}
			server, err := responder.ListenTCP(rcon.Serve)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			var printed rconPrinted
			capture := record(t, func() {
				args := append([]string{"rcon.mjs", npm}, hostPort(server.Addr())...)
				parse(t, output(t, node, append(append(args, test.password), test.commands...)...), &printed)
			}, server)
			if printed.Error != test.wantError {
				t.Fatalf("error of rcon-client\ngot  %q\nwant %q", printed.Error, test.wantError)
			}
			if hidden := decode(t, qsniff, capture); len(hidden) == 0 || hidden[0].text("body") != "<redacted>" {
				t.Errorf("the password is not hidden")
			}
			requests, replies, joined := rconRead(t, decode(t, qsniff, capture, "--show-secrets"))
			if diff := cmp.Diff(rconSent(test.password, test.commands, &printed), requests); diff != "" {
				t.Errorf("requests: rcon-client -, qsniff +\n%s", diff)
			}
			if diff := cmp.Diff(rconCame(test.commands, &printed), replies); diff != "" {
				t.Errorf("replies: rcon-client -, qsniff +\n%s", diff)
			}
			if diff := cmp.Diff(test.joined, joined); diff != "" {
				t.Errorf("joined replies: want -, got +\n%s", diff)
			}
			if diff := cmp.Diff(printed.Answers, rconAnswers(replies, len(printed.Answers))); diff != "" {
				t.Errorf("answers: rcon-client -, qsniff +\n%s", diff)
			}
		})
	}
}

// rconRead returns the packets in messages, and the texts of the replies that were
// joined from several.
func rconRead(t *testing.T, messages []*message) (requests, replies []rconPacket, joined []string) {
	t.Helper()
	for _, m := range messages {
		if m.Protocol != "rcon" {
			t.Errorf("%s of %s", m.Message, m.Protocol)
		}
		if _, parts := m.Fields["parts"]; parts {
			joined = append(joined, m.text("body"))
			continue
		}
		p := rconPacket{m.Message, m.number(t, "size"), m.number(t, "id"), m.number(t, "type"), m.text("body"), m.text("role")}
		if m.Direction == "request" {
			requests = append(requests, p)
		} else {
			replies = append(replies, p)
		}
	}
	return requests, replies, joined
}

// frame is what the size of a packet counts beside its body.
const frame = 10

// rconSent are the packets that rcon-client sends: it numbers them from 0, the login
// first, and sends no command after a refusal.
func rconSent(password string, commands []string, printed *rconPrinted) []rconPacket {
	out := []rconPacket{{"SERVERDATA_AUTH", len(password) + frame, 0, 3, password, ""}}
	for i, c := range commands[:len(printed.Answers)] {
		p := rconPacket{"SERVERDATA_EXECCOMMAND", len(c) + frame, i + 1, 2, c, ""}
		if c == "" {
			p.Message, p.Type, p.Role = "SERVERDATA_RESPONSE_VALUE", 0, "probe"
		}
		out = append(out, p)
	}
	return out
}

// rconCame are the packets that rcon-client was sent.
func rconCame(commands []string, printed *rconPrinted) []rconPacket {
	var out []rconPacket
	for _, p := range printed.Packets {
		q := rconPacket{"SERVERDATA_RESPONSE_VALUE", len(p.Body) + frame, p.ID, p.Type, p.Body, ""}
		switch {
		case p.Type == 2:
			q.Message = "SERVERDATA_AUTH_RESPONSE"
		case p.ID > 0 && commands[p.ID-1] == "" && p.Body == "":
			q.Role = "mirror"
		case p.ID > 0 && commands[p.ID-1] == "":
			q.Role = "trailer"
		}
		out = append(out, q)
	}
	return out
}

// rconAnswers are what n commands were answered with, as rcon-client sees it: the
// first packet of each.
func rconAnswers(replies []rconPacket, n int) []string {
	out := make([]string, 0, n)
	for id := 1; id <= n; id++ {
		for _, p := range replies {
			if p.ID == id {
				out = append(out, p.Body)
				break
			}
		}
	}
	return out
}
