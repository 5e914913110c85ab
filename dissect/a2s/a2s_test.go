package a2s

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
	"qsniff/reassembly/wire"
)

const (
	infoAll = `ffffffff 49 11 "Test server" 00 "de_dust2" 00 "csgo" 00 "Counter-Strike: Global Offensive" 00
		da02 03 10 01 "dl" 00 01 "1.38.7.9" 00 f1 8769 04e0eca764174001 8c69 "My TV" 00 "empty,secure" 00 da02000000000000`
	infoShip = `ffffffff 49 07 "Ship server" 00 "atalanta" 00 "ship" 00 "The Ship" 00
		6009 02 20 01 "dw" 00 01 00 02 05 "1.0.0.16" 00`
	players2    = `ffffffff 44 02 00 "Ann" 00 0e000000 b4970044 00 "Bob" 00 feffffff 6924d943`
	playersShip = `ffffffff 44 02 00 "Shipmate1" 00 00000000 000080bf 01 "Ann" 00 02000000 48217c43
		03000000 d6060000 00000000 3cf6ffff`
	rules2 = `ffffffff 45 0200 "mp_timelimit" 00 "20" 00 "sv_gravity" 00 "800" 00`
)

// The statuses and findings of messages that are not plain. Values are checked
// by the captures in pcapfiles.
func TestDissect(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		typ      string
		status   dissect.Status
		findings string
	}{
		{"info", infoAll, "S2A_INFO_SRC", dissect.Complete, ""},
		{"info of The Ship", infoShip, "S2A_INFO_SRC", dissect.Complete, ""},
		{"info, terminator of the version missing", infoShip[:len(infoShip)-2], "S2A_INFO_SRC", dissect.Complete, ""},
		{"info, EDF one byte short", infoAll[:len(infoAll)-2], "S2A_INFO_SRC", dissect.Malformed, "A2S-S13"},
		{"info, byte after EDF", infoAll + "00", "S2A_INFO_SRC", dissect.Complete, "A2S-S13"},
		{"info, more players than slots", `ffffffff 49 11 00 00 00 00 0000 50 20 00 "dl" 00 00 "1" 00`, "S2A_INFO_SRC", dissect.Complete, "A2S-S12 note"},
		{"info, all slots taken", `ffffffff 49 11 00 00 00 00 0000 20 20 00 "dl" 00 00 "1" 00`, "S2A_INFO_SRC", dissect.Complete, ""},
		{"info, a count at its limit", `ffffffff 49 11 00 00 00 00 0000 ff 20 00 "dl" 00 00 "1" 00`, "S2A_INFO_SRC", dissect.Complete, "A2S-S12"},
		{"request of 24 bytes", `ffffffff 54 "Source Engine Query"`, "A2S_INFO", dissect.Complete, ""},
		{"request with challenge", `ffffffff 54 "Source Engine Query" 00 4ba1d522`, "A2S_INFO", dissect.Complete, ""},
		{"request padded", `ffffffff 54 "Source Engine Query" 00 00000000 0000`, "A2S_INFO", dissect.Complete, "A2S-C11"},
		{"request, three bytes of challenge", `ffffffff 54 "Source Engine Query" 00 4ba1d5`, "A2S_INFO", dissect.Malformed, "A2S-C05"},
		{"request, challenge as text", `ffffffff 55 "584425803"`, "A2S_PLAYER", dissect.Complete, "A2S-C05"},
		{"request without its text", `ffffffff 54 4ba1d522`, "A2S_INFO", dissect.Complete, "A2S-C02"},
		{"obsolete challenge request", `ffffffff 57 ffffffff`, "A2S_SERVERQUERY_GETCHALLENGE", dissect.Complete, "A2S-C07"},
		{"ping with line feed", `ffffffff 69 0a`, "A2A_PING", dissect.Complete, "A2S-C07"},
		{"ack, GoldSource", `ffffffff 6a 00`, "A2A_ACK", dissect.Complete, ""},
		{"ack, bare", `ffffffff 6a`, "A2A_ACK", dissect.Complete, ""},
		{"challenge with a byte too many", `ffffffff 41 4ba1d522 00`, "S2C_CHALLENGE", dissect.Complete, ""},
		{"players", players2, "S2A_PLAYER", dissect.Complete, ""},
		{"players of The Ship", playersShip, "S2A_PLAYER", dissect.Complete, ""},
		{"players, one still joining", `ffffffff 44 03` + players2[len(`ffffffff 44 02`):], "S2A_PLAYER", dissect.Complete, "A2S-S07 note"},
		{"players, list cut on a border", `ffffffff 44 09` + players2[len(`ffffffff 44 02`):], "S2A_PLAYER", dissect.Complete, "A2S-S07"},
		{"players, count wrapped", `ffffffff 44 01` + players2[len(`ffffffff 44 02`):], "S2A_PLAYER", dissect.Complete, "A2S-S07"},
		{"players, cut in a value", players2[:len(players2)-2], "S2A_PLAYER", dissect.Malformed, "A2S-S07"},
		{"rules", rules2, "S2A_RULES", dissect.Complete, ""},
		{"rules, cut in a name", `ffffffff 45 0300 "coop" 00 "0" 00 "mp_timelimit" 00 "20" 00 "sv_gravi"`, "S2A_RULES", dissect.Malformed, "A2S-S07"},
		{"rules, cut on a border", `ffffffff 45 0300 "coop" 00 "0" 00`, "S2A_RULES", dissect.Complete, "A2S-S07"},
		{"rules, binary page", `ffffffff 45 0100 0101 00 020103 00`, "S2A_RULES", dissect.Complete, "A2S-S11"},
		{"nothing after the opcode", `ffffffff 49`, "S2A_INFO_SRC", dissect.Malformed, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := hextest.Bytes(t, tc.in)
			m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
			dissecttest.CheckInvariants(t, m)
			dissecttest.CheckMessage(t, m, tc.typ, tc.status, tc.findings)
		})
	}
}

