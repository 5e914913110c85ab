package protocols

import (
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/hextest"
)

// foreignRegistry is a registry that knows the messages of other games.
func foreignRegistry(t testing.TB) *dissect.Registry {
	t.Helper()
	reg, err := dissect.NewRegistry(All()...)
	if err != nil {
		t.Fatal(err)
	}
	reg.KnowForeign(Foreign())
	return reg
}

// foreignName returns the name of the message that b is, empty if it is none.
func foreignName(reg *dissect.Registry, b []byte) string {
	n := reg.ForeignType(b, len(b))
	if n == 0 {
		return ""
	}
	return reg.ForeignTypes()[n-1].Name
}

// TestForeignNames holds a message of each other game, as its sources describe it, against
// the list, and messages that only look like one.
func TestForeignNames(t *testing.T) {
	reg := foreignRegistry(t)
	seen := map[string]bool{}
	const magic = "00ffff00 fefefefe fdfdfdfd 12345678"
	for _, tc := range []struct{ in, want string }{
		{`ffffffff "qconnect0x03FA21C4" 00`, "connect_source"},
		{`ffffffff 71 78563412 "0000000000" 00`, "connect_source"},
		{`ffffffff 6b 18000000 03000000 78563412 "Ann" 00`, "connect_source"},
		{`ffffffff 71 78563412 9abc`, ""},
		{`ffffffff 6b 18a00000 03000000 78563412`, ""},
		{`ffffffff "getchallenge"`, "getchallenge_quake3"},
		{`ffffffff "connect " 22 "\protocol\68" 22`, "connect_quake3"},
		{`ffffffff "getinfo xxx" 0a`, "getinfo_quake3"},
		{`ffffffff "getStatus" 0a`, "getstatus_quake3"},
		{`ffffffff "statusResponse" 0a "\sv_hostname\Arena" 0a`, "amplified_quake3"},
		{`ffffffff "infoResponse" 0a "\hostname\Arena"`, "amplified_quake3"},
		{`ffffffff "status" 0a`, "status_quake2"},
		{`01 0000000000001234 ` + magic + ` 0102030405060708`, "ping_raknet"},
		{`02 0000000000001234 ` + magic, "ping_raknet"},
		{`01 0000000000001234`, ""},
		{`05 ` + magic + ` 0b 00`, "open_connection_raknet"},
		{`07 ` + magic + ` 04c6120001 6987 05d4`, "open_connection_raknet"},
		{`1c 0000000000001234 0102030405060708 ` + magic + ` 0004 "MCPE"`, "amplified_raknet"},
		{`fefd09 01020304`, "query_minecraft"},
		{`fefd00 01020304 00a1b2c3 00000000`, "query_minecraft"},
		{`fefd00 01020304 00a1b2c3 00000000 0102030405`, ""},
		{`"TS3INIT1" 0065 0000 88 063becee 00 5f5e1000 01020304 0000000000000000`, "init_teamspeak"},
		{`"SAMP" c6120001 611e 69`, "query_samp"},
		{`ffffffffffffffffffff "gie3" 05`, "getinfo_teeworlds"},
		{`ffff "getInfo" 00 01020304`, "getinfo_doom3"},
		{`ffffffff 9f3c7701a5d2`, ""},
	} {
		got := foreignName(reg, hextest.Bytes(t, tc.in))
		if got != tc.want {
			t.Errorf("%s\ngot  %q\nwant %q", tc.in, got, tc.want)
		}
		seen[got] = true
	}
	for _, f := range Foreign() {
		if !seen[f.Name] {
			t.Errorf("no message is a %s", f.Name)
		}
	}
	if n := reg.ForeignType(nil, 0); n != 0 {
		t.Errorf("nothing is number %d", n)
	}
}

// TestForeignList: names can be written anywhere, sources are there, and patterns can be
// looked up by their first byte.
func TestForeignList(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Foreign() {
		if seen[f.Name] || strings.Trim(f.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || f.Says == "" || f.Source == "" || len(f.Wire) == 0 {
			t.Errorf("%+v", f)
		}
		seen[f.Name] = true
		for _, p := range f.Wire {
			if len(p.Value) < 3 || p.Offset != 0 || p.Mask != nil && p.Mask[0] != 0xff {
				t.Errorf("%s: % x: the first byte must count in all bits", f.Name, p.Value)
			}
		}
	}
}

// TestForeignIsNotOurs: a message that a protocol of ours is sure of has no name of
// another game, but GoldSource's getchallenge, which has a word more than that of others.
func TestForeignIsNotOurs(t *testing.T) {
	reg := foreignRegistry(t)
	n := 0
	for _, d := range datagrams(t, "a2s", "goldsource", "ase", "master") {
		c := &dissect.Context{Src: d.Src, Dst: d.Dst, Wire: len(d.Payload)}
		if v := reg.Pick(c, d.Payload); v.Conf <= dissect.Maybe {
			continue
		}
		n++
		if name := foreignName(reg, d.Payload); name != "" && name != "getchallenge_quake3" {
			t.Errorf("% x is taken for %s", d.Payload[:min(len(d.Payload), 24)], name)
		}
	}
	if n < 200 {
		t.Errorf("only %d messages", n)
	}
}

// FuzzForeignType: whatever comes has a number of the list, by its first byte, or none.
func FuzzForeignType(f *testing.F) {
	f.Add([]byte("\xff\xff\xff\xffgetstatus\n"))
	f.Add([]byte("SAMP\xc6\x12\x00\x01\x61\x1ei"))
	reg := foreignRegistry(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		n := reg.ForeignType(b, len(b))
		if int(n) > len(reg.ForeignTypes()) {
			t.Fatalf("number %d of %d", n, len(reg.ForeignTypes()))
		}
		if n > 0 && reg.ForeignTypes()[n-1].Wire[0].Value[0] != b[0] {
			t.Errorf("% x is a %s", b, reg.ForeignTypes()[n-1].Name)
		}
	})
}
