package ase

import (
	"net/netip"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
)

const (
	leading = `"EYE1" 04 "mta" 06 "22003" 0a "My server" 05 "race" 05 "None" 04 "1.6" 02 "0" 02 "2" 03 "32"`
	full    = leading + `08 "Website" 0c "example.org" 01 3f 04 "Ann" 01 01 01 03 "41" 01 3f 04 "Bob" 01 01 02 "7" 04 "120" 01`
	short   = `"EYE2" 04 "mta" 06 "22003" 0a "My server" 05 "race"`
	items   = `25 "None" 00 "2/32" 00 "9" 00 "23000" 00 "0" 00 "None" 00 "86400" 00 "22005"`
	light   = short + items + `04 "1.6" 00 01 02 20 04 "Ann" 04 "Bob"`
	xfire   = `"EYE3" 04 "mta" 0a "My server" 05 "race" 0a "None" 00 "2/32" 04 "1.6" 00 02 20`
	later   = `"EYE2" 07 "player" 02 "x" 1d 0c "Soldier"`
)

// The statuses, findings and some values of messages that are not plain. Plain
// ones are checked by the captures in pcapfiles.
func TestDissect(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		typ      string
		status   dissect.Status
		findings string
		have     []*dissect.Def
		lack     []*dissect.Def
	}{
		{"query", `73`, "ASE_QUERY", dissect.Complete, "", []*dissect.Def{&defQuery}, []*dissect.Def{&defText}},
		{"query with text", `72 " mtasa"`, "ASE_QUERY", dissect.Complete, "", []*dissect.Def{&defText}, nil},
		{"full", full, "EYE1", dissect.Complete, "", []*dissect.Def{&defRuleValue, &defRulesEnd, &defPlayerTime}, []*dissect.Def{&defPlayersEnd}},
		{"full, neither rules nor players", leading + `01`, "EYE1", dissect.Complete, "", []*dissect.Def{&defRules, &defList}, []*dissect.Def{&defRule}},
		{"full, no end of rules", leading, "EYE1", dissect.Complete, "", []*dissect.Def{&defRules, &defList}, []*dissect.Def{&defRulesEnd}},
		{"full, some flags", leading + `01 11 04 "Ann" 03 "41"`, "EYE1", dissect.Complete, "",
			[]*dissect.Def{&defPlayerName, &defPlayerPing}, []*dissect.Def{&defPlayerTeam, &defPlayerScore, &defPlayerTime}},
		{"full, flags of 0 end", leading + `01 01 04 "Ann" 00 "xyz"`, "EYE1", dissect.Complete, "",
			[]*dissect.Def{&defPlayersEnd, &dissect.Trailing}, nil},
		{"full, unknown flags", leading + `01 c1 04 "Ann" 40`, "EYE1", dissect.Complete, "", []*dissect.Def{&defPlayerName}, []*dissect.Def{&dissect.Trailing}},
		{"full, length 0", `"EYE1" 04 "mta" 00 "rest"`, "EYE1", dissect.Malformed, "ASE-02", []*dissect.Def{&defPort}, []*dissect.Def{&defName}},
		{"full, length too long", `"EYE1" 04 "mta" 06 "2200"`, "EYE1", dissect.Malformed, "ASE-02", []*dissect.Def{&defPort}, nil},
		{"full, ends before a text", `"EYE1" 04 "mta"`, "EYE1", dissect.Malformed, "", nil, []*dissect.Def{&defPort}},
		{"full, rule without a value", leading + `08 "Website"`, "EYE1", dissect.Malformed, "", []*dissect.Def{&defRuleName}, []*dissect.Def{&defList}},
		{"full, flags overrun", leading + `01 3f 04 "Ann"`, "EYE1", dissect.Malformed, "ASE-03", []*dissect.Def{&defPlayerName}, nil},
		{"full, flags alone", leading + `01 3f`, "EYE1", dissect.Malformed, "ASE-03", []*dissect.Def{&defFlags}, nil},
		{"full, player's length too long", leading + `01 3f 09 "Ann"`, "EYE1", dissect.Malformed, "ASE-02", nil, nil},
		{"full, player's length 0", leading + `01 3f 04 "Ann" 00 01`, "EYE1", dissect.Complete, "ASE-02",
			[]*dissect.Def{&defPlayersEnd, &dissect.Trailing}, []*dissect.Def{&defPlayerTeam}},
		{"light", light, "EYE2", dissect.Complete, "", []*dissect.Def{&defOnline, &defHTTPPort, &defSerials, &defNick}, []*dissect.Def{&defExtras}},
		{"light, nobody", short + items + `04 "1.6" 00 01 00 20`, "EYE2", dissect.Complete, "", []*dissect.Def{&defNames}, []*dissect.Def{&defNick}},
		{"light, map alone", short + `05 "None" 04 "1.0" 00 00 02 20`, "EYE2", dissect.Complete, "", []*dissect.Def{&defMap, &defMax}, []*dissect.Def{&defOnline}},
		{"light, NUL after the last item", short + `0b "None" 00 "2/32" 00 04 "1.0" 00 00 02 20`, "EYE2", dissect.Complete, "",
			[]*dissect.Def{&defOnline, &defMax}, []*dissect.Def{&defBuildType}},
		{"light, more items", short + `15 "m" 00 "1" 00 "2" 00 "3" 00 "4" 00 "5" 00 "6" 00 "7" 00 "8" 00 00 "a" 04 "1.0" 00 00 02 20`, "EYE2", dissect.Complete, "",
			[]*dissect.Def{&defExtras, &defMax}, []*dissect.Def{&dissect.Trailing}},
		{"light, map field empty", short + `01 04 "1.0" 00 00 02 20`, "EYE2", dissect.Complete, "", []*dissect.Def{&defMap, &defMax}, []*dissect.Def{&defMapLength}},
		{"light, map field 0", short + `00 04 "1.0" 00 00 02 20`, "EYE2", dissect.Malformed, "ASE-02", []*dissect.Def{&defMap}, []*dissect.Def{&defMax}},
		{"light, map field too long", short + `25 "None" 00`, "EYE2", dissect.Malformed, "ASE-02", []*dissect.Def{&defMap}, nil},
		{"light, counts missing", short + items + `04 "1.6" 00 01`, "EYE2", dissect.Malformed, "", []*dissect.Def{&defSerials}, []*dissect.Def{&defPlayers}},
		{"light, name too long", light + `09 "x"`, "EYE2", dissect.Malformed, "ASE-02", nil, nil},
		{"light, length 0 among names", light + `00 "xyz"`, "EYE2", dissect.Complete, "ASE-02", []*dissect.Def{&dissect.Trailing}, nil},
		{"xfire", xfire, "EYE3", dissect.Complete, "", []*dissect.Def{&defOnline, &defMax}, []*dissect.Def{&defPort, &defSerials, &defNames}},
		{"xfire, players after it", xfire + `04 "Ann"`, "EYE3", dissect.Complete, "", []*dissect.Def{&dissect.Trailing}, nil},
		{"fragment", later, "EYE1", dissect.Fragment, "", []*dissect.Def{&defPiece}, []*dissect.Def{&defGame}},
		{"version", `"1.6n"`, "ASE_VERSION", dissect.Complete, "", []*dissect.Def{&defVersion}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := hextest.Bytes(t, tc.in)
			m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
			dissecttest.CheckInvariants(t, m)
			dissecttest.CheckMessage(t, m, tc.typ, tc.status, tc.findings)
			dissecttest.CheckFields(t, m, tc.have, tc.lack)
		})
	}
}

