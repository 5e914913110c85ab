package protocols

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/track"
)

// registry makes the set of all protocols, or of those with some names.
func registry(t testing.TB, names ...string) *dissect.Registry {
	t.Helper()
	all := All()
	if len(names) > 0 {
		all = slices.DeleteFunc(all, func(p dissect.Protocol) bool { return !slices.Contains(names, p.Proto().Name) })
		if len(all) != len(names) {
			t.Fatalf("%d protocols are called one of %q", len(all), names)
		}
	}
	reg, err := dissect.NewRegistry(all...)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// groups lists the folders of captures.
func groups(t testing.TB) (all []string) {
	t.Helper()
	names, err := filepath.Glob("../../pcapfiles/*/*.hex")
	if err != nil || len(names) < 100 {
		t.Fatalf("%d captures, %v", len(names), err)
	}
	for _, name := range names {
		all = append(all, filepath.Base(filepath.Dir(name)))
	}
	return slices.Compact(all)
}

// ordinary lists the folders with what protocols over UDP are like: those of their
// names, and the reported cases.
func ordinary() []string {
	all := []string{"stories"}
	for _, d := range overUDP() {
		all = append(all, d.Proto().Name)
	}
	return all
}

// datagrams returns the UDP datagrams in some folders of captures.
func datagrams(t testing.TB, groups ...string) []testpcap.Datagram {
	t.Helper()
	var all []testpcap.Datagram
	for _, g := range groups {
		names, err := filepath.Glob(filepath.Join("../../pcapfiles", g, "*.hex"))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d captures, %v", g, len(names), err)
		}
		for _, name := range names {
			c, err := testpcap.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, c.Whole...)
		}
	}
	return all
}

// TestTruncations cuts every message of the captures at every length, once as a
// short capture and once as a short message. With -short it has every sixth of a type.
func TestTruncations(t *testing.T) {
	const longest = 3000 // longer ones repeat what shorter ones have
	reg := registry(t)
	seen := map[string]int{}
	for _, d := range datagrams(t, ordinary()...) {
		c := &dissect.Context{Src: d.Src, Dst: d.Dst, Wire: len(d.Payload)}
		v := reg.Pick(c, d.Payload)
		if v.Dissector == nil { // garbage is an answer only where somebody asked
			c.FromServer.Asked = dissect.AskInfo | dissect.AskPlayers
			v = reg.Pick(c, d.Payload)
		}
		dis, typ := v.Dissector, v.Type
		if dis == nil || len(d.Payload) > longest {
			continue
		}
		seen[typ.Name]++
		if testing.Short() && seen[typ.Name]%6 != 1 {
			continue
		}
		// The Ship's tail, the end of GoldSource's information, the start
		// number of an old master query, a list that begins with 127.0 and what old
		// Xash3D lists after a blank are told by what is after them, so a cut one may
		// read otherwise.
		m := dissecttest.Run(dis, c, d.Payload)
		var free []*dissect.Def
		for i := range m.Fields {
			if f := &m.Fields[i]; f.Def.Joins != nil || f.Def == &dissect.Trailing {
				for j := i; j < len(m.Fields); j++ {
					free = append(free, m.Fields[j].Def)
				}
				free = append(free, &dissect.Trailing)
				break
			}
		}
		if strings.HasPrefix(string(d.Payload), "\xff\xff\xff\xfff\n\x7f\x00") || strings.HasPrefix(string(d.Payload), "\xff\xff\xff\xffnetinfo") || typ.Name == "A2M_GET_SERVERS_BATCH2" && m.Fields[1].Def.Key() == "next" {
			free = m.Proto.Defs
		}
		dissecttest.CheckTruncations(t, dis, c, d.Payload, free...)
	}
	for _, d := range overUDP() {
		for _, typ := range d.Proto().Types {
			if seen[typ.Name] == 0 {
				t.Errorf("no capture has a %s", typ.Name)
			}
		}
	}
}

