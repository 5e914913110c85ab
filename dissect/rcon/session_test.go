package rcon

import (
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
)

// say is one step of a conversation: a packet, bytes, or what the capture lost.
type say struct {
	dir  dissect.Direction
	in   []byte
	lost bool
}

// c is a packet of a client, s one of a server.
func c(id, num int32, body string) say {
	return say{dir: dissect.ToServer, in: packetBytes(id, num, body)}
}
func s(id, num int32, body string) say {
	return say{dir: dissect.ToClient, in: packetBytes(id, num, body)}
}

var (
	loseUp   = say{dir: dissect.ToServer, lost: true}
	loseDown = say{dir: dissect.ToClient, lost: true}
	fullText = strings.Repeat("x", fullBody)
)

// login is what a client and a server say that share the plain order.
var login = []say{c(1, numAuth, "geheim"), s(1, numAuthResponse, "")}

const loginLines = `
	> AUTH id=1 body=*** RCN-08
	< AUTH_RESPONSE id=1 body="" RCN-02`

func raw(t *testing.T, text string) say {
	return say{dir: dissect.ToClient, in: hextest.Bytes(t, text)}
}

func talk(t *testing.T, steps ...say) *dissecttest.Conversation {
	v := dissecttest.NewConversation(t, New(), 1<<20)
	for _, step := range steps {
		if step.lost {
			v.Lose(step.dir)
		} else {
			v.Send(step.dir, step.in)
		}
	}
	v.End()
	return v
}

