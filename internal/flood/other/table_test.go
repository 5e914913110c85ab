package other

import (
	"net/netip"
	"testing"

	"qsniff/internal/track"
)

// TestForgottenHost: a host that is watched closely keeps what is known of it after the table gave its place to
// another, and gets it back when it is met again.
func TestForgottenHost(t *testing.T) {
	x := New(0)
	x.now = 1
	hostOf := func(i int) track.Host {
		return track.HostOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}), 0))
	}
	first := hostOf(0)
	k := x.learn(&first)
	k.sessions = 7
	x.watch(k, &track.Sighting{Dst: first})
	h, id := k.heavy, k.id
	for i := 1; i < 1000; i++ {
		host := hostOf(i)
		x.learn(&host).sessions = 1
	}
	if x.find(&first) != nil || !h.isForgotten || x.forgotten != 1 {
		t.Fatalf("forgotten: %v, %d in all", h.isForgotten, x.forgotten)
	}
	if h.known.id != id || h.known.sessions != 7 || h.known.heavy != h {
		t.Errorf("got  %+v\nwant what was known of the host", *h.known)
	}
	if k := x.learn(&first); k != h.known || k.heavy != h || k.sessions != 7 || h.isForgotten || x.forgotten != 0 {
		t.Errorf("met again: got  %+v, forgotten: %v, %d in all", *k, h.isForgotten, x.forgotten)
	}
}

// TestEdge: the rules are of classes that there are, and each amplifier has one with its port.
func TestEdge(t *testing.T) {
	found := map[string]EdgeRule{}
	for _, c := range Classes(nil) {
		if r, ok := c.Edge(); ok {
			found[c.Name] = r
			if r.Protocol == "" || r.Only == "" {
				t.Errorf("%s: %+v", c.Name, r)
			}
		}
	}
	if want := len(edgeRules) + len(amplifiers); len(found) != want {
		t.Errorf("%d classes have rules, want %d: %v", len(found), want, found)
	}
	if r := found["amplified_dns"]; r.SourcePort != 53 {
		t.Errorf("DNS: %+v", r)
	}
}
