package file

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"qsniff/capture"
)

// variant is one of the ways to write classic pcap.
type variant struct {
	name     string
	order    binary.AppendByteOrder
	magic    uint32
	fraction int64
}

var variants = []variant{
	{"little micro", binary.LittleEndian, magicMicro, 1000},
	{"little nano", binary.LittleEndian, magicNano, 1},
	{"big micro", binary.BigEndian, magicMicro, 1000},
	{"big nano", binary.BigEndian, magicNano, 1},
}

func (v variant) header(minor uint16, snapLen, link uint32) []byte {
	b := v.order.AppendUint32(nil, v.magic)
	b = v.order.AppendUint16(b, 2)
	b = v.order.AppendUint16(b, minor)
	b = append(b, make([]byte, 8)...)
	b = v.order.AppendUint32(b, snapLen)
	return v.order.AppendUint32(b, link)
}

func (v variant) record(b []byte, sec, frac, first, second uint32, data []byte) []byte {
	for _, n := range []uint32{sec, frac, first, second} {
		b = v.order.AppendUint32(b, n)
	}
	return append(b, data...)
}

// packet is a capture.Packet with its own data, for comparison.
type packet struct {
	No    uint64
	Nanos int64
	Data  string
	Wire  uint32
	Link  uint16
}

// randomFile makes a capture of n Ethernet packets of up to maxLen bytes, and
// the packets a reader has to find in it. Its time steps back and forth by up
// to an hour.
func randomFile(v variant, rng *rand.Rand, n, maxLen int) (file []byte, want []packet) {
	file = v.header(4, capture.MaxCaptured, 1)
	for i := range n {
		data := make([]byte, rng.IntN(maxLen+1))
		for j := range data {
			data[j] = byte(rng.Uint32())
		}
		sec, frac := 1_700_000_000+rng.Uint32()%3600, rng.Uint32()%uint32(1e9/v.fraction)
		wire := uint32(len(data)) + rng.Uint32()%3
		file = v.record(file, sec, frac, uint32(len(data)), wire, data)
		want = append(want, packet{uint64(i + 1), int64(sec)*1e9 + int64(frac)*v.fraction, string(data), wire, 1})
	}
	return file, want
}

// drain reads src to its end and checks what holds for every batch.
func drain(t testing.TB, src capture.Source) ([]packet, error) {
	t.Helper()
	all, _, err := drainGaps(t, src)
	return all, err
}

// drainGaps is drain that also returns the gaps, with At counted over all
// packets.
func drainGaps(t testing.TB, src capture.Source) (all []packet, gaps []capture.Gap, err error) {
	t.Helper()
	var b capture.Batch
	for {
		err := src.Read(&b)
		if err != nil && len(b.Packets) > 0 || err == nil && len(b.Packets) == 0 {
			t.Fatalf("batch of %d packets with error %v, want either packets or an error", len(b.Packets), err)
		}
		if len(b.Packets) > capture.MaxPackets {
			t.Fatalf("got batch of %d packets\nwant at most %d", len(b.Packets), capture.MaxPackets)
		}
		if cap(b.Buf) > maxChunk {
			t.Fatalf("got buffer of %d bytes\nwant at most %d", cap(b.Buf), maxChunk)
		}
		for i, g := range b.Gaps {
			if g.At < 0 || g.At > len(b.Packets) || i > 0 && g.At <= b.Gaps[i-1].At || g.Skipped <= 0 || g.Reason == "" {
				t.Fatalf("gap %d in a batch of %d packets: %+v", i, len(b.Packets), g)
			}
			g.At += len(all)
			gaps = append(gaps, g)
		}
		pos := 0
		for _, p := range b.Packets {
			if pos = endOf(b.Buf, pos, p.Data); pos < 0 {
				t.Fatalf("packet %d is not in the buffer of its batch, after the one before", p.No)
			}
			if int(p.Wire) < len(p.Data) {
				t.Fatalf("packet %d: got length on the wire %d\nwant at least %d", p.No, p.Wire, len(p.Data))
			}
			if cap(p.Data) != len(p.Data) {
				t.Fatalf("packet %d: an append to it would overwrite the next", p.No)
			}
			all = append(all, packet{p.No, p.Nanos, string(p.Data), p.Wire, p.Link})
			if p.No != uint64(len(all)) {
				t.Fatalf("got packet number %d\nwant %d", p.No, len(all))
			}
		}
		if err != nil {
			if again := src.Read(&b); again != err || len(b.Packets) > 0 {
				t.Fatalf("after the end: got %d packets and %v\nwant 0 and %v", len(b.Packets), again, err)
			}
			return all, gaps, err
		}
	}
}

// endOf returns the position in buf after data, which has to be a piece of
// buf's memory at pos or later, and -1 if it is not.
func endOf(buf []byte, pos int, data []byte) int {
	if len(data) == 0 {
		return pos
	}
	for pos < len(buf) && &buf[pos] != &data[0] {
		pos++
	}
	if len(buf)-pos < len(data) {
		return -1
	}
	return pos + len(data)
}

// shortReader gives at most as many bytes at a time as size says.
type shortReader struct {
	in   io.Reader
	size func() int
}

func (r *shortReader) Read(p []byte) (int, error) {
	return r.in.Read(p[:min(len(p), r.size())])
}

func writeFile(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustReader(t testing.TB, file []byte) *Reader {
	t.Helper()
	r, err := NewReader(bytes.NewReader(file), "x.pcap")
	if err != nil {
		t.Fatal(err)
	}
	return r
}
