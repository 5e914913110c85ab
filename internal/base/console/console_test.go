package console

import (
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/timing"
)

// hide replaces what Secret finds by stars.
func hide(s string) string {
	var out strings.Builder
	b := []byte(s)
	for {
		lo, hi := FindSecret(b)
		if lo < 0 {
			out.Write(b)
			return out.String()
		}
		out.Write(b[:lo])
		out.WriteString("***")
		b = b[hi:]
	}
}

func TestSecret(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"nothing", `L 07/05/2008 - 19:13:44: World triggered "Round_Start"`, `L 07/05/2008 - 19:13:44: World triggered "Round_Start"`},
		{"log, quoted", `Rcon: "rcon 584425803 "pw" status" from "10.64.0.1:27005"`, `Rcon: "rcon 584425803 "***" status" from "10.64.0.1:27005"`},
		{"log, bad", `Bad Rcon: "rcon 584425803 "a b" status" from "10.64.0.1:27005"`, `Bad Rcon: "rcon 584425803 "***" status" from "10.64.0.1:27005"`},
		{"log, no quotes: the number may be the password", `Bad Rcon: "rcon 584425803 pw status" from "10.64.0.1:27005"`, `Bad Rcon: "rcon *** status" from "10.64.0.1:27005"`},
		{"log, no challenge", `Bad Rcon: "rcon pw status" from`, `Bad Rcon: "rcon *** status" from`},
		{"log, no command", `Bad Rcon: "rcon 584425803 "pw"" from`, `Bad Rcon: "rcon 584425803 "***"" from`},
		{"log, password cut", `Rcon: "rcon 584425803 "pass`, `Rcon: "rcon 584425803 "***`},
		{"log, command cut", `Rcon: "rcon 584425803 "pw" sta`, `Rcon: "rcon 584425803 "***" sta`},
		{"log, a password is set", `Rcon: "rcon 584425803 "pw" rcon_password new" from "10.64.0.1:27005"`, `Rcon: "rcon 584425803 "***" rcon_password ***" from "10.64.0.1:27005"`},
		{"log, no quotes, no command", `Bad Rcon: "rcon pw" from "10.64.0.1:27005"`, `Bad Rcon: "rcon ***" from "10.64.0.1:27005"`},
		{"upper case", `RCON 584425803 "pw" SV_PASSWORD "x"`, `RCON 584425803 "***" SV_PASSWORD "***"`},
		{"log of Source", `rcon from "10.64.0.1:27005": command "status"`, `rcon from "10.64.0.1:27005": command "status"`},
		{"log of Source, a password is set", `rcon from "10.64.0.1:27005": command "rcon_password x"`, `rcon from "10.64.0.1:27005": command "rcon_password ***`},
		{"command", `rcon_password geheim`, `rcon_password ***`},
		{"command, more than one word", `sv_password my word`, `sv_password ***`},
		{"command, quoted semicolon", `sv_password "a;b"; status`, `sv_password "***"; status`},
		{"command, then another", `sv_password x; status; rcon_password y`, `sv_password ***; status; rcon_password ***`},
		{"command, two lines", "sv_password x\nstatus", "sv_password ***\nstatus"},
		{"output", "\"rcon_password\" is \"x\"\n\"hostname\" is \"y\"\n", "\"rcon_password\" ***\n\"hostname\" is \"y\"\n"},
		{"output, value is the word is", `rcon_password is`, `rcon_password ***`},
		{"table", "sv_password            : x    : , \"sv\"\n", "sv_password            : ***\n"},
		{"change in the log", `Server cvar "sv_password" = "x"`, `Server cvar "sv_password" = "***"`},
		{"HLTV", `adminpassword x`, `adminpassword ***`},
		{"log secret", `sv_logsecret 12345`, `sv_logsecret ***`},
		{"asked only", "rcon_password\n", "rcon_password\n"},
		{"asked only, with quotes", `"sv_password" ""`, `"sv_password" ""`},
		{"asked only, with quotes, and who asked", `rcon_password "" from "10.64.0.1:27005"`, `rcon_password "" from "10.64.0.1:27005"`},
		{"value in the next line", "rcon_password\n: x\n", "rcon_password\n: ***\n"},
		{"log secret of another name", `logaddress_secret 12345`, `logaddress_secret ***`},
		{"a player's password in the log", `"Joe<1><STEAM_1:0:1><>" connected, password "x"`, `"Joe<1><STEAM_1:0:1><>" connected, password "***"`},
		{"log, line feed in the password", "Bad Rcon: \"rcon 584425803 \"a\nb\" status\" from \"10.64.0.1:27005\"", "Bad Rcon: \"rcon ***\" from \"10.64.0.1:27005\""},
		{"log, line feed after rcon", "Bad Rcon: \"rcon\n584425803 x\" from", "Bad Rcon: \"rcon***\" from"},
		{"number with a sign", "rcon +123456789 x status", "rcon ***"},
		{"part of a name", `rcon.password "x"`, `rcon.password "***"`},
		{"part of a name, without quotes", "rcon.password=x\nrcon.port=25575\n", "rcon.password=***\nrcon.port=25575\n"},
		{"part of a name, with a dash", `+rcon-password x`, `+rcon-password ***`},
		{"a sentence ends before the word", `Denied. password wrong`, `Denied. password wrong`},
		{"log of Source, quotes of another line", "rcon from \"x\" y\nrcon from \"10.64.0.1:27005\": command \"status\"", "rcon ***\nrcon from \"10.64.0.1:27005\": command \"status\""},
		{"sentence", "Bad rcon_password.\nBad challenge.\n", "Bad rcon_password.\nBad challenge.\n"},
		{"sentence with the plain word", "No password set for this server.", "No password set for this server."},
		{"rcon is not a word of its own", "amx_rcon x; xrcon y", "amx_rcon x; xrcon y"},
		{"no arguments", "Empty rcon\n", "Empty rcon\n"},
		{"empty", "", ""},
	} {
		if got := hide(tc.in); got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// Wherever a line is cut, what is hidden of the whole line stays hidden.
func TestSecretCut(t *testing.T) {
	const secret = "Xq7"
	for _, line := range []string{
		`Rcon: "rcon 584425803 "Xq7" status" from "10.64.0.1:27005"`,
		`Rcon: "rcon 584425803 Xq7 status" from "10.64.0.1:27005"`,
		`Bad Rcon: "rcon Xq7 status" from "10.64.0.1:27005"`,
		`"rcon_password" is "Xq7"`, `sv_password Xq7`,
	} {
		for n := range len(line) + 1 {
			if got := hide(line[:n]); strings.Contains(got, secret[:1]) {
				t.Errorf("%d bytes of %s\ngot %s", n, line, got)
			}
		}
	}
}

// The word rcon before what is no request costs no walk to the end of the
// text: a megabyte took a minute where each did.
func TestSecretIsLinear(t *testing.T) {
	const line = `rcon from "`
	text := []byte(strings.Repeat(line, 1<<20/len(line)) + `": command "`)
	if took := timing.MeasureCPU(func() { hide(string(text)) }); took > 10*time.Second {
		t.Errorf("%d bytes took %v", len(text), took)
	}
}

func TestParseRcon(t *testing.T) {
	for _, tc := range []struct {
		name, in            string
		challenge, password string
		sure                bool
		rest                string
	}{
		{"GoldSource", ` 584425803 "pw" status`, "584425803", "pw", true, " status"},
		{"no quotes", ` 584425803 pw status`, "584425803", "pw", false, " status"},
		{"no challenge", ` pw status`, "", "pw", false, " status"},
		{"no challenge, quotes", ` "p w" status`, "", "p w", false, " status"},
		{"number alone", ` 584425803`, "", "584425803", false, ""},
		{"number too large for a challenge", ` 99999999999 pw`, "", "99999999999", false, " pw"},
		{"number in quotes", ` "123456" "say hi"`, "123456", "say hi", false, ""},
		{"empty password", ` 1584425803 "" status`, "", `1584425803 "" status`, false, ""},
		{"quote without end", ` 584425803 "pw status`, "584425803", "pw status", true, ""},
		{"several blanks", "  \t1   pw", "1", "pw", false, ""},
		{"line feed", " 584425803 \"pw\"\nstatus", "", "584425803 \"pw\"\nstatus", false, ""},
		{"nothing", "", "", "", false, ""},
		{"blanks", "   ", "", "", false, ""},
	} {
		r := ParseRcon([]byte(tc.in))
		cut := func(s Span) string {
			if !s.IsFound() {
				return ""
			}
			return tc.in[s.Lo:s.Hi]
		}
		rest := ""
		if r.Password.IsFound() {
			rest = tc.in[r.End:]
		}
		if c, p := cut(r.Challenge), cut(r.Password); c != tc.challenge || p != tc.password || r.IsCertain != tc.sure || rest != tc.rest {
			t.Errorf("%s\ngot  %q %q %v %q\nwant %q %q %v %q", tc.name, c, p, r.IsCertain, rest, tc.challenge, tc.password, tc.sure, tc.rest)
		}
	}
}

func TestLogLine(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     int
	}{
		{"at once", "L 07/05/2008 - 19:13:44: World", 0},
		{"after a secret", "12345L 07/05/2008 - 19:13:44: World", 5},
		{"after a secret with the letter", "L LL 07/05/2008 - 19:13:44: World", 3},
		{"cut in the date", "12345L 07/05/2008 - 19:13", -1},
		{"numbers that nothing pads", "12345L 7/5/2026 - 9:3:4: World", 5},
		{"three digits", "L 007/05/2008 - 19:13:44: World", -1},
		{"no date", "L 07/05/2008 - 19:13:xx: World", -1},
		{"empty", "", -1},
	} {
		if got := FindLogLine([]byte(tc.in)); got != tc.want {
			t.Errorf("%s\ngot  %d\nwant %d", tc.name, got, tc.want)
		}
	}
	if !IsLogLine([]byte("L 07/05")) || IsLogLine([]byte("L 07.05")) || !IsLogLine([]byte("L 7/5/2026 - 9")) || IsWholeLogLine([]byte("L 7/5/2026 - 9:3:4:")) {
		t.Error("a start that is cut is judged wrongly")
	}
}

func FuzzSecret(f *testing.F) {
	f.Add([]byte(`Rcon: "rcon 584425803 "pw" rcon_password x" from "10.64.0.1:27005"`))
	f.Add([]byte("sv_password \"a;b\"; rcon 1 2 3\nlogsecret="))
	f.Fuzz(func(t *testing.T, b []byte) {
		for at := 0; ; {
			lo, hi := FindSecret(b[at:])
			if lo < 0 {
				break
			}
			if lo >= hi || at+hi > len(b) {
				t.Fatalf("range [%d,%d) of %d bytes", lo, hi, len(b)-at)
			}
			at += hi
		}
		r := ParseRcon(b)
		if r.Password.IsFound() && (r.Password.Lo > r.Password.Hi || r.Password.Hi > r.End || r.End > len(b)) {
			t.Fatalf("%+v of %d bytes", r, len(b))
		}
		if i := FindLogLine(b); i >= 0 && !IsLogLine(b[i:]) {
			t.Fatalf("no log line at %d", i)
		}
	})
}
