package text

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect/finding"
	"qsniff/internal/test/race"
	"qsniff/internal/track/stats"
)

// TestGroupByServer: findings come by server, those without one and those that were evicted apart,
// and many at a server allocate no more than few.
func TestGroupByServer(t *testing.T) {
	code := &finding.Code{ID: "TOY-01"}
	client := netip.MustParseAddrPort("192.0.2.1:4000")
	repeats := func(server netip.AddrPort, evicted uint64) stats.Repeats {
		return stats.Repeats{Expert: finding.Expert{Code: code}, Server: server, Client: client, Count: 1, Evicted: evicted}
	}
	servers := []netip.AddrPort{netip.MustParseAddrPort("198.51.100.1:27015"), netip.MustParseAddrPort("198.51.100.1:27016"),
		netip.MustParseAddrPort("[2001:db8::1]:27015"), {}, netip.AddrPortFrom(netip.Addr{}, 27015)}
	few := []stats.Repeats{repeats(netip.AddrPort{}, 7)}
	for _, s := range servers {
		few = append(few, repeats(s, 0))
	}
	var many []stats.Repeats
	for range 100 {
		many = append(many, few...)
	}
	var got []string
	for _, s := range groupByServer(many) {
		got = append(got, s.server)
		want := uint64(100)
		if s.server == "No server" {
			want *= 2
		}
		if n := s.groups[0].rows[0].Count; n != want {
			t.Errorf("%s: %d findings, want %d", s.server, n, want)
		}
	}
	want := []string{"Evicted", "198.51.100.1:27015", "198.51.100.1:27016", "[2001:db8::1]:27015", "No server"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got)\n%s", diff)
	}
	allocations := func(all []stats.Repeats) float64 { return testing.AllocsPerRun(10, func() { groupByServer(all) }) }
	if n, m := allocations(few), allocations(many); m > n && !race.Enabled {
		t.Errorf("%v allocations for few, %v for many", n, m)
	}
}
