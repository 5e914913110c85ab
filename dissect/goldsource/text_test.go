package goldsource

import (
	"fmt"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
	"qsniff/reassembly/wire"
)

const (
	infostring  = `ffffffff "infostringresponse" 00 "\protocol\48\map\crossfire\hostname\" 00`
	xashInfo    = `ffffffff "info" 0a "\p\49\map\crossfire\host\Xash server"`
	connect2    = `ffffffff "A00000000 584425803 2" 0a00`
	connect3    = `ffffffff "A00000000 584425803 3 90071992547409920 1" 0a00`
	rconAsk     = `ffffffff "challenge rcon" 0a`
	rconAnswer  = `ffffffff "challenge rcon 584425803" 0a00`
	rconQuoted  = `ffffffff "rcon 584425803 " 22 "pw" 22 " status" 0a00`
	rconPlain   = `ffffffff "rcon 584425803 pw status" 0a00`
	rconSets    = `ffffffff "rcon 584425803 " 22 "pw" 22 " rcon_password new; status" 0a00`
	rconXash    = `ffffffff "rcon geheim status" 0a`
	printBad    = `ffffffff "lBad rcon_password." 0a0000`
	printEcho   = `ffffffff "l" 22 "sv_password" 22 " is geheim" 0a0000`
	logLine     = `ffffffff "log L 07/05/2008 - 19:13:44: World triggered" 0a00`
	logRcon     = `ffffffff "log L 07/05/2008 - 19:13:44: Rcon: " 22 "rcon 584425803 " 22 "pw" 22 " status" 22 " from " 22 "10.64.0.1:27005" 22 0a00`
	proxyListen = `ffffffff "G 0.0.0.0" 0a`
	proxyOther  = `ffffffff "L198.18.0.1:27020" 00`
	netinfoAsk  = `ffffffff "netinfo 48 7 4" 0a`
	netinfoOld  = `ffffffff "netinfo 7 4 \hostname\Xash server" 00`
)

var wordTexts = []string{infostring, xashInfo, connect2, connect3, rconAsk, rconAnswer, rconQuoted, rconPlain, rconSets, rconXash,
	printBad, printEcho, logLine, logRcon, proxyListen, proxyOther, netinfoAsk, netinfoOld,
	`ffffffff "details" 00`, `ffffffff "info 49"`, `ffffffff "getchallenge steam" 0a`, `ffffffff "listen" 0a`, `ffffffff "ping" 0a00`}

// show writes a message's leaves after its opcode: secrets as stars.
func show(m *dissect.Message) string {
	var out []string
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Def.Kind == dissect.Group || f.Def.Kind == dissect.List || f.Def.Flags&dissect.Framing != 0 {
			continue
		}
		v := fmt.Sprintf("%q", m.Bytes(f))
		switch {
		case f.Def.Flags&dissect.Secret != 0:
			v = "***"
		case f.Def.Kind == dissect.Uint:
			v = fmt.Sprint(f.Num)
		}
		out = append(out, f.Def.Key()+"="+v)
	}
	return strings.Join(out, " ")
}

