package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket/pcapgo"

	"qsniff/capture"
	"qsniff/internal/test/hextest"
)

// Every kind of packet block, in both byte orders.
func TestNgPackets(t *testing.T) {
	const micro = 1_700_000_000_000_000
	tests := []struct {
		name  string
		build func(w *ngWriter)
		want  []packet
	}{
		{"enhanced, default resolution", func(w *ngWriter) {
			w.iface(276, 0)
			w.enhanced(0, micro+5, 60, "abc")
		}, []packet{{1, micro*1000 + 5000, "abc", 60, 276}}},
		{"wire length below captured length", func(w *ngWriter) {
			w.iface(1, 0)
			w.enhanced(0, micro, 1, "abc")
		}, []packet{{1, micro * 1000, "abc", 3, 1}}},
		{"interfaces with their own link type, resolution and offset", func(w *ngWriter) {
			w.iface(1, 0, opt{optTsresol, []byte{9}})
			w.iface(101, 0, opt{optTsresol, []byte{0x8a}}, w.option64(optTsoffset, 1_700_000_000))
			w.iface(113, 0, opt{optTsresol, []byte{0}})
			w.enhanced(2, 7, 1, "c")
			w.enhanced(0, 5, 1, "a")
			w.enhanced(1, 1536, 1, "b")
		}, []packet{{1, 7e9, "c", 1, 113}, {2, 5, "a", 1, 1}, {3, 1_700_000_001_500_000_000, "b", 1, 101}}},
		{"empty packet", func(w *ngWriter) {
			w.iface(1, 0)
			w.enhanced(0, micro, 60, "")
		}, []packet{{1, micro * 1000, "", 60, 1}}},
		{"simple packets have the time of the packet before", func(w *ngWriter) {
			w.iface(1, 0)
			w.iface(101, 0)
			w.simple(2, "ab")
			w.enhanced(1, micro, 1, "x")
			w.simple(3, "abc")
		}, []packet{{1, 0, "ab", 2, 1}, {2, micro * 1000, "x", 1, 101}, {3, micro * 1000, "abc", 3, 1}}},
		{"simple packet cut to the snap length", func(w *ngWriter) {
			w.iface(1, 5)
			w.simple(1000, "abcde")
		}, []packet{{1, 0, "abcde", 1000, 1}}},
		{"obsolete", func(w *ngWriter) {
			w.iface(1, 0)
			w.obsolete(0, 0, micro, 60, "abcde", text8(optComment, "x"))
		}, []packet{{1, micro * 1000, "abcde", 60, 1}}},
		{"other blocks are passed over", func(w *ngWriter) {
			w.iface(1, 0)
			w.block(blockNames, make([]byte, 8))
			w.block(blockSecrets, make([]byte, 100))
			w.block(blockCustom, make([]byte, 4))
			w.block(0xdeadbeef, nil)
			w.block(blockJournal, make([]byte, maxHeldBlock)) // too long to be held
			w.enhanced(0, micro, 1, "a")
		}, []packet{{1, micro * 1000, "a", 1, 1}}},
		{"a new section starts with no interfaces", func(w *ngWriter) {
			w.iface(1, 0)
			w.enhanced(0, micro, 1, "a")
			w.section()
			w.iface(228, 0, opt{optTsresol, []byte{3}})
			w.enhanced(0, 1_700_000_000_001, 1, "b")
		}, []packet{{1, micro * 1000, "a", 1, 1}, {2, 1_700_000_000_001_000_000, "b", 1, 228}}},
	}
	for _, order := range orders {
		for _, tt := range tests {
			t.Run(order.name+"/"+tt.name, func(t *testing.T) {
				w := &ngWriter{order: order.order}
				w.section()
				tt.build(w)
				got, err := drain(t, mustReader(t, w.b))
				if diff := cmp.Diff(tt.want, got); diff != "" || err != io.EOF {
					t.Errorf("error %v, packets (-want +got):\n%s", err, diff)
				}
			})
		}
	}
}

// Sections in different byte orders, one after the other.
func TestNgByteOrderChanges(t *testing.T) {
	var file []byte
	var want []packet
	for i := range 6 {
		w := startNg(orders[i%2].order)
		w.enhanced(0, uint64(i)*1e9, 3, "abc")
		file = append(file, w.b...)
		want = append(want, packet{uint64(i + 1), int64(i) * 1e9, "abc", 3, 1})
	}
	got, err := drain(t, mustReader(t, file))
	if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
		t.Errorf("error %v, packets (-want +got):\n%s", err, diff)
	}
}