func TestSession(t *testing.T) {
	for _, tc := range []struct {
		name  string
		steps []say // after login
		want  string
	}{
		{"Source: probe, mirror, trailer",
			[]say{c(2, numExec, "cvarlist"), c(3, numValue, ""), s(2, numValue, "one\n"), s(2, numValue, "two\n"),
				s(3, numValue, ""), s(3, numValue, string(trailerBody))}, `
			> EXECCOMMAND id=2 body="cvarlist"
			> RESPONSE_VALUE id=3 body="" role="probe"
			< RESPONSE_VALUE id=2 body="one\n"
			< RESPONSE_VALUE id=2 body="two\n" part=2
			< RESPONSE_VALUE id=3 body="" role="mirror"
			< RESPONSE_VALUE id=2 command="cvarlist" parts=2 length=8 ended_by="mirror" body="one\ntwo\n"
			< RESPONSE_VALUE id=3 body="\x00\x01\x00\x00" role="trailer"`},
		{"one part is not joined",
			[]say{c(2, numExec, "echo"), c(3, numValue, ""), s(2, numValue, "one"), s(3, numValue, "")}, `
			> EXECCOMMAND id=2 body="echo"
			> RESPONSE_VALUE id=3 body="" role="probe"
			< RESPONSE_VALUE id=2 body="one"
			< RESPONSE_VALUE id=3 body="" role="mirror"`},
		{"an empty answer, then the mirror",
			[]say{c(2, numExec, "say"), c(3, numValue, ""), s(2, numValue, ""), s(3, numValue, "")}, `
			> EXECCOMMAND id=2 body="say"
			> RESPONSE_VALUE id=3 body="" role="probe"
			< RESPONSE_VALUE id=2 body=""
			< RESPONSE_VALUE id=3 body="" role="mirror"`},
		{"probe with the id of its command",
			[]say{c(2, numExec, "say"), c(2, numValue, ""), s(2, numValue, ""), s(2, numValue, "")}, `
			> EXECCOMMAND id=2 body="say"
			> RESPONSE_VALUE id=2 body="" role="probe"
			< RESPONSE_VALUE id=2 body=""
			< RESPONSE_VALUE id=2 body="" role="mirror"`},
		{"ended by the trailer alone",
			[]say{c(2, numExec, "a"), s(2, numValue, "1"), s(2, numValue, "2"), s(3, numValue, string(trailerBody))}, `
			> EXECCOMMAND id=2 body="a"
			< RESPONSE_VALUE id=2 body="1"
			< RESPONSE_VALUE id=2 body="2" part=2
			< RESPONSE_VALUE id=3 body="\x00\x01\x00\x00" role="trailer"
			< RESPONSE_VALUE id=2 command="a" parts=2 length=2 ended_by="trailer" body="12"`},
		{"a second command as the probe",
			[]say{c(2, numExec, "a"), c(3, numExec, "b"), s(2, numValue, "1"), s(2, numValue, "2"), s(3, numValue, "3")}, `
			> EXECCOMMAND id=2 body="a"
			> EXECCOMMAND id=3 body="b"
			< RESPONSE_VALUE id=2 body="1"
			< RESPONSE_VALUE id=2 body="2" part=2
			< RESPONSE_VALUE id=3 body="3"
			< RESPONSE_VALUE id=2 command="a" parts=2 length=2 ended_by="next reply" body="12"`},
		{"ended by the connection",
			[]say{c(2, numExec, "a"), s(2, numValue, "1"), s(2, numValue, "2"), s(2, numValue, "3")}, `
			> EXECCOMMAND id=2 body="a"
			< RESPONSE_VALUE id=2 body="1"
			< RESPONSE_VALUE id=2 body="2" part=2
			< RESPONSE_VALUE id=2 body="3" part=3
			< RESPONSE_VALUE id=2 command="a" parts=3 length=3 ended_by="connection end" body="123"`},
		{"one id for everything",
			[]say{c(1, numExec, "a"), c(1, numExec, "b"), s(1, numValue, "1"), s(1, numValue, "2"), s(1, numValue, "3")}, `
			> EXECCOMMAND id=1 body="a"
			> EXECCOMMAND id=1 body="b" RCN-21
			< RESPONSE_VALUE id=1 body="1"
			< RESPONSE_VALUE id=1 body="2"
			< RESPONSE_VALUE id=1 body="3" part=2
			< RESPONSE_VALUE id=1 command="b" parts=2 length=2 ended_by="connection end" body="23"`},
		{"Palworld: id 0, sizes in characters",
			[]say{c(7, numExec, "a"), raw(t, `0c000000 00000000 00000000 c3a9 c3a9 0000`), raw(t, `0b000000 00000000 00000000 e282ac 0000`),
				c(8, numExec, "b"), s(0, numValue, "2")}, `
			> EXECCOMMAND id=7 body="a"
			< RESPONSE_VALUE id=0 body="éé" RCN-11
			< RESPONSE_VALUE id=0 body="€" part=2 RCN-11
			> EXECCOMMAND id=8 body="b"
			< RESPONSE_VALUE id=0 body="2"
			< RESPONSE_VALUE id=0 command="a" parts=2 length=7 ended_by="next reply" body="éé€"`},
		{"Conan Exiles: id 42",
			[]say{c(7, numExec, "a"), s(42, numValue, "1"), c(8, numExec, "b"), s(42, numValue, "2"), s(42, numValue, "3")}, `
			> EXECCOMMAND id=7 body="a"
			< RESPONSE_VALUE id=42 body="1"
			> EXECCOMMAND id=8 body="b"
			< RESPONSE_VALUE id=42 body="2"
			< RESPONSE_VALUE id=42 body="3" part=2
			< RESPONSE_VALUE id=42 command="b" parts=2 length=2 ended_by="connection end" body="23"`},
		{"Minecraft: the probe is an unknown request",
			[]say{c(2, numExec, "help"), c(3, numValue, ""), s(2, numValue, "1"), s(2, numValue, "2"), s(3, numValue, "Unknown request 0")}, `
			> EXECCOMMAND id=2 body="help"
			> RESPONSE_VALUE id=3 body="" role="probe"
			< RESPONSE_VALUE id=2 body="1"
			< RESPONSE_VALUE id=2 body="2" part=2
			< RESPONSE_VALUE id=3 body="Unknown request 0" role="mirror"
			< RESPONSE_VALUE id=2 command="help" parts=2 length=2 ended_by="mirror" body="12"`},
		{"Minecraft: a probe of a type of its own",
			[]say{c(2, numExec, "help"), c(3, 200, "x"), s(2, numValue, "1"), s(3, numValue, "Unknown request c8")}, `
			> EXECCOMMAND id=2 body="help"
			> OTHER id=3 body="x" role="probe"
			< RESPONSE_VALUE id=2 body="1"
			< RESPONSE_VALUE id=3 body="Unknown request c8" role="mirror"`},
		{"Rust: lines of the console",
			[]say{s(0, numOutput, "saved"), c(5, numExec, "status"), s(-1, numOutput, "joined"), s(5, numValue, "ok"), s(0, numValue, "left")}, `
			< OTHER id=0 body="saved" role="push"
			> EXECCOMMAND id=5 body="status"
			< OTHER id=-1 body="joined" role="push"
			< RESPONSE_VALUE id=5 body="ok"
			< RESPONSE_VALUE id=0 body="left" role="push"`},
		{"ARK: signs of life, an answer without output",
			[]say{s(0, numValue, "Keep Alive"), c(2, numExec, "saveworld"), s(2, numValue, "Server received, But no response!! "), s(0, numValue, "Keep Alive")}, `
			< RESPONSE_VALUE id=0 body="Keep Alive" role="keepalive"
			> EXECCOMMAND id=2 body="saveworld"
			< RESPONSE_VALUE id=2 body="Server received, But no response!! "
			< RESPONSE_VALUE id=0 body="Keep Alive" role="keepalive"`},
		{"Squad: events, probe of type 2, stray bytes",
			[]say{s(1, numPush, "[ChatAll] hi"), c(0x010002, numExec, "ListPlayers"), c(0x020002, numExec, ""), s(0x010002, numValue, "1"), s(0x010002, numValue, "2"),
				s(0x020002, numValue, ""), raw(t, stray), s(2, numPush, "[ChatAll] ho")}, `
			< OTHER id=1 body="[ChatAll] hi" role="push"
			> EXECCOMMAND id=65538 body="ListPlayers"
			> EXECCOMMAND id=131074 body="" role="probe"
			< RESPONSE_VALUE id=65538 body="1"
			< RESPONSE_VALUE id=65538 body="2" part=2
			< RESPONSE_VALUE id=131074 body="" role="mirror"
			< RESPONSE_VALUE id=65538 command="ListPlayers" parts=2 length=2 ended_by="mirror" body="12"
			< OTHER trailing=00010000000a0b role="trailer" RCN-12
			< OTHER id=2 body="[ChatAll] ho" role="push"`},
		{"Squad: stray bytes at the end",
			[]say{c(2, numExec, ""), s(2, numValue, ""), raw(t, stray)}, `
			> EXECCOMMAND id=2 body="" role="probe"
			< RESPONSE_VALUE id=2 body="" role="mirror"
			< OTHER trailing=00010000000a0b role="trailer" RCN-12`},
		{"a packet of size 256 after an empty one",
			[]say{c(2, numExec, "a"), s(2, numValue, ""), c(0x0a000000, numExec, "b"), s(0x0a000000, numValue, strings.Repeat("y", 246))}, `
			> EXECCOMMAND id=2 body="a"
			< RESPONSE_VALUE id=2 body=""
			> EXECCOMMAND id=167772160 body="b"
			< RESPONSE_VALUE id=167772160 body=246 bytes`},
		{"CS2: a long answer in one packet",
			[]say{c(2, numExec, "cvarlist"), s(2, numValue, strings.Repeat("x", 60000)), c(3, numExec, "a")}, `
			> EXECCOMMAND id=2 body="cvarlist"
			< RESPONSE_VALUE id=2 body=60000 bytes RCN-09 note
			> EXECCOMMAND id=3 body="a"`},
		{"PocketMine: a size that is too small",
			[]say{c(2, numExec, "a"), raw(t, `0c000000 02000000 00000000 "hello world" 0000`), s(2, numValue, "1"), s(2, numValue, "2\n"), s(2, numValue, "3")}, `
			> EXECCOMMAND id=2 body="a"
			< RESPONSE_VALUE id=2 body="hell" RCN-13
			< OTHER malformed unread=*** RCN-09
			< RESPONSE_VALUE id=2 body="***\n" part=2
			< RESPONSE_VALUE id=2 body="3" part=3
			< RESPONSE_VALUE truncated id=2 command="a" parts=3 length=7 ended_by="connection end" body="hell"`},
		{"a size that is too small, within a password",
			[]say{c(2, numExec, "a"), raw(t, `10000000 02000000 00000000 "sv_password hunter2 hunter2" 0000`)}, `
			> EXECCOMMAND id=2 body="a"
			< RESPONSE_VALUE id=2 body="sv_passw" RCN-13
			< OTHER malformed unread=*** RCN-09`},
		{"the client goes on, the reply too",
			[]say{c(2, numExec, "a"), s(2, numValue, "1"), c(3, numExec, "b"), s(2, numValue, "2"), s(2, numValue, "3"), s(3, numValue, "4")}, `
			> EXECCOMMAND id=2 body="a"
			< RESPONSE_VALUE id=2 body="1"
			> EXECCOMMAND id=3 body="b"
			< RESPONSE_VALUE id=2 body="2" part=2 RCN-03
			< RESPONSE_VALUE id=2 body="3" part=3
			< RESPONSE_VALUE id=3 body="4"
			< RESPONSE_VALUE id=2 command="a" parts=3 length=3 ended_by="next reply" body="123"`},
		{"the client goes on after a full packet",
			[]say{c(2, numExec, "a"), s(2, numValue, fullText), c(3, numExec, "b"), s(2, numValue, "2"), c(4, numExec, "c")}, `
			> EXECCOMMAND id=2 body="a"
			< RESPONSE_VALUE id=2 body=4086 bytes
			> EXECCOMMAND id=3 body="b" RCN-03
			< RESPONSE_VALUE id=2 body="2" part=2
			> EXECCOMMAND id=4 body="c"
			< RESPONSE_VALUE id=2 command="a" parts=2 length=4087 ended_by="connection end" body=4087 bytes`},
		{"the client goes on with no command after a full packet, then with one",
			[]say{c(1, numAuth, "no"), s(failedID, numAuthResponse, ""), c(2, numExec, "a"), s(2, numValue, fullText), c(3, numValue, "hello"), c(4, numExec, "b")}, `
			> AUTH id=1 body=***
			< AUTH_RESPONSE id=-1 body="" RCN-01 RCN-02
			> EXECCOMMAND id=2 body="a" RCN-04
			< RESPONSE_VALUE id=2 body=4086 bytes
			> RESPONSE_VALUE id=3 body=***
			> EXECCOMMAND id=4 body="b" RCN-04 RCN-03`},
		{"a probe waits after a full packet",
			[]say{c(2, numExec, "a"), c(3, numValue, ""), s(2, numValue, fullText), c(4, numExec, "b"), s(2, numValue, "2")}, `
			> EXECCOMMAND id=2 body="a"
			> RESPONSE_VALUE id=3 body="" role="probe"
			< RESPONSE_VALUE id=2 body=4086 bytes
			> EXECCOMMAND id=4 body="b"
			< RESPONSE_VALUE id=2 body="2" part=2
			< RESPONSE_VALUE id=2 command="a" parts=2 length=4087 ended_by="connection end" body=4087 bytes`},
		{"a packet that is nearly full",
			[]say{c(2, numExec, "a"), s(2, numValue, fullText[1:]), c(3, numExec, "b")}, `
			> EXECCOMMAND id=2 body="a"
			< RESPONSE_VALUE id=2 body=4085 bytes
			> EXECCOMMAND id=3 body="b"`},
		{"probes without a mirror: told once",
			[]say{c(2, numExec, "a"), c(3, numValue, ""), s(2, numValue, "1"), c(4, numExec, "b"), c(5, numValue, ""), s(4, numValue, "2"), c(6, numExec, "c"), s(6, numValue, "3")}, `
			> EXECCOMMAND id=2 body="a"
			> RESPONSE_VALUE id=3 body="" role="probe"
			< RESPONSE_VALUE id=2 body="1"
			> EXECCOMMAND id=4 body="b"
			> RESPONSE_VALUE id=5 body="" role="probe"
			< RESPONSE_VALUE id=4 body="2" RCN-05
			> EXECCOMMAND id=6 body="c"
			< RESPONSE_VALUE id=6 body="3"`},
		{"a mirror that may be lost",
			[]say{c(2, numExec, "a"), c(3, numValue, ""), s(2, numValue, "1"), c(4, numExec, "b"), loseDown, s(4, numValue, "2"), s(9, numPush, "3"), s(9, numPush, "4")}, `
			> EXECCOMMAND id=2 body="a"
			> RESPONSE_VALUE id=3 body="" role="probe"
			< RESPONSE_VALUE id=2 body="1"
			> EXECCOMMAND id=4 body="b"
			< RESPONSE_VALUE id=4 body="***"
			< OTHER id=9 body="3" role="push"
			< OTHER id=9 body="4" role="push"`},
		{"an answer whose first packet is lost",
			[]say{c(2, numExec, "cvarlist"), loseDown, s(2, numValue, "hunter2\nmap x"), s(2, numValue, "y"), c(3, numExec, "a"), s(3, numValue, "b\n")}, `
			> EXECCOMMAND id=2 body="cvarlist"
			< RESPONSE_VALUE id=2 body="***\nmap x"
			< RESPONSE_VALUE id=2 body="y" part=2
			> EXECCOMMAND id=3 body="a"
			< RESPONSE_VALUE id=3 body="b\n"
			< RESPONSE_VALUE id=2 command="cvarlist" parts=2 length=14 ended_by="next reply" body="***\nmap xy"`},
		{"an event before the rest of an answer",
			[]say{c(2, numExec, "cvarlist"), loseDown, s(9, numPush, "joined"), s(2, numValue, "hunter2\nmap x")}, `
			> EXECCOMMAND id=2 body="cvarlist"
			< OTHER id=9 body="***" role="push"
			< RESPONSE_VALUE id=2 body="***\nmap x"`},
		{"a password is repeated",
			[]say{c(2, numAuth, "hunter2"), s(-1, numAuthResponse, "no hunter2"), c(3, numExec, "say hunter2 hunter3"), s(3, numValue, "hunter2!\nhunt"),
				c(4, numExec, "sv_password abcd"), s(4, numValue, "ABCD is it")}, `
			> AUTH id=2 body=***
			< AUTH_RESPONSE id=-1 body="no ***" RCN-01 RCN-02
			> EXECCOMMAND id=3 body="say *** hunter3" RCN-04
			< RESPONSE_VALUE id=3 body="***!\n***"
			> EXECCOMMAND id=4 body="sv_password ***" RCN-04
			< RESPONSE_VALUE id=4 body="*** is it"`},
		{"a password across two packets",
			[]say{c(2, numExec, "cvarlist"), s(2, numValue, "maxplayers 24\n\"rcon_pass"), s(2, numValue, "word\" is \"hunter2\"\nmap x"), c(3, numExec, "a"), s(3, numValue, "b")}, `
			> EXECCOMMAND id=2 body="cvarlist"
			< RESPONSE_VALUE id=2 body="maxplayers 24\n\"rcon_pass"
			< RESPONSE_VALUE id=2 body="word\" ***\nmap x" part=2
			> EXECCOMMAND id=3 body="a"
			< RESPONSE_VALUE id=3 body="b"
			< RESPONSE_VALUE id=2 command="cvarlist" parts=2 length=48 ended_by="next reply" body="maxplayers 24\n\"rcon_password\" ***\nmap x"`},
		{"a password that goes on in the next packet",
			[]say{c(2, numExec, "cvarlist"), s(2, numValue, "sv_password hun"), s(2, numValue, "ter2\nmap x"), s(2, numValue, "y")}, `
			> EXECCOMMAND id=2 body="cvarlist"
			< RESPONSE_VALUE id=2 body="sv_password ***"
			< RESPONSE_VALUE id=2 body="***\nmap x" part=2
			< RESPONSE_VALUE id=2 body="y" part=3
			< RESPONSE_VALUE id=2 command="cvarlist" parts=3 length=26 ended_by="connection end" body="sv_password ***\nmap xy"`},
		{"a reply whose begin is lost",
			[]say{loseDown, s(2, numValue, "hunter"), s(2, numValue, "2\nmap"), s(2, numValue, "x")}, `
			< RESPONSE_VALUE id=2 body="***"
			< RESPONSE_VALUE id=2 body="***\nmap" part=2
			< RESPONSE_VALUE id=2 body="x" part=3
			< RESPONSE_VALUE id=2 parts=3 length=12 ended_by="connection end" body="***\nmapx"`},
		{"a packet lost within a reply",
			[]say{c(2, numExec, "cvarlist"), s(2, numValue, "sv_pass"), loseDown, s(2, numValue, "hunter2\nmap"), s(2, numValue, "x"), s(2, numValue, "y")}, `
			> EXECCOMMAND id=2 body="cvarlist"
			< RESPONSE_VALUE id=2 body="sv_pass"
			< RESPONSE_VALUE id=2 body="***\nmap" part=2
			< RESPONSE_VALUE id=2 body="x" part=3
			< RESPONSE_VALUE id=2 body="y" part=4
			< RESPONSE_VALUE truncated id=2 command="cvarlist" parts=4 length=20 ended_by="connection end" body="sv_pass"`},
		{"the command's password is not kept",
			[]say{c(2, numExec, "rcon_password new"), s(2, numValue, "1"), s(2, numValue, "2")}, `
			> EXECCOMMAND id=2 body="rcon_password ***"
			< RESPONSE_VALUE id=2 body="1"
			< RESPONSE_VALUE id=2 body="2" part=2
			< RESPONSE_VALUE id=2 command="rcon_password " parts=2 length=2 ended_by="connection end" body="12"`},
		{"a second login, refused",
			[]say{c(2, numAuth, "x"), s(2, numValue, ""), s(-1, numAuthResponse, ""), c(3, numExec, "a"), c(4, numValue, "y"), s(-1, numAuthResponse, "")}, `
			> AUTH id=2 body=***
			< RESPONSE_VALUE id=2 body=""
			< AUTH_RESPONSE id=-1 body="" RCN-01 RCN-02
			> EXECCOMMAND id=3 body="a" RCN-04
			> RESPONSE_VALUE id=4 body=***
			< AUTH_RESPONSE id=-1 body="" RCN-01`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := talk(t, append(login[:len(login):len(login)], tc.steps...)...)
			lines(t, v, loginLines+"\n"+tc.want)
			v.Reset()
		})
	}
}

