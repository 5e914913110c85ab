package text

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"qsniff/internal/base/display"
	"qsniff/internal/flood/proof"
	"qsniff/internal/render"
	"qsniff/internal/render/tally"
	"qsniff/internal/test/race"
)

func provenExample() *render.Proven {
	const start = 1_700_000_000_000_000_000
	p := &render.Proven{Run: tally.Run{Packets: 9, First: start, Last: start + 2*86400e9}}
	for i := range 5 {
		p.Sources = append(p.Sources, proof.Source{Addr: netip.MustParseAddr(fmt.Sprintf("203.0.113.%d", i)), First: start, Last: start + int64(i)*1e9,
			Methods: proof.Challenge, Proofs: 1_234_567, Servers: []proof.Server{{End: netip.MustParseAddrPort("198.51.100.17:27015")}}, HasMore: i == 2})
	}
	p.Sources = append(p.Sources, proof.Source{Addr: netip.MustParseAddr("2001:db8:1234:5678:9abc:def0:1234:5678"), First: start, Last: start, Proofs: 1,
		Methods: proof.Challenge | proof.Handshake,
		Servers: []proof.Server{{End: netip.MustParseAddrPort("[2001:db8:1234:5678:9abc:def0:1234:5679]:27016")}, {}}})
	return p
}

// TestProvenWidth: no line is longer than the page, address and last proof are
// there at any width.
func TestProvenWidth(t *testing.T) {
	for _, width := range []int{64, 80, 100, 200} {
		out := string(AppendProven(nil, provenExample(), Options{Width: width, UTC: true}))
		for line := range strings.Lines(out) {
			if n := display.Cells([]byte(strings.TrimSuffix(line, "\n"))); n > width {
				t.Errorf("%d cells of %d: %s", n, width, line)
			}
		}
		for _, want := range []string{"2001:db8:1234:5678:9abc:def0:1234:5678", "2023-11-14 22:13:24", "forge"} {
			if !strings.Contains(out, want) {
				t.Errorf("width %d: %q is missing:\n%s", width, want, out)
			}
		}
		if first, last := strings.Index(out, "203.0.113.4"), strings.Index(out, "203.0.113.0"); first > last {
			t.Errorf("the last proof does not stand first:\n%s", out)
		}
	}
}

func TestProvenNobody(t *testing.T) {
	if out := AppendProven(nil, &render.Proven{}, Options{}); len(out) > 0 {
		t.Errorf("got %q", out)
	}
}

// TestProvenAllocations: more proofs, by more methods, allocate nothing.
func TestProvenAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	p := provenExample()
	allocations := func(proofs uint64, m proof.Method) float64 {
		for i := range p.Sources {
			p.Sources[i].Proofs, p.Sources[i].Methods = proofs, m
		}
		dst := make([]byte, 0, 16<<10)
		return testing.AllocsPerRun(10, func() { dst = AppendProven(dst[:0], p, Options{UTC: true}) })
	}
	if few, many := allocations(1, proof.Challenge), allocations(99, proof.Challenge|proof.Handshake); many > few {
		t.Errorf("%v allocations for one proof, %v for many", few, many)
	}
}