func TestNgDescriptions(t *testing.T) {
	for _, order := range orders {
		w := &ngWriter{order: order.order}
		w.section(text8(optHardware, "x86"), text8(optOS, "Linux 6.1"), text8(optApplication, "dumpcap"), text8(optComment, "night of the flood"))
		w.iface(1, 96, text8(optName, "eth0"), text8(optDescription, "uplink"), text8(optFilter, "\x00udp port 27015"))
		w.iface(276, 0, text8(optName, "any\x00\x00"), text8(optFilter, "\x01bytecode"), text8(optName, ""))
		w.enhanced(0, 1, 1, "a")
		w.enhanced(0, 2, 1, "a", w.option64(optDropCount, 3))
		w.statistics(0, w.option64(optDropped, 1), w.option64(optDroppedOS, 1))
		w.statistics(1, w.option64(optDropped, 40), w.option64(optDroppedOS, noCounter))
		w.statistics(1, w.option64(optDropped, 41))
		w.statistics(7, w.option64(optDropped, 1000))
		w.section()
		w.iface(101, 0)
		w.enhanced(0, 3, 1, "b")
		w.obsolete(0, 5, 4, 1, "c")
		w.obsolete(0, lostUnknown, 5, 1, "d")
		r := mustReader(t, w.b)
		var b capture.Batch
		if err := r.Read(&b); err != nil || len(b.Packets) != 5 || b.Packets[4].Iface != 2 || b.Packets[0].Iface != 0 {
			t.Fatalf("got  %+v, %v\nwant five packets, the last of interface 2", b.Packets, err)
		}
		wantIfaces := []capture.Interface{
			{Index: 0, Name: "eth0", Description: "uplink", Filter: "udp port 27015", Link: 1, SnapLen: 96, Dropped: 3},
			{Index: 1, Name: "", Link: 276, Dropped: 41},
			{Index: 2, Link: 101, Dropped: 5},
		}
		if diff := cmp.Diff(wantIfaces, r.Interfaces()); diff != "" {
			t.Errorf("interfaces (-want +got):\n%s", diff)
		}
		wantSections := []Section{{"x86", "Linux 6.1", "dumpcap", "night of the flood"}, {}}
		if diff := cmp.Diff(wantSections, r.Sections()); diff != "" {
			t.Errorf("sections (-want +got):\n%s", diff)
		}
		if got, want := r.Stats().Dropped, uint64(3+41+5); got != want {
			t.Errorf("got  %d packets lost\nwant %d", got, want)
		}
		if got, want := r.LinkType(), uint16(1); got != want {
			t.Errorf("got  link type %d\nwant %d", got, want)
		}
	}
}

func TestNgComments(t *testing.T) {
	w := startNg(orders[1].order)
	w.enhanced(0, 1, 1, "a")
	w.enhanced(0, 2, 1, "b", text8(optComment, "first"), opt{2, []byte{0, 0, 0, 1}}, text8(optComment, "second"))
	w.obsolete(0, 0, 3, 5, "abcde", text8(optComment, "third"), text8(optComment, ""))
	var many []opt
	for i := range maxPacketComments + 5 {
		many = append(many, text8(optComment, fmt.Sprint(i)))
	}
	w.enhanced(0, 4, 1, "d", many...)
	w.enhanced(0, 5, 1, "e", opt{optComment, []byte("longer than the block")})
	binaryEnd := len(w.b) - 4 - 4 - 24 - 4 // the length of the last comment
	copy(w.b[binaryEnd+2:], "\xff\xff")
	r := mustReader(t, w.b)
	var b capture.Batch
	if err := r.Read(&b); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range b.Comments {
		got = append(got, fmt.Sprint(c.At, " ", string(c.Text)))
	}
	want := []string{"1 first", "1 second", "2 third"}
	for i := range maxPacketComments {
		want = append(want, fmt.Sprint("3 ", i))
	}
	if diff := cmp.Diff(want, got); diff != "" || len(b.Packets) != 5 {
		t.Errorf("%d packets, comments (-want +got):\n%s", len(b.Packets), diff)
	}
}