// Requests differ in what they ask for, and teach it to their flow.
func TestAsks(t *testing.T) {
	for letter, want := range map[string]dissect.Asked{
		"s": dissect.AskStatus, "b": dissect.AskBrowse, "r": dissect.AskBrowse,
		"x": dissect.AskPresence, "v": dissect.AskVersion, "p": dissect.AskPing,
	} {
		m := dissecttest.Run(New(), dissecttest.Context(1), []byte(letter))
		if m.Learn.Asked != want || m.Type.Asks != want {
			t.Errorf("%s\ngot  %b, type %b\nwant %b", letter, m.Learn.Asked, m.Type.Asks, want)
		}
	}
}

func TestProbe(t *testing.T) {
	const (
		browse = dissect.AskBrowse
		status = dissect.AskStatus
	)
	for _, tc := range []struct {
		name, in string
		asked    dissect.Asked
		want     dissect.Confidence
		typ      string
	}{
		{"query", `73`, 0, dissect.Maybe, "ASE_QUERY"},
		{"query with text", `72 " mtasa"`, 0, dissect.Maybe, "ASE_QUERY"},
		{"query with bytes", `73 ffff`, 0, dissect.Maybe, "ASE_QUERY"},
		{"query with a sign below the letters", `73 "@"`, 0, dissect.Maybe, "ASE_QUERY"},
		{"query with a sign above the letters", `73 "{"`, 0, dissect.Maybe, "ASE_QUERY"},
		{"word in capitals", `"sZ"`, 0, dissect.No, ""},
		{"other letter", `61`, 0, dissect.No, ""},
		{"word", `"status"`, 0, dissect.No, ""},
		{"statistics", `"bytes:1|c"`, 0, dissect.No, ""},
		{"longer than servers read", `73` + strings.Repeat(" 20", 100), 0, dissect.No, ""},
		{"full", full, 0, dissect.Certain, "EYE1"},
		{"full, numbers that are none", strings.Replace(full, `02 "2"`, `02 "x"`, 1), 0, dissect.Likely, "EYE1"},
		{"full, ends early", `"EYE1" 04 "mta" 06 "22003"`, 0, dissect.Likely, "EYE1"},
		{"full, text that overruns", `"EYE1 is my name"`, 0, dissect.Maybe, "EYE1"},
		{"header alone", `"EYE1"`, 0, dissect.Maybe, "EYE1"},
		{"light", light, 0, dissect.Certain, "EYE2"},
		{"light, ends early", short, 0, dissect.Likely, "EYE2"},
		{"light, game alone", `"EYE2" 04 "mta"`, 0, dissect.Likely, "EYE2"},
		{"light of another game, asked for", strings.Replace(light, "mta", "mtb", 1), browse, dissect.Maybe, "EYE2"},
		{"fragment of a game asked for both", strings.Replace(light, "mta", "mtb", 1), browse | status, dissect.Maybe, "EYE1"},
		{"fragment", later, 0, dissect.Maybe, "EYE1"},
		{"xfire", xfire, 0, dissect.Certain, "EYE3"},
		{"fifth fragment", `"EYE5" 01 02 03`, 0, dissect.Maybe, "EYE1"},
		{"no number", `"EYE0" 04 "mta"`, 0, dissect.No, ""},
		{"no header", `"EYE"`, 0, dissect.No, ""},
		{"version", `"1.6"`, 0, dissect.Maybe, "ASE_VERSION"},
		{"version with a letter", `"1.6n"`, 0, dissect.Maybe, "ASE_VERSION"},
		{"version with a build", `"1.6.0-9.22741.0"`, 0, dissect.Maybe, "ASE_VERSION"},
		{"number", `"16"`, 0, dissect.No, ""},
		{"dot at the end", `"16."`, 0, dissect.No, ""},
		{"address and text", `"1.2.3.4 hello"`, 0, dissect.No, ""},
		{"master server's query", `31 ff "0.0.0.0:0" 00 00`, 0, dissect.No, ""},
		{"A2S_INFO", `ffffffff 54 "Source Engine Query" 00`, 0, dissect.No, ""},
		{"empty", ``, 0, dissect.No, ""},
	} {
		b := hextest.Bytes(t, tc.in)
		c := dissecttest.Context(len(b))
		c.FromServer.Asked = tc.asked
		k, typ := New().Probe(c, b)
		name := ""
		if typ != nil {
			name = typ.Name
		}
		if k != tc.want || name != tc.typ {
			t.Errorf("%s\ngot  %v %s\nwant %v %s", tc.name, k, name, tc.want, tc.typ)
		}
	}
}

