package goldsource

import (
	"testing"

	"qsniff/dissect"
	"qsniff/dissect/a2s"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
	"qsniff/reassembly/wire"
)

const (
	texts5  = `"10.0.0.5:27015" 00 "HL server" 00 "crossfire" 00 "valve" 00 "Half-Life" 00`
	noMod   = `ffffffff 6d` + texts5 + `03 10 30 "dl" 00 00 00 01`
	withMod = `ffffffff 6d` + texts5 + `0c 12 2f "dl" 00 01
		"www.counter-strike.net" 00 00 00 01000000 009ef70a 00 01 01 00`
	hltv   = `ffffffff 6d` + texts5 + `ff ff 30 "pl" 00 00 00 9c010000 e8030000`
	short  = `ffffffff 43` + texts5 + `03 10 30`
	rules2 = `ffffffff 45 0200 "mp_timelimit" 00 "20" 00 "sv_gravity" 00 "800" 00`
)

func newDissector() *Dissector { return New(a2s.New()) }

func TestDissect(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		status   dissect.Status
		have     []*dissect.Def
		lack     []*dissect.Def
	}{
		{"no mod", noMod, dissect.Complete, []*dissect.Def{&defVAC, &defBots}, []*dissect.Def{&defURL, &defSpectators}},
		{"mod", withMod, dissect.Complete, []*dissect.Def{&defURL, &defHLVersion, &defModDLL, &defBots}, []*dissect.Def{&dissect.Trailing}},
		{"mod announced, no block, VAC and bots", `ffffffff 6d` + texts5 + `03 10 30 "dl" 00 01 01 02`, dissect.Complete,
			[]*dissect.Def{&defVAC, &defBots}, []*dissect.Def{&defURL}},
		{"mod announced, no block, HLTV", `ffffffff 6d` + texts5 + `ff ff 30 "pl" 00 01 00 9c010000 e8030000`, dissect.Complete,
			[]*dissect.Def{&defVAC, &defSpecSlots}, []*dissect.Def{&defURL, &defBots}},
		{"ends after VAC", `ffffffff 6d` + texts5 + `03 10 30 "dl" 00 00 01`, dissect.Complete, []*dissect.Def{&defVAC}, []*dissect.Def{&defBots}},
		{"ends before VAC", `ffffffff 6d` + texts5 + `03 10 30 "dl" 00 00`, dissect.Complete, nil, []*dissect.Def{&defVAC}},
		{"HLTV", hltv, dissect.Complete, []*dissect.Def{&defVAC, &defSpectators, &defSpecSlots}, []*dissect.Def{&defBots}},
		{"bots and HLTV's pair", `ffffffff 6d` + texts5 + `ff ff 30 "pl" 00 00 00 02 9c010000 e8030000`, dissect.Complete,
			[]*dissect.Def{&defBots, &defSpectators}, []*dissect.Def{&dissect.Trailing}},
		{"bytes after bots", noMod + `0102`, dissect.Complete, []*dissect.Def{&defBots, &dissect.Trailing}, nil},
		{"mod block cut by the sender", withMod[:len(withMod)-len(`00 01 01 00`)], dissect.Malformed, []*dissect.Def{&defModSize}, []*dissect.Def{&defVAC}},
		{"old info", short, dissect.Complete, []*dissect.Def{&defProtocol}, []*dissect.Def{&defServerType}},
		{"old info from HLTV", short + `9c010000 e8030000`, dissect.Complete, []*dissect.Def{&defSpectators}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := hextest.Bytes(t, tc.in)
			c := dissecttest.Context(len(b))
			if k, _ := newDissector().Probe(c, b); k != dissect.Certain {
				t.Errorf("confidence: got %v, want %v", k, dissect.Certain)
			}
			m := dissecttest.Run(newDissector(), c, b)
			dissecttest.CheckInvariants(t, m)
			if m.Status != tc.status {
				t.Errorf("status\ngot  %v\nwant %v", m.Status, tc.status)
			}
			dissecttest.CheckFields(t, m, tc.have, tc.lack)
		})
	}
}

