package hostset

import (
	"net/netip"
	"strings"
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

func TestNetworks(t *testing.T) {
	x, err := ParseNetworks("198.51.100.9,192.0.2.0/24\n192.0.2.7, 2001:db8::/48 ::ffff:203.0.113.5 10.0.0.0/8,192.0.2.0/25")
	if err != nil {
		t.Fatal(err)
	}
	if len(x.sorted) != 5 {
		t.Errorf("got  %v\nwant five, without those in another", x.sorted)
	}
	for a, want := range map[string]bool{"198.51.100.9": true, "198.51.100.8": false, "198.51.100.10": false, "192.0.2.0": true, "192.0.2.255": true,
		"192.0.3.0": false, "192.0.1.255": false, "2001:db8:0:ffff::1": true, "2001:db8:1::": false, "203.0.113.5": true, "::ffff:203.0.113.5": true,
		"2001:db8::1%eth0": true, "10.255.255.255": true, "11.0.0.0": false, "::1": false, "255.255.255.255": false} {
		if got := x.Has(netip.MustParseAddr(a)); got != want {
			t.Errorf("has %s: got %t", a, got)
		}
	}
	for n, want := range map[string]bool{"198.51.100.0/24": true, "198.51.101.0/24": false, "192.0.0.0/16": true, "192.0.2.128/25": true,
		"2001:db8::/64": true, "2001:db8:0:1::/64": true, "2001:db9::/64": false, "2000::/16": false, "0.0.0.0/0": true} {
		if got := x.Overlaps(netip.MustParsePrefix(n)); got != want {
			t.Errorf("overlaps %s: got %t", n, got)
		}
	}
	if none := (*Networks)(nil); none.Has(netip.MustParseAddr("10.0.0.1")) || none.Overlaps(netip.MustParsePrefix("10.0.0.0/8")) || none.Map(nil) != nil {
		t.Error("nil is not empty")
	}
}

func TestParseNetworksErrors(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", "no address in the list"},
		{" ,\n", "no address in the list"},
		{"monitor.example", `"monitor.example": not a network, or an address without a port`},
		{"192.0.2.1:27015", `"192.0.2.1:27015": not a network, or an address without a port`},
		{"192.0.2.1/24", "192.0.2.1/24: bits after the first 24 are set, the network is 192.0.2.0/24"},
		{"fe80::1%eth0", `"fe80::1%eth0": not a network, or an address without a port`},
		{"0.0.0.0/0", "0.0.0.0/0: wider than a /8"},
		{"2000::/3", "2000::/3: wider than a /16"},
		{strings.Repeat("192.0.2.1,", MaxNetworks+1), "more than 4096 addresses and networks: name networks"},
	} {
		if x, err := ParseNetworks(tc.in); err == nil || err.Error() != tc.want || x != nil {
			t.Errorf("%.40q\ngot  %v, %v\nwant %s", tc.in, x, err, tc.want)
		}
	}
}

func TestMapNetworks(t *testing.T) {
	x, _ := ParseNetworks("192.0.2.0/24")
	to := x.Map(func(p netip.Prefix) []netip.Prefix {
		return []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("10.1.0.0/16")}
	})
	for a, want := range map[string]bool{"192.0.2.1": false, "203.0.113.1": true, "10.1.2.3": true} {
		if got := to.Has(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s: got %t", a, got)
		}
	}
}

// What is parsed has each address that was named, and no other than a search one by one finds.
func FuzzParseNetworks(f *testing.F) {
	f.Add("192.0.2.0/24,198.51.100.9", "192.0.2.7")
	f.Add("10.0.0.0/8 10.1.0.0/16\t10.1.2.3,10.0.0.0/9", "10.255.0.1")
	f.Add("2001:db8::/32,2001:db8:1::/48,::ffff:0:0/104", "2001:db8:1::5")
	f.Add("::/16,2001::/16,64.0.0.0/9,fe80::/64", "64.127.1.1")
	f.Add("0.0.0.0/8,255.0.0.0/8,ffff::/16", "255.255.255.255")
	f.Fuzz(func(t *testing.T, list, addr string) {
		x, err := ParseNetworks(list)
		if err != nil {
			if x != nil || len(err.Error()) > 4*len(list)+100 {
				t.Errorf("%v, %v", x, err)
			}
			return
		}
		var named []netip.Prefix
		for word := range strings.FieldsFuncSeq(list, isSeparator) {
			p, err := parseNetwork(word)
			if err != nil {
				t.Fatalf("%q was taken: %v", word, err)
			}
			named = append(named, p)
			if !x.Has(p.Addr()) || !x.Overlaps(p) {
				t.Errorf("%s is not in %v", p, x.sorted)
			}
		}
		a, err := netip.ParseAddr(addr)
		if err != nil {
			return
		}
		want := false
		for _, p := range named {
			want = want || p.Contains(a.Unmap().WithZone(""))
		}
		if got := x.Has(a); got != want {
			t.Errorf("%s in %v: got %t", a, x.sorted, got)
		}
	})
}

// TestExpression: networks come as they were named, then ends in the order of their addresses.
func TestExpression(t *testing.T) {
	s, err := Parse("198.51.100.7:27016, 203.0.113.0/24, [2001:db8::1]:27015, 198.51.100.7:27015, 192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	const want = "server == 203.0.113.0/24 || server == 192.0.2.1/32 || (server == 198.51.100.7 && server.port == 27015)" +
		" || (server == 198.51.100.7 && server.port == 27016) || (server == 2001:db8::1 && server.port == 27015)"
	if got := s.Expression(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := (*Set)(nil).Expression(); got != "" {
		t.Errorf("nil set: got %s", got)
	}
}
