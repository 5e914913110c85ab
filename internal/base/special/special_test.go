package special

import (
	"net/netip"
	"testing"
)

func TestIsPublic(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want bool
	}{
		{"10.1.2.3", false}, {"172.16.0.1", false}, {"172.32.0.1", true}, {"192.168.1.1", false}, {"127.0.0.1", false}, {"169.254.1.1", false},
		{"100.64.0.1", false}, {"100.127.255.255", false}, {"100.128.0.1", true}, {"8.8.8.8", true}, {"0.0.0.0", false}, {"255.255.255.255", false},
		{"192.0.2.1", false}, {"192.0.3.1", true}, {"198.51.100.7", false}, {"198.51.101.7", true}, {"203.0.113.7", false}, {"239.1.2.3", false},
		{"198.18.0.1", true}, // on purpose
		{"::", false}, {"::1", false}, {"fe80::1%eth0", false}, {"fd00::1", false}, {"2001:db8::1", false}, {"3fff::1", false}, {"3fff:1000::1", true},
		{"2606:4700::1", true}, {"::ffff:10.0.0.1", false}, {"::ffff:8.8.8.8", true}, {"::ffff:203.0.113.7", false},
	} {
		if got := IsPublic(netip.MustParseAddr(tc.in)); got != tc.want {
			t.Errorf("%s\ngot  %v\nwant %v", tc.in, got, tc.want)
		}
	}
	if IsPublic(netip.Addr{}) {
		t.Error("no address\ngot  true\nwant false")
	}
}