func TestText(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		conf     dissect.Confidence
		typ      string
		status   dissect.Status
		want     string
	}{
		{"details", `ffffffff "details" 00`, dissect.Likely, "DETAILS", dissect.Complete, ""},
		{"players, no end", `ffffffff "players"`, dissect.Likely, "PLAYERS", dissect.Complete, ""},
		{"rules, upper case", `ffffffff "RULES" 0a00`, dissect.Likely, "RULES", dissect.Complete, ""},
		{"infostring", `ffffffff "infostring" 0a`, dissect.Likely, "INFOSTRING", dissect.Complete, ""},
		{"info", `ffffffff "info" 00`, dissect.Maybe, "INFO", dissect.Complete, ""},
		{"info of Xash3D", `ffffffff "info 49"`, dissect.Likely, "INFO", dissect.Complete, "version=49"},
		{"info of Quake 2", `ffffffff "info 34"`, dissect.Maybe, "INFO", dissect.Complete, "version=34"},
		{"ping", `ffffffff "ping" 0a`, dissect.Maybe, "PING", dissect.Complete, ""},
		{"listen", `ffffffff "listen" 0a`, dissect.Maybe, "LISTEN", dissect.Complete, ""},
		{"getchallenge", `ffffffff "getchallenge" 0a`, dissect.Maybe, "GETCHALLENGE", dissect.Complete, ""},
		{"getchallenge steam", `ffffffff "getchallenge steam" 0a`, dissect.Likely, "GETCHALLENGE", dissect.Complete, `auth="steam"`},
		{"challenge to join, CD key", connect2, dissect.Certain, "CONNECT_CHALLENGE", dissect.Complete, "challenge=584425803 auth_protocol=2"},
		{"challenge to join, Steam", connect3, dissect.Certain, "CONNECT_CHALLENGE", dissect.Complete,
			"challenge=584425803 auth_protocol=3 steam_id=90071992547409920 secure=1"},
		{"challenge to join, number too large", `ffffffff "A00000000 99999999999999999999999 2" 00`, dissect.Certain, "CONNECT_CHALLENGE", dissect.Malformed,
			"challenge=0"},
		{"rcon challenge, question", rconAsk, dissect.Certain, "RCON_CHALLENGE", dissect.Complete, ""},
		{"rcon challenge, mixed case", `ffffffff "Challenge RCON"`, dissect.Certain, "RCON_CHALLENGE", dissect.Complete, ""},
		{"rcon challenge, answer", rconAnswer, dissect.Certain, "RCON_CHALLENGE", dissect.Complete, "challenge=584425803"},
		{"rcon", rconQuoted, dissect.Likely, "RCON", dissect.Complete, `challenge=584425803 password=*** command="status"`},
		{"rcon, no quotes", rconPlain, dissect.Likely, "RCON", dissect.Complete, `challenge=*** password=*** command="status"`},
		{"rcon, short number, no quotes", `ffffffff "rcon 123456 status" 0a`, dissect.Maybe, "RCON", dissect.Complete, `challenge=*** password=***`},
		{"rcon, no challenge", rconXash, dissect.Maybe, "RCON", dissect.Complete, `password=*** command="status"`},
		{"rcon, no challenge, quotes", `ffffffff "rcon " 22 "a b" 22 " status"`, dissect.Maybe, "RCON", dissect.Complete, `password=*** command="status"`},
		{"rcon, no command", `ffffffff "rcon 584425803 " 22 "pw" 22 " " 0a00`, dissect.Likely, "RCON", dissect.Complete, `challenge=584425803 password=***`},
		{"rcon, short number: the password of a dialect without challenges?", `ffffffff "rcon 4711 " 22 "say hi" 22`, dissect.Likely, "RCON", dissect.Complete, `challenge=*** password=***`},
		{"rcon, nothing", `ffffffff "rcon" 0a`, dissect.Maybe, "RCON", dissect.Complete, ""},
		{"rcon, quote without end", `ffffffff "rcon 584425803 " 22 "pw status" 0a`, dissect.Likely, "RCON", dissect.Complete, `challenge=584425803 password=***`},
		{"rcon sets a password", rconSets, dissect.Likely, "RCON", dissect.Complete,
			`challenge=584425803 password=*** command="rcon_password " command_secret=*** command="; status"`},
		{"print", printBad, dissect.Likely, "A2A_PRINT", dissect.Complete, `text="Bad rcon_password.\n"`},
		{"print with one NUL", `ffffffff "lHello" 00`, dissect.Maybe, "A2A_PRINT", dissect.Complete, `text="Hello"`},
		{"print without NUL", `ffffffff "lHello" 0a`, dissect.Maybe, "A2A_PRINT", dissect.Complete, `text="Hello\n"`},
		{"print repeats a password", printEcho, dissect.Likely, "A2A_PRINT", dissect.Complete, `text="\"sv_password\" " text_secret=*** text="\n"`},
		{"log", logLine, dissect.Certain, "LOG", dissect.Complete, `line="L 07/05/2008 - 19:13:44: World triggered\n"`},
		{"log quotes rcon", logRcon, dissect.Certain, "LOG", dissect.Complete,
			`line="L 07/05/2008 - 19:13:44: Rcon: \"rcon 584425803 \"" line_secret=*** line="\" status\" from \"10.64.0.1:27005\"\n"`},
		{"log, more after the end", logLine + `"rcon_password geheim" 00`, dissect.Certain, "LOG", dissect.Complete,
			`line="L 07/05/2008 - 19:13:44: World triggered\n" behind=***`},
		{"proxy, multicast", proxyListen, dissect.Likely, "S2A_PROXY_LISTEN", dissect.Complete, `address="0.0.0.0"`},
		{"proxy, other", proxyOther, dissect.Likely, "S2A_PROXY_REDIRECT", dissect.Complete, `address="198.18.0.1:27020"`},
		{"infostring answer", infostring, dissect.Certain, "INFOSTRING_RESPONSE", dissect.Complete,
			`name="protocol" value="48" name="map" value="crossfire" name="hostname" value=""`},
		{"infostring answer, no end", `ffffffff "infostringresponse" 00 "\map\crossfire"`, dissect.Certain, "INFOSTRING_RESPONSE", dissect.Complete,
			`name="map" value="crossfire"`},
		{"infostring answer, ends in a key", `ffffffff "infostringresponse" 00 "\map\crossfire\ho"`, dissect.Certain, "INFOSTRING_RESPONSE", dissect.Malformed,
			`name="map" value="crossfire" name="ho"`},
		{"infostring answer, key without value", `ffffffff "infostringresponse" 00 "\map" 00`, dissect.Certain, "INFOSTRING_RESPONSE", dissect.Complete, `name="map"`},
		{"infostring answer, a flag", `ffffffff "infostringresponse" 00 "\password\1" 00`, dissect.Certain, "INFOSTRING_RESPONSE", dissect.Complete,
			`name="password" value="1"`},
		{"infostring answer, a password", `ffffffff "infostringresponse" 00 "\password\geheim\os\l" 00`, dissect.Certain, "INFOSTRING_RESPONSE", dissect.Complete,
			`name="password" value=*** name="os" value="l"`},
		{"infostring answer, bytes after", infostring + `0102`, dissect.Certain, "INFOSTRING_RESPONSE", dissect.Complete,
			`name="protocol" value="48" name="map" value="crossfire" name="hostname" value="" trailing="\x01\x02"`},
		{"Xash3D", xashInfo, dissect.Likely, "XASH_INFO", dissect.Complete, `name="p" value="49" name="map" value="crossfire" name="host" value="Xash server"`},
		{"old Xash3D, question", netinfoAsk, dissect.Likely, "NETINFO", dissect.Complete, "version=48 context=7 type=4"},
		{"old Xash3D, answer", netinfoOld, dissect.Likely, "XASH_INFO", dissect.Complete, `context=7 type=4 name="hostname" value="Xash server"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := hextest.Bytes(t, tc.in)
			c := dissecttest.Context(len(b))
			k, typ := newDissector().Probe(c, b)
			if k != tc.conf || typ == nil || typ.Name != tc.typ {
				t.Fatalf("probe\ngot  %v %v\nwant %v %s", k, typ, tc.conf, tc.typ)
			}
			m := dissecttest.Run(newDissector(), c, b)
			dissecttest.CheckInvariants(t, m)
			if m.Status != tc.status || m.Type != typ {
				t.Errorf("got  %v %s\nwant %v %s", m.Status, m.Type.Name, tc.status, tc.typ)
			}
			if got := show(m); got != tc.want {
				t.Errorf("fields\ngot  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// Questions of the old days are answered by few; the newer ones are no mistake.
func TestDeprecated(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`ffffffff "ping" 0a`, "A2S-C07"}, {`ffffffff "info"`, "A2S-C07"}, {`ffffffff "infostring"`, "A2S-C07"},
		{`ffffffff "details"`, "A2S-C07"}, {`ffffffff "players"`, "A2S-C07"}, {`ffffffff "rules"`, "A2S-C07"},
		{`ffffffff "info 49"`, ""}, {`ffffffff "listen"`, ""}, {`ffffffff "getchallenge"`, ""}, {rconAsk, ""}, {rconQuoted, ""},
	} {
		b := hextest.Bytes(t, tc.in)
		if got := dissecttest.Findings(dissecttest.Run(newDissector(), dissecttest.Context(len(b)), b)); got != tc.want {
			t.Errorf("%s\ngot  %q\nwant %q", tc.in, got, tc.want)
		}
	}
}

// What a flow showed before decides where the bytes do not.
func TestTextInFlow(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		to, from dissect.FlowFacts
		conf     dissect.Confidence
		want     string
	}{
		{"number after a challenge", `ffffffff "rcon 4711 pw status"`, dissect.FlowFacts{RconChallenge: 4711}, dissect.FlowFacts{}, dissect.Likely,
			`challenge=4711 password=*** command="status"`},
		{"Quake 3's print", `ffffffff "print" 0a "Bad rconpassword." 0a`, dissect.FlowFacts{}, dissect.FlowFacts{}, dissect.No, ""},
		{"Xash3D's print", `ffffffff "print" 0a "rcon 4711 geheim" 0a`, dissect.FlowFacts{}, dissect.FlowFacts{Asked: dissect.AskRcon}, dissect.Maybe,
			`text="rcon " text_secret=*** text="\n"`},
		{"Quake 2's info", `ffffffff "info" 0a "Arena q2dm1 3/16" 0a`, dissect.FlowFacts{}, dissect.FlowFacts{}, dissect.No, ""},
		{"Xash3D complains", `ffffffff "info" 0a "wrong version" 0a`, dissect.FlowFacts{}, dissect.FlowFacts{Asked: dissect.AskInfo}, dissect.Maybe,
			`text="wrong version\n"`},
	} {
		b := hextest.Bytes(t, tc.in)
		c := dissecttest.Context(len(b))
		c.ToServer, c.FromServer = tc.to, tc.from
		k, _ := newDissector().Probe(c, b)
		m := dissecttest.Run(newDissector(), c, b)
		dissecttest.CheckInvariants(t, m)
		if got := show(m); k != tc.conf || k != dissect.No && got != tc.want {
			t.Errorf("%s\ngot  %v %s\nwant %v %s", tc.name, k, got, tc.conf, tc.want)
		}
	}
}

func TestLearn(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want dissect.FlowFacts
	}{
		{rconAsk, dissect.FlowFacts{Asked: dissect.AskRconChallenge}},
		{rconAnswer, dissect.FlowFacts{RconChallenge: 584425803}},
		{rconQuoted, dissect.FlowFacts{Asked: dissect.AskRcon}},
		{connect2, dissect.FlowFacts{}},
		{`ffffffff "players"`, dissect.FlowFacts{Asked: dissect.AskPlayers}},
	} {
		b := hextest.Bytes(t, tc.in)
		if got := dissecttest.Run(newDissector(), dissecttest.Context(len(b)), b).Learn; got != tc.want {
			t.Errorf("%s\ngot  %+v\nwant %+v", tc.in, got, tc.want)
		}
	}
}

// A long answer in GoldSource's split format is known by that.
func TestTextJoined(t *testing.T) {
	b := hextest.Bytes(t, `ffffffff "lHello" 00`)
	c := dissecttest.Context(len(b))
	c.FromSplit = wire.GoldSource
	if k, typ := newDissector().Probe(c, b); k != dissect.Likely || typ != &typePrint {
		t.Errorf("got %v %v", k, typ)
	}
}

func TestTextRefused(t *testing.T) {
	for name, in := range map[string]string{
		"infostring with more":     `ffffffff "infostring" 00 "xyz"`,
		"word goes on":             `ffffffff "detailsx" 00`,
		"info with a name":         `ffffffff "info xyz" 00`,
		"challenge of Quake 2":     `ffffffff "challenge 584425803"`,
		"challenge of DarkPlaces":  `ffffffff "challenge A1b2C3d4E5" 00`,
		"challengeResponse":        `ffffffff "challengeResponse 584425803"`,
		"infoResponse":             `ffffffff "infoResponse" 0a "\hostname\x"`,
		"getinfo":                  `ffffffff "getinfo xxx" 0a`,
		"srcon":                    `ffffffff "srcon HMAC-MD4 TIME"`,
		"log without a date":       `ffffffff "log" 0a`,
		"log, wrong date":          `ffffffff "log L 07.05.2008 - 19:13:44: x" 00`,
		"ack of QuakeWorld":        `ffffffff "l" 0a00`,
		"print of binary":          `ffffffff "l" 0102030405060708 00`,
		"print with bytes after":   `ffffffff "labc" 00 "def"`,
		"motd":                     `ffffffff "motd" 00`,
		"redirect to no address":   `ffffffff "L 07/05/2008" 00`,
		"redirect to a version":    `ffffffff "L1.2.3" 00`,
		"A2S challenge":            `ffffffff 41 30303030`,
		"Source connect challenge": `ffffffff 41 33494f5a 78563412 c421fa03`,
		"zeros without a number":   `ffffffff "A00000000" 0a`,
		"netinfo without numbers":  `ffffffff "netinfo" 0a`,
		"rcon of binary":           `ffffffff "rcon " 0102030405060708`,
		"status":                   `ffffffff "status" 0a`,
		"not from the start":       `fefffffe "details" 00`,
	} {
		b := hextest.Bytes(t, in)
		if k, _ := newDissector().Probe(dissecttest.Context(len(b)), b); k != dissect.No {
			t.Errorf("%s\ngot  %v\nwant %v", name, k, dissect.No)
		}
	}
}

// A capture that cuts a message in its first word still tells what it can be.
func TestTextCut(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		wire     int
		want     *dissect.Type
	}{
		{"infostring", `ffffffff "infost"`, 15, &typeInfostring},
		{"infostringresponse", `ffffffff "infost"`, 200, &typeInfostringReply},
		{"details", `ffffffff "deta"`, 12, &typeDetails},
		{"details, longer than the word", `ffffffff "deta"`, 120, nil},
		{"challenge rcon", `ffffffff "challenge r"`, 19, &typeRconChallengeReq},
		{"challenge rcon N", `ffffffff "challenge r"`, 30, &typeRconChallenge},
		{"challenge rcon N, cut before the number", `ffffffff "challenge rcon"`, 30, &typeRconChallenge},
		{"connect challenge", `ffffffff "A0000"`, 27, &typeConnectChallenge},
		{"A2S challenge", `ffffffff "A000"`, 9, nil},
		{"Xash3D's answer", `ffffffff "info" 0a`, 100, &typeXashInfo},
		{"log", `ffffffff "log L 07/05/20"`, 100, &typeLog},
		{"rcon", `ffffffff "rcon 5844"`, 40, &typeRcon},
		{"nothing", `ffffffff`, 40, nil},
	} {
		b := hextest.Bytes(t, tc.in)
		c := dissecttest.Context(tc.wire)
		k, typ := newDissector().Probe(c, b)
		if typ != tc.want && (tc.want != nil || k != dissect.No) {
			t.Errorf("%s\ngot  %v %v\nwant %v", tc.name, k, typ, tc.want)
		}
		m := dissecttest.Run(newDissector(), c, b)
		dissecttest.CheckInvariants(t, m)
		if m.Status != dissect.Truncated {
			t.Errorf("%s: status %v", tc.name, m.Status)
		}
	}
}

func TestTextTruncations(t *testing.T) {
	for _, in := range wordTexts {
		b := hextest.Bytes(t, in)
		t.Run(string(b[headerLen:min(len(b), headerLen+12)]), func(t *testing.T) {
			dissecttest.CheckTruncations(t, newDissector(), dissecttest.Context(len(b)), b)
		})
	}
}
