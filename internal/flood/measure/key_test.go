package measure

import (
	"net/netip"
	"testing"

	"qsniff/internal/track"
)

func TestScope(t *testing.T) {
	tests := []struct {
		addr   string
		want   scope
		prefix string
	}{
		{"203.0.113.77", public, "203.0.113.0/24"},
		{"0.1.2.3", impossible, "0.1.2.0/24"},
		{"127.0.0.1", impossible, "127.0.0.0/24"},
		{"223.255.255.255", public, "223.255.255.0/24"},
		{"224.0.0.1", impossible, "224.0.0.0/24"},
		{"255.255.255.255", impossible, "255.255.255.0/24"},
		{"10.9.8.7", local, "10.9.8.0/24"},
		{"100.63.0.1", public, "100.63.0.0/24"},
		{"100.64.0.1", local, "100.64.0.0/24"},
		{"100.127.9.1", local, "100.127.9.0/24"},
		{"100.128.0.1", public, "100.128.0.0/24"},
		{"169.254.1.2", local, "169.254.1.0/24"},
		{"172.15.1.1", public, "172.15.1.0/24"},
		{"172.16.1.1", local, "172.16.1.0/24"},
		{"172.31.1.1", local, "172.31.1.0/24"},
		{"172.32.1.1", public, "172.32.1.0/24"},
		{"192.168.3.4", local, "192.168.3.0/24"},
		{"198.17.1.1", public, "198.17.1.0/24"},
		{"198.18.1.1", local, "198.18.1.0/24"},
		{"198.19.1.1", local, "198.19.1.0/24"},
		{"198.20.1.1", public, "198.20.1.0/24"},
		{"2a00:1450:4001:81b::200e", public, "2a00:1450:4001:81b::/64"},
		{"3fff::1", public, "3fff::/64"},
		{"4000::1", impossible, "4000::/64"},
		{"::1", impossible, "::/64"},
		{"fe80::1", local, "fe80::/64"},
		{"febf::1", local, "febf::/64"},
		{"fec0::1", impossible, "fec0::/64"},
		{"fc00::1", local, "fc00::/64"},
		{"fd12:3456:789a:1::1", local, "fd12:3456:789a:1::/64"},
		{"ff02::1", impossible, "ff02::/64"},
	}
	for _, tt := range tests {
		h := track.Host(netip.MustParseAddr(tt.addr).As16())
		p := PrefixOf(&h)
		if got := scopeOf(&h); got != tt.want {
			t.Errorf("scope of %s\ngot  %d\nwant %d", tt.addr, got, tt.want)
		}
		if got := Network(h).String(); got != tt.prefix || Network(p).String() != tt.prefix {
			t.Errorf("network of %s\ngot  %s, of its prefix %s\nwant %s", tt.addr, got, Network(p), tt.prefix)
		}
	}
}