// All resolutions with all kinds of time stamps, against arithmetic without
// limits.
func TestNgResolution(t *testing.T) {
	stamps := []uint64{0, 1, 999, 1_700_000_000_123_456, 1_700_000_000_123_456_789, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64}
	offsets := []int64{0, 1, -1, 1_700_000_000, math.MaxInt64, math.MinInt64, -9_223_372_037, 9_223_372_036, -18_446_744_073}
	for resol := range 256 {
		for _, offset := range offsets {
			c := newResolution(byte(resol), offset)
			for _, stamp := range stamps {
				if got, want := c.nanos(stamp), exactNanos(byte(resol), offset, stamp); got != want {
					t.Fatalf("if_tsresol %#x, if_tsoffset %d, time %d:\ngot  %d\nwant %d", resol, offset, stamp, got, want)
				}
			}
		}
	}
}

// exactNanos is the definition of a pcapng time stamp.
func exactNanos(resol byte, offset int64, stamp uint64) int64 {
	base := big.NewInt(10)
	if resol&0x80 != 0 {
		base = big.NewInt(2)
	}
	unit := new(big.Int).Exp(base, big.NewInt(int64(resol&0x7f)), nil)
	n := new(big.Int).Mul(new(big.Int).SetUint64(stamp), big.NewInt(1e9))
	n.Div(n, unit)
	n.Add(n, new(big.Int).Mul(big.NewInt(offset), big.NewInt(1e9)))
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

func TestNgAgainstPcapgo(t *testing.T) {
	for seed := range uint64(4) {
		for _, maxLen := range []int{0, 60, 1514, 70_000} {
			file, want := randomNg(rand.New(rand.NewPCG(seed, 1)), 3_000_000/(maxLen+1000), maxLen)
			got, err := drain(t, mustReader(t, file))
			if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
				t.Errorf("up to %d bytes: error %v, packets (-want +got):\n%.2000s", maxLen, err, diff)
			}
			oracle, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.NgReaderOptions{WantMixedLinkType: true})
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				data, ci, err := oracle.ReadPacketData()
				if err != nil || string(data) != want[i].Data || ci.Timestamp.UnixNano() != want[i].Nanos || ci.Length != int(want[i].Wire) {
					t.Fatalf("packet %d: pcapgo got  %v, %v\nwant %v", i, ci, err, want[i])
				}
			}
		}
	}
}

func TestNgShortReads(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []func() int{
		func() int { return 1 },
		func() int { return 1 + rng.IntN(5000) },
		func() int { return 1 << 30 },
	}
	for _, f := range []struct{ n, maxLen int }{{2000, 100}, {300, 3000}, {5, capture.MaxCaptured}} {
		file, want := randomNg(rng, f.n, f.maxLen)
		for i, size := range sizes {
			r, err := NewReader(&shortReader{bytes.NewReader(file), size}, "x.pcap")
			if err != nil {
				t.Fatal(err)
			}
			got, err := drain(t, r)
			if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
				t.Errorf("%d packets, size %d: error %v, packets (-want +got):\n%.2000s", f.n, i, err, diff)
			}
		}
	}
}

