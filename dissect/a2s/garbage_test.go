package a2s

import (
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
	"qsniff/reassembly/wire"
)

// Replies that are written wrongly are believed only as answers, and only where
// nothing else fits them.
func TestGarbage(t *testing.T) {
	const (
		zeros64 = `00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
			00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000`
		challenge = `ffffffff 41 4ba1d522`
		rules4    = `ffffffff 45 4ba1d522`
		none      = ""
	)
	for _, tc := range []struct {
		name, in string
		asked    dissect.Asked
		cut      int // bytes that the capture lacks
		split    wire.Engine
		typ      string // none: not believed
		status   dissect.Status
		findings string
	}{
		{"zeros", zeros64, dissect.AskInfo, 0, 0, "ZEROS", dissect.Malformed, "A2S-S10"},
		{"zeros that nobody asked for", zeros64, 0, 0, 0, none, 0, ""},
		{"zeros, a ping was asked", zeros64, dissect.AskPing, 0, 0, none, 0, ""},
		{"zeros, shorter than any answer", `00000000 00000000`, dissect.AskInfo, 0, 0, none, 0, ""},
		{"zeros, as long as the shortest answer", `00000000 00 00000000`, dissect.AskInfo, 0, 0, "ZEROS", dissect.Malformed, "A2S-S10"},
		{"zeros and one other byte", `00000000 00 00000001`, dissect.AskInfo, 0, 0, none, 0, ""},
		{"zeros, and who knows what after", zeros64, dissect.AskInfo, 1, 0, none, 0, ""},
		{"zeros in parts", zeros64, dissect.AskInfo, 0, wire.Source, none, 0, ""},

		{"header twice, info", `ffffffff` + infoAll, dissect.AskInfo, 0, 0, "S2A_INFO_SRC", dissect.Complete, "A2S-S10"},
		{"header twice, rules", `ffffffff` + rules2, dissect.AskRules, 0, 0, "S2A_RULES", dissect.Complete, "A2S-S10"},
		{"header twice, challenge for players", `ffffffff` + challenge, dissect.AskPlayers, 0, 0, "S2C_CHALLENGE", dissect.Complete, "A2S-S10"},
		{"header twice, nobody asked", `ffffffff` + infoAll, 0, 0, 0, none, 0, ""},
		{"header twice, something else was asked", `ffffffff` + infoAll, dissect.AskPlayers, 0, 0, none, 0, ""},
		{"header twice, a question", `ffffffff ffffffff 54 "Source Engine Query" 00`, dissect.AskInfo, 0, 0, none, 0, ""},
		{"header twice, and nothing of a challenge's length", `ffffffff` + challenge + `00`, dissect.AskPlayers, 0, 0, none, 0, ""},
		{"header three times", `ffffffff ffffffff` + infoAll, dissect.AskInfo, 0, 0, none, 0, ""},
		{"header and a half", `ffffffff ffff 49`, dissect.AskInfo, 0, 0, none, 0, ""},

		{"challenge with the letter of rules", rules4, dissect.AskPlayers, 0, 0, "S2A_RULES", dissect.Malformed, "A2S-S09"},
		{"the same where rules were asked", rules4, dissect.AskRules, 0, 0, "S2A_RULES", dissect.Malformed, "A2S-S09"},
		{"the same where nothing was asked", rules4, 0, 0, 0, none, 0, ""},
		{"the same where a ping was asked", rules4, dissect.AskPing, 0, 0, none, 0, ""},
		{"rules of five bytes", rules4 + `61`, dissect.AskRules, 0, 0, "S2A_RULES", dissect.Malformed, "A2S-S07"},
		{"one rule in four bytes", `ffffffff 45 0100 0000`, dissect.AskRules, 0, 0, "S2A_RULES", dissect.Complete, ""},
		{"rules that the capture cut", rules4, dissect.AskRules, 30, 0, "S2A_RULES", dissect.Truncated, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := hextest.Bytes(t, tc.in)
			c := dissecttest.Context(len(b) + tc.cut)
			c.FromServer = dissect.FlowFacts{Asked: tc.asked, Proto: 1}
			c.FromSplit = tc.split
			m := dissecttest.Run(New(), c, b)
			dissecttest.CheckInvariants(t, m)
			r, err := dissect.NewRegistry(New())
			if err != nil {
				t.Fatal(err)
			}
			v := r.Pick(c, b)
			if believed := v.Dissector != nil && r.Believe(c, &v); believed != (tc.typ != none) {
				t.Fatalf("believed\ngot  %v\nwant %v", believed, !believed)
			}
			if tc.typ == none {
				return
			}
			if m.Type != v.Type || m.Type.Name != tc.typ || m.Status != tc.status {
				t.Errorf("got  %v %v\nwant %s %v", m.Type, m.Status, tc.typ, tc.status)
			}
			if got := dissecttest.Findings(m); got != tc.findings {
				t.Errorf("findings\ngot  %q\nwant %q", got, tc.findings)
			}
		})
	}
}

// A challenge that is text is shown as it reads.
func TestBadChallengeText(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"number", `ffffffff 55 "-1"`, `challenge of 2 bytes at byte 5, the text "-1", 4 are expected`},
		{"one letter", `ffffffff 55 "0"`, `challenge of 1 byte at byte 5, the text "0", 4 are expected`},
		{"placeholder after the text", `ffffffff 54 "Source Engine Query" 00 "%s"`, `challenge of 2 bytes at byte 25, the text "%s", 4 are expected`},
		{"longer than there is room", `ffffffff 56 "584425803"`, `challenge of 9 bytes at byte 5, the text "58442580...", 4 are expected`},
		{"as long as there is room", `ffffffff 56 "84425803"`, `challenge of 8 bytes at byte 5, the text "84425803", 4 are expected`},
		{"three bytes of a number", `ffffffff 55 4ba1d5`, `challenge of 3 bytes at byte 5, 4 are expected`},
		{"what acts on terminals", `ffffffff 55 1b "[2J"  22`, `challenge of 5 bytes at byte 5, 4 are expected`},
		{"NUL after", `ffffffff 55 "-1" 00`, `challenge of 3 bytes at byte 5, 4 are expected`},
	} {
		b := hextest.Bytes(t, tc.in)
		m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
		var got []string
		for i := range m.Expert {
			got = append(got, string(m.Expert[i].AppendText(nil)))
		}
		if strings.Join(got, "; ") != tc.want {
			t.Errorf("%s\ngot  %q\nwant %q", tc.name, got, tc.want)
		}
	}
}
