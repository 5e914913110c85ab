package split_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/hextest"
	"qsniff/reassembly"
	"qsniff/reassembly/split"
	"qsniff/reassembly/wire"
)

// small is the message of all small examples: two rules.
const small = `ffffffff 45 0200
	6d705f74696d656c696d697400 323000
	73765f6772617669747900 38303000`

const (
	gold0  = "feffffff 07000000 02  ffffffff 45 0200 6d705f74696d656c696d697400"
	gold1  = "feffffff 07000000 12  323000 73765f6772617669747900 38303000"
	sized0 = "feffffff 07000000 02 00 1400  ffffffff 45 0200 6d705f74696d656c696d697400"
	sized1 = "feffffff 07000000 02 01 1400  323000 73765f6772617669747900 38303000"
	old0   = "feffffff 07000000 02 00  ffffffff 45 0200 6d705f74696d656c696d697400"
	old1   = "feffffff 07000000 02 01  323000 73765f6772617669747900 38303000"

	stream0 = `425a6839 314159265359 ebdfbf35 0000134f80d00050
		40020000 00a2a65d 200000a0 002211a0`
	stream1 = `d003ca14 c269a034 c4e8329a 3d62eea7 c06b41a9
		d096908b 3c09b85a 7c5dc914 e14243af 7efcd4`
	sizeAndCRC = " 26000000 b6705aae "
)

func TestForms(t *testing.T) {
	tests := []struct {
		name   string
		in     []string
		engine wire.Engine
		id     uint32
		total  int
		size   uint16
		packed bool
	}{
		{"goldsource", []string{gold0, gold1}, wire.GoldSource, 7, 2, 0, false},
		{"goldsource, last part first", []string{gold1, gold0}, wire.GoldSource, 7, 2, 0, false},
		{"source with size", []string{sized0, sized1}, wire.Source, 7, 2, 20, false},
		{"source with size, last part first", []string{sized1, sized0}, wire.Source, 7, 2, 20, false},
		{"source without size", []string{old0, old1}, wire.SourceOld, 7, 2, 0, false},
		{"source without size, last part first", []string{old1, old0}, wire.SourceOld, 7, 2, 0, false},
		{"one part", []string{"feffffff 07000000 01 00 e004" + small}, wire.Source, 7, 1, 1248, false},
		{"compressed, old, one part", []string{
			"feffffff 07000080 01 00" + sizeAndCRC + stream0 + stream1,
		}, wire.SourceOld, 7, 1, 0, true},
		{"compressed, with size", []string{
			"feffffff 08000080 02 00 e004" + sizeAndCRC + stream0,
			"feffffff 08000080 02 01 e004" + stream1,
		}, wire.Source, 8, 2, 1248, true},
		{"compressed, with size, last part first", []string{
			"feffffff 08000080 02 01 e004" + stream1,
			"feffffff 08000080 02 00 e004" + sizeAndCRC + stream0,
		}, wire.Source, 8, 2, 1248, true},
		{"compressed, old, two parts", []string{
			"feffffff 08000080 02 00" + sizeAndCRC + stream0,
			"feffffff 08000080 02 01" + stream1,
		}, wire.SourceOld, 8, 2, 0, true},
		{"compressed, old, size and CRC in every part", []string{
			"feffffff 08000080 02 00" + sizeAndCRC + stream0,
			"feffffff 08000080 02 01" + sizeAndCRC + stream1,
		}, wire.SourceOld, 8, 2, 0, true},
		{"compressed, with size, size and CRC in every part", []string{
			"feffffff 08000080 02 00 e004" + sizeAndCRC + stream0,
			"feffffff 08000080 02 01 e004" + sizeAndCRC + stream1,
		}, wire.Source, 8, 2, 1248, true},
		{"compressed, size and CRC instead of the part size in part 0", []string{
			"feffffff 08000080 02 00" + sizeAndCRC + stream0,
			"feffffff 08000080 02 01 e004" + stream1,
		}, wire.Source, 8, 2, 1248, true},
		{"compressed, part size in part 0 only", []string{
			"feffffff 08000080 02 00 e004" + sizeAndCRC + stream0,
			"feffffff 08000080 02 01" + stream1,
		}, wire.Source, 8, 2, 1248, true},
		{"compressed, old, no size and CRC", []string{
			"feffffff 08000080 02 00" + stream0,
			"feffffff 08000080 02 01" + stream1,
		}, wire.SourceOld, 8, 2, 0, true},
		{"compressed, with part size, no size and CRC", []string{
			"feffffff 08000080 02 00 e004" + stream0,
			"feffffff 08000080 02 01 e004" + stream1,
		}, wire.Source, 8, 2, 1248, true},
	}
	want := hextest.Bytes(t, small)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(split.Limits{})
			for _, in := range tt.in {
				b.add(hextest.Bytes(t, in))
			}
			if len(b.got) != 1 {
				t.Fatalf("sets\n got %d\nwant 1", len(b.got))
			}
			s := b.got[0]
			verify(t, &s.Set, defaults)
			if !bytes.Equal(s.Data, want) || s.Run != len(want) || s.Wire != len(want) {
				t.Errorf("Data (Run %d, Wire %d)\n got %x\nwant %x", s.Run, s.Wire, s.Data, want)
			}
			if s.Outcome != split.Complete || s.Engine != tt.engine || s.ID != tt.id ||
				s.Total != tt.total || s.Received != tt.total || s.Size != tt.size || s.Compressed != tt.packed {
				t.Errorf("set\n got %v, engine %d, id %d, %d of %d, size %d, compressed %v\nwant complete, engine %d, id %d, %[9]d of %[9]d, size %d, compressed %v",
					s.Outcome, s.Engine, s.ID, s.Received, s.Total, s.Size, s.Compressed,
					tt.engine, tt.id, tt.total, tt.size, tt.packed)
			}
			if s.Src != server || s.Dst != client {
				t.Errorf("ends\n got %v, %v\nwant %v, %v", s.Src, s.Dst, server, client)
			}
			if diff := cmp.Diff([]string(nil), s.Findings); diff != "" {
				t.Errorf("findings (-want +got)\n%s", diff)
			}
			if b.Buffered() != 0 {
				t.Errorf("bytes kept after delivery\n got %d\nwant 0", b.Buffered())
			}
		})
	}
}

