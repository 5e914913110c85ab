package hostset

import (
	"net/netip"
	"testing"
)

func TestHasHost(t *testing.T) {
	s, err := Parse("198.18.0.0/24,198.51.100.7:27015")
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{"198.18.0.9": true, "198.51.100.7": true, "198.51.100.8": false} {
		if got := s.HasHost(netip.MustParseAddr(host)); got != want {
			t.Errorf("%s: got %v, want %v", host, got, want)
		}
	}
	if all := (*Set)(nil); !all.HasHost(netip.MustParseAddr("192.0.2.1")) {
		t.Error("a nil set has not everything")
	}
}

func TestHas(t *testing.T) {
	const v4, v6 = "198.18.0.1:27015", "[2001:db8::1]:27015"
	for _, tc := range []struct {
		name, list, end string
		want            bool
	}{
		{"network", "198.18.0.0/15", v4, true},
		{"another network", "198.51.100.0/24", v4, false},
		{"address, any port", "198.18.0.1", v4, true},
		{"end", "198.18.0.1:27015", v4, true},
		{"end with another port", "198.18.0.1:27016", v4, false},
		{"second of a list", "203.0.113.9, 198.18.0.1:27015", v4, true},
		{"IPv6 network", "2001:db8::/32", v6, true},
		{"IPv6 address", "2001:db8::1", v6, true},
		{"IPv6 end", "[2001:db8::1]:27015", v6, true},
		{"IPv4 in IPv6", "::ffff:198.18.0.1", v4, true},
		{"IPv4 network in IPv6", "::ffff:198.18.0.0/111", v4, true},
		{"another IPv4 network in IPv6", "::ffff:198.51.100.0/120", v4, false},
		{"all of IPv4 in IPv6", "::ffff:0:0/96", v4, true},
		{"all of IPv4 is not IPv6", "0.0.0.0/0", v6, false},
	} {
		s, err := Parse(tc.list)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if got := s.Has(netip.MustParseAddrPort(tc.end)); got != tc.want {
			t.Errorf("%s:\ngot  %t\nwant %t", tc.name, got, tc.want)
		}
	}
	if everything := (*Set)(nil); !everything.Has(netip.MustParseAddrPort(v4)) {
		t.Error("no list: an end is not in it")
	}
}

func TestParseErrors(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", `"": not a network, an address, or an address with a port`},
		{"name", "example.org:27015", `"example.org:27015": not a network, an address, or an address with a port`},
		{"empty word", "198.18.0.1,", `"": not a network, an address, or an address with a port`},
		{"port 0", "198.18.0.1:0", `"198.18.0.1:0": not a network, an address, or an address with a port`},
		{"port too large", "198.18.0.1:65536", `"198.18.0.1:65536": not a network, an address, or an address with a port`},
		{"IPv6 without brackets", "2001:db8::1:2:3:4:5:27015:9", `"2001:db8::1:2:3:4:5:27015:9": not a network, an address, or an address with a port`},
		{"zone", "fe80::1%eth0", `"fe80::1%eth0": not a network, an address, or an address with a port`},
		{"IPv4 in IPv6, and more", "::ffff:0.0.0.0/95", "::ffff:0.0.0.0/95: bits after the first 95 are set, the network is ::fffe:0:0/95"},
		{"host bits", "198.18.0.1/15", "198.18.0.1/15: bits after the first 15 are set, the network is 198.18.0.0/15"},
	} {
		if _, err := Parse(tc.in); err == nil || err.Error() != tc.want {
			t.Errorf("%s:\ngot  %v\nwant %s", tc.name, err, tc.want)
		}
	}
}

func TestMap(t *testing.T) {
	s, err := Parse("198.18.0.0/24,198.51.100.7:27015")
	if err != nil {
		t.Fatal(err)
	}
	next := func(n netip.Prefix) []netip.Prefix {
		return []netip.Prefix{netip.PrefixFrom(n.Addr().Next(), n.Bits()).Masked(), netip.MustParsePrefix("192.0.2.0/24")}
	}
	to := s.Map(next)
	for end, want := range map[string]bool{"198.18.0.5:1": true, "192.0.2.9:1": true, "198.51.100.8:27015": true, "198.51.100.8:1": false, "198.51.100.7:27015": false} {
		if got := to.Has(netip.MustParseAddrPort(end)); got != want {
			t.Errorf("%s: got %v, want %v", end, got, want)
		}
	}
	if all := (*Set)(nil).Map(next); all != nil {
		t.Error("of all it is some")
	}
}
