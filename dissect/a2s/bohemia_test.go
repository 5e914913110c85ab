package a2s

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
)

// What the pages hold, unescaped.
const (
	plainArma = `03 00 0100 89 01 10c5a558
		01 2ceda15c 04 15e4de1a 03 "CBA"
		01 02 "a3"`
	plainDayZ = `02 00 0000
		01 44332211 04 04b0ef5c 02 "CF"
		01 02 "CF" 05 "Hello"`
)

// Replies as servers send them.
const (
	rulesArma = `ffffffff 45 0200
		0102 00 03 0102 0101 0102 89 0101 10c5a558 0101 2c 00
		0202 00 eda15c 04 15e4de1a 03 "CBA" 0101 02 "a3" 00`
	rulesDayZ = `ffffffff 45 0200
		0101 00 02 0102 0102 0102 0101 44332211 04 04b0ef5c 02 "CF" 0101 02 "CF" 05 "Hello" 00
		"timeLeft" 00 "15" 00`
)

// escaped is the code of the pages, written a second time.
func escaped(b []byte) []byte {
	r := strings.NewReplacer("\x01", "\x01\x01", "\x00", "\x01\x02", "\xff", "\x01\x03")
	return []byte(r.Replace(string(b)))
}

// binaryReply cuts b, escaped, into pages of n bytes and sends them in the order
// that order gives, or in their own.
func binaryReply(b []byte, n int, order ...int) []byte {
	b = escaped(b)
	var parts [][]byte
	for ; len(b) > n; b = b[n:] {
		parts = append(parts, b[:n])
	}
	parts = append(parts, b)
	if len(order) == 0 {
		for i := range parts {
			order = append(order, i)
		}
	}
	out := []byte{0xff, 0xff, 0xff, 0xff, opRules, byte(len(order)), byte(len(order) >> 8)}
	for _, i := range order {
		out = append(out, byte(i+1), byte(len(parts)), 0)
		out = append(append(out, parts[i]...), 0)
	}
	return out
}

func withApp(n int, app uint32) *dissect.Context {
	c := dissecttest.Context(n)
	c.FromServer = dissect.FlowFacts{AppID: app, HasApp: app != 0}
	return c
}

