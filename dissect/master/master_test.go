package master

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
	"qsniff/reassembly/wire"
)

const (
	queryNew  = `31 03 "0.0.0.0:0" 00 "\gamedir\cstrike\empty\1" 00`
	queryNand = `31 ff "80.198.124.86:27024" 00 "\appid\240\nand\2\map\de_dust2\secure\1" 00`
	longSeed  = `31 ff "198.51.100.231:27029r" 00`
	oldQuery  = `31 00000000 "\gamedir\cstrike" 00`
	page2     = `ffffffff 66 0a 50c67c56 6990 50befddc 69aa 00000000 0000`
	pageKey   = `ffffffff 66 0a 7f efbeadde 00 0a000005 6987 00000000 0000`
	pageTag   = `ffffffff 66 0d 01020300 0a000005 6987 0a000006 6988`
	page6     = `ffffffff 66 0a 7f efbeadde 00 20010db8000000000000000000000005 6987 00000000000000000000000000000000 0000`
	oldPage   = `ffffffff 64 0a 50c67c56 6990 50befddc 69aa`
	beat      = `30 0a "\protocol\7\challenge\186893989\players\0\map\dm_lockdown" 0a`
	oldBeat   = `61 0a "186893989" 0a "3" 0a 00`
	chall     = `ffffffff 73 0a a5c6230b`
	challEcho = `ffffffff 73 0a a5c6230b 78563412`
	restart   = `ffffffff 4f a5c6230b`
	valid     = `ffffffff 4e 0a a5c6230b`
	nat       = `ffffffff "c 10.64.0.99:27005"`
	xashJoin  = `71 ff 78563412`
)

// all has every message once, and their variants.
var all = map[string]string{
	"query": queryNew, "nand": queryNand, "old query": oldQuery, "page": page2, "keyed page": pageKey, "tagged page": pageTag,
	"old page": oldPage, "heartbeat": beat, "old heartbeat": oldBeat, "challenge": chall, "challenge with echo": challEcho,
	"restart": restart, "valid": valid, "nat": nat, "Xash3D join": xashJoin, "join": `71 0a`, "shutdown": `62 0a 00`,
	"batch": `65 010203`, "servers": `63 0a 00`, "servers after FF": `ffffffff 63 0a 00`, "check": `4d ff`,
	"query after FF": `ffffffff` + queryNew, "empty seed": `31 05 00 "\map\x" 00`,
	"long seed": longSeed,
}

var masterV6 = netip.MustParseAddrPort("[2001:db8::2:1]:27010")

func context6(n int) *dissect.Context {
	c := dissecttest.Context(n)
	c.Src = masterV6
	return c
}

// dump writes the values of a message in short: key=value, lists in brackets.
func dump(m *dissect.Message) string {
	var out []string
	for i := range m.Fields {
		f := &m.Fields[i]
		switch k := f.Def.Key(); {
		case f.Def.Flags&dissect.Framing != 0:
		case f.Flags&dissect.Cut != 0:
			out = append(out, k+"=cut")
		case f.Def.Kind == dissect.List:
			out = append(out, k)
		case f.Def.Kind == dissect.Group:
			out = append(out, fmt.Sprint(f.Num))
		case f.Def.Kind == dissect.Addr:
			out = append(out, string(m.AppendAddr(nil, f)))
		case f.Def.Kind == dissect.Text:
			out = append(out, k+"="+string(m.Bytes(f)))
		case f.Def.Kind == dissect.Bytes:
			out = append(out, fmt.Sprintf("%s=%x", k, m.Bytes(f)))
		default:
			out = append(out, fmt.Sprintf("%s=%d", k, f.Num))
		}
	}
	return strings.Join(out, " ")
}

