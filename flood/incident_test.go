package flood

import (
	"net/netip"
	"testing"

	"qsniff/internal/hostset"
)

func TestIncidentIsAt(t *testing.T) {
	servers, err := hostset.Parse("198.18.0.1:27015,198.18.1.0/24")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		kind Kind
		end  string
		want bool
	}{
		{FloodFew, "198.18.0.1:27015", true},
		{FloodFew, "198.18.0.1:27016", false},
		{FloodFew, "198.18.1.9:27016", true},
		{ReplyFloodVictim, "198.18.0.1:0", true},
		{ReplyFloodVictim, "198.18.1.9:0", true},
		{ReplyFloodVictim, "198.18.2.9:0", false},
		{Scan, "203.0.113.7:0", true},
	} {
		in := &Incident{Kind: tc.kind, Target: Target{End: netip.MustParseAddrPort(tc.end)}}
		if got := in.IsAt(servers); got != tc.want {
			t.Errorf("%v %s: got %v, want %v", tc.kind, tc.end, got, tc.want)
		}
		if !in.IsAt(nil) {
			t.Errorf("%v %s is not among all servers", tc.kind, tc.end)
		}
	}
}