func TestProbe(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     dissect.Confidence
	}{
		{"info request", `ffffffff 54 "Source Engine Query" 00`, dissect.Certain},
		{"players request, first", `ffffffff 55 ffffffff`, dissect.Certain},
		{"rules request, retry", `ffffffff 56 4ba1d522`, dissect.Likely},
		{"players request, bare", `ffffffff 55`, dissect.Maybe},
		{"challenge", `ffffffff 41 4ba1d522`, dissect.Likely},
		{"challenge of five FF and eight bytes", `ffffffff ff 41 3242594553934371`, dissect.No},
		{"Source connect challenge", `ffffffff 41 33494f5a 78563412 c421fa03`, dissect.No},
		{"GoldSource connect challenge", `ffffffff 41 "00000000 584425803 2" 0a00`, dissect.No},
		{"info", infoAll, dissect.Certain},
		{"info of Frontlines", `ffffffff 49 02 "name" 00 "map" 00 "mod" 00 "mode" 00 "description" 00 "1.0" 00 14b4 05 20 "dl" 00`, dissect.No},
		{"players", players2, dissect.Likely},
		{"no players", `ffffffff 44 00`, dissect.Maybe},
		{"players with an impossible time", `ffffffff 44 01 00 "Ann" 00 00000000 0000c07f`, dissect.Maybe},
		{"rules", rules2, dissect.Certain},
		{"rules of Frontlines: big-endian count", `ffffffff 45 0002 "a" 00 "1" 00 "b" 00 "2" 00`, dissect.No},
		{"not one whole rule", `ffffffff 45 ffff "Qxz"`, dissect.No},
		{"no rules", `ffffffff 45 0000`, dissect.Maybe},
		{"ack of Source", `ffffffff 6a "00000000000000" 00`, dissect.Likely},
		{"ping", `ffffffff 69`, dissect.Maybe},
		{"info text request", `ffffffff "info" 00`, dissect.No},
		{"infostring", `ffffffff "infostring" 00`, dissect.No},
		{"Teeworlds", `ffffffffffffffffffff "gie3" 05`, dissect.No},
		{"Doom 3", `ffff "getInfo" 00`, dissect.No},
		{"empty", ``, dissect.No},
	} {
		b := hextest.Bytes(t, tc.in)
		if got, _ := New().Probe(dissecttest.Context(len(b)), b); got != tc.want {
			t.Errorf("%s\ngot  %v\nwant %v", tc.name, got, tc.want)
		}
	}
}

