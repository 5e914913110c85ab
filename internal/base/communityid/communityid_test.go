package communityid

import (
	"net/netip"
	"testing"
)

// The values are the specification's own (baseline, seed 0).
func TestAppend(t *testing.T) {
	for _, tc := range []struct {
		name, src, dst string
		proto          uint8
		want           string
	}{
		{"tcp", "128.232.110.120:34855", "66.35.250.204:80", 6, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="},
		{"udp", "192.168.1.52:54585", "8.8.8.8:53", 17, "1:d/FP5EW3wiY1vCndhwleRRKHowQ="},
	} {
		src, dst := netip.MustParseAddrPort(tc.src), netip.MustParseAddrPort(tc.dst)
		if got := string(Append(nil, src, dst, tc.proto)); got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
		if got := string(Append(nil, dst, src, tc.proto)); got != tc.want {
			t.Errorf("%s, the other way\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}
