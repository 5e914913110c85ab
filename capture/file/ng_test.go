package file

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket/pcapgo"

	"qsniff/capture"
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
