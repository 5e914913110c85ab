package a2s

import (
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
)

const (
	logPlain  = `ffffffff "RL 07/05/2008 - 19:13:44: World triggered" 0a00`
	logSecret = `ffffffff "S12345L 07/05/2008 - 19:13:44: World triggered" 0a00`
	logRcon   = `ffffffff "SLL 07/05/2008 - 19:13:44: rcon from " 22 "10.64.0.1:27005" 22 ": command " 22 "sv_password x" 22 0a00`
)

func TestLog(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		conf     dissect.Confidence
		typ      *dissect.Type
		have     []*dissect.Def
		lack     []*dissect.Def
	}{
		{"no secret", logPlain, dissect.Certain, &typeLog, []*dissect.Def{&defLine}, []*dissect.Def{&defLogSecret, &defLineSecret}},
		{"secret", logSecret, dissect.Certain, &typeLogSecret, []*dissect.Def{&defLogSecret, &defLine}, []*dissect.Def{&defLineSecret}},
		{"secret is empty", `ffffffff "SL 07/05/2008 - 19:13:44: x" 00`, dissect.Certain, &typeLogSecret, []*dissect.Def{&defLine}, []*dissect.Def{&defLogSecret}},
		{"secret and password", logRcon, dissect.Certain, &typeLogSecret, []*dissect.Def{&defLogSecret, &defLine, &defLineSecret}, nil},
		{"end twice", logPlain + `0a00`, dissect.Certain, &typeLog, []*dissect.Def{&defLogEnd}, []*dissect.Def{&dissect.Trailing}},
		{"nothing is padded", `ffffffff "RL 7/5/2026 - 9:13:4: x" 00`, dissect.Certain, &typeLog, []*dissect.Def{&defLine}, []*dissect.Def{&defLogEnd}},
		{"no end", `ffffffff "RL 07/05/2008 - 19:13:44: x"`, dissect.Certain, &typeLog, []*dissect.Def{&defLine}, []*dissect.Def{&defLogEnd}},
		{"password after the end", logPlain + `"rcon_password x"`, dissect.Certain, &typeLog, []*dissect.Def{&defLogBehind}, []*dissect.Def{&dissect.Trailing}},
		{"no date", `ffffffff "RL some text" 00`, dissect.No, &typeLog, nil, []*dissect.Def{&defLogSecret}},
		{"secret, no date: all may be it", `ffffffff "S12345L 07/05"`, dissect.No, &typeLogSecret, []*dissect.Def{&defLogSecret}, []*dissect.Def{&defLine}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := hextest.Bytes(t, tc.in)
			c := dissecttest.Context(len(b))
			if k, _ := New().Probe(c, b); k != tc.conf {
				t.Errorf("confidence\ngot  %v\nwant %v", k, tc.conf)
			}
			m := dissecttest.Run(New(), c, b)
			dissecttest.CheckInvariants(t, m)
			if m.Type != tc.typ || m.Status != dissect.Complete {
				t.Errorf("got  %v %v\nwant %v", m.Type.Name, m.Status, tc.typ.Name)
			}
			dissecttest.CheckFields(t, m, tc.have, tc.lack)
		})
	}
}

func TestLogCut(t *testing.T) {
	for _, in := range []string{logPlain, logSecret, logRcon} {
		b := hextest.Bytes(t, in)
		dissecttest.CheckTruncations(t, New(), dissecttest.Context(len(b)), b)
	}
	b := hextest.Bytes(t, logPlain)[:20]
	if k, _ := New().Probe(dissecttest.Context(80), b); k != dissect.Likely {
		t.Errorf("date cut by the capture: got %v, want %v", k, dissect.Likely)
	}
}

// HLTV answers a request by its first letter.
func TestLetterAlone(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     dissect.Confidence
	}{
		{"letter", `ffffffff 54`, dissect.Maybe}, {"letter and more", `ffffffff "Txyz"`, dissect.Maybe},
		{"long text", `ffffffff "This is not a query at all"`, dissect.No}, {"binary", `ffffffff 54 010203040506`, dissect.No},
	} {
		b := hextest.Bytes(t, tc.in)
		c := dissecttest.Context(len(b))
		if k, _ := New().Probe(c, b); k != tc.want {
			t.Errorf("%s\ngot  %v\nwant %v", tc.name, k, tc.want)
		}
		m := dissecttest.Run(New(), c, b)
		dissecttest.CheckInvariants(t, m)
		if got := dissecttest.Findings(m); got != "A2S-C02" || m.Status != dissect.Complete {
			t.Errorf("%s: %v, findings %q", tc.name, m.Status, got)
		}
	}
}

func TestForeign(t *testing.T) {
	for _, tc := range []struct {
		name, in  string
		reply, ok bool
	}{
		{"question", `ffffffff "FLSQ"`, false, true},
		{"information", `ffffffff 49 02 "name" 00 "map" 00 "mod" 00 "mode" 00 "description" 00 "1.0" 00 14b4 05 20 "dl" 00`, true, true},
		{"rules", `ffffffff 45 0002 "a" 00 "1" 00 "b" 00 "2" 00`, true, true},
		{"rules of A2S", rules2, true, false},
		{"as many rules either way", `ffffffff 45 0101`, true, false},
		{"information of A2S", infoAll, true, false},
		{"information of The Ship", infoShip, true, false},
		{"challenge", `ffffffff 41 4ba1d522`, false, false},
		{"empty", ``, false, false},
	} {
		b := hextest.Bytes(t, tc.in)
		reply, ok := New().Foreign(dissecttest.Context(len(b)), b)
		if ok != tc.ok || ok && reply != tc.reply {
			t.Errorf("%s\ngot  %v %v\nwant %v %v", tc.name, reply, ok, tc.reply, tc.ok)
		}
	}
}