func TestDissect(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		typ      *dissect.Type
		status   dissect.Status
		want     string
	}{
		{"query", queryNew, &typeQuery, dissect.Complete,
			`region=3 seed=0.0.0.0:0 filter=\gamedir\cstrike\empty\1 conditions 0 key=gamedir value=cstrike 1 key=empty value=1`},
		{"query after FF FF FF FF", `ffffffff` + `31 ff "0.0.0.0:0" 00 00`, &typeQuery, dissect.Complete,
			`region=255 seed=0.0.0.0:0 filter= conditions`},
		{"query without its last NUL", `31 03 "0.0.0.0:0" 00 "\map\x"`, &typeQuery, dissect.Complete,
			`region=3 seed=0.0.0.0:0 filter=\map\x conditions 0 key=map value=x`},
		{"query without filter", `31 03 "0.0.0.0:0" 00`, &typeQuery, dissect.Complete, `region=3 seed=0.0.0.0:0`},
		{"query with an empty seed", `31 05 00 "\map\x" 00`, &typeQuery, dissect.Complete, `region=5 seed= filter=\map\x conditions 0 key=map value=x`},
		{"query with bytes after", `31 03 "0.0.0.0:0" 00 00 beef`, &typeQuery, dissect.Complete, `region=3 seed=0.0.0.0:0 filter= conditions trailing=beef`},
		{"query cut in its seed", `31 03 "0.0."`, &typeQuery, dissect.Malformed, `region=3 seed=cut`},
		{"query with a byte after its seed", longSeed, &typeQuery, dissect.Complete, `region=255 seed=198.51.100.231:27029r`},
		{"old query", oldQuery, &typeQuery, dissect.Complete, `next=0 filter=\gamedir\cstrike conditions 0 key=gamedir value=cstrike`},
		{"old query, nothing behind", `31 01020300`, &typeQuery, dissect.Complete, `next=197121`},
		{"page", page2, &typePage, dissect.Complete, `servers 80.198.124.86:27024 80.190.253.220:27050 0.0.0.0:0`},
		{"page with FF", `ffffffff 66 ff 50c67c56 6990 00000000 0000`, &typePage, dissect.Complete, `servers 80.198.124.86:27024 0.0.0.0:0`},
		{"page with a key", pageKey, &typePage, dissect.Complete, `key=3735928559 servers 10.0.0.5:27015 0.0.0.0:0`},
		{"page of a loopback server", `ffffffff 66 0a 7f000001 6987 00000000 0000`, &typePage, dissect.Complete, `servers 127.0.0.1:27015 0.0.0.0:0`},
		{"page with a tag", pageTag, &typePage, dissect.Complete, `next=197121 servers 10.0.0.5:27015 10.0.0.6:27016`},
		{"page with tag 0", `ffffffff 66 0d 00000000 0a000005 6987`, &typePage, dissect.Complete, `next=0 servers 10.0.0.5:27015`},
		{"page cut in a server", `ffffffff 66 0a 50c67c56 6990 50be`, &typePage, dissect.Malformed, `servers 80.198.124.86:27024 server=cut`},
		{"page of nothing", `ffffffff 66 0a`, &typePage, dissect.Complete, `servers`},
		{"old list", oldPage, &typeOldPage, dissect.Complete, `servers 80.198.124.86:27024 80.190.253.220:27050`},
		{"batch", `65 010203`, &typeBatch, dissect.Complete, `next=197121`},
		{"batch with four bytes", `65 01020300`, &typeBatch, dissect.Complete, `next=197121`},
		{"batch with two bytes", `65 0102`, &typeBatch, dissect.Malformed, `next=cut`},
		{"list request", `63 0a 00`, &typeServers, dissect.Complete, ``},
		{"join", `71`, &typeJoin, dissect.Complete, ``},
		{"join of Xash3D", xashJoin, &typeJoin, dissect.Complete, `challenge=305419896`},
		{"join of old Xash3D", `71 ff`, &typeJoin, dissect.Complete, ``},
		{"challenge", chall, &typeChallenge, dissect.Complete, `challenge=186893989`},
		{"challenge with echo", challEcho, &typeChallenge, dissect.Complete, `challenge=186893989 echo=305419896`},
		{"heartbeat", beat, &typeHeartbeat2, dissect.Complete,
			`pairs 0 name=protocol value=7 1 name=challenge value=186893989 2 name=players value=0 3 name=map value=dm_lockdown`},
		{"heartbeat, empty value, no line feed", `30 0a "\map\\os\l"`, &typeHeartbeat2, dissect.Complete, `pairs 0 name=map value= 1 name=os value=l`},
		{"heartbeat, value missing", `30 0a "\map\x\os" 0a`, &typeHeartbeat2, dissect.Malformed, `pairs 0 name=map value=x 1 name=os value=cut`},
		{"old heartbeat", oldBeat, &typeHeartbeat, dissect.Complete, "text=186893989\n3\n"},
		{"shutdown", `62 0a 00`, &typeShutdown, dissect.Complete, ``},
		{"restart", restart, &typeRestart, dissect.Complete, `challenge=186893989`},
		{"check", `4d ff`, &typeCheckMD5, dissect.Complete, ``},
		{"valid", valid, &typeValidMD5, dissect.Complete, `challenge=186893989`},
		{"nat", nat + `0a00`, &typeNAT, dissect.Complete, `address=10.64.0.99:27005`},
		{"unknown opcode", `ffffffff 7a 01`, nil, dissect.Complete, `trailing=01`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := hextest.Bytes(t, tc.in)
			m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
			dissecttest.CheckInvariants(t, m)
			if m.Type != tc.typ || m.Status != tc.status {
				t.Errorf("got  %v %v\nwant %v %v", m.Type, m.Status, tc.typ, tc.status)
			}
			if got := dump(m); got != tc.want {
				t.Errorf("fields\ngot  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// An IPv6 master lists IPv6 servers, unless the length says that it does not.
func TestV6(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"long entries", page6, `key=3735928559 servers [2001:db8::5]:27015 [::]:0`},
		{"short entries", page2 + `50c67c56 6990`, `servers 80.198.124.86:27024 80.190.253.220:27050 0.0.0.0:0 80.198.124.86:27024`},
	} {
		b := hextest.Bytes(t, tc.in)
		c := context6(len(b))
		if k, _ := New().Probe(c, b); k != dissect.Certain {
			t.Errorf("%s: confidence\ngot  %v\nwant %v", tc.name, k, dissect.Certain)
		}
		m := dissecttest.Run(New(), c, b)
		dissecttest.CheckInvariants(t, m)
		if got := dump(m); got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// A page without its end mark is worth a word if the master did not fill it.
func TestEndMark(t *testing.T) {
	entries := func(n int) string { return `ffffffff 66 0a` + strings.Repeat(`50c67c56 6990`, n) }
	for _, tc := range []struct {
		name, in string
		want     string // the finding's text
	}{
		{"end mark", page2, ""},
		{"full page", entries(fullPage), ""},
		{"one less than a full page", entries(fullPage - 1), "230 servers and no end mark: the list goes on from the last one"},
		{"one server", entries(1), "1 server and no end mark: the list goes on from it"},
		{"nothing", entries(0), "no server and no end mark"},
		{"end mark in the middle", page2 + `50c67c56 6990`, ""},
		{"cut by the sender", page2[:len(page2)-2], ""},
		{"list with a tag", pageTag, ""},
		{"old list", oldPage, ""},
	} {
		b := hextest.Bytes(t, tc.in)
		m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
		got := ""
		for i := range m.Expert {
			got += string(m.Expert[i].AppendText(nil))
			if m.Expert[i].Severity != finding.Chat {
				t.Errorf("%s: severity\ngot  %v\nwant %v", tc.name, m.Expert[i].Severity, finding.Chat)
			}
		}
		if got != tc.want {
			t.Errorf("%s\ngot  %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

func TestProbe(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     dissect.Confidence
		typ      *dissect.Type
	}{
		{"query", queryNew, dissect.Certain, &typeQuery},
		{"query with nand", queryNand, dissect.Certain, &typeQuery},
		{"query after FF FF FF FF", `ffffffff` + queryNew, dissect.Certain, &typeQuery},
		{"query of an unknown region", `31 20 "0.0.0.0:0" 00 00`, dissect.Likely, &typeQuery},
		{"query with an IPv6 seed", `31 ff "[2001:db8::5]:27015" 00 00`, dissect.Certain, &typeQuery},
		{"query with a byte after its seed", longSeed, dissect.Maybe, &typeQuery},
		{"query with an odd filter", `31 ff "0.0.0.0:0" 00 "appid" 00`, dissect.Likely, &typeQuery},
		{"query with nand glued", `31 ff "0.0.0.0:0" 00 "nand2\map\x\os\l" 00`, dissect.Certain, &typeQuery},
		{"old query", oldQuery, dissect.Likely, &typeQuery},
		{"old query, bare", `31 00000000`, dissect.Maybe, &typeQuery},
		{"page", page2, dissect.Certain, &typePage},
		{"page with a key", pageKey, dissect.Certain, &typePage},
		{"page with a tag", pageTag, dissect.Certain, &typePage},
		{"page of the end mark alone", `ffffffff 66 0a 00000000 0000`, dissect.Likely, &typePage},
		{"page of nothing", `ffffffff 66 0a`, dissect.Maybe, &typePage},
		{"page cut by its sender", page2[:len(page2)-2], dissect.Maybe, &typePage},
		{"old list, as QuakeWorld sends it too", oldPage, dissect.Maybe, &typeOldPage},
		{"heartbeat", beat, dissect.Certain, &typeHeartbeat2},
		{"heartbeat without the usual keys", `30 0a "\map\x" 0a`, dissect.Likely, &typeHeartbeat2},
		{"challenge", chall, dissect.Likely, &typeChallenge},
		{"challenge with echo", challEcho, dissect.Likely, &typeChallenge},
		{"valid", valid, dissect.Likely, &typeValidMD5},
		{"valid with another byte", `ffffffff 4e 00 a5c6230b`, dissect.Maybe, &typeValidMD5},
		{"nat", nat, dissect.Likely, &typeNAT},
		{"nat, IPv6", `ffffffff "c [2001:db8::99]:27005" 00`, dissect.Likely, &typeNAT},
		{"restart", restart, dissect.Maybe, &typeRestart},
		{"old heartbeat", oldBeat, dissect.Maybe, &typeHeartbeat},
		{"join", `71`, dissect.Maybe, &typeJoin},
		{"join with a line feed", `71 0a`, dissect.Maybe, &typeJoin},
		{"join of Xash3D", xashJoin, dissect.Maybe, &typeJoin},
		{"join of old Xash3D", `71 ff`, dissect.Maybe, &typeJoin},
		{"shutdown", `62 0a`, dissect.Maybe, &typeShutdown},
		{"list request", `63 0a 00`, dissect.Maybe, &typeServers},
		{"list request after FF", `ffffffff 63 0a 00`, dissect.Maybe, &typeServers},
		{"batch", `65 000000`, dissect.Maybe, &typeBatch},
		{"check", `4d ff`, dissect.Maybe, &typeCheckMD5},
	} {
		b := hextest.Bytes(t, tc.in)
		if got, typ := New().Probe(dissecttest.Context(len(b)), b); got != tc.want || typ != tc.typ {
			t.Errorf("%s\ngot  %v %v\nwant %v %v", tc.name, got, typ, tc.want, tc.typ)
		}
	}
}

// What others send with the same first bytes is not ours.
func TestProbeRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"empty": ``, "FF FF FF FF": `ffffffff`, "unknown": `ffffffff 7a`,
		"Source connect":                     `ffffffff "qconnect0x03FA21C4" 00`,
		"Source connect, older":              `ffffffff 71 12345678 "0000000000" 00`,
		"join after FF":                      `ffffffff 71`,
		"join of Xash3D, a part of a number": `71 ff 785634`,
		"Quake getservers":                   `ffffffff "getservers 68 empty full"`,
		"Quake connect":                      `ffffffff "connect" 00`,
		"challenge of QuakeWorld":            `ffffffff "c584425803" 00`,
		"challenge rcon":                     `ffffffff "challenge rcon 584425803" 0a`,
		"status of QuakeWorld":               `ffffffff "status" 0a`,
		"print of QuakeWorld":                `ffffffff "n\maxclients\16" 0a`,
		"disconnect":                         `ffffffff "disconnect" 00`,
		"text in 'd'":                        `ffffffff 64 0a "abc"`,
		"text in 'f'":                        `ffffffff "foo" 00`,
		"one address, low port":              `ffffffff 66 0a 50c67c56 0050`,
		"multicast":                          `ffffffff 66 0a e0000001 6987 e0000002 6987`,
		"log line":                           `ffffffff 53 30 "L 01/02/2024" 0a`,
		"restart too long":                   `ffffffff 4f a5c6230b 00`,
		"valid too short":                    `ffffffff 4e 0a a5c623`,
		"challenge too long":                 `ffffffff 73 0a a5c6230b 7856`,
		"nat without an address":             `ffffffff "c hello"`,
		"nat to a name":                      `ffffffff "c example.org:27005"`,
		"query without address":              `31 03 "hello" 00 00`,
		"query with too many dots":           `31 03 "1.2.3.4.5:0" 00 00`,
		"query with a long port":             `31 03 "1.2.3.4:123456" 00 00`,
		"query cut in its seed":              `31 03 "0.0."`,
		"long seed, odd region":              `31 20 "0.0.0.0:0r" 00 00`,
		"digit":                              `31`,
		"SNMP":                               `30 82 00 10 02 01 00`,
		"JSON":                               `"a" 22 "," 22 "lang" 22 ":0"`,
		"ASE":                                `73`, "ASE, old": `62`, "ASE, third": `78`,
		"text with M":              `"M2MP+[EU/CZ]"`,
		"text with e":              `"ers" 22 ":100},"`,
		"text with a":              `61 0a "text"`,
		"text with c":              `"c" 0a 20`,
		"text with 1":              `"1 2 3 4" 00`,
		"binary old":               `61 0a 31 01 02`,
		"Teeworlds":                `ffffffffffffffffffff "gie3" 05`,
		"old query, binary filter": `31 00000000 5c 01 5c 02`,
	} {
		b := hextest.Bytes(t, in)
		if k, typ := New().Probe(dissecttest.Context(len(b)), b); k != dissect.No {
			t.Errorf("%s\ngot  %v %s\nwant %v", name, k, typ.Name, dissect.No)
		}
	}
}

// Masters do not split: nothing that was joined is theirs.
func TestJoinedIsNotOurs(t *testing.T) {
	b := hextest.Bytes(t, page2)
	c := dissecttest.Context(len(b))
	c.FromSplit = wire.Source
	if k, _ := New().Probe(c, b); k != dissect.No {
		t.Errorf("got  %v\nwant %v", k, dissect.No)
	}
}

// A capture that cuts a message leaves less to judge.
func TestProbeCut(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		bytes    int // of which are captured
		want     dissect.Confidence
	}{
		{"query, opcode", queryNew, 1, dissect.Maybe},
		{"query, piece of the seed", queryNew, 5, dissect.Maybe},
		{"query, most of the seed", queryNew, 10, dissect.Likely},
		{"query, seed", queryNew, 12, dissect.Certain},
		{"page, form", page2, 6, dissect.Maybe},
		{"page, one entry", page2, 14, dissect.Likely},
		{"page, two entries", page2, 18, dissect.Certain},
		{"heartbeat, opcode", beat, 1, dissect.Maybe},
		{"heartbeat, form", beat, 3, dissect.Likely},
		{"nat, piece of the address", nat, 9, dissect.Maybe},
	} {
		b := hextest.Bytes(t, tc.in)
		c := dissecttest.Context(len(b))
		if got, _ := New().Probe(c, b[:tc.bytes]); got != tc.want {
			t.Errorf("%s\ngot  %v\nwant %v", tc.name, got, tc.want)
		}
	}
}

func TestTruncations(t *testing.T) {
	for name, in := range all {
		t.Run(name, func(t *testing.T) {
			b := hextest.Bytes(t, in)
			var free []*dissect.Def
			if name == "old query" { // told from the newer one by its fifth byte
				free = []*dissect.Def{&defRegion}
			}
			dissecttest.CheckTruncations(t, New(), dissecttest.Context(len(b)), b, free...)
		})
	}
	b := hextest.Bytes(t, page6)
	dissecttest.CheckTruncations(t, New(), context6(len(b)), b)
}

// A filter of nothing but separators must neither take long nor make more fields
// than there may be.
func TestHostileFilters(t *testing.T) {
	for name, piece := range map[string]string{"separators": `\`, "groups": `\nand\9999`, "glued": `xnand2\`} {
		b := hextest.Bytes(t, `31 ff "0.0.0.0:0" 00`)
		for len(b) < 60000 {
			b = append(b, piece...)
		}
		b = append(b, 0)
		m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
		dissecttest.CheckInvariants(t, m)
		if got := dissecttest.Findings(m); got != "LIM-01" {
			t.Errorf("%s: findings\ngot  %q\nwant %q", name, got, "LIM-01")
		}
	}
}

func TestAllocations(t *testing.T) {
	d := New()
	for _, in := range all {
		b := hextest.Bytes(t, in)
		c := dissecttest.Context(len(b))
		dissecttest.CheckAllocations(t, d, c, b)
	}
}

func FuzzDissect(f *testing.F) {
	for _, in := range all {
		f.Add(hextest.Bytes(f, in), uint16(0), false)
	}
	f.Add(hextest.Bytes(f, page6), uint16(0), true)
	f.Add(hextest.Bytes(f, page6), uint16(20), true)
	f.Fuzz(func(t *testing.T, b []byte, missing uint16, v6 bool) {
		c := dissecttest.Context(len(b) + int(missing))
		if v6 {
			c.Src = masterV6
		}
		dissecttest.CheckInput(t, New(), c, b)
	})
}

// What is said of a silent master server depends on whether Valve's had been retired.
func TestSilentWords(t *testing.T) {
	const before, after = "no answer to 2 requests for lists of servers in a row, with their repetitions: the master server is down, or a filter drops its packets",
		"no answer to 2 requests for lists of servers in a row, with their repetitions: Valve's master servers over UDP were retired in October 2025, others may be down"
	for _, tc := range []struct{ at, want string }{
		{"2023-11-14T22:13:20Z", before},
		{"2025-09-30T23:59:59Z", before},
		{"2025-10-01T00:00:00Z", after},
		{"2026-11-23T00:00:00Z", after},
	} {
		at, err := time.Parse(time.RFC3339, tc.at)
		if err != nil {
			t.Fatal(err)
		}
		e := finding.Expert{Code: &codeSilent, Severity: codeSilent.Severity, A: 2, B: uint64(at.Unix())}
		if got := string(e.AppendText(nil)); got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.at, got, tc.want)
		}
	}
}

func TestFilter(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"empty", ``, ``},
		{"pairs", `\map\x\secure\1`, `map=x secure=1`},
		{"empty value", `\map\\secure\1`, `map= secure=1`},
		{"group", `\appid\240\nand\2\map\x\secure\1\linux\1`, `appid=240 nand=2 nand:map=x nand:secure=1 linux=1`},
		{"old spelling", `\or\1\map\x\and\1\map\y`, `or=1 or:map=x and=1 and:map=y`},
		{"two groups", `\nor\1\map\x\nor\1\map\y\map\z`, `nor=1 nor:map=x nor=1 nor:map=y map=z`},
		{"group in a group", `\nor\3\map\x\nand\1\map\y\map\z`, `nor=3 nor:map=x nor:nand=1 nand:map=y map=z`},
		{"group of none", `\nor\0\map\x`, `nor=0 map=x`},
		{"group beyond the end", `\nor\9\map\x`, `nor=9 nor:map=x`},
		{"group of no number", `\nor\x\map\x`, `nor=x(not a number of pairs) map=x`},
		{"group of a huge number", `\nor\18446744073709551617\map\x`, `nor=18446744073709551617(not a number of pairs) map=x`},
		{"value missing", `\map\x\full`, `map=x full=(value missing)`},
		{"separator alone", `\`, `=(value missing)`},
		{"no separator in front", `map\x\os\l`, `map=x os=l`},
		{"glued word", `\appid\240nand\2\map\x\os\l`, `appid=240 nand=2 nand:map=x nand:os=l`},
		{"glued word and count", `\appid\240nor1\map\x\os\l`, `appid=240 nor=1 nor:map=x os=l`},
		{"glued word at the start", `nand2\map\x\os\l`, `nand=2 nand:map=x nand:os=l`},
		{"word that ends like a group", `\map\de_manor\os\l`, `map=de_manor os=l`},
		{"word at the end", `\map\xnor2`, `map=xnor2`},
		{"word that starts like a group", `\order\1\android\2`, `order=1 android=2`},
		{"key like a count", `\map\de_manor\2x\l`, `map=de_manor 2x=l`},
	} {
		var got []string
		s := scanner{rest: []byte(tc.in)}
		n := s.count()
		for s.next() {
			p := fmt.Sprintf("%s=%s", s.key, s.value)
			if s.note != "" {
				p += "(" + s.note + ")"
			}
			if s.group != nil {
				p = string(s.group) + ":" + p
			}
			got = append(got, p)
		}
		if g := strings.Join(got, " "); g != tc.want || n != len(got) {
			t.Errorf("%s\ngot  %s (%d counted)\nwant %s", tc.name, g, n, tc.want)
		}
	}
}

// A heartbeat says whether there is a password; some say which.
func TestHeartbeatSecret(t *testing.T) {
	for _, tc := range []struct {
		name, payload string
		hidden        bool
	}{
		{"a flag", `30 0a "\protocol\48\password\1" 0a`, false},
		{"the password", `30 0a "\protocol\48\password\geheim\map\x" 0a`, true},
		{"the end is missing", `30 0a "\sv_password\gehe"`, true},
	} {
		b := hextest.Bytes(t, tc.payload)
		m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
		if hidden := m.Find(&defSecret) != nil; hidden != tc.hidden {
			t.Errorf("%s: hidden %v", tc.name, hidden)
		}
	}
}
