package pipeline

import (
	"net/netip"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/protos"
)

const (
	infoQuery = "\xff\xff\xff\xffTSource Engine Query\x00"
	padded100 = infoQuery + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	rulesQuery  = "\xff\xff\xff\xff\x56\xff\xff\xff\xff"
	playersAnn  = "\xff\xff\xff\xffD\x01\x00Ann\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	playersBobs = "\xff\xff\xff\xffD\x01\x00Bobs\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	part0       = "\xfe\xff\xff\xff\x07\x00\x00\x00\x03\x00\xe0\x04\xff\xff\xff\xffE\x01\x00"
	part1       = "\xfe\xff\xff\xff\x07\x00\x00\x00\x03\x01\xe0\x04abcdefg"
	part2       = "\xfe\xff\xff\xff\x07\x00\x00\x00\x03\x02\xe0\x04abc"
)

// TestSegmentSize: datagrams are divided where the kernel reports their size or the payload is no
// message as a whole but some at equal distances; what a program sent as it is stays whole.
func TestSegmentSize(t *testing.T) {
	zeros := strings.Repeat("\x00", 1175)
	tests := []struct {
		name  string
		in    string
		cut   int // bytes that the capture lacks
		known uint16
		want  int
	}{
		{name: "two queries", in: infoQuery + infoQuery, want: 25},
		{name: "as many as the kernel merges", in: strings.Repeat(infoQuery, 128), want: 25},
		{name: "one more", in: strings.Repeat(infoQuery, 129)},
		{name: "padded queries", in: strings.Repeat(padded100, 5), want: 100},
		{name: "the last one is shorter", in: padded100 + padded100[:80], want: 100},
		{name: "the last one is longer", in: padded100[:80] + padded100},
		{name: "challenges of all ones", in: strings.Repeat(rulesQuery, 3), want: 9},
		{name: "replies", in: playersAnn + playersAnn, want: 19},
		{name: "replies of two sizes", in: playersAnn + playersBobs},
		{name: "a query and another one", in: infoQuery + rulesQuery},
		{name: "a query and its repetition after another one", in: infoQuery + rulesQuery + infoQuery},
		{name: "unequal distances", in: infoQuery + "\x00" + infoQuery + infoQuery},
		{name: "a query padded with zeros", in: infoQuery + zeros},
		{name: "a query", in: infoQuery},
		{name: "a challenge of all ones", in: rulesQuery},
		{name: "a reply with a name that begins as it does", in: "\xff\xff\xff\xffD\x01\x00\xff\xff\xff\xffD\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"},
		{name: "three parts", in: part0 + part1 + part2, want: 19},
		{name: "parts of two messages", in: part0 + strings.Replace(part1, "\x07", "\x08", 1)},
		{name: "parts out of order", in: part1 + part0},
		{name: "the capture cut the second", in: infoQuery + infoQuery + infoQuery, cut: 30, want: 25},
		{name: "junk", in: strings.Repeat("\xff\xff\xff\xff\x02junkjunk", 8)},
		{name: "junk of which the kernel reports the size", in: strings.Repeat("\xff\xff\xff\xff\x02junkjunk", 8), known: 13, want: 13},
		{name: "a size that the datagram does not reach", in: infoQuery, known: 25},
		{name: "game packets", in: strings.Repeat("\x01\x02\x03\x04\x05\x06\x07\x08\x09", 4)},
	}
	o := dissect.NewOffload(protos.Registry(t))
	src, dst := netip.MustParseAddrPort("10.64.0.1:40001"), netip.MustParseAddrPort("198.18.0.1:27015")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := []byte(tt.in)[:len(tt.in)-tt.cut]
			if got := o.SegmentSize(src, dst, b, len(tt.in), tt.known); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
			if n := testing.AllocsPerRun(10, func() { o.SegmentSize(src, dst, b, len(tt.in), tt.known) }); n > 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// FuzzSegmentSize: a size divides the datagram into at least two and at most 128 others.
func FuzzSegmentSize(f *testing.F) {
	for _, s := range []string{infoQuery + infoQuery, padded100 + padded100[:80], playersAnn + playersAnn, part0 + part1 + part2} {
		f.Add([]byte(s), uint16(0))
	}
	o := dissect.NewOffload(protos.Registry(f))
	src, dst := netip.MustParseAddrPort("10.64.0.1:40001"), netip.MustParseAddrPort("198.18.0.1:27015")
	f.Fuzz(func(t *testing.T, b []byte, more uint16) {
		wire := len(b) + int(more)
		n := o.SegmentSize(src, dst, b, wire, 0)
		if n != 0 && (n < 9 || n >= len(b) || (wire+n-1)/n > 128) {
			t.Errorf("%d bytes of %d: segments of %d", len(b), wire, n)
		}
	})
}