// A reply from the query port that belongs to its game port says so.
func TestPortRule(t *testing.T) {
	b := hextest.Bytes(t, full)
	for port, want := range map[uint16]bool{22126: true, 22127: false} {
		c := dissecttest.Context(len(b))
		c.Src = netip.AddrPortFrom(c.Src.Addr(), port)
		m := dissecttest.Run(New(), c, b)
		if got := m.Find(&defPort).Note != ""; got != want {
			t.Errorf("from port %d: noted: got %v, want %v", port, got, want)
		}
	}
}

// A datagram of nothing but players without texts ends at the limit of fields.
func TestManyPlayers(t *testing.T) {
	b := hextest.Bytes(t, leading+`01`)
	for range 60_000 {
		b = append(b, 0x40)
	}
	m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
	dissecttest.CheckInvariants(t, m)
	if got := dissecttest.Findings(m); got != "LIM-01" {
		t.Errorf("findings\ngot  %q\nwant %q", got, "LIM-01")
	}
}

func TestTruncations(t *testing.T) {
	for name, in := range map[string]string{
		"query": `72 " mtasa"`, "full": full, "light": light, "xfire": xfire, "fragment": later, "version": `"1.6"`,
		"flags of 0": leading + `01 01 04 "Ann" 00 "xyz"`, "flags overrun": leading + `01 3f 04 "Ann"`,
		"length 0": leading + `01 3f 04 "Ann" 00 01`, "length too long": leading + `01 3f 09 "Ann"`,
		"more items": short + `14 "m" 00 "1" 00 "2" 00 "3" 00 "4" 00 "5" 00 "6" 00 "7" 00 "8" 00 "a" 04 "1.0" 00 00 02 20`,
		"map alone":  short + `05 "None" 04 "1.0" 00 00 02 20`, "map field 0": short + `00 04 "1.0" 00 00 02 20`,
		"map field too long": short + `25 "None" 00`, "map field empty": short + `01 04 "1.0" 00 00 02 20`,
	} {
		t.Run(name, func(t *testing.T) {
			b := hextest.Bytes(t, in)
			dissecttest.CheckTruncations(t, New(), dissecttest.Context(len(b)), b)
		})
	}
}

