package testpcap

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"hash/crc32"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/reassembly/wire"
)

// smallRules is the 38-byte S2A_RULES of the wire reference.
const smallRules = `ffffffff 45 0200 "mp_timelimit\0" "20\0" "sv_gravity\0" "800\0"`

func TestSplitHeaders(t *testing.T) {
	msg := unhex(t, smallRules)
	tests := []struct {
		name string
		got  [][]byte
		want []string
	}{
		{"goldsource", SplitGoldSource(msg, 7, 20), []string{
			`feffffff 07000000 02 ffffffff 45 0200 "mp_timelimit\0"`,
			`feffffff 07000000 12 "20\0" "sv_gravity\0" "800\0"`}},
		{"source", SplitSource(msg, 7, 20, true, false), []string{
			`feffffff 07000000 02 00 1400 ffffffff 45 0200 "mp_timelimit\0"`,
			`feffffff 07000000 02 01 1400 "20\0" "sv_gravity\0" "800\0"`}},
		{"source without the size field", SplitSource(msg, 7, 20, false, false), []string{
			`feffffff 07000000 02 00 ffffffff 45 0200 "mp_timelimit\0"`,
			`feffffff 07000000 02 01 "20\0" "sv_gravity\0" "800\0"`}},
		{"one part", SplitSource(msg, 7, 38, false, false), []string{
			`feffffff 07000000 01 00` + smallRules}},
	}
	for _, test := range tests {
		var want [][]byte
		for _, s := range test.want {
			want = append(want, unhex(t, s))
		}
		if diff := cmp.Diff(want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// joinParts is the plainest reassembly there is: the parts are in order.
func joinParts(t *testing.T, parts [][]byte, e wire.Engine, id uint32, size int) []byte {
	t.Helper()
	var joined []byte
	for n, part := range parts {
		h, ok := wire.ParseSplit(part, e)
		want := wire.SplitHeader{Engine: e, ID: id, Total: uint8(len(parts)), Number: uint8(n)}
		if e == wire.Source {
			want.Size = uint16(size)
		}
		if !ok || h != want || !wire.IsSplit(part) {
			t.Fatalf("header of part %d\n got %+v %v\nwant %+v", n, h, ok, want)
		}
		payload := part[e.HeaderLen():]
		if last := n == len(parts)-1; len(payload) > size || !last && len(payload) != size {
			t.Fatalf("part %d of %d has %d bytes, size is %d", n, len(parts), len(payload), size)
		}
		joined = append(joined, payload...)
	}
	return joined
}

// inflate undoes the compressed form with the standard library.
func inflate(t *testing.T, joined []byte) []byte {
	t.Helper()
	size, crc := binary.LittleEndian.Uint32(joined), binary.LittleEndian.Uint32(joined[4:])
	msg, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(joined[8:])))
	if err != nil {
		t.Fatal(err)
	}
	if int(size) != len(msg) || crc != crc32.ChecksumIEEE(msg) {
		t.Fatalf("prefix\n got %d bytes, CRC %#x\nwant %d bytes, CRC %#x", size, crc, len(msg), crc32.ChecksumIEEE(msg))
	}
	return msg
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("short"), uint32(7), uint16(1248))
	f.Add(counting(4000), uint32(0x7fff_ffff), uint16(1391))
	f.Add([]byte{}, uint32(0), uint16(8))
	f.Fuzz(func(t *testing.T, msg []byte, id uint32, size16 uint16) {
		size := max(int(size16), 8)
		if len(msg) > maxGoldSourceParts*size || len(msg) > 8192 {
			return // the header cannot count the parts; long ones only cost time
		}
		id &^= wire.Compressed
		for _, e := range []wire.Engine{wire.GoldSource, wire.Source, wire.SourceOld} {
			parts := SplitGoldSource(msg, id, size)
			if e != wire.GoldSource {
				parts = SplitSource(msg, id, size, e == wire.Source, false)
			}
			if got := joinParts(t, parts, e, id, size); !bytes.Equal(got, msg) {
				t.Fatalf("%v\n got % x\nwant % x", e, got, msg)
			}
			if e == wire.GoldSource {
				continue
			}
			parts = SplitSource(msg, id, size, e == wire.Source, true)
			if len(parts) > maxSourceParts {
				continue
			}
			joined := joinParts(t, parts, e, id|wire.Compressed, size)
			if got := inflate(t, joined); !bytes.Equal(got, msg) {
				t.Fatalf("%v compressed\n got % x\nwant % x", e, got, msg)
			}
		}
	})
}
