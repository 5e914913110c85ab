package filter_test

import (
	"bytes"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/test/dissecttest"
)

// The fields of a protocol with secrets.
var (
	defLine   = dissect.Def{Name: "t.line", Kind: dissect.Text}
	defHidden = dissect.Def{Name: "t.line_secret", Kind: dissect.Text, Flags: dissect.Secret, PartOf: &defLine}
	defToken  = dissect.Def{Name: "t.token", Kind: dissect.Uint, Flags: dissect.Secret}
	defRest   = dissect.Def{Name: "t.rest", Kind: dissect.Bytes}
	secretive = dissect.Proto{Name: "t", Defs: []*dissect.Def{&defLine, &defHidden, &defToken, &defRest}}
)

type secretProtocol struct{}

func (secretProtocol) Proto() *dissect.Proto { return &secretive }

// command is a message "set <secret> now", a secret number and more bytes.
func command(secret string, token byte) *render.Event {
	data := []byte("set " + secret + " now\x00" + string([]byte{token}) + "rest")
	m := new(dissect.Message)
	m.Reset(&secretive, data)
	c := m.Cursor(&dissect.Context{Wire: len(data)})
	c.Pieces(&defLine, &defHidden, len("set "+secret+" now"), 1, func(b []byte) (int, int) {
		i := bytes.Index(b, []byte(secret))
		return i, i + len(secret)
	})
	c.U8(&defToken)
	c.Rest(&defRest)
	return &render.Event{Frame: 1, File: -1, Iface: -1, Src: dissecttest.Client, Dst: dissecttest.Server, Msg: m}
}

// TestSecrets: what a filter gives does not depend on secrets, unless they are shown.
func TestSecrets(t *testing.T) {
	reg, err := dissect.NewRegistry(secretProtocol{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		text            string
		hidden, isShown bool
	}{
		{"t.line_secret", true, true},
		{"t.token", true, true},
		{"count(t.token) == 1", true, true},
		{`t.line == "set hunter2 now"`, false, true},
		{`t.line == "set <redacted> now"`, true, false},
		{"t.line contains hunter", false, true},
		{"t.line contains now", true, true},
		{"t.line matches h.nter2", false, true},
		{"upper(t.line) contains HUNTER2", false, true},
		{"len(t.line) == 15", false, true},
		{`t.line[4:7] == "hunter2"`, false, true},
		{`payload contains "hunter2"`, false, true},
		{"payload contains 68:75:6e", false, true},
		{`payload matches "hunt"`, false, true},
		{`payload[4:3] == "***"`, true, false},
		{"payload[4:7] & ff:00:00:00:00:00:00 == 68:00:00:00:00:00:00", false, true},
		{"payload[16] == 2a", true, false},
		{"payload[16] == 4d", false, true},
		{"payload[0:4] == 73:65:74:20", true, true},
		{`payload[-4:] == "rest"`, true, true},
		{"t.line == payload", false, false},
	} {
		for _, show := range []bool{false, true} {
			p, err := filter.Compile(tc.text, reg, filter.Options{ShowSecrets: show})
			if err != nil {
				t.Errorf("%s: %v", tc.text, err)
				continue
			}
			want := tc.hidden
			if show {
				want = tc.isShown
			}
			if got := p.Matcher().Match(command("hunter2", 0x4d)) == filter.All; got != want {
				t.Errorf("%s, shown %v: %v, want %v", tc.text, show, got, want)
			}
			if other := p.Matcher().Match(command("letmein", 0x4e)) == filter.All; !show && other != tc.hidden {
				t.Errorf("%s gives %v for another secret", tc.text, other)
			}
		}
	}
	for _, text := range []string{"t.token == 77", "t.token & 1", "t.line_secret contains a", "t.line_secret[0] == 68",
		"len(t.line_secret) > 1", "t.line == t.line_secret", "t.token in {1..100}", "rtt > t.token", "lower(t.line_secret) == x"} {
		if _, err := filter.Compile(text, reg, filter.Options{}); err == nil {
			t.Errorf("%s compiles", text)
		}
	}
}
