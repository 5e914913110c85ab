package digits

import (
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"strconv"
	"testing"
	"time"
)

func TestGrouped(t *testing.T) {
	tests := []struct {
		in   int64
		want string
	}{
		{0, "0"}, {999, "999"}, {1000, "1,000"}, {262_144, "262,144"}, {1_234_567, "1,234,567"},
		{-1, "-1"}, {-123, "-123"}, {-1234, "-1,234"}, {math.MinInt64, "-9,223,372,036,854,775,808"},
	}
	for _, tt := range tests {
		if got := Grouped(tt.in); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	for n, most := range map[int64]float64{0: 0, 99: 0, 1000: 1, math.MinInt64: 1} {
		if got := testing.AllocsPerRun(10, func() { Grouped(n) }); got > most {
			t.Errorf("%v allocations for %d, want %v at most", got, n, most)
		}
	}
}

func TestElapsed(t *testing.T) {
	for _, tt := range []struct {
		in   int64
		want string
	}{
		{0, "0 ns"}, {999, "999 ns"}, {1000, "1 µs"}, {1009, "1 µs"}, {1010, "1.01 µs"}, {12_340, "12.3 µs"}, {99_999, "99.9 µs"},
		{1_240_000, "1.24 ms"}, {20_000_000, "20 ms"}, {123_900_000, "123 ms"}, {3_100_000_000, "3.1 s"}, {15_000_000_000, "15 s"},
		{999_000_000_000, "999 s"}, {4_000_000_000_000, "1h6m40s"},
	} {
		if got := string(AppendElapsed(nil, tt.in, " ")); got != tt.want {
			t.Errorf("%d\ngot  %s\nwant %s", tt.in, got, tt.want)
		}
	}
}

func TestMillis(t *testing.T) {
	for _, tt := range []struct {
		in   int64
		want string
	}{
		{0, "0"}, {1, "0.000001"}, {1_240_000, "1.24"}, {20_000_000, "20"}, {20_000_010, "20.00001"},
		{3_000_000_000, "3000"}, {math.MaxInt64, "9223372036854.775807"},
	} {
		if got := string(AppendMillis(nil, tt.in)); got != tt.want {
			t.Errorf("%d\ngot  %s\nwant %s", tt.in, got, tt.want)
		}
	}
}

func TestCounted(t *testing.T) {
	for _, tc := range []struct {
		n     uint64
		words []string
		want  string
	}{
		{0, []string{"byte"}, "0 bytes"},
		{1, []string{"byte"}, "1 byte"},
		{1234, []string{"reply", "replies"}, "1,234 replies"},
		{1, []string{"reply", "replies"}, "1 reply"},
	} {
		if got := Counted(tc.n, tc.words...); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

func TestSpan(t *testing.T) {
	for _, tc := range []struct {
		in   time.Duration
		want string
	}{
		{0, "0 ms"}, {850 * time.Microsecond, "0.85 ms"}, {999 * time.Millisecond, "999 ms"}, {3100 * time.Millisecond, "3.1 s"},
		{59960 * time.Millisecond, "1m0s"}, {312 * time.Second, "5m12s"}, {26*time.Hour + 3*time.Second, "26h0m3s"},
		{127 * time.Hour, "5d7h"}, {130609*time.Hour + 42*time.Minute + 32*time.Second, "14.9 years"},
		{-3 * time.Second, "-3 s"}, {math.MinInt64, "-146 years"}, {math.MaxInt64, "292 years"},
	} {
		if got := Span(tc.in); got != tc.want {
			t.Errorf("%d\ngot  %s\nwant %s", tc.in, got, tc.want)
		}
	}
}

// TestSpanHours: no length of time, however it is written, has more than 99 hours.
func TestSpanHours(t *testing.T) {
	many := regexp.MustCompile(`\d{3,}h`)
	for d := time.Duration(1); d < 1<<61; d += d/7 + 1 {
		if s := Span(d) + " " + string(AppendElapsed(nil, int64(d), " ")); many.MatchString(s) {
			t.Errorf("%d: %s", d, s)
		}
	}
}

func TestExtent(t *testing.T) {
	for _, tc := range []struct {
		packets    uint64
		read, size int64
		want       string
	}{
		{1_234_567, 98 << 20, 6 << 30, "1,234,567 packets, 98.0 MiB of 6.00 GiB"},
		{1, 400, 0, "1 packet, 400 B"},
	} {
		if got := Extent(tc.packets, tc.read, tc.size); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

func TestBytes(t *testing.T) {
	for _, tc := range []struct {
		in   float64
		want string
	}{
		{0, "0 B"}, {999, "999 B"}, {1000, "0.977 KiB"}, {1024, "1.00 KiB"}, {1536, "1.50 KiB"}, {102_400, "100 KiB"},
		{1 << 20, "1.00 MiB"}, {123 << 30, "123 GiB"}, {1 << 62, "4.00 EiB"}, {1 << 63 * 1024, "8,192 EiB"},
	} {
		if got := Bytes(tc.in); got != tc.want {
			t.Errorf("%v:\ngot  %s\nwant %s", tc.in, got, tc.want)
		}
	}
}

func TestShort(t *testing.T) {
	for _, tc := range []struct {
		in   float64
		want string
	}{
		{0, "0"}, {0.0004, "0.000"}, {0.0123, "0.012"}, {0.9994, "0.999"}, {0.9996, "1.00"}, {4.916, "4.92"}, {9.996, "10.0"},
		{31.42, "31.4"}, {99.96, "100"}, {1234.5, "1,235"}, {1e9, "1,000,000,000"},
	} {
		if got := Short(tc.in); got != tc.want {
			t.Errorf("%v:\ngot  %s\nwant %s", tc.in, got, tc.want)
		}
	}
}

// TestAppendUint compares with strconv, about each power of ten and of two and between them.
func TestAppendUint(t *testing.T) {
	test := func(v uint64) {
		want := "x" + strconv.FormatUint(v, 10)
		if got := string(AppendUint([]byte("x"), v)); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		for _, v := range []int64{int64(v), -int64(v)} {
			if got, want := string(AppendInt(nil, v)), strconv.FormatInt(v, 10); got != want {
				t.Fatalf("got  %s\nwant %s", got, want)
			}
		}
		if got := countDigits(v); got != len(want)-1 {
			t.Fatalf("%d has %d digits, got %d", v, len(want)-1, got)
		}
	}
	for _, base := range []uint64{2, 10} {
		for x := uint64(1); ; x *= base {
			for _, v := range []uint64{x - 1, x, x + 1, x + x/3} {
				test(v)
			}
			if x > math.MaxUint64/base {
				break
			}
		}
	}
	test(math.MaxUint64)
}

// TestAppendEnd compares with netip, with each byte at each place, and what is not IPv4.
func TestAppendEnd(t *testing.T) {
	test := func(a netip.AddrPort) {
		for _, room := range []int{1, 8, 64} {
			if got, want := string(AppendEnd(append(make([]byte, 0, room), 'x'), a)), string(a.AppendTo([]byte("x"))); got != want {
				t.Fatalf("got  %s\nwant %s", got, want)
			}
		}
	}
	for place := range 4 {
		for x := range 256 {
			ip := [4]byte{198, 51, 100, 7}
			ip[place] = byte(x)
			test(netip.AddrPortFrom(netip.AddrFrom4(ip), uint16(x*257)))
		}
	}
	test(netip.MustParseAddrPort("[2001:db8::1]:27015"))
	test(netip.MustParseAddrPort("[::ffff:198.51.100.7]:27015"))
	test(netip.MustParseAddrPort("[fe80::1%eth0]:27015"))
	test(netip.AddrPort{})
}

func TestAppendMillionths(t *testing.T) {
	for v := uint64(0); v < 1e6; v += 37 {
		if got, want := string(AppendMillionths(nil, v)), fmt.Sprintf("%06d", v); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}

// BenchmarkPlain is the numbers and addresses of a message.
func BenchmarkPlain(b *testing.B) {
	end, dst := netip.MustParseAddrPort("198.51.100.7:27015"), make([]byte, 0, 128)
	b.Run("uint", func(b *testing.B) {
		for b.Loop() {
			dst = AppendUint(dst[:0], 849_712)
		}
	})
	b.Run("end", func(b *testing.B) {
		for b.Loop() {
			dst = AppendEnd(dst[:0], end)
		}
	})
	b.Run("millis", func(b *testing.B) {
		for b.Loop() {
			dst = AppendMillis(dst[:0], 20_123_456)
		}
	})
}