// decoded lists the fields of the bohemia object and what is in it.
func decoded(m *dissect.Message) string {
	i := m.Index(&defBohemia)
	if i < 0 {
		return ""
	}
	var out []string
	for j := i + 1; j < len(m.Fields) && m.Fields[j].Depth > m.Fields[i].Depth; j++ {
		f := &m.Fields[j]
		s := f.Def.Key()
		switch f.Def.Kind {
		case dissect.Text:
			s += fmt.Sprintf("=%q", m.Bytes(f))
		case dissect.Bytes:
			s += "=" + hex.EncodeToString(m.Bytes(f))
		case dissect.Group:
			continue
		default:
			s += fmt.Sprintf("=%d", f.Num)
		}
		if f.Flags&dissect.Cut != 0 {
			s += " cut"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

const (
	wantArma = `version=3 flags=0 dlc_mask=1 difficulty=137 difficulty_level=1 ai_level=1 advanced_flight=1 third_person=1 crosshair=1 ` +
		`dlcs=1 hash=1487258896 bit=0 mods=1 hash=1554115884 id_length=4 id=450814997 name="CBA" signatures=1 signature="a3"`
	wantDayZ = `version=2 flags=0 dlc_mask=0 dlcs=0 mods=1 hash=287454020 id_length=4 id=1559212036 name="CF" signatures=1 signature="CF" description="Hello"`
)

func TestBohemia(t *testing.T) {
	arma, dayZ := hextest.Bytes(t, plainArma), hextest.Bytes(t, plainDayZ)
	old := bytes.Clone(arma)
	old[0] = versionDayZ
	for _, tc := range []struct {
		name     string
		in       []byte
		app      uint32
		want     string
		findings string
	}{
		{"Arma 3", hextest.Bytes(t, rulesArma), 0, wantArma, ""},
		{"DayZ", hextest.Bytes(t, rulesDayZ), 0, wantDayZ, ""},
		{"Arma 3, game known", hextest.Bytes(t, rulesArma), appArma3, wantArma, ""},
		{"DayZ, game known", hextest.Bytes(t, rulesDayZ), appDayZ, wantDayZ, ""},
		{"Arma 3 in version 2", binaryReply(old, 127), appArma3, strings.Replace(wantArma, "version=3", "version=2", 1), ""},
		{"Arma 3 in version 2, game unknown", binaryReply(old, 127), 0, strings.Replace(wantArma, "version=3", "version=2", 1), ""},
		{"a page for every byte", binaryReply(arma, 1), 0, wantArma, ""},
		{"pages backwards", binaryReply(arma, 12, 2, 1, 0), 0, wantArma, ""},
		{"pages backwards, a byte each", binaryReply(dayZ[:5], 1, 8, 7, 6, 5, 4, 3, 2, 1, 0), appDayZ, "version=2 flags=0 dlc_mask=0 dlcs=0 mods=1", "A2S-S15"},
		{"no first page", binaryReply(arma, 12, 1, 2), appArma3, "", "A2S-S14"},
		{"no second page", binaryReply(arma, 12, 0, 2), appArma3, `version=3 flags=0 dlc_mask=1 difficulty=137 difficulty_level=1 ai_level=1 advanced_flight=1 third_person=1 crosshair=1 dlcs=1 hash=0 cut`, "A2S-S14"},
		{"a missing page, game unknown", binaryReply(arma, 12, 0, 2), 0, "", ""},
		{"a page twice", binaryReply(arma, 12, 0, 1, 1, 2), appArma3, wantArma, "A2S-S14 note"},
		{"counts of pages differ", append(binaryReply(arma, 127)[:0:0], hextest.Bytes(t, `ffffffff 45 0200 0101 00 03 00 0102 00 05 00`)...), appArma3, "version=3", "A2S-S14 note A2S-S15"},
		{"unknown version", binaryReply([]byte{9, 8, 7}, 127), appArma3, "version=9 trailing=0807", ""},
		{"bytes after the end", binaryReply(append(bytes.Clone(arma), 0xff, 0x01), 127), 0, wantArma + " trailing=ff01", ""},
		{"name leads beyond the end", binaryReply(bytes.Replace(arma, []byte("\x03CBA"), []byte("\x30CBA"), 1), 127), appArma3,
			strings.Split(wantArma, "name=")[0] + `name="CBA\x01\x02a3" cut`, "A2S-S15"},
		{"the same, game unknown", binaryReply(bytes.Replace(arma, []byte("\x03CBA"), []byte("\x30CBA"), 1), 127), 0,
			strings.Split(wantArma, "name=")[0] + `name="CBA\x01\x02a3" cut`, ""},
		{"an id of 15 bytes", binaryReply(bytes.Replace(arma, []byte("\x04\x15"), []byte("\x0f\x15"), 1), 127), appArma3,
			strings.Split(wantArma, "id_length=")[0] + `id_length=15`, "A2S-S15"},
		{"Creator DLC: three bytes of id, no name", binaryReply(hextest.Bytes(t, `03 00 0000 89 01 01 2ceda15c 13 2ce70f 00 00`), 127), 0,
			`version=3 flags=0 dlc_mask=0 difficulty=137 difficulty_level=1 ai_level=1 advanced_flight=1 third_person=1 crosshair=1 ` +
				`dlcs=0 mods=1 hash=1554115884 id_length=19 id=1042220 creator_dlc=1 name="" signatures=0`, ""},
		{"64-bit id", binaryReply(hextest.Bytes(t, `02 00 0000 01 2ceda15c 08 ffffffffffffffff 00 00`), 127), 0,
			`version=2 flags=0 dlc_mask=0 dlcs=0 mods=1 hash=1554115884 id_length=8 id=18446744073709551615 name="" signatures=0`, ""},
		{"escapes that stand for nothing", hextest.Bytes(t, `ffffffff 45 0100 0101 00 02 01 00`), appDayZ, "version=2 flags=1", "A2S-S15"},
		{"another game", binaryReply([]byte("text"), 127), 0, "", ""},
		{"another game, two letters", hextest.Bytes(t, `ffffffff 45 0100 "ab" 00 0203 00`), appArma3, "", ""},
		{"names of two bytes that are no pages", append(binaryReply(arma, 127)[:5], append([]byte{2, 0}, append(binaryReply(arma, 127)[7:], 'h', 'c', 0, '1', 0)...)...), 0, "", ""},
		{"the same, game known", append(binaryReply(arma, 127)[:5], append([]byte{2, 0}, append(binaryReply(arma, 127)[7:], 'h', 'c', 0, '1', 0)...)...), appArma3, wantArma, ""},
		{"old text scheme", hextest.Bytes(t, `ffffffff 45 0200 "mods:0-1" 00 "a;b;" 00 "sigNames:0-1" 00 "a3" 00`), appArma3, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := dissecttest.Run(New(), withApp(len(tc.in), tc.app), tc.in)
			dissecttest.CheckInvariants(t, m)
			if got := decoded(m); got != tc.want {
				t.Errorf("\ngot  %s\nwant %s", got, tc.want)
			}
			got := strings.TrimSpace(strings.Replace(dissecttest.Findings(m), "A2S-S11", "", 1))
			if got != tc.findings || m.Status != dissect.Complete {
				t.Errorf("%v, findings\ngot  %q\nwant %q", m.Status, got, tc.findings)
			}
		})
	}
}

// Every decoded field points at the bytes on the wire that it was decoded from.
func TestBohemiaExtents(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		def      *dissect.Def
		want     string
		note     string
	}{
		{"one byte", rulesArma, &defBohVersion, "03", ""},
		{"an escape is two", rulesArma, &defBohFlags, "0102", ""},
		{"two bytes, both escaped", rulesArma, &defDLCMask, "01010102", ""},
		{"computed", rulesArma, &defAILevel, "89", ""},
		{"across two pages", rulesArma, &defModHash, "2c 00 0202 00 eda15c", ""},
		{"count and members", rulesArma, &defSignatures, `0101 02 "a3"`, ""},
		{"escape across two pages", `ffffffff 45 0200 0102 00 0201 00 0202 00 02 0102 0102 00 00`, &defBohFlags, "01 00 0202 00 02", ""},
		{"the next page is further up", `ffffffff 45 0200 0202 00 0102 0102 00 0102 00 03 0102 01 01 00`, &defDLCMask, "0101", elsewhere},
		{"half an escape further up", `ffffffff 45 0200 0202 00 02 0102 0102 00 0102 00 03 01 00`, &defBohFlags, "01", elsewhere},
	} {
		b := hextest.Bytes(t, tc.in)
		m := dissecttest.Run(New(), withApp(len(b), appArma3), b)
		dissecttest.CheckInvariants(t, m)
		f := m.Find(tc.def)
		if f == nil {
			t.Errorf("%s: %s is missing", tc.name, tc.def.Name)
			continue
		}
		if got, want := m.Raw(f), hextest.Bytes(t, tc.want); !bytes.Equal(got, want) || f.Note != tc.note {
			t.Errorf("%s\ngot  %x %q\nwant %x %q", tc.name, got, f.Note, want, tc.note)
		}
	}
}

const elsewhere = "goes on in a page further up"

// What the capture cut is nobody's fault, and what is there is decoded.
func TestBohemiaCut(t *testing.T) {
	for name, in := range map[string]string{"Arma 3": rulesArma, "DayZ": rulesDayZ} {
		for _, app := range []uint32{0, appArma3, appDayZ} {
			b := hextest.Bytes(t, in)
			dissecttest.CheckTruncations(t, New(), withApp(len(b), app), b)
			for n := range b {
				c := withApp(len(b), app)
				m := dissecttest.Run(New(), c, b[:n])
				if got := dissecttest.Findings(m); strings.Contains(got, "S14") || strings.Contains(got, "S15") {
					t.Errorf("%s, %d bytes captured: findings %q", name, n, got)
				}
			}
		}
	}
	b := hextest.Bytes(t, rulesArma)
	m := dissecttest.Run(New(), withApp(len(b), appArma3), b[:22])
	if got, want := decoded(m), wantArma[:strings.Index(wantArma, "dlcs=")]+"dlcs=1 hash=0 cut"; got != want {
		t.Errorf("\ngot  %s\nwant %s", got, want)
	}
}

// The first pages are worth having where the sender cut the rest.
func TestBohemiaCutBySender(t *testing.T) {
	b := hextest.Bytes(t, rulesArma)
	b = b[:len(b)-8]
	m := dissecttest.Run(New(), withApp(len(b), appArma3), b)
	dissecttest.CheckInvariants(t, m)
	if got, want := decoded(m), strings.Split(wantArma, "name=")[0]; !strings.HasPrefix(got, want) {
		t.Errorf("\ngot  %s\nwant %s", got, want)
	}
	if got, want := dissecttest.Findings(m), "A2S-S07 A2S-S11 A2S-S14"; got != want || m.Status != dissect.Malformed {
		t.Fatalf("%v, findings\ngot  %q\nwant %q", m.Status, got, want)
	}
	if got, want := string(m.Expert[2].AppendText(nil)), "1 of 2 binary pages can be read: page 2 is missing or cut in a2s.rules.bohemia at byte 10"; got != want {
		t.Errorf("\ngot  %s\nwant %s", got, want)
	}
}

// Every page is counted, however many there are, and whether or not they agree.
func TestBohemiaCount(t *testing.T) {
	many := binaryReply(bytes.Repeat([]byte{3, 0, 0, 0}, 10), 1)
	for _, tc := range []struct {
		name string
		in   []byte
		want string
	}{
		{"as many as a letter's code", many, "70 rules carry binary data in place of text, the first at byte 7"},
		{"a page twice", hextest.Bytes(t, `ffffffff 45 0200 0101 00 03 00 0101 00 05 00`), "2 rules carry binary data in place of text, the first at byte 7"},
		{"two letters", hextest.Bytes(t, `ffffffff 45 0200 "ab" 00 03 00 "a" 00 05 00`), ""},
	} {
		m := dissecttest.Run(New(), withApp(len(tc.in), appArma3), tc.in)
		got := ""
		for i := range m.Expert {
			if x := &m.Expert[i]; x.Code == &codeBinary {
				got = string(x.AppendText(nil))
			}
		}
		if got != tc.want {
			t.Errorf("%s\ngot  %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

// No page can make the decoder keep more than its limits.
func TestBohemiaLimits(t *testing.T) {
	page := bytes.Repeat([]byte("\x02ab"), 20_000)
	b := append(hextest.Bytes(t, `ffffffff 45 0200 0102 00`), binaryReply(hextest.Bytes(t, `02 00 0000 00 ff`), 127)[10:]...)
	b = append(append(append(b[:len(b)-1], page...), 0), 2, 2, 0, 'x', 0)
	m := dissecttest.Run(New(), withApp(len(b), appDayZ), b)
	dissecttest.CheckInvariants(t, m)
	if n := len(m.Aux); n > 64<<10 {
		t.Errorf("%d bytes in Aux", n)
	}
}

func TestBohemiaAllocations(t *testing.T) {
	for _, in := range []string{rulesArma, rulesDayZ} {
		b := hextest.Bytes(t, in)
		dissecttest.CheckAllocations(t, New(), dissecttest.Context(len(b)), b)
	}
}

// FuzzBinaryRules makes pages of what is fuzzed, and takes it for a whole reply.
// What was paged and came in order is decoded to its last byte, or is damaged.
func FuzzBinaryRules(f *testing.F) {
	for _, in := range []string{plainArma, plainDayZ} {
		f.Add(hextest.Bytes(f, in), uint8(12), uint8(0), uint16(0), uint32(0))
	}
	f.Add(hextest.Bytes(f, rulesArma)[5:], uint8(0), uint8(1), uint16(3), uint32(appArma3))
	f.Add(bytes.Repeat([]byte("0\x00"), 14), uint8(0), uint8(32), uint16(3), uint32(appArma3)) // 42 pages
	f.Fuzz(func(t *testing.T, b []byte, page, turn uint8, missing uint16, app uint32) {
		raw := append([]byte{0xff, 0xff, 0xff, 0xff, opRules}, b...)
		dissecttest.CheckInput(t, New(), withApp(len(raw)+int(missing), app), raw)

		n := max(int(page), 1+len(escaped(b))/maxPages)
		paged := binaryReply(b, n)
		dissecttest.CheckInput(t, New(), withApp(len(paged), app), paged)
		if count := int(paged[5]); count > 1 { // the same pages, turned round
			order := make([]int, count)
			first := int(turn) % min(count, ' '-1) // what looks like a letter is believed only after others
			for i := range order {
				order[i] = (i + first) % count
			}
			turned := binaryReply(b, n, order...)
			dissecttest.CheckInput(t, New(), withApp(len(turned), app), turned)
			one := dissecttest.Run(New(), withApp(len(paged), app), paged)
			two := dissecttest.Run(New(), withApp(len(turned), app), turned)
			if got, want := decoded(two), decoded(one); got != want {
				t.Errorf("turned by %d\ngot  %s\nwant %s", turn, got, want)
			}
		}
	})
}