func TestNgDamage(t *testing.T) {
	begin := func() *ngWriter { return startNg(orders[0].order) }
	head := len(begin().b)
	tests := []struct {
		name  string
		build func(w *ngWriter)
		want  []string // packets
		err   string   // without the file name
	}{
		{"interface that does not exist", func(w *ngWriter) {
			w.enhanced(0, 1, 1, "a")
			w.enhanced(1, 2, 1, "x")
			w.enhanced(7, 2, 1, "x")
			w.enhanced(0, 3, 1, "b")
		}, []string{"a", "b"}, ": byte 96: packet of interface 1, of which there is 1; 72 bytes skipped"},
		{"captured length beyond the block", func(w *ngWriter) {
			w.enhanced(0, 2, 1, "x")
			w.b[head+20] = 5
			w.enhanced(0, 3, 1, "b")
		}, []string{"b"}, ": byte 60: packet of 5 bytes in a block with room for 4; 36 bytes skipped"},
		{"two places", func(w *ngWriter) {
			w.enhanced(9, 2, 1, "x")
			w.enhanced(0, 2, 1, "a")
			w.enhanced(8, 2, 1, "x")
			w.enhanced(0, 3, 1, "b")
		}, []string{"a", "b"}, ": byte 60: packet of interface 9, of which there is 1; with 1 more damaged places; 72 bytes skipped"},
		{"simple packet beyond the block", func(w *ngWriter) {
			w.simple(9, "abcdefgh")
			w.enhanced(0, 3, 1, "b")
		}, []string{"b"}, ": byte 60: packet of 9 bytes in a block with room for 8; 24 bytes skipped"},
		{"short blocks", func(w *ngWriter) {
			w.block(blockEnhanced, make([]byte, 16))
			w.block(blockSimple, nil)
			w.block(blockObsolete, nil)
			w.block(blockInterface, nil)
			w.block(blockStatistics, nil)
			w.enhanced(0, 3, 1, "b")
		}, []string{"b"}, ": byte 60: enhanced packet block of 28 bytes, below the minimum of 32; 64 bytes skipped"},
		{"section of another version", func(w *ngWriter) {
			w.enhanced(0, 1, 1, "a")
			at := len(w.b)
			w.section()
			w.b[at+12] = 2
			w.iface(1, 0)
			w.enhanced(0, 2, 1, "x")
			w.section()
			w.iface(1, 0)
			w.enhanced(0, 3, 1, "b")
		}, []string{"a", "b"}, ": byte 96: pcapng version 2.0 not known, only 1.x is; 84 bytes skipped"},
		{"length not a multiple of four", func(w *ngWriter) {
			w.b = append(w.b, 6, 0, 0, 0, 33, 0, 0, 0, 1, 2, 3)
			w.enhanced(0, 3, 1, "b")
		}, []string{"b"}, ": byte 60: block length 33 not a multiple of 4; 11 bytes skipped"},
		{"length below the minimum", func(w *ngWriter) {
			w.b = append(w.b, make([]byte, 5000)...)
			w.enhanced(0, 3, 1, "b")
		}, []string{"b"}, ": byte 60: block length 0 below the minimum of 12; 5,000 bytes skipped"},
		{"length above the limit", func(w *ngWriter) {
			w.b = append(w.b, 4, 0, 0, 0, 4, 0, 0, 1, 0, 0, 0, 0)
			w.enhanced(0, 3, 1, "b")
		}, []string{"b"}, ": byte 60: block length 16,777,220 above the limit of 16,777,216; 12 bytes skipped"},
		{"packet above its limit", func(w *ngWriter) {
			w.b = append(w.b, 6, 0, 0, 0, 4, 0, 8, 0, 0, 0, 0, 0)
			w.enhanced(0, 3, 1, "b")
		}, []string{"b"}, ": byte 60: block length 524,292 above the limit of 524,288; 12 bytes skipped"},
		{"lengths differ", func(w *ngWriter) {
			w.enhanced(0, 1, 1, "x")
			w.b[len(w.b)-4] = 40
			w.enhanced(0, 3, 1, "b")
			w.enhanced(0, 3, 1, "c")
		}, []string{"b", "c"}, ": byte 60: block length 36 at its start, 40 at its end; 36 bytes skipped"},
		{"length of a long block wrong at its end", func(w *ngWriter) {
			w.block(blockNames, make([]byte, maxHeldBlock))
			w.b[len(w.b)-4] ^= 4
			w.enhanced(0, 3, 1, "b")
		}, []string{"b"}, ": byte 60: block length 524,300 at its start, 524,296 at its end; 524,300 bytes skipped"},
		{"long block cut", func(w *ngWriter) {
			w.enhanced(0, 3, 1, "b")
			w.block(blockNames, make([]byte, maxHeldBlock))
			w.b = w.b[:len(w.b)-1000]
		}, []string{"b"}, ": byte 96: block cut: 1,000 of 524,300 bytes missing"},
		{"block cut", func(w *ngWriter) {
			w.enhanced(0, 3, 1, "b")
			w.enhanced(0, 3, 1, "c")
			w.b = w.b[:len(w.b)-5]
		}, []string{"b"}, ": byte 96: block cut: its header promises 24 bytes, 19 remain"},
		{"block header cut", func(w *ngWriter) {
			w.enhanced(0, 3, 1, "b")
			w.b = append(w.b, 6, 0, 0, 0, 36)
		}, []string{"b"}, ": byte 96: block header cut: 5 of 12 bytes"},
		{"section header with another magic", func(w *ngWriter) {
			w.enhanced(0, 3, 1, "b")
			w.section()
			w.b[len(w.b)-20] ^= 1
			w.iface(1, 0)
			w.enhanced(0, 3, 1, "c")
		}, []string{"b", "c"}, ": byte 96: pcapng byte order magic 4c 3c 2b 1a not known; 28 bytes skipped"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := begin()
			tt.build(w)
			packets, gaps, err := drainGaps(t, mustReader(t, w.b))
			var got []string
			for _, p := range packets {
				got = append(got, p.Data)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("packets (-want +got):\n%s", diff)
			}
			if want := "x.pcap" + tt.err; err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if resumed := strings.HasSuffix(tt.err, "skipped"); errors.Is(err, ErrGap) != resumed || len(gaps) > 0 != resumed {
				t.Errorf("got  %d gaps, %#v\nwant gaps and ErrGap: %t", len(gaps), err, resumed)
			}
		})
	}
}

