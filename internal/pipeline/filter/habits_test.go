package filter_test

import (
	"net/netip"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/test/dissecttest"
)

// The fields of a protocol with a value of each kind.
var (
	defChallenge = dissect.Def{Name: "k.challenge", Kind: dissect.Int, Flags: dissect.Hex}
	defTime      = dissect.Def{Name: "k.time", Kind: dissect.Float, Unit: "s"}
	defWait      = dissect.Def{Name: "k.wait", Kind: dissect.Uint, Unit: "min"}
	defOS        = dissect.Def{Name: "k.os", Kind: dissect.Char, Values: dissect.EnvironmentName}
	defRule      = dissect.Def{Name: "k.rule", Kind: dissect.Text}
	defEnd       = dissect.Def{Name: "k.end", Kind: dissect.Addr}
	defZeros     = dissect.Def{Name: "k.zeros", Kind: dissect.Bytes, Flags: dissect.Size}
	kinds        = dissect.Proto{Name: "k", Defs: []*dissect.Def{&defChallenge, &defTime, &defWait, &defOS, &defRule, &defEnd, &defZeros}}
)

type kindsProtocol struct{}

func (kindsProtocol) Proto() *dissect.Proto { return &kinds }

// TestHabits: what is different from Wireshark, because it helps with messages of servers.
func TestHabits(t *testing.T) {
	reg, err := dissect.NewRegistry(kindsProtocol{})
	if err != nil {
		t.Fatal(err)
	}
	data := []byte("\xfe\xff\xff\xff\x66\x66\x06\x40\x5alhost\x00100\x00-2.5\x00\xc6\x12\x00\x01\x69\x87\x00\x00\x00\x00")
	m := new(dissect.Message)
	m.Reset(&kinds, data)
	c := m.Cursor(&dissect.Context{Wire: len(data) + 3})
	c.I32(&defChallenge)
	c.F32(&defTime)
	c.U8(&defWait)
	c.U8(&defOS)
	c.CString(&defRule)
	c.CString(&defRule)
	c.CString(&defRule)
	c.Addr(&defEnd, 6)
	c.Rest(&defZeros)
	e := &render.Event{Frame: 1, File: -1, Iface: -1, Src: dissecttest.Server, Dst: dissecttest.Client, Reply: true, Msg: m}
	for _, tc := range []struct {
		text string
		want bool
	}{
		{"k.challenge == -2", true},
		{"k.challenge == 0xfffffffe", true},
		{"k.challenge == 4294967294", false},
		{"k.challenge < 0", true},
		{"k.challenge & 0x80000000", true},
		{"k.time == 2.1", true},
		{"k.time > 2.1 or k.time < 2.1 or k.time != 2.1", false},
		{"k.time == 2100ms and k.time < 1min", true},
		{"k.wait == 90 and k.wait == 90min and k.wait > 1h", true},
		{"k.os == linux and k.os == \"Linux\" and k.os == l and k.os == 'l' and k.os == 0x6c", true},
		{"k.os == windows or k.os == w", false},
		{"k.os != Windows and k.os in {l, macOS}", true},
		{"k.rule > 99", true},
		{"k.rule > 100", false},
		{"k.rule < -2", true},
		{`k.rule > "99"`, true},
		{`k.rule < "1"`, true},
		{"k.rule == 100 and k.rule == host", true},
		{"k.rule in {10..200}", true},
		{"k.rule in {101..200}", false},
		{"k.end == 198.18.0.1 and k.end == 198.18.0.1:27015 and k.end == 198.18.0.0/15", true},
		{"k.end == 198.18.0.1:27016", false},
		{"k.end == src and k.end != dst and src != dst", true},
		{"k.end == server", true},
		{"k.zeros == 7", true},
		{"K.ZEROS >= 7 AND NOT k.wait < 90", true},
		{"k.wait > port", false},
		{"k.wait < port and all k.wait < port and k.time < k.wait and k.challenge < k.wait", true},
		{"all port > k.wait and not all port > 30000", true},
	} {
		p, err := filter.Compile(tc.text, reg, filter.Options{})
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
			continue
		}
		if got := p.Matcher().Match(e) == filter.All; got != tc.want {
			t.Errorf("%s: %v", tc.text, got)
		}
	}
	e.Src = netip.AddrPortFrom(dissecttest.Server.Addr(), 40001)
	if p, _ := filter.Compile("k.end == src", reg, filter.Options{}); p.Matcher().Match(e) != filter.None {
		t.Error("198.18.0.1:27015 is 198.18.0.1:40001")
	}
}
