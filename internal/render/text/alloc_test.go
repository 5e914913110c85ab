package text

import (
	"testing"

	"qsniff/internal/render"
	"qsniff/internal/test/race"
)

func TestAllocs(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	o := Options{Palette: NewPalette(true)} // local time: the zone is looked up for each message
	for name, r := range map[string]render.Renderer{"tree": NewTree(o), "line": NewLine(o), "hex": NewHex(o)} {
		for _, x := range examples(t) {
			dst := r.Append(nil, x.e)
			if n := testing.AllocsPerRun(100, func() { dst = r.Append(dst[:0], x.e) }); n != 0 {
				t.Errorf("%s %s:\n got %v allocations\nwant 0", name, x.name, n)
			}
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	x := examples(b)[0]
	o := Options{UTC: true, Palette: NewPalette(true)}
	for name, r := range map[string]render.Renderer{"tree": NewTree(o), "line": NewLine(o), "hex": NewHex(o)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				dst = r.Append(dst[:0], x.e)
			}
			b.SetBytes(int64(len(dst)))
		})
	}
}