// TestOrigin checks which frame brought which byte, in parts that came out of
// order and in IP fragments.
func TestOrigin(t *testing.T) {
	b := newBench(split.Limits{})
	parts := cut(wire.Source, 9, message(50), 20)
	send := func(n int, frame uint64, pieces ...reassembly.Piece) {
		b.Add(&split.Datagram{Src: server, Dst: client, Data: parts[n], Wire: len(parts[n]),
			Frame: frame, Nanos: b.now, Pieces: pieces})
	}
	send(2, 5)
	send(0, 8, reassembly.Piece{Frame: 7, Len: 8}, reassembly.Piece{Frame: 6, Off: 8, Len: 16},
		reassembly.Piece{Frame: 8, Off: 24, Len: 8})
	send(1, 9)
	if len(b.got) != 1 {
		t.Fatalf("sets\n got %d\nwant 1", len(b.got))
	}
	s := b.got[0]
	wantPieces := []reassembly.Piece{
		{Frame: 6, Off: 0, Len: 12, At: 4}, {Frame: 8, Off: 12, Len: 8}, {Frame: 9, Off: 20, Len: 20, At: 12}, {Frame: 5, Off: 40, Len: 10, At: 12},
	}
	if diff := cmp.Diff(wantPieces, s.Pieces); diff != "" {
		t.Errorf("Pieces (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{5, 6, 7, 8, 9}, s.Frames); diff != "" {
		t.Errorf("Frames (-want +got)\n%s", diff)
	}
	wantParts := []split.Part{{Number: 0, Off: 0, Len: 20, Frame: 8}, {Number: 1, Off: 20, Len: 20, Frame: 9}, {Number: 2, Off: 40, Len: 10, Frame: 5}}
	if diff := cmp.Diff(wantParts, s.Parts); diff != "" {
		t.Errorf("Parts (-want +got)\n%s", diff)
	}
}

// TestManyParts goes to the ends of what the headers can say.
func TestManyParts(t *testing.T) {
	tests := []struct {
		name  string
		form  wire.Engine
		parts int
		size  int
	}{
		{"goldsource 15 full parts", wire.GoldSource, 15, 1391},
		{"source 255 parts", wire.Source, 255, 400},
		{"old source 255 parts", wire.SourceOld, 255, 30},
		{"parts of a raised MTU", wire.Source, 2, 65_000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(split.Limits{})
			msg := message(tt.parts*tt.size - 3)
			parts := cut(tt.form, 3, msg, tt.size)
			for i := range parts {
				b.add(parts[len(parts)-1-i])
			}
			b.Flush(b.now)
			if len(b.got) != 1 || !bytes.Equal(b.got[0].Data, msg) || b.got[0].Outcome != split.Complete {
				t.Fatalf("sets\n got %d, first %+v\nwant 1, complete", len(b.got), b.got[0].Outcome)
			}
		})
	}
}

