package digits

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"testing"
)

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