func TestNgStart(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"cut", "0a0d0d0a 1c000000 4d3c2b1a 0100", "x.pcap: byte 0: section header cut: 14 of 28 bytes"},
		{"no magic", "0a0d0d0a 1c000000 01020304 01000000 ffffffff ffffffff 1c000000",
			"x.pcap: byte 8: pcapng byte order magic 01 02 03 04 not known"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := NewReader(bytes.NewReader(hextest.Bytes(t, tt.in)), "x.pcap"); err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// The descriptions of one file are bounded, and its packets are delivered all the same.
func TestNgLimits(t *testing.T) {
	w := &ngWriter{order: orders[0].order}
	long := text8(optName, strings.Repeat("x", 60_000))
	for range maxSections + 3 {
		w.section(text8(optOS, strings.Repeat("y", 5000)))
		for range 5 {
			w.iface(1, 0, long)
		}
		w.enhanced(4, 1, 1, "a")
	}
	w.section()
	for range maxSectionInterfaces + 2 {
		w.iface(1, 0)
	}
	w.enhanced(maxSectionInterfaces-1, 2, 1, "b")
	w.enhanced(maxSectionInterfaces, 3, 1, "x")
	r := mustReader(t, w.b)
	packets, gaps, err := drainGaps(t, r)
	if len(packets) != maxSections+4 || len(gaps) != 2 || !errors.Is(err, ErrGap) {
		t.Errorf("got  %d packets, %d gaps, %v\nwant %d, 2", len(packets), len(gaps), err, maxSections+4)
	}
	if len(r.Interfaces()) != maxDescribed || len(r.Sections()) != maxSections {
		t.Errorf("got  %d interfaces, %d sections\nwant %d, %d", len(r.Interfaces()), len(r.Sections()), maxDescribed, maxSections)
	}
	if got := len(r.Interfaces()[0].Name); got != maxText {
		t.Errorf("got  name of %d bytes\nwant %d", got, maxText)
	}
}

// Every cut delivers the packets before it and returns an error with its place.
func TestNgEveryTruncation(t *testing.T) {
	w := &ngWriter{order: orders[1].order}
	w.section(text8(optOS, "Linux"))
	w.iface(1, 0, opt{optTsresol, []byte{9}})
	ends := []int{28 + 16, len(w.b)}
	packetsAt := []int{0, 0}
	var want []packet
	for i, data := range []string{"first packet", "", "a", "the last packet"} {
		w.enhanced(0, uint64(i), uint32(len(data)), data, text8(optComment, "c"))
		want = append(want, packet{uint64(i + 1), int64(i), data, uint32(len(data)), 1})
		ends, packetsAt = append(ends, len(w.b)), append(packetsAt, len(want))
	}
	for n := minSection; n < len(w.b); n++ {
		whole, offset := 0, int64(0)
		for i, end := range ends {
			if end <= n {
				whole, offset = packetsAt[i], int64(end)
			}
		}
		got, err := drain(t, mustReader(t, w.b[:n]))
		if diff := cmp.Diff(want[:whole], append([]packet{}, got...)); diff != "" {
			t.Errorf("cut at %d: packets (-want +got):\n%s", n, diff)
		}
		var e *Error
		switch {
		case offset == int64(n):
			if err != io.EOF {
				t.Errorf("cut at %d, between blocks:\ngot  %v\nwant EOF", n, err)
			}
		case !errors.As(err, &e) || !errors.Is(err, io.ErrUnexpectedEOF) || e.Offset != offset || e.Hint == "":
			t.Errorf("cut at %d:\ngot  %#v\nwant a cut at %d with a hint", n, err, offset)
		}
	}
}

// ngWriter builds pcapng by hand.
type ngWriter struct {
	order binary.AppendByteOrder
	b     []byte
}

// opt is an option of a block.
type opt struct {
	code  uint16
	value []byte
}

func (w *ngWriter) u16(b []byte, n uint16) []byte { return w.order.AppendUint16(b, n) }
func (w *ngWriter) u32(b []byte, n uint32) []byte { return w.order.AppendUint32(b, n) }
func (w *ngWriter) u64(b []byte, n uint64) []byte { return w.order.AppendUint64(b, n) }

func pad4(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// block appends a block with that body, a multiple of four bytes, and options.
func (w *ngWriter) block(kind uint32, body []byte, opts ...opt) {
	body = append([]byte(nil), body...)
	for _, o := range opts {
		body = w.u16(body, o.code)
		body = w.u16(body, uint16(len(o.value)))
		body = pad4(append(body, o.value...))
	}
	if len(opts) > 0 {
		body = append(body, 0, 0, 0, 0)
	}
	length := uint32(len(body) + minBlock)
	w.b = w.u32(w.b, kind)
	w.b = w.u32(w.b, length)
	w.b = append(w.b, body...)
	w.b = w.u32(w.b, length)
}

func (w *ngWriter) section(opts ...opt) {
	body := w.u32(nil, byteOrderMagic)
	body = w.u16(w.u16(body, 1), 0)
	w.block(blockSection, w.u64(body, 1<<64-1), opts...)
}

func (w *ngWriter) iface(link uint16, snapLen uint32, opts ...opt) {
	w.block(blockInterface, w.u32(w.u16(w.u16(nil, link), 0), snapLen), opts...)
}

func (w *ngWriter) enhanced(iface uint32, stamp uint64, wire uint32, data string, opts ...opt) {
	body := w.u32(nil, iface)
	body = w.u32(w.u32(body, uint32(stamp>>32)), uint32(stamp))
	body = w.u32(w.u32(body, uint32(len(data))), wire)
	w.block(blockEnhanced, pad4(append(body, data...)), opts...)
}

func (w *ngWriter) simple(wire uint32, data string) {
	w.block(blockSimple, pad4(append(w.u32(nil, wire), data...)))
}

func (w *ngWriter) obsolete(iface, lost uint16, stamp uint64, wire uint32, data string, opts ...opt) {
	body := w.u16(w.u16(nil, iface), lost)
	body = w.u32(w.u32(body, uint32(stamp>>32)), uint32(stamp))
	body = w.u32(w.u32(body, uint32(len(data))), wire)
	w.block(blockObsolete, pad4(append(body, data...)), opts...)
}

func (w *ngWriter) statistics(iface uint32, opts ...opt) {
	w.block(blockStatistics, w.u64(w.u32(nil, iface), 0), opts...)
}

func (w *ngWriter) option64(code uint16, n uint64) opt { return opt{code, w.u64(nil, n)} }

func text8(code uint16, s string) opt { return opt{code, []byte(s)} }

// orders are the byte orders a section may have.
var orders = []struct {
	name  string
	order binary.AppendByteOrder
}{{"little", binary.LittleEndian}, {"big", binary.BigEndian}}

// start returns a writer with a section of one Ethernet interface that counts
// nanoseconds.
func startNg(order binary.AppendByteOrder) *ngWriter {
	w := &ngWriter{order: order}
	w.section()
	w.iface(1, 0, opt{optTsresol, []byte{9}})
	return w
}

// randomNg makes a capture of n packets of up to maxLen bytes in several
// sections, with blocks of other kinds between, and the packets in it.
func randomNg(rng *rand.Rand, n, maxLen int) (file []byte, want []packet) {
	w := startNg(orders[rng.IntN(2)].order)
	for i := range n {
		switch rng.IntN(200) {
		case 0:
			w.order = orders[rng.IntN(2)].order
			w.section(text8(optApplication, "test"))
			w.iface(1, 0, opt{optTsresol, []byte{9}})
		case 1:
			w.block(blockNames, make([]byte, 4*rng.IntN(50)))
		case 2:
			w.statistics(0, w.option64(optDropped, uint64(i)))
		}
		data := make([]byte, rng.IntN(maxLen+1))
		for j := range data {
			data[j] = byte(rng.Uint32())
		}
		nanos := 1_700_000_000_000_000_000 + int64(i)*1_000_000 + rng.Int64N(1000)
		var opts []opt
		if rng.IntN(10) == 0 {
			opts = append(opts, text8(optComment, "a comment"))
		}
		wire := uint32(len(data)) + rng.Uint32()%3
		w.enhanced(0, uint64(nanos), wire, string(data), opts...)
		want = append(want, packet{uint64(i + 1), nanos, string(data), wire, 1})
	}
	return w.b, want
}