// TestInferred ends sets that never proved their form.
func TestInferred(t *testing.T) {
	gameTraffic := append([]byte{0x11, 0x22, 0x33}, message(3000)[5:]...)
	full := make([]byte, 1391)
	tests := []struct {
		name    string
		in      [][]byte
		hint    wire.Engine
		engine  wire.Engine
		outcome split.Outcome
		want    []string
	}{
		{"game traffic of source", cut(wire.Source, 4, gameTraffic, 1248), wire.None,
			wire.Source, split.Complete, []string{"SPL-05 note: split header read as Source with part size, the form that fits best"}},
		{"game traffic of goldsource", cut(wire.GoldSource, 4, gameTraffic, 1391), wire.None,
			wire.GoldSource, split.Complete, []string{"SPL-05 note: split header read as GoldSource, the form that fits best"}},
		{"game traffic of an old engine", cut(wire.SourceOld, 4, gameTraffic, 1248), wire.None,
			wire.SourceOld, split.Complete, []string{"SPL-05 note: split header read as Source without part size, the form that fits best"}},
		{"part 1 of goldsource alone", [][]byte{append(header(wire.GoldSource, 4, 2, 1, 0), full...)}, wire.None,
			wire.GoldSource, split.Incomplete, []string{
				"SPL-01 warn: 1 of 2 parts missing, the first is number 0 (from 0)",
				"SPL-05 note: split header read as GoldSource, the form that fits best"}},
		{"part 1 of source with a small size", cut(wire.Source, 4, message(60), 30)[1:], wire.Source,
			wire.Source, split.Incomplete, []string{
				"SPL-01 warn: 1 of 2 parts missing, the first is number 0 (from 0)",
				"SPL-05 note: split header read as Source with part size, the form of earlier messages"}},
		{"a hint that cannot be", [][]byte{append(header(wire.GoldSource, 4, 2, 1, 0), 0xff, 1, 2)}, wire.Source,
			wire.GoldSource, split.Incomplete, []string{
				"SPL-01 warn: 1 of 2 parts missing, the first is number 0 (from 0)",
				"SPL-05 note: split header read as GoldSource, the form that fits best"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(split.Limits{})
			for _, in := range tt.in {
				b.addHint(in, tt.hint)
			}
			b.Tick(b.now + 5*second)
			if len(b.got) != 1 {
				t.Fatalf("sets\n got %d\nwant 1", len(b.got))
			}
			s := b.got[0]
			verify(t, &s.Set, defaults)
			if s.Engine != tt.engine || s.Outcome != tt.outcome {
				t.Errorf("set\n got engine %d, %v\nwant engine %d, %v", s.Engine, s.Outcome, tt.engine, tt.outcome)
			}
			if diff := cmp.Diff(tt.want, s.Findings); diff != "" {
				t.Errorf("findings (-want +got)\n%s", diff)
			}
		})
	}
}