func TestAllocations(t *testing.T) {
	d := New()
	for _, in := range []string{full, light, xfire, later, `73`, `"1.6"`, leading + `01 3f 09 "Ann"`} {
		b := hextest.Bytes(t, in)
		c := dissecttest.Context(len(b))
		dissecttest.CheckAllocations(t, d, c, b)
	}
}

func FuzzDissect(f *testing.F) {
	for _, in := range []string{full, light, xfire, later, `72 " mtasa"`, `"1.6"`, leading + `01 01 04 "Ann" 00 "xyz"`,
		`"EYE3" 04 "mta" 02 "n" 02 "g" 06 "m" 00 "1" 00 "x" 02 "1" 00 01 02`, // an item that is not known
		short + `14 "m" 00 "1" 00 "2" 00 "3" 00 "4" 00 "5" 00 "6" 00 "7" 00 "8" 00 "a" 04 "1.0" 00 00 02 20`} {
		f.Add(hextest.Bytes(f, in), uint16(0), uint16(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, missing, asked uint16) {
		c := dissecttest.Context(len(b) + int(missing))
		c.FromServer.Asked = dissect.Asked(asked)
		dissecttest.CheckInput(t, New(), c, b)
	})
}

func BenchmarkFull(b *testing.B) {
	data := hextest.Bytes(b, full)
	d, m, c := New(), new(dissect.Message), dissecttest.Context(len(data))
	b.ReportAllocs()
	for b.Loop() {
		_, typ := d.Probe(c, data)
		m.Reset(d.Proto(), data)
		d.Dissect(c, typ, data, m)
	}
}

// EYE1 says whether there is a password, in a field and among the rules; what is more
// than that may be the password.
func TestSecret(t *testing.T) {
	const before, after = `"EYE1" 04 "mta" 06 "22003" 0a "My server" 05 "race" 05 "None" 04 "1.6" `, ` 02 "2" 03 "32"`
	for _, tc := range []struct {
		name, payload string
		hidden, shown *dissect.Def
	}{
		{"a flag", before + `02 "1"` + after + `01`, nil, &defFullPassword},
		{"the password", before + `07 "geheim"` + after + `01`, &defFullSecret, nil},
		{"a rule, a flag", before + `02 "1"` + after + `09 "password" 02 "0" 01`, nil, &defRuleValue},
		{"a rule", before + `02 "1"` + after + `09 "password" 07 "geheim" 01`, &defRuleSecret, nil},
		{"a rule that is cut", before + `02 "1"` + after + `09 "password" 07 "geh"`, &defRuleSecret, nil},
	} {
		b := hextest.Bytes(t, tc.payload)
		m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
		if tc.hidden != nil && m.Find(tc.hidden) == nil || tc.shown != nil && m.Find(tc.shown) == nil {
			t.Errorf("%s\nhidden: want %v\nshown: want %v", tc.name, tc.hidden, tc.shown)
		}
		if tc.hidden == nil && (m.Find(&defFullSecret) != nil || m.Find(&defRuleSecret) != nil) {
			t.Errorf("%s: hidden", tc.name)
		}
	}
}