// TestLookalikes: what other games send is nobody's, with what their flows showed
// before, as in a run. One question among it is ours: its answer is the lookalike.
func TestLookalikes(t *testing.T) {
	reg := registry(t)
	flows := track.NewFlows(100)
	n := 0
	for _, d := range datagrams(t, "lookalike") {
		c := &dissect.Context{Src: d.Src, Dst: d.Dst, Wire: len(d.Payload),
			ToServer: flows.Get(d.Dst, d.Src.Addr()), FromServer: flows.Get(d.Src, d.Dst.Addr())}
		v := reg.Pick(c, d.Payload)
		n++
		if reply, ok := reg.Foreign(c, d.Payload); v.Dissector == nil && ok {
			server, client := d.Dst, d.Src
			if reply {
				server, client = client, server
			}
			flows.Learn(server, client.Addr(), dissect.FlowFacts{Foreign: true})
		}
		ours := string(d.Payload) == "\xff\xff\xff\xffW" && d.Dst.Port() == 27015
		if v.Dissector != nil && reg.Believe(c, &v) != ours {
			t.Errorf("%v: % x\ntaken for %s %s", d.Src, d.Payload, v.Dissector.Proto().Name, v.Type.Name)
		}
	}
	if n < 60 {
		t.Errorf("only %d datagrams", n)
	}
}

