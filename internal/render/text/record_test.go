package text

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/render"
)

func TestRecord(t *testing.T) {
	r := &render.Record{Nanos: 1_700_000_000_000_370_000, Frames: []uint64{7},
		Expert: &finding.Expert{Code: &dissect.TooManyFields, Severity: finding.Warn, A: 3, B: 4}, Detail: []byte(": \x1b[31mred")}
	const want = `! warn LIM-01  decoding stopped after 3 fields, 4 bytes left undecoded from byte 0 on: \x1b[31mred`
	if diff := cmp.Diff("    7 22:13:20.000370Z "+want+"\n", string(NewLine(Options{UTC: true}).AppendRecord(nil, r))); diff != "" {
		t.Errorf("line, want -, got +\n%s", diff)
	}
	r.Frames = nil
	const wrapped = `      2023-11-14 22:13:20.000370Z ! warn LIM-01  decoding stopped after 3
        fields, 4 bytes left undecoded from byte 0 on: \x1b[31mred

`
	if diff := cmp.Diff(wrapped, string(NewTree(Options{UTC: true}).AppendRecord(nil, r))); diff != "" {
		t.Errorf("tree, want -, got +\n%s", diff)
	}
	if diff := cmp.Diff(wrapped, string(NewHex(Options{UTC: true}).AppendRecord(nil, r))); diff != "" {
		t.Errorf("hex, want -, got +\n%s", diff)
	}
}

// A finding keeps to the width too, and drops nothing for it.
func TestRecordWidth(t *testing.T) {
	r := &render.Record{Nanos: 1_700_000_000_000_370_000, Frames: []uint64{1234567},
		Expert: &finding.Expert{Code: &dissect.TooManyFields, Severity: finding.Warn, A: 3, B: 4}, Detail: []byte(": [2001:db8::1]:40000 > [2001:db8::2]:27015")}
	whole := strings.Fields(string(NewLine(Options{UTC: true, Date: true}).AppendRecord(nil, r)))
	for width := minWidth; width <= 160; width++ {
		got := string(NewTree(Options{UTC: true, Width: width}).AppendRecord(nil, r))
		for line := range strings.Lines(got) {
			if len(line) > width+1 {
				t.Errorf("width %d: %d columns: %s", width, len(line)-1, line)
			}
		}
		if diff := cmp.Diff(whole, strings.Fields(got)); diff != "" {
			t.Errorf("width %d: want -, got +\n%s", width, diff)
		}
	}
}

// How a packet came in stands below the headline, escaped and within the width.
func TestWaysAndComments(t *testing.T) {
	e := event(t, []byte("\xff\xff\xff\xff\x57"), 5, 0)
	a, b := netip.MustParseAddrPort("10.0.0.1:4789"), netip.MustParseAddrPort("10.0.0.2:4789")
	e.IfName = "eth0\x1b"
	e.Ways = []render.Way{{Kind: "VLAN", ID: 7}, {Kind: "VXLAN", ID: 42, Src: a, Dst: b},
		{Kind: "IP in IP", Src: netip.AddrPortFrom(a.Addr(), 0), Dst: netip.AddrPortFrom(b.Addr(), 0)}}
	e.Comments = [][]byte{[]byte(strings.Repeat("word ", 20)), []byte("\u202etxt")}
	got := string(NewTree(Options{UTC: true}).Append(nil, e))
	for _, want := range []string{
		`  captured on eth0\x1b` + "\n",
		"  via VLAN 7, VXLAN 42 10.0.0.1:4789 > 10.0.0.2:4789, IP in IP 10.0.0.1 >\n    10.0.0.2\n",
		"  comment: word word", "  comment: \\u202etxt\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for line := range strings.Lines(got) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

// TestBareRecord: without packets there is neither a time nor are there ends, which
// the detail names.
func TestBareRecord(t *testing.T) {
	r := &render.Record{Nanos: 1_700_000_000_000_370_000, Frames: []uint64{7},
		Expert: &finding.Expert{Code: &dissect.TooManyFields, Severity: finding.Warn, A: 3, B: 4}, Detail: []byte(": 10.0.0.1:1 > 10.0.0.2:2")}
	const want = "    7 ! warn LIM-01  decoding stopped after 3 fields, 4 bytes left undecoded from byte 0 on\n"
	if diff := cmp.Diff(want, string(NewLine(Options{Bare: true}).AppendRecord(nil, r))); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

// TestBare: nothing that a packet tells is left in any view.
func TestBare(t *testing.T) {
	e := event(t, []byte("\xff\xff\xff\xff\x57"), 5, 0)
	e.Frame, e.Frames, e.File, e.Iface = 3, []uint64{2, 3}, 5, 6
	o := Options{Bare: true, UTC: true}
	for name, r := range map[string]render.Renderer{"line": NewLine(o), "tree": NewTree(o), "hex": NewHex(o)} {
		got := string(r.Append(nil, e))
		for _, word := range []string{"frame", "input", "interface", e.Src.String(), e.Dst.String(), ":20.", "2023"} {
			if strings.Contains(got, word) {
				t.Errorf("%s: %q in\n%s", name, word, got)
			}
		}
		if name != "line" && (!strings.HasPrefix(got, "payload 3 ") || !strings.Contains(got, "payloads 2-3")) {
			t.Errorf("%s: the payloads are not named in\n%s", name, got)
		}
	}
}

// The headline says what a reply answers and after how long, the line how long.
func TestRelation(t *testing.T) {
	m := &dissect.Message{Proto: &dissect.Proto{Name: "x"}, Type: &dissect.Type{Name: "PONG"}, Wire: 1, Data: []byte{1}}
	for _, tt := range []struct {
		name       string
		in         render.Exchange
		request    bool
		bare       bool
		head, line string
	}{
		{"none", render.Exchange{RTT: -1}, false, false, "reply  1 byte", "PONG 1 B"},
		{"first request", render.Exchange{ID: 5, RTT: -1}, true, false, "request  1 byte", "PONG 1 B"},
		{"repetition", render.Exchange{ID: 5, Verb: "follows unanswered", RTT: -1}, true, false, "request  follows unanswered frame 5", "PONG 1 B"},
		{"answer", render.Exchange{ID: 5, Verb: "answers", Request: 7, RTT: 1_240_000}, false, false,
			"reply  answers frame 7 after 1.24 ms", "PONG 1.24ms 1 B"},
		{"clock set back", render.Exchange{ID: 5, Verb: "answers", Request: 7, RTT: -1}, false, false, "reply  answers frame 7  1 byte", "PONG 1 B"},
		{"cause not in the capture", render.Exchange{ID: 5, Verb: "answers", RTT: -1}, false, false, "reply  belongs to frame 5  1 byte", "PONG 1 B"},
		{"payloads have no times", render.Exchange{ID: 5, Verb: "answers", Request: 7, RTT: 5}, false, true, "reply  1 byte", "PONG 1 B"},
	} {
		e := render.Event{Frame: 9, File: -1, Iface: -1, Msg: m, Reply: !tt.request, Exchange: tt.in}
		o := Options{UTC: true, Width: 200, Bare: tt.bare}
		if got := string(NewTree(o).Append(nil, &e)); !strings.Contains(got, tt.head) {
			t.Errorf("%s\ngot  %s\nwant %s in it", tt.name, got, tt.head)
		}
		if got := string(NewLine(o).Append(nil, &e)); !strings.Contains(got, tt.line) {
			t.Errorf("%s\ngot  %s\nwant %s in it", tt.name, got, tt.line)
		}
	}
}
