package wire_test

import (
	"testing"

	"qsniff/internal/test/hextest"
	"qsniff/reassembly/wire"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name string
		in   string
		form wire.Engine
		want wire.SplitHeader
		ok   bool
	}{
		{"goldsource part 1 of 2", "feffffff 560a0000 12", wire.GoldSource,
			wire.SplitHeader{Engine: wire.GoldSource, ID: 0xa56, Total: 2, Number: 1}, true},
		{"goldsource number beyond total", "feffffff 560a0000 22", wire.GoldSource,
			wire.SplitHeader{Engine: wire.GoldSource, ID: 0xa56, Total: 2, Number: 2}, false},
		{"goldsource no parts", "feffffff 560a0000 00", wire.GoldSource,
			wire.SplitHeader{Engine: wire.GoldSource, ID: 0xa56}, false},
		{"source part 0 of 6", "feffffff 57010000 06 00 e004", wire.Source,
			wire.SplitHeader{Engine: wire.Source, ID: 343, Total: 6, Size: 1248}, true},
		{"source one part", "feffffff 57010000 01 00 e004", wire.Source,
			wire.SplitHeader{Engine: wire.Source, ID: 343, Total: 1, Size: 1248}, true},
		{"source without its size", "feffffff 57010000 06 00 e0", wire.Source,
			wire.SplitHeader{Engine: wire.Source}, false},
		{"old source 255 parts", "feffffff 97280080 ff fe", wire.SourceOld,
			wire.SplitHeader{Engine: wire.SourceOld, ID: 0x80002897, Total: 255, Number: 254}, true},
		{"no form", "feffffff 97280080 02 00", wire.None,
			wire.SplitHeader{ID: 0x80002897}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := wire.ParseSplit(hextest.Bytes(t, tt.in), tt.form)
			if got != tt.want || ok != tt.ok {
				t.Errorf("Parse\n got %+v, %v\nwant %+v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestProof(t *testing.T) {
	const bz = " 425a6839 314159265359"
	tests := []struct {
		name, in string
		want     wire.Engine
	}{
		{"goldsource", "feffffff 560a0000 02 ffffffff 45", wire.GoldSource},
		{"goldsource of one part is no proof", "feffffff 560a0000 01 ffffffff 45", wire.None},
		{"goldsource part 1 is no proof", "feffffff 560a0000 12 ffffffff 45", wire.None},
		{"source", "feffffff 57010000 06 00 e004 ffffffff 45", wire.Source},
		{"source, id with FF", "feffffff ff840000 02 00 a404 ffffffff 44", wire.Source},
		{"source part 1 is no proof", "feffffff 57010000 06 01 e004 ffffffff 45", wire.None},
		{"old source", "feffffff 07000000 02 00 ffffffff 45", wire.SourceOld},
		{"compressed, old, with size", "feffffff 97280080 01 00 bb060000 27cf8e92" + bz, wire.SourceOld},
		{"compressed, with both sizes", "feffffff 97280080 01 00 e004 bb060000 27cf8e92" + bz, wire.Source},
		{"compressed, old, bare stream", "feffffff 97280080 01 00" + bz, wire.SourceOld},
		{"compressed, bare stream", "feffffff 97280080 01 00 e004" + bz, wire.Source},
		{"stream without the id's bit", "feffffff 97280000 01 00" + bz, wire.None},
		{"stream of level 0", "feffffff 97280080 01 00 425a6830 314159265359", wire.None},
		{"empty stream", "feffffff 97280080 01 00 425a6831 177245385090", wire.SourceOld},
		{"cut before the payload", "feffffff 57010000 06 00 e004 ffffff", wire.None},
		{"header only", "feffffff 57010080 06", wire.None},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := wire.ProveSplitForm(hextest.Bytes(t, tt.in)); got != tt.want {
				t.Errorf("Proof\n got %d\nwant %d", got, tt.want)
			}
		})
	}
}

// TestIsPlain: a first part whose payload begins with FF FF FF FF is a message, unless a compressed stream follows
// its declared size and sum.
func TestIsPlain(t *testing.T) {
	const head, size, bz = "feffffff 97280080 01 00", " ffffffff 27cf8e92", " 425a6839 314159265359"
	for in, want := range map[string]bool{
		head + " ffffffff 45":               true,
		head + " ffffffff 4541424344454647": true,
		head + size:                         true,
		head + size + " 425a6839":           true,
		head + size + bz:                    false,
		head + " ffffff":                    false,
		head + " 00000000 45":               false,
	} {
		if got := wire.IsPlain(hextest.Bytes(t, in), wire.SourceOld); got != want {
			t.Errorf("%s: %t, want %t", in, got, want)
		}
	}
}

func TestGuess(t *testing.T) {
	tests := []struct {
		name, in string
		wire     int
		want     wire.Engine
	}{
		{"default size", "feffffff 57010000 06 01 e004 41", 1260, wire.Source},
		{"size of CS:GO", "feffffff 57010000 06 05 a404 41", 20, wire.Source},
		{"usual range, long enough", "feffffff 57010000 06 05 0010 41", 4000, wire.Source},
		{"usual range, too short for the payload", "feffffff 57010000 06 05 0002 41", 1260, wire.SourceOld},
		{"text where the size would be", "feffffff 07000000 02 01 3230 00", 100, wire.SourceOld},
		{"part 0 of goldsource that proves nothing", "feffffff 07000000 02 45 3230 00", 100, wire.GoldSource},
		{"full goldsource part", "feffffff 560a0000 12 7363 41", 1400, wire.GoldSource},
		{"nibbles of goldsource", "feffffff 560a0000 12 7363 41", 283, wire.GoldSource},
		{"nibbles that goldsource refuses", "feffffff 07000000 22 01 3230 00", 100, wire.SourceOld},
		{"nine bytes", "feffffff 560a0000 12", 9, wire.GoldSource},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := wire.GuessSplitForm(hextest.Bytes(t, tt.in), tt.wire); got != tt.want {
				t.Errorf("Guess\n got %d\nwant %d", got, tt.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for e, want := range map[wire.Engine]string{
		wire.None: "", wire.GoldSource: "goldsource",
		wire.Source: "source", wire.SourceOld: "source",
	} {
		if got := e.String(); got != want {
			t.Errorf("Engine(%d)\n got %q\nwant %q", e, got, want)
		}
	}
	if !wire.IsSplit([]byte{0xfe, 0xff, 0xff, 0xff}) || wire.IsSplit([]byte{0xfe, 0xff, 0xff}) {
		t.Error("IsSplit: four bytes FE FF FF FF are needed and enough")
	}
}