// A joined message may lack the header: what the capture cut of one is cut, however
// little that is.
func TestJoinedCut(t *testing.T) {
	b := []byte("m192.0.2.1:27015\x00name\x00map\x00cstrike\x00Count")
	for missing, want := range []dissect.Confidence{dissect.Maybe, dissect.Likely, dissect.Likely} {
		c := dissecttest.Context(len(b) + missing)
		c.FromSplit = wire.GoldSource
		if k, _ := newDissector().Probe(c, b); k != want {
			t.Errorf("%d bytes cut: got %v, want %v", missing, k, want)
		}
	}
}

// What came in GoldSource's split format is GoldSource's, with Source's fields.
func TestJoined(t *testing.T) {
	b := hextest.Bytes(t, rules2)
	c := dissecttest.Context(len(b))
	if k, _ := newDissector().Probe(c, b); k != dissect.No {
		t.Errorf("not joined: got %v, want %v", k, dissect.No)
	}
	c.FromSplit = wire.GoldSource
	if k, _ := newDissector().Probe(c, b); k != dissect.Certain {
		t.Errorf("joined: got %v, want %v", k, dissect.Certain)
	}
	m := dissecttest.Run(newDissector(), c, b)
	dissecttest.CheckInvariants(t, m)
	if m.Proto.Name != "goldsource" || m.Type.Name != "S2A_RULES" {
		t.Errorf("got %s %s, want goldsource S2A_RULES", m.Proto.Name, m.Type.Name)
	}
}

func TestProbeRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"text command": `ffffffff "motd" 00`, "no address": `ffffffff 6d "hello" 00 00 00 00 00 03 10 30 "xx" 00 00 00`,
		"Quake connect": `ffffffff 43 "onnect" 00`, "empty": ``,
	} {
		b := hextest.Bytes(t, in)
		if k, _ := newDissector().Probe(dissecttest.Context(len(b)), b); k != dissect.No {
			t.Errorf("%s\ngot  %v\nwant %v", name, k, dissect.No)
		}
	}
}

func TestTruncations(t *testing.T) {
	for name, in := range map[string]string{"no mod": noMod, "mod": withMod, "HLTV": hltv, "old": short} {
		t.Run(name, func(t *testing.T) {
			b := hextest.Bytes(t, in)
			dissecttest.CheckTruncations(t, newDissector(), dissecttest.Context(len(b)), b)
		})
	}
}

func TestAllocations(t *testing.T) {
	d := newDissector()
	for _, in := range append(wordTexts, noMod, withMod, hltv, short, rules2) {
		b := hextest.Bytes(t, in)
		c := dissecttest.Context(len(b))
		c.FromSplit = wire.GoldSource
		dissecttest.CheckAllocations(t, d, c, b)
	}
}

func FuzzDissect(f *testing.F) {
	for _, in := range append(wordTexts, noMod, withMod, hltv, short, rules2) {
		f.Add(hextest.Bytes(f, in), uint16(0), uint8(0), uint16(0))
		f.Add(hextest.Bytes(f, in), uint16(0), uint8(wire.GoldSource), uint16(dissect.AskRcon|dissect.AskInfo))
	}
	f.Add([]byte("\xff\xff\xff\xffinfostringresponse said"), uint16(0), uint8(0), uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, missing uint16, engine uint8, asked uint16) {
		c := dissecttest.Context(len(b) + int(missing))
		c.FromSplit = wire.Engine(engine % 4)
		c.FromServer.Asked = dissect.Asked(asked)
		dissecttest.CheckInput(t, newDissector(), c, b)
	})
}

// What is not GoldSource's passes here first: requests of A2S above all.
func BenchmarkProbeOther(b *testing.B) {
	data := hextest.Bytes(b, `ffffffff 54 "Source Engine Query" 00`)
	d, c := newDissector(), dissecttest.Context(len(data))
	for b.Loop() {
		d.Probe(c, data)
	}
}
