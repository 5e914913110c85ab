package finding

import (
	"net/netip"
	"testing"
)

func TestFormat(t *testing.T) {
	for _, tc := range []struct {
		format string
		a, b   uint64
		want   string
	}{
		{"plain", 1, 2, "plain"},
		{"{a} of {b}", 1, 2, "1 of 2"},
		{"{a.high}, {a.low}, {b.byte}, {b.above}", 7<<32 | 8, 0x305, "7, 8, 5, 3"},
		{"{a.int}, {b.int}", 0xffff_ffff, 1<<32 | 5, "-1, 5"},
		{"{a.ms} ms, {b.elapsed}", 1_999_999, 1_500_000_000, "1 ms, 1.5 s"},
		{"{a.hundredths} times, 0x{b.hex}", 250, 255, "2.50 times, 0xff"},
		{"{a} {a:byte|bytes}, {b} {b:byte|bytes}", 1, 0, "1 byte, 0 bytes"},
		{"{a?x|y|z}{b.byte?x|y|z}", 1, 0x109, "yz"},
		{"{addr} {host}{unsure}", 0, 0, "192.0.2.1:27015 192.0.2.1, unless packets that the capture lacks say otherwise"},
		{"no {verb}", 0, 0, "no {verb}"},
	} {
		e := Expert{Code: &Code{Format: tc.format, Severity: Warn}, Severity: Note, A: tc.a, B: tc.b, Addr: netip.MustParseAddrPort("192.0.2.1:27015")}
		if got := string(e.AppendText(nil)); got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.format, got, tc.want)
		}
	}
}

func TestFormatAllocates(t *testing.T) {
	e := Expert{Code: &Code{Format: "{a} {a:byte|bytes} in {b.elapsed}, {a?x|y}{unsure}"}, A: 1, B: 2}
	var buf [200]byte
	if n := testing.AllocsPerRun(100, func() { e.AppendText(buf[:0]) }); n > 0 {
		t.Errorf("got  %v allocations\nwant 0", n)
	}
}