// TestNeighbours holds one message of each neighbour against the protocols that begin
// like it. Some have the very bytes of ours: those are weak and wait for a second
// witness. A protocol of the list that becomes one of ours has its neighbours in a test
// of its own.
func TestNeighbours(t *testing.T) {
	reg := registry(t, "goldsource", "a2s", "master", "ase")
	for _, tc := range []struct {
		name, in string
		want     dissect.Confidence
	}{
		{"Source, connect", `ffffffff "qconnect0x03FA21C4" 00`, dissect.No},
		{"Source, connect of old", `ffffffff 71 78563412 "0000000000" 00`, dissect.No},
		{"Source, connection packet", `ffffffff 6b 18000000 03000000 78563412 "Ann" 00`, dissect.No},
		{"Source, challenge", `ffffffff 41 33494f5a 78563412 c421fa03 03000000000004e0eca7641740010130303030303000`, dissect.No},
		{"Source, accepted", `ffffffff 42 78563412 "0000000000" 00`, dissect.No},
		{"Source, refused", `ffffffff 39 c421fa03 "#Valve_Reject_Server_Full" 00`, dissect.No},
		{"GoldSource, connect", `ffffffff "connect 48 584425803 " 22 "\prot\3" 22 0a`, dissect.No},
		{"GoldSource, accepted", `ffffffff "B 1 " 22 "10.64.0.1:40001" 22 " 0 8684" 00`, dissect.No},
		{"GoldSource, refused", `ffffffff "9Server is full." 0a00`, dissect.No},
		{"GoldSource, wrong password", `ffffffff "8BADPASSWORD" 00`, dissect.No},
		{"Quake 3, getstatus", `ffffffff "getstatus" 0a`, dissect.No},
		{"Quake 3, getinfo", `ffffffff "getinfo xxx" 0a`, dissect.No},
		{"Quake 3, statusResponse", `ffffffff "statusResponse" 0a "\sv_hostname\Arena" 0a "14 48 " 22 "Ann" 22 0a`, dissect.No},
		{"Quake 3, infoResponse", `ffffffff "infoResponse" 0a "\hostname\Arena"`, dissect.No},
		{"Quake 3, getchallenge", `ffffffff "getchallenge"`, dissect.Maybe},
		{"Quake 3, challengeResponse", `ffffffff "challengeResponse 584425803"`, dissect.No},
		{"Quake 3, rcon", `ffffffff "rcon geheim status" 0a`, dissect.Maybe},
		{"Quake 3, rcon, password of digits", `ffffffff "rcon 123456 status" 0a`, dissect.Maybe},
		{"Quake 3, print", `ffffffff "print" 0a "Bad rconpassword." 0a`, dissect.No},
		{"Quake 3, connect", `ffffffff "connect " 22 "\protocol\68" 22`, dissect.No},
		{"Quake 3, connectResponse", `ffffffff "connectResponse"`, dissect.No},
		{"Quake 3, disconnect", `ffffffff "disconnect"`, dissect.No},
		{"Quake 3, getservers", `ffffffff "getservers 68 full empty"`, dissect.No},
		{"Quake 3, getserversResponse", `ffffffff "getserversResponse\" c6120001 6987 "\EOT" 000000`, dissect.No},
		{"Quake 3, heartbeat", `ffffffff "heartbeat QuakeArena-1" 0a`, dissect.No},
		{"Quake 3, motd", `ffffffff "motd " 22 "\motd\x" 22`, dissect.No},
		{"Quake 3, authorize", `ffffffff "getKeyAuthorize 0 abc"`, dissect.No},
		{"Quake 3, echo", `ffffffff "echo hello" 0a`, dissect.No},
		{"DarkPlaces, srcon", `ffffffff "srcon HMAC-MD4 TIME 0123456789abcdef 1700000000.0 status"`, dissect.No},
		{"DarkPlaces, challenge", `ffffffff "challenge A1b2C3d4E5" 00 "vlen"`, dissect.No},
		{"DarkPlaces, accept", `ffffffff "accept"`, dissect.No},
		{"DarkPlaces, reject", `ffffffff "reject Server is full"`, dissect.No},
		{"Quake 2, status", `ffffffff "status" 0a`, dissect.No},
		{"Quake 2, info", `ffffffff "info 34"`, dissect.Maybe},
		{"Quake 2, info, answer", `ffffffff "info" 0a "           Arena    q2dm1  3/16" 0a`, dissect.No},
		{"Quake 2, ping", `ffffffff "ping"`, dissect.Maybe},
		{"Quake 2, ack", `ffffffff "ack"`, dissect.No},
		{"Quake 2, challenge", `ffffffff "challenge 584425803"`, dissect.No},
		{"Kingpin, status, answer", `ffffffff "print" 0a "\mapname\joy\hostname\x" 0a`, dissect.No},
		{"QuakeWorld, status, answer", `ffffffff "n\maxclients\16\map\dm4" 0a "1 14 8 48 " 22 "Ann" 22 0a00`, dissect.No},
		{"QuakeWorld, ping", `ffffffff "k" 0a00`, dissect.No},
		{"QuakeWorld, ack", `ffffffff "l" 0a00`, dissect.No},
		{"QuakeWorld, challenge", `ffffffff "c584425803" 00`, dissect.No},
		{"QuakeWorld, log", `ffffffff "log" 0a00`, dissect.No},
		{"QuakeWorld, list", `ffffffff 64 0a c6120001 6987`, dissect.Maybe},
		{"Frontlines, question", `ffffffff "FLSQ"`, dissect.No},
		{"Frontlines, information", `ffffffff 49 02 "name" 00 "map" 00 00 "mode" 00 "Frontlines" 00 "1.0" 00 14b4 05 20 "dl" 00`, dissect.No},
		{"Frontlines, rules", `ffffffff 45 0002 "a" 00 "1" 00 "b" 00 "2" 00`, dissect.No},
		{"Frontlines, no players", `ffffffff 44 00`, dissect.Maybe},
		{"Teeworlds, question", `ffffffffffffffffffff "gie3" 05`, dissect.No},
		{"Teeworlds, answer", `ffffffffffffffffffff "inf35" 00 "0.6.2" 00`, dissect.No},
		{"wake-on-LAN", `ffffffffffff 020000000001 020000000001 020000000001`, dissect.No},
		{"Doom 3", `ffff "getInfo" 00`, dissect.No},
		{"Steam discovery", `ffffffff 214c5fa0 16000000 08fcd3f1e3b7bcbfcf7610`, dissect.No},
		{"Steam relay", `0100 "sdping" 0102030405060708`, dissect.No},
		{"Remote Desktop over UDP", `ffffffff 00401801 0b127f15 04d004d0 0000000000000000`, dissect.No},
		{"Source game channel, compressed", `fdffffff 0102030405060708`, dissect.No},
		{"GameSpy", `fefd00 01020304 ffffff`, dissect.No},
		{"random", `ffffffff 9f3c7701a5d2`, dissect.No},
	} {
		b := hextest.Bytes(t, tc.in)
		c := dissecttest.Context(len(b))
		v := reg.Pick(c, b)
		if v.Conf != tc.want {
			t.Errorf("%s\ngot  %v %v\nwant %v", tc.name, v.Conf, v.Type, tc.want)
		}
		c.Src, c.Dst = netip.AddrPortFrom(c.Src.Addr(), 30000), netip.AddrPortFrom(c.Dst.Addr(), 40000)
		if v.Dissector != nil && reg.Believe(c, &v) {
			t.Errorf("%s: believed without a witness", tc.name)
		}
	}
}

