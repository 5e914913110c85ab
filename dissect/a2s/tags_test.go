package a2s

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
)

// infoWith is S2A_INFO_SRC with players, slots, keywords and a game_id.
func infoWith(players, slots byte, keywords string, app uint64) []byte {
	b := []byte("\xff\xff\xff\xffI\x11name\x00map\x00dir\x00game\x00\x00\x00")
	b = append(b, players, slots, 0, 'd', 'l', 0, 1)
	b = append(b, "1.0\x00"...)
	b = append(b, edfKeywords|edfGameID)
	b = append(append(b, keywords...), 0)
	return binary.LittleEndian.AppendUint64(b, app)
}

// said lists what the keywords of m say.
func said(m *dissect.Message) string {
	i := m.Index(&defTags)
	if i < 0 {
		return "none"
	}
	var out []string
	for j := i + 1; j < len(m.Fields); j++ {
		f := &m.Fields[j]
		switch f.Def.Kind {
		case dissect.List:
		case dissect.Text:
			out = append(out, fmt.Sprintf("%s=%q", f.Def.Key(), m.Bytes(f)))
		case dissect.Float:
			v, _ := f.Float()
			out = append(out, fmt.Sprintf("%s=%v", f.Def.Key(), v))
		case dissect.Char:
			out = append(out, fmt.Sprintf("%s='%c'", f.Def.Key(), byte(f.Num)))
		case dissect.Int:
			out = append(out, fmt.Sprintf("%s=%d", f.Def.Key(), int64(f.Num)))
		default:
			out = append(out, fmt.Sprintf("%s=%d", f.Def.Key(), f.Num))
		}
	}
	return strings.Join(out, " ")
}

