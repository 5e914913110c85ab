package text

import (
	"net/netip"
	"strings"
	"testing"

	"qsniff/internal/base/display"
	"qsniff/internal/flood/limiter"
	"qsniff/internal/render"
	"qsniff/internal/render/tally"
)

func limitsExample() *render.Limits {
	const start, second = 1_700_000_000_000_000_000, 1_000_000_000
	src := func(a string) limiter.Source {
		return limiter.Source{Addr: netip.MustParseAddr(a), Requests: 1_234_567, ByRate: 1_000_000, ByAll: 4567, First: start, Last: start + 59*second}
	}
	l := &render.Limits{Run: tally.Run{Packets: 9, First: start, Last: start + 90*second}}
	l.Model = limiter.Model{Name: "csgo", Per: 10, Global: 500, Window: 30, MaxTracked: 50_000}
	l.Clients, l.ClientsRefused, l.ShutOut = 6414, 5506, 5421
	l.Servers = []limiter.Server{
		{Addr: netip.MustParseAddrPort("198.51.100.17:27015"), Requests: 12_345_678, ByRate: 1_000_000, ByAll: 11_000_000, First: start, Last: start + 60*second,
			Seconds: 61, Overruns: 3, OfProven: limiter.OfProven{Clients: 6414, ClientsRefused: 5506, ShutOut: 5421, ClientRequests: 25_716, ClientRefusals: 22_014},
			TopClients: []limiter.Source{src("203.0.113.1"), src("203.0.113.2"), src("203.0.113.3"), src("203.0.113.4")},
			TopSources: []limiter.Source{src("2001:db8:1234:5678:9abc:def0:1234:5678")}},
		{Addr: netip.MustParseAddrPort("[2001:db8:1234:5678:9abc:def0:1234:5678]:27016"), Requests: 100, ByRate: 9},
		{Addr: netip.MustParseAddrPort("198.51.100.17:27017"), Requests: 5},
	}
	return l
}

// TestLimitsWidth: what answers the question stands on a page of any width, and no
// line is longer than it.
func TestLimitsWidth(t *testing.T) {
	for _, width := range []int{80, 100, 200} {
		out := string(AppendLimits(nil, limitsExample(), Options{Width: width, UTC: true}))
		for line := range strings.Lines(out) {
			if n := display.Cells([]byte(strings.TrimSuffix(line, "\n"))); n > width {
				t.Errorf("%d cells of %d: %s", n, width, line)
			}
			if strings.HasSuffix(line, " \n") {
				t.Errorf("width %d: blanks at the end of %q", width, line)
			}
		}
		words := strings.Join(strings.Fields(out), " ")
		for _, want := range []string{"5,506 of 6,414 proven clients would have been refused, 5,421 each time.", "REFUSED", "and 5,503 more",
			"in 61 seconds", "3 times, more than 50,000 sources", "1 other server would have refused nobody"} {
			if !strings.Contains(words, want) {
				t.Errorf("width %d: %q is missing:\n%s", width, want, out)
			}
		}
	}
}

func TestLimitsVerdict(t *testing.T) {
	tests := []struct {
		name                     string
		packets                  uint64
		clients, refused, shutBy uint64
		want                     string
	}{
		{"nobody", 0, 5, 0, 0, "Nobody would have been refused."},
		{"no clients", 9, 0, 0, 0, "No client proved its address, so the capture does not tell players from others."},
		{"all through", 9, 5, 0, 0, "All of 5 proven clients would have got through."},
		{"at times", 9, 5, 2, 0, "2 of 5 proven clients would have been refused at times, none of them each time."},
		{"shut out", 9, 5, 2, 1, "2 of 5 proven clients would have been refused, 1 each time."},
	}
	for _, tt := range tests {
		l := &render.Limits{}
		l.Servers = []limiter.Server{{ByAll: tt.packets}}
		l.Clients, l.ClientsRefused, l.ShutOut = tt.clients, tt.refused, tt.shutBy
		if got := (&limitsPage{x: l}).verdict(); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}
