package a2s

import (
	"encoding/binary"
	"testing"

	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
)

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