func TestTags(t *testing.T) {
	const squad, gmod, tf2 = 393380, 4000, 440
	for _, tc := range []struct {
		name     string
		app      uint64
		keywords string
		want     string
	}{
		{"Rust", appRust, "mp575,cp547,ptrak,qp17,v2336,training,h994ea700,stok,born1653213379,gmrust,modded",
			`max_players=575 players=547 pt="rak" queue=17 protocol=2336 hash="994ea700" born=1653213379 mode="rust" word="training" word="stok" word="modded"`},
		{"Rust, words that begin like tags", appRust, "mpx,hardcore,vanilla,bornfree,cp", `word="mpx" word="hardcore" word="vanilla" word="bornfree" word="cp"`},
		{"Arma 3", appArma3, "bt,r206,n148470,s3,i1,mf,lf,vt,dt,twarlord,g65545,hbef8b95,f0,c-2147483648--2147483648,pw,e0,j0,k-1,oCZ,yaltis,",
			`battleye=1 required_version=206 build=148470 state=3 difficulty=1 equal_mods=0 lock=0 verify_signatures=1 dedicated=1 game_type="warlord" ` +
				`language=65545 hash="bef8b95" file_patching=0 longitude=-2147483648 latitude=-2147483648 platform='w' minutes_left=0 param1=0 param2=-1 country="CZ" island="altis"`},
		{"Arma 3, places", appArma3, "c97-33", "longitude=97 latitude=33"},
		{"Arma 3, no places", appArma3, "c97,c,c-,c--,c1-,c-1", `word="c97" word="c" word="c-" word="c--" word="c1-" word="c-1"`},
		{"Arma 3, not t or f", appArma3, "b1,bx,b", `word="b1" word="bx" word="b"`},
		{"DayZ", appDayZ, "battleye,no3rd,external,privHive,shard001,lqs3,etm4.000000,entm0.5,mod,port2302,whitelisting,allowedFilePatching,isDLC,02:55",
			`battleye=1 no3rd=1 external=1 private_hive=1 shard="001" queue=3 time_acceleration=4 night_time_acceleration=0.5 mod=1 port=2302 whitelisting=1 ` +
				`allowed_file_patching=1 dlc=1 time="02:55"`},
		{"DayZ, no clock", appDayZ, "24:00,12:60,1:23,12-34", `word="24:00" word="12:60" word="1:23" word="12-34"`},
		{"DayZ, no decimals", appDayZ, "etm,etm.5,etm1e9,etm-1,etm1.2.3,etm1234567890.123456", `word="etm" word="etm.5" word="etm1e9" word="etm-1" word="etm1.2.3" word="etm1234567890.123456"`},
		{"Garry's Mod", gmod, " gm:darkrp gmws:248302805 gmc:rp loc:us ver:240130", `gamemode="darkrp" workshop_id=248302805 category="rp" location="us" version="240130"`},
		{"Squad", squad, "BUILDID:490802986,OWNINGID:90105804093124614,OWNINGNAME:[USA] Legacy,P2PADDR:90105804093124614,P2PPORT:7787,SESSIONFLAGS:171,VISIB_i:0",
			`build=490802986 owning_id=90105804093124614 owning_name="[USA] Legacy" p2p_addr="90105804093124614" p2p_port=7787 session_flags=171 word="VISIB_i:0"`},
		{"a name with commas", squad, "OWNINGNAME:Admins, Rules: none,, No Avatars ,P2PPORT:7777", `owning_name="Admins, Rules: none,, No Avatars" p2p_port=7777`},
		{"a name to the end", squad, "OWNINGNAME:a,b,c", `owning_name="a,b,c"`},
		{"Source", tf2, "empty,*grp:1105381i,alltalk,secure", `group=1105381 word="empty" word="alltalk" word="secure"`},
		{"Source, no group", tf2, "*grp:i,*grp:5,*grp:xi", `word="*grp:i" word="*grp:5" word="*grp:xi"`},
		{"tags twice", appRust, "mp1,mp2,mp1", `max_players=1 word="mp2" word="mp1"`},
		{"blanks and nothing", appRust, ", ,mp5 ,, oxide ,", `max_players=5 word="oxide"`},
		{"only commas", appRust, ",,,", ""},
		{"no keywords", appRust, "", "none"},
		{"64 bits", appRust, "born18446744073709551615", "born=18446744073709551615"},
		{"more than 64 bits", appRust, "born18446744073709551616", `word="born18446744073709551616"`},
		{"signed, 64 bits and more", appArma3, "j-9223372036854775808,k9223372036854775808", `param1=-9223372036854775808 word="k9223372036854775808"`},
		{"not UTF-8", appRust, "gm\xff\xfe,\xc3", `mode="\xff\xfe" word="\xc3"`},
		{"another game", 251570, "mp5,cp5", "none"},
		{"7 Days to Die", 251570, "1;0;4;", `word="1" word="0" word="4"`},
		{"Valheim, without mods", 892970, "0.208.1", "none"},
		{"Valheim", 892970, "0.208.1-ServerCharacters", `word="0.208.1" word="ServerCharacters"`},
		{"a mod of the game", 1<<24 | appRust, "mp5", "max_players=5"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := infoWith(1, 2, tc.keywords, tc.app)
			m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
			dissecttest.CheckInvariants(t, m)
			if got := said(m); got != tc.want {
				t.Errorf("\ngot  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// Every tag points at its element on the wire.
func TestTagExtents(t *testing.T) {
	b := infoWith(1, 2, " bt , pw,c1--2,x", appArma3)
	m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
	for _, tc := range []struct {
		def  *dissect.Def
		want string
	}{
		{&defTagBattlEye, "bt"}, {&defTagPlatform, "w"}, {&defTagLongitude, "c1--2"}, {&defTagLatitude, "c1--2"}, {&defWord, "x"},
	} {
		if f := m.Find(tc.def); f == nil || string(m.Raw(f)) != tc.want || f.Flags&dissect.Aux == 0 {
			t.Errorf("%s\ngot  %+v\nwant %q", tc.def.Name, f, tc.want)
		}
	}
}

// The app_id decides where the game_id is missing; what is cut decides nothing.
func TestTagsByAppID(t *testing.T) {
	b := infoWith(1, 2, "empty", 0)
	i := bytes.Index(b, []byte("game\x00")) + len("game\x00")
	binary.LittleEndian.PutUint16(b[i:], 440)
	m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
	if got, want := said(m), `word="empty"`; got != want {
		t.Errorf("\ngot  %s\nwant %s", got, want)
	}
	rust := infoWith(1, 2, "mp5", appRust)
	dissecttest.CheckTruncations(t, New(), dissecttest.Context(len(rust)), rust)
	for n := range rust {
		m := dissecttest.Run(New(), dissecttest.Context(len(rust)), rust[:n])
		if got := said(m); got != "none" {
			t.Errorf("%d of %d bytes: got %s", n, len(rust), got)
		}
	}
}

// Ten thousand elements are within the limits, more are reported.
func TestManyTags(t *testing.T) {
	for _, tc := range []struct {
		name, keywords, findings string
		words                    int
	}{
		{"commas", strings.Repeat(",", 10_000), "", 0},
		{"words", strings.Repeat("x,", 10_000), "", 10_000},
		{"too many words", strings.Repeat("x,", 20_000), "LIM-01", dissect.MaxFields - 1},
		{"too much text", strings.Repeat(strings.Repeat("x", 999)+",", 66), "LIM-01", 65},
	} {
		b := infoWith(1, 2, tc.keywords, appRust)
		m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
		dissecttest.CheckInvariants(t, m)
		got := strings.Count(said(m), "word=")
		if short := tc.words - got; short < 0 || short > 30 { // the fields before them
			t.Errorf("%s: got %d words, want %d or a few less", tc.name, got, tc.words)
		}
		if got := dissecttest.Findings(m); got != tc.findings {
			t.Errorf("%s: findings\ngot  %q\nwant %q", tc.name, got, tc.findings)
		}
	}
}

func TestCountsFromKeywords(t *testing.T) {
	for _, tc := range []struct {
		name           string
		players, slots byte
		keywords       string
		want           string
	}{
		{"fine", 93, 125, "mp125,cp93", ""},
		{"at the limit", 255, 255, "", "255 players of 255 (a2s.info.max_players at byte 27): one-byte counts at their limit, or wrapped"},
		{"at the limit, true counts known", 255, 255, "mp575,cp547", "255 players of 255 (a2s.info.max_players at byte 27): one-byte counts at their limit, or wrapped; the keywords say 547 of 575"},
		{"wrapped without a sign of it", 35, 63, "mp575,cp547", "35 players of 63 (a2s.info.max_players at byte 27): one-byte counts at their limit, or wrapped; the keywords say 547 of 575"},
		{"slots wrapped", 80, 44, "mp300,cp80", "80 players of 44 (a2s.info.max_players at byte 27): one-byte counts at their limit, or wrapped; the keywords say 80 of 300"},
		{"impossible counts", 1, 2, "mp18446744073709551615,cp99999999999", ""},
	} {
		b := infoWith(tc.players, tc.slots, tc.keywords, appRust)
		m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
		var got string
		for i := range m.Expert {
			got += string(m.Expert[i].AppendText(nil))
		}
		if got != tc.want {
			t.Errorf("%s\ngot  %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

func TestTagAllocations(t *testing.T) {
	for app, keywords := range map[uint64]string{
		appRust: "mp575,cp547,gmrust,oxide", appDayZ: "etm4.000000,02:55", appArma3: "bt,c-1--1,pw", 440: "*grp:5i,x", 393380: "OWNINGNAME:a,b,P2PPORT:1",
	} {
		b := infoWith(1, 2, keywords, app)
		dissecttest.CheckAllocations(t, New(), dissecttest.Context(len(b)), b)
	}
}

// FuzzTags: whatever the keywords, in whatever game, every element that is not
// empty is a tag or a word.
func FuzzTags(f *testing.F) {
	for _, s := range []string{"mp575,cp547,born1653213379,oxide", "bt,r206,c-1--1,pw,tcoop,", "etm4.000000,02:55,shard1", " gm:darkrp loc:us",
		"OWNINGNAME:a, b,P2PPORT:1,x_i:2", "*grp:5i,empty", ",,,", "\xff,\xc3"} {
		f.Add(s, uint8(0), uint16(0))
	}
	apps := []uint64{appRust, appArma3, appDayZ, 4000, 393380, 440}
	f.Fuzz(func(t *testing.T, keywords string, app uint8, missing uint16) {
		for _, app := range []uint64{apps[int(app)%len(apps)], uint64(app)} {
			b := infoWith(1, 2, keywords, app)
			dissecttest.CheckInput(t, New(), dissecttest.Context(len(b)+int(missing)), b)
		}
		if strings.Contains(keywords, "\x00") || len(keywords) > 4<<10 {
			return
		}
		b := infoWith(1, 2, keywords, 440)
		m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
		elements := 0
		for _, s := range strings.Split(keywords, ",") {
			if strings.Trim(s, " ") != "" {
				elements++
			}
		}
		if i := m.Index(&defTags); i >= 0 {
			if got := strings.Count(said(m), "word=") + strings.Count(said(m), "group="); got < elements {
				t.Errorf("%q: %d fields for %d elements", keywords, got, elements)
			}
		}
	})
}

// TestStartsWithKey: keys of Unreal Engine are capitals, or end in _ and the letter of a type.
func TestStartsWithKey(t *testing.T) {
	for element, want := range map[string]bool{
		"":          false,
		":1":        false,
		"A":         false,
		"A:1":       true,
		"AZ09_:1":   true,
		"aB:1":      false,
		"AB:a":      true,
		"Name_s:1":  true,
		"azAZ_i:1":  true,
		"x_s:1":     true,
		"_s:1":      false,
		"_S:1":      true,
		"xs:1":      false,
		"x_ss:1":    false,
		"x-y_s:1":   false,
		"[_s:1":     false,
		"`_s:1":     false,
		"{_s:1":     false,
		"@_s:1":     false,
		"/9_s:1":    false,
		"09_s:1":    true,
		"x_s y_s:1": false,
	} {
		if got := startsWithKey([]byte(element)); got != want {
			t.Errorf("%q: %t, want %t", element, got, want)
		}
	}
}

// TestDialects: which applications write their keywords in a way of their own, of all numbers there are.
func TestDialects(t *testing.T) {
	got := map[*dialect][]uint32{}
	for app := range uint32(1_000_000) {
		if d := dialectOf(app); d != nil {
			got[d] = append(got[d], app)
		}
	}
	want := map[*dialect][]uint32{
		&rust:       {252490},
		&arma:       {33930, 107410},
		&dayZ:       {221100},
		&garrysMod:  {4000},
		&semicolons: {251570, 383120},
		&valheim:    {892970},
		&unreal:     {346110, 393380, 440900, 489940, 529180, 593600, 686810, 736220},
		&source:     {240, 300, 320, 440, 500, 550, 730},
	}
	for d, apps := range want {
		if !slices.Equal(got[d], apps) {
			t.Errorf("got  %v\nwant %v", got[d], apps)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d dialects, want %d", len(got), len(want))
	}
}
