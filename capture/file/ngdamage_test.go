package file

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"qsniff/internal/test/hextest"

	"github.com/google/go-cmp/cmp"
)

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

// What one file can describe is bounded, and packets are delivered all the same.
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