// What is said of a login when nothing came before it, and when something may have.
func TestSessionStart(t *testing.T) {
	for _, tc := range []struct {
		name  string
		steps []say
		want  string
	}{
		{"all at once", []say{c(0, numAuth, "passwrd"), c(0, numExec, "log"), c(0, numExec, "status"),
			s(0, numValue, ""), s(0, numAuthResponse, ""), s(0, numValue, "1"), s(0, numValue, "2")}, `
			> AUTH id=0 body=*** RCN-08
			> EXECCOMMAND id=0 body="log" RCN-04
			> EXECCOMMAND id=0 body="status" RCN-04 RCN-21
			< RESPONSE_VALUE id=0 body=""
			< AUTH_RESPONSE id=0 body="" RCN-02
			< RESPONSE_VALUE id=0 body="1"
			< RESPONSE_VALUE id=0 body="2"`},
		{"refused", []say{c(5, numAuth, "x"), s(-1, numAuthResponse, "")}, `
			> AUTH id=5 body=*** RCN-08
			< AUTH_RESPONSE id=-1 body="" RCN-01 RCN-02`},
		{"accepted and refused with types of the server's own", []say{c(5, numAuth, "x"), s(0, numPush, "1"), s(5, numAuth, ""), c(6, numExec, "a"),
			c(7, numAuth, "y"), s(7, -1, ""), c(8, numExec, "b")}, `
			> AUTH id=5 body=*** RCN-08
			< OTHER id=0 body="1" role="push"
			< OTHER id=5 body=***
			> EXECCOMMAND id=6 body="a"
			> AUTH id=7 body=***
			< OTHER id=7 body="" RCN-01
			> EXECCOMMAND id=8 body="b" RCN-04`},
		{"command without a login", []say{c(5, numExec, "status"), s(-1, numAuthResponse, "")}, `
			> EXECCOMMAND id=5 body="status" RCN-04
			< AUTH_RESPONSE id=-1 body="" RCN-01`},
		{"the answer may be lost", []say{c(5, numAuth, "x"), s(0, numPush, "1"), loseDown, s(5, numAuthResponse, ""), s(1, numPush, "1"), s(2, numPush, "2"), c(6, numExec, "a")}, `
			> AUTH id=5 body=*** RCN-08
			< OTHER id=0 body="1" role="push"
			< AUTH_RESPONSE id=5 body=""
			< OTHER id=1 body="1" role="push"
			< OTHER id=2 body="2" role="push"
			> EXECCOMMAND id=6 body="a"`},
		{"the login may be lost", []say{loseUp, c(5, numExec, "a"), c(6, numExec, "b"), c(7, numValue, "geheim"), s(5, numValue, "1"), c(8, numValue, "x")}, `
			> EXECCOMMAND id=5 body="a"
			> EXECCOMMAND id=6 body="b"
			> RESPONSE_VALUE id=7 body=***
			< RESPONSE_VALUE id=5 body="1"
			> RESPONSE_VALUE id=8 body="x" role="probe"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := talk(t, tc.steps...)
			lines(t, v, tc.want)
			v.Reset()
		})
	}
}