// A reply that was joined may lack FF FF FF FF; no other message may.
func TestBareJoined(t *testing.T) {
	b := hextest.Bytes(t, rules2)[headerLen:]
	c := dissecttest.Context(len(b))
	if k, _ := New().Probe(c, b); k != dissect.No {
		t.Errorf("not joined: got %v, want %v", k, dissect.No)
	}
	c.FromSplit = wire.Source
	if k, _ := New().Probe(c, b); k != dissect.Certain {
		t.Errorf("joined: got %v, want %v", k, dissect.Certain)
	}
	m := dissecttest.Run(New(), c, b)
	dissecttest.CheckInvariants(t, m)
	if m.Type != &typeRules || m.Status != dissect.Complete {
		t.Errorf("got %v %v", m.Type, m.Status)
	}
}

// The Ship's tail is told by its length, or by the flow's application when the
// length says nothing.
func TestShipTail(t *testing.T) {
	b := hextest.Bytes(t, playersShip)
	high := bytes.Clone(b)
	high[5] = 4
	for _, tc := range []struct {
		name string
		flow dissect.FlowFacts
		b    []byte
		want bool
	}{
		{"by length", dissect.FlowFacts{}, b, true},
		{"by length and application", dissect.FlowFacts{HasApp: true, AppID: appTheShip}, b, true},
		{"another application", dissect.FlowFacts{HasApp: true, AppID: 240}, b, false},
		{"by application, cut", dissect.FlowFacts{HasApp: true, AppID: appTheShip}, b[:len(b)-3], true},
		{"cut, unknown", dissect.FlowFacts{}, b[:len(b)-3], false},
		{"by application, count too high", dissect.FlowFacts{HasApp: true, AppID: appTheShip}, high, true},
		{"count too high, unknown", dissect.FlowFacts{}, high, false},
		{"by application, count too high, another length", dissect.FlowFacts{HasApp: true, AppID: appTheShip}, high[:len(high)-1], false},
	} {
		c := dissecttest.Context(len(tc.b))
		c.FromServer = tc.flow
		m := dissecttest.Run(New(), c, tc.b)
		dissecttest.CheckInvariants(t, m)
		if got := m.Find(&defMoney) != nil; got != tc.want {
			t.Errorf("%s: money found: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

// A server that lists more players than its one-byte count says must not make
// the walk quadratic.
func TestManyMorePlayersThanCounted(t *testing.T) {
	b := hextest.Bytes(t, `ffffffff 44 01`)
	for range 6000 {
		b = append(b, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)
	}
	m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
	dissecttest.CheckInvariants(t, m)
	if got := dissecttest.Findings(m); got != "LIM-01" { // the limit's fault, not the server's
		t.Errorf("findings\ngot  %q\nwant %q", got, "LIM-01")
	}
}

func TestTruncations(t *testing.T) {
	for name, in := range map[string]string{
		"info": infoAll, "The Ship": infoShip, "players": players2, "players of The Ship": playersShip, "rules": rules2,
		"request": `ffffffff 54 "Source Engine Query" 00 4ba1d522`, "padded": `ffffffff 54 "Source Engine Query" 00 00000000 0000000000`,
		"players request": `ffffffff 55 4ba1d522`, "challenge": `ffffffff 41 4ba1d522`, "ack": `ffffffff 6a "00000000000000" 00`,
		"ping": `ffffffff 69 00`,
	} {
		t.Run(name, func(t *testing.T) {
			b := hextest.Bytes(t, in)
			c := dissecttest.Context(len(b))
			if name == "players of The Ship" {
				c.FromServer = dissect.FlowFacts{HasApp: true, AppID: appTheShip}
			}
			dissecttest.CheckTruncations(t, New(), c, b)
		})
	}
}

func TestAllocations(t *testing.T) {
	d := New()
	for _, in := range []string{infoAll, infoShip, players2, playersShip, rules2, `ffffffff 55 4ba1d522`, `ffffffff 55 "-1"`, `ffffffff` + infoAll,
		`000000000000000000`, logPlain, logSecret, logRcon} {
		b := hextest.Bytes(t, in)
		c := dissecttest.Context(len(b))
		dissecttest.CheckAllocations(t, d, c, b)
	}
}

func FuzzDissect(f *testing.F) {
	for _, in := range []string{infoAll, infoShip, players2, playersShip, rules2, `ffffffff 54 "Source Engine Query" 00 4ba1d522`,
		`ffffffff 6a "00000000000000" 00`, `ffffffff 45 0100 0101 00 020103 00`, `000000000000000000`, `ffffffff` + infoAll, `ffffffff 45 4ba1d522`,
		`ffffffff 55 "-1"`, logPlain, logSecret, logRcon} {
		f.Add(hextest.Bytes(f, in), uint16(0), uint8(0), uint32(appTheShip))
	}
	f.Fuzz(func(t *testing.T, b []byte, missing uint16, engine uint8, app uint32) {
		c := dissecttest.Context(len(b) + int(missing))
		c.FromSplit = wire.Engine(engine % 4)
		c.FromServer = dissect.FlowFacts{AppID: app, HasApp: app != 0, Asked: dissect.Asked(engine >> 2)}
		dissecttest.CheckInput(t, New(), c, b)
	})
}

func BenchmarkInfo(b *testing.B) { benchmark(b, infoAll) }

func BenchmarkRules(b *testing.B) { benchmark(b, rules2) }

func benchmark(b *testing.B, in string) {
	data := hextest.Bytes(b, in)
	d, m, c := New(), new(dissect.Message), dissecttest.Context(len(data))
	b.ReportAllocs()
	for b.Loop() {
		_, typ := d.Probe(c, data)
		m.Reset(d.Proto(), data)
		d.Dissect(c, typ, data, m)
	}
}

// FuzzKey: where Key answers, it answers what Dissect would, and nothing but the fields is
// missing of a brief message.
func FuzzKey(f *testing.F) {
	info := append([]byte("\xff\xff\xff\xffT"), "Source Engine Query\x00"...)
	seeds := [][]byte{info, append(info, 1, 2, 3, 4), append(info, 0, 0, 0, 0), append(info, 0xff, 0xff, 0xff, 0xff), info[:len(info)-1],
		append(info[:len(info)-1:len(info)-1], 1, 2, 3, 4), append(info, 1, 2, 3, 4, 0, 0), []byte("\xff\xff\xff\xffU\xff\xff\xff\xff"),
		[]byte("\xff\xff\xff\xffV\x01\x02\x03\x04"), []byte("\xff\xff\xff\xffA\x01\x02\x03\x04"), []byte("\xff\xff\xff\xffA\x00\x00\x00\x00"),
		[]byte("\xff\xff\xff\xffU"), []byte("\xff\xff\xff\xffW"), []byte("\xff\xff\xff\xff\xff\xff\xff\xffA")}
	for _, b := range seeds {
		f.Add(b, 0)
		f.Add(b, 4)
	}
	d := New()
	var m, brief dissect.Message
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		c := &dissect.Context{Wire: len(b) + max(cut, 0)%2000}
		k, typ := d.Probe(c, b)
		if k == dissect.No || typ.Reply && typ != &typeChallenge {
			return
		}
		got, form, ok := d.Key(c, typ, b)
		if !ok {
			return
		}
		m.Reset(d.Proto(), b)
		d.Dissect(c, typ, b, &m)
		if got != m.Key || form != m.Form {
			t.Errorf("% x of %d bytes\ngot  %#x, form %b\nwant %#x, form %b", b, c.Wire, got, form, m.Key, m.Form)
		}
		brief.ResetBrief(d, c, typ, d.Proto(), b)
		if brief.Type != m.Type || brief.Learn != m.Learn || brief.Wire != m.Wire || brief.Status != m.Status ||
			m.Secret != 0 || m.Refused || len(m.Expert) > 0 || slices.ContainsFunc(m.Fields, func(x dissect.Field) bool { return !slices.Contains(proto.Usual, x.Def) }) {
			t.Errorf("% x of %d bytes\ngot  %+v\nwant %+v", b, c.Wire, brief, m)
		}
	})
}

// TestKeyOfUsualMessages: the forms that floods are made of need no Dissect.
func TestKeyOfUsualMessages(t *testing.T) {
	tests := []struct {
		name, in string
		want     uint64
		form     dissect.Form
	}{
		{"A2S_INFO", "\xff\xff\xff\xffTSource Engine Query\x00", 0, dissect.NoToken},
		{"A2S_INFO with a challenge", "\xff\xff\xff\xffTSource Engine Query\x00\x01\x02\x03\x04", 1<<32 | 0x04030201, 0},
		{"A2S_PLAYER that asks for one", "\xff\xff\xff\xffU\xff\xff\xff\xff", 0, dissect.TokenOnes},
		{"A2S_PLAYER that asks for one with zeros", "\xff\xff\xff\xffU\x00\x00\x00\x00", 0, dissect.TokenZero},
		{"A2S_RULES with one", "\xff\xff\xff\xffV\x01\x02\x03\x04", 1<<32 | 0x04030201, 0},
		{"S2C_CHALLENGE", "\xff\xff\xff\xffA\x01\x02\x03\x04", 1<<32 | 0x04030201, 0},
	}
	d := New()
	for _, tt := range tests {
		b := []byte(tt.in)
		c := &dissect.Context{Wire: len(b)}
		_, typ := d.Probe(c, b)
		if got, form, ok := d.Key(c, typ, b); !ok || got != tt.want || form != tt.form {
			t.Errorf("%s: got %#x, %b, %v, want %#x, %b", tt.name, got, form, ok, tt.want, tt.form)
		}
	}
}

// TestFormOfOtherMessages: what only Dissect reads has a form, too.
func TestFormOfOtherMessages(t *testing.T) {
	const info = "\xff\xff\xff\xffTSource Engine Query\x00"
	tests := []struct {
		name, in string
		want     dissect.Form
	}{
		{"A2S_PLAYER without a challenge", "\xff\xff\xff\xffU", dissect.NoToken},
		{"A2S_SERVERQUERY_GETCHALLENGE with -1", "\xff\xff\xff\xffW\xff\xff\xff\xff", dissect.TokenOnes},
		{"A2S_INFO with a challenge and four bytes more", info + "\x01\x02\x03\x04\xff\xff\xff\xff", dissect.BytesAfter},
		{"A2S_PLAYER with a whole reply as its challenge", "\xff\xff\xff\xffU\x44\x02\x00Ann\x00\x01\x00\x00\x00\x00\x00\x80\x3f", dissect.OddToken},
		{"A2S_INFO with a challenge and zeros", info + "\x01\x02\x03\x04\x00\x00", dissect.Padded},
		{"A2S_INFO with zeros", info + strings.Repeat("\x00", 1175), dissect.TokenZero | dissect.Padded},
	}
	d := New()
	var m dissect.Message
	for _, tt := range tests {
		b := []byte(tt.in)
		c := &dissect.Context{Wire: len(b)}
		_, typ := d.Probe(c, b)
		m.Reset(d.Proto(), b)
		if d.Dissect(c, typ, b, &m); m.Form != tt.want {
			t.Errorf("%s: got %b, want %b", tt.name, m.Form, tt.want)
		}
	}
}

// Whether a password is set is no secret; the password is.
func TestRulesHidePasswords(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		hidden   bool
	}{
		{"set or not", `ffffffff 45 0100 "sv_password" 00 "1" 00`, false},
		{"empty", `ffffffff 45 0100 "sv_password" 00 00`, false},
		{"the password", `ffffffff 45 0100 "rcon_password" 00 "geheim" 00`, true},
		{"exactly the word", `ffffffff 45 0100 "password" 00 "geheim" 00`, true},
		{"exactly the word, a flag", `ffffffff 45 0100 "password" 00 "0" 00`, false},
		{"a flag in words", `ffffffff 45 0100 "haspassword" 00 "False" 00`, false},
		{"colours around the name", `ffffffff 45 0100 "^2rcon_password^7:" 00 "geheim" 00`, true},
		{"a number at its end", `ffffffff 45 0100 "sv_password_2" 00 "geheim" 00`, true},
		{"an account's token", `ffffffff 45 0100 "sv_setsteamaccount" 00 "0123ABCD" 00`, true},
		{"a name that only looks alike", `ffffffff 45 0100 "PasswordNeeded" 00 "maybe" 00`, false},
		{"one other letter", `ffffffff 45 0100 "sv_password" 00 "x" 00`, true},
		{"another rule", `ffffffff 45 0100 "hostname" 00 "geheim" 00`, false},
	} {
		b := hextest.Bytes(t, tc.in)
		m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
		dissecttest.CheckInvariants(t, m)
		if hidden, shown := m.Find(&defRuleSecret) != nil, m.Find(&defRuleValue) != nil; hidden != tc.hidden || shown == tc.hidden {
			t.Errorf("%s: hidden %v, shown %v", tc.name, hidden, shown)
		}
	}
}

func TestSteamID(t *testing.T) {
	for _, tc := range []struct {
		name       string
		id         uint64
		text, kind string
	}{
		{"persistent game server", 85568392920039656, "[G:1:232]", "persistent game server"},
		{"anonymous game server", 90159345146972167, "[A:1:1554696199:20338]", "anonymous game server"},
		{"not logged on", 0x0140_0000_0000_0000, "[A:1:0:0]", "anonymous game server, not logged on"},
		{"player", 76561197960287930, "[U:1:22202]", "player"},
		{"player, another instance", 0x0110_0002_0000_0005, "[U:1:5:2]", "player"},
		{"group", 103582791429521412, "[g:1:4]", "group"},
		{"console user, which has no letter", 0x0190_0001_0000_0005, "", "console user"},
		{"no such type", 0x01f0_0001_0000_0005, "", ""},
		{"none", 0, "", "none"},
	} {
		b := hextest.Bytes(t, `ffffffff 49 11 "n" 00 "m" 00 "d" 00 "g" 00 da02 03 10 01 "dl" 00 01 "1" 00 10`)
		b = binary.LittleEndian.AppendUint64(b, tc.id)
		m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
		dissecttest.CheckInvariants(t, m)
		var text string
		if f := m.Find(&defSID3); f != nil {
			text = string(m.Bytes(f))
		}
		if kind := m.Find(&defSID).Meaning(); text != tc.text || kind != tc.kind {
			t.Errorf("%s\ngot  %q %q\nwant %q %q", tc.name, text, kind, tc.text, tc.kind)
		}
	}
}
