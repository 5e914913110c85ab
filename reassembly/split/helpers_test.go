package split_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/dsnet/compress/bzip2"

	"qsniff/dissect/finding"
	"qsniff/reassembly"
	"qsniff/reassembly/split"
	"qsniff/reassembly/wire"
)

var (
	server = netip.MustParseAddrPort("198.18.0.1:27015")
	client = netip.MustParseAddrPort("10.64.0.1:40001")
)

const second = int64(time.Second)

// result is a delivered Set that may be kept.
type result struct {
	split.Set
	Findings []string // "SPL-01 warn: sentence"
}

// bench feeds one assembler and keeps what it delivers.
type bench struct {
	*split.Assembler
	got   []result
	frame uint64
	now   int64
}

func newBench(lim split.Limits) *bench {
	b := &bench{Assembler: split.New(lim), now: 1000 * second}
	b.Deliver = func(s *split.Set) { b.got = append(b.got, clone(s)) }
	return b
}

func clone(s *split.Set) result {
	r := result{Set: *s}
	inflated := s.Compressed && (s.Outcome == split.Complete || s.Outcome == split.BadBzip2 && s.Run > 0)
	r.Joined = slices.Clone(s.Joined)
	r.Data = r.Joined
	if inflated {
		r.Data = slices.Clone(s.Data)
	}
	r.Parts = slices.Clone(s.Parts)
	r.Pieces = slices.Clone(s.Pieces)
	r.Frames = slices.Clone(s.Frames)
	r.Expert = slices.Clone(s.Expert)
	for i := range r.Expert {
		e := &r.Expert[i]
		r.Findings = append(r.Findings, e.Code.ID+" "+e.Severity.String()+": "+string(e.AppendText(nil)))
	}
	return r
}

// add sends a datagram from the server to the client, a millisecond later.
func (b *bench) add(data []byte) { b.addHint(data, wire.None) }

func (b *bench) addHint(data []byte, hint wire.Engine) {
	b.frame++
	b.now += second / 1000
	b.Add(&split.Datagram{
		Src: server, Dst: client, Data: data, Wire: len(data),
		Frame: b.frame, Nanos: b.now, Hint: hint,
	})
}

// header builds the header of one part.
func header(e wire.Engine, id uint32, total, number int, size uint16) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{0xfe, 0xff, 0xff, 0xff}, id)
	if e == wire.GoldSource {
		return append(b, byte(number<<4|total))
	}
	b = append(b, byte(total), byte(number))
	if e == wire.Source {
		b = binary.LittleEndian.AppendUint16(b, size)
	}
	return b
}

// cut splits a message into parts of size bytes of payload.
func cut(e wire.Engine, id uint32, msg []byte, size int) [][]byte {
	chunks := slices.Collect(slices.Chunk(msg, size))
	var parts [][]byte
	for n, c := range chunks {
		parts = append(parts, append(header(e, id, len(chunks), n, uint16(size)), c...))
	}
	return parts
}

// message returns n bytes that start like a reply. Every call returns the same.
func message(n int) []byte {
	b := []byte{0xff, 0xff, 0xff, 0xff, 'E'}
	for x := uint32(1); len(b) < n; {
		x = x*1_664_525 + 1_013_904_223
		b = append(b, 'a'+byte(x>>24)%26)
	}
	return b[:n]
}

func pack(t testing.TB, msg []byte, level int) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := bzip2.NewWriter(&buf, &bzip2.WriterConfig{Level: level})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(msg); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// prefix is the decompressed size and the CRC-32 of a compressed message.
func prefix(size, crc uint32) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, size), crc)
}

func prefixOf(msg []byte) []byte { return prefix(uint32(len(msg)), crc32.ChecksumIEEE(msg)) }

// verify checks what holds for every delivered set.
func verify(t testing.TB, s *split.Set, lim split.Limits) {
	t.Helper()
	fail := func(what string) { t.Fatalf("%s\n got %+v", what, *s) }
	switch {
	case s.Run < 0 || s.Run > len(s.Data):
		fail("Run outside Data")
	case len(s.Joined) > lim.SetBytes:
		fail("Joined above the limit")
	case len(s.Data) > max(lim.SetBytes, lim.Inflated):
		fail("Data above the limit")
	case s.Wire < len(s.Data):
		fail("Wire below len(Data)")
	case !slices.IsSorted(s.Frames) || len(s.Frames) == 0:
		fail("Frames not ascending, or none")
	case s.Received != len(s.Parts):
		fail("Received is not the number of parts")
	case s.Outcome != split.Malformed && s.Total > 0 && s.Received > s.Total:
		fail("more parts than there are")
	case s.Outcome == split.Complete && s.Received != s.Total:
		fail("complete without all parts")
	case s.Outcome == split.Complete && s.Run != len(s.Data):
		fail("complete, but Run is not all of Data")
	case s.First > s.Last:
		fail("First after Last")
	case s.Prefix > 0 && s.Outcome == split.Complete && s.CRC != crc32.ChecksumIEEE(s.Data):
		fail("complete with a wrong CRC-32")
	}
	at, last := uint32(0), -1
	for _, p := range s.Parts {
		if p.Off != at || int(p.Number) <= last {
			fail("Parts do not tile Joined")
		}
		at, last = p.Off+p.Len, int(p.Number)
	}
	if int(at) != len(s.Joined) {
		fail("Parts end before Joined")
	}
	checkPieces(t, s.Pieces, len(s.Joined))
	for i := range s.Expert {
		e := &s.Expert[i]
		if len(e.AppendText(nil)) == 0 || e.Severity > finding.Error {
			fail("finding without a sentence")
		}
	}
}

func checkPieces(t testing.TB, pieces []reassembly.Piece, n int) {
	t.Helper()
	at := uint64(0)
	for _, p := range pieces {
		if uint64(p.Off) < at || p.Len == 0 || uint64(p.Off)+uint64(p.Len) > uint64(n) {
			t.Fatalf("piece outside, empty or overlapping\n got %+v\nwant inside %d bytes, from %d on", pieces, n, at)
		}
		at = uint64(p.Off) + uint64(p.Len)
	}
}

// defaults are the limits of an Assembler that was given none.
var defaults = split.Limits{SetBytes: split.DefaultSetBytes, Inflated: split.DefaultInflated, Bytes: split.DefaultBytes}