// TestDefinitions: names are keys of JSON, and every one is explained.
func TestDefinitions(t *testing.T) {
	for _, d := range All() {
		p := d.Proto()
		if p.Doc == "" || p.Reads == "" || len(p.Types) == 0 {
			t.Errorf("%s is not described", p.Name)
		}
		for _, def := range p.Defs {
			if def.Doc == "" || def.Label == "" || def.Key() == "" {
				t.Errorf("%s is not described", def.Name)
			}
		}
		for _, c := range p.Codes {
			if c.Seen == "" || c.Means == "" || c.Owner == "" || c.Client == "" || (c.Text == nil) == (c.Format == "") {
				t.Errorf("%s is not explained", c.ID)
			}
		}
		for _, typ := range p.Types {
			if typ.Doc == "" {
				t.Errorf("%s is not described", typ.Name)
			}
		}
	}
}

var update = flag.Bool("update", false, "rewrite the files of testdata")

// TestValueNames: what numbers of fields are called. The manual has the short lists alone; testdata/values.txt,
// which -update writes, has all.
func TestValueNames(t *testing.T) {
	var text string
	list := func(d *dissect.Def, from, to uint64) { // as far as to, and not to itself
		for n, lines := from, 0; n < to && lines < 130; n++ { // every other number is one that means yes
			first, name := n, d.Values(n)
			for n+1 < to && d.Values(n+1) == name {
				n++
			}
			if name != "" {
				lines++
				text += fmt.Sprintf("\t%d to %d\t%s\n", int64(first), int64(n), name)
			}
		}
	}
	var got strings.Builder
	for _, p := range All() {
		fields := map[string][]string{} // by what their numbers are called
		var texts []string
		for _, d := range p.Proto().Defs {
			if d.Values == nil {
				continue
			}
			text = ""
			most := uint64(1 << 17)
			if d.Values(550) != d.Values(552) || d.Values(1042220) != d.Values(1042222) { // numbers of applications
				most = 3_000_000
				for kind := uint64(1); kind < 5; kind++ {
					list(d, kind<<24, kind<<24+1)
				}
			}
			list(d, 0, most)
			list(d, ^uint64(0)-200, ^uint64(0)) // below zero
			if fields[text] == nil {
				texts = append(texts, text)
			}
			fields[text] = append(fields[text], d.Name)
		}
		for _, s := range texts {
			fmt.Fprintf(&got, "%s\n%s", strings.Join(fields[s], " "), s)
		}
	}
	golden(t, "testdata/values.txt", got.String())
}

// golden compares got with a file, which -update writes. Protocols of which the file has nothing are left out.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if diff := cmp.Diff(string(want), ofKnown(string(want), got)); diff != "" || err != nil {
		t.Errorf("%s: want -, got +; %v; make golden writes it\n%s", path, err, diff)
	}
}

// ofKnown returns the lines of text that begin with the name of a protocol that known has lines of, with the indented
// ones below them.
func ofKnown(known, text string) string {
	nameOf := func(line string) string { return line[:max(strings.IndexAny(line, " ."), 0)] }
	names := map[string]bool{}
	for line := range strings.Lines(known) {
		names[nameOf(line)] = true
	}
	var kept strings.Builder
	isKept := false
	for line := range strings.Lines(text) {
		if line[0] != '\t' {
			isKept = names[nameOf(line)]
		}
		if isKept {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
