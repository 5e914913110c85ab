package message

import (
	"io"
	"net/netip"
	"testing"

	"qsniff/internal/pipeline"
	"qsniff/internal/render/text"
	"qsniff/internal/test/protos"
)

// FuzzPanes: whatever a payload is, it is shown in lines of the right width that do nothing to
// the terminal.
func FuzzPanes(f *testing.F) {
	for _, seed := range []string{"\xff\xff\xff\xffI\x11\x1b[2J\x00map\x00", "\xff\xff\xff\xffD\x01\x00\xe2\x80\xae\xff\x00", "\xff\xff\xff\xffE\x01\x00a\nb\x00\x9b31m\x00"} {
		f.Add([]byte(seed), uint8(80))
	}
	reg := protos.Registry(f)
	f.Fuzz(func(t *testing.T, payload []byte, width uint8) {
		var src pipeline.PayloadSource
		src.AddDatagram(1, netip.MustParseAddrPort("198.18.0.1:27015"), netip.MustParseAddrPort("10.0.0.1:40000"), payload)
		var k keeper
		if _, err := pipeline.Run(t.Context(), pipeline.Config{Source: &src, Registry: reg, Renderer: &k, Out: io.Discard, Jobs: 1, Memory: 16 << 20}); err != nil {
			t.Fatal(err)
		}
		for _, e := range k.events {
			v := New(text.Options{UTC: true})
			v.SetSize(40+int(width), 12, 40+int(width), 6)
			v.SetEvent(e)
			for _, p := range []Pane{Tree, Bytes} {
				v.SetPane(p)
				press(v, "pgdown", "left", "G", "right")
				checkLines(t, "tree", v.TreeView(), 40+int(width), 12)
				checkLines(t, "bytes", v.BytesView(), 40+int(width), 6)
				v.Copied()
			}
		}
	})
}
