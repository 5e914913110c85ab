package packet

import (
	"strings"
	"testing"
)

func TestWayNames(t *testing.T) {
	seen := map[string]WayKind{}
	for k := range NumWayKinds {
		name := k.String()
		if first, ok := seen[name]; ok || name == "" {
			t.Errorf("got  name %q for kind %d, first seen for %d\nwant a name of its own", name, k, first)
		}
		seen[name] = k
	}
}

func TestLinkName(t *testing.T) {
	tests := []struct {
		in   uint16
		want string
	}{
		{LinkEthernet, "Ethernet (1)"},
		{105, "IEEE 802.11 (105)"},
		{LinkLinuxSLL2, "Linux cooked v2 (276)"},
		{147, "private link type 147"},
		{162, "private link type 162"},
		{999, "link type 999"},
	}
	for _, tt := range tests {
		if got := LinkName(tt.in); got != tt.want {
			t.Errorf("link %d\ngot  %s\nwant %s", tt.in, got, tt.want)
		}
	}
	for _, link := range allLinks {
		if name := LinkName(link); strings.HasPrefix(name, "link type") {
			t.Errorf("got  %s\nwant a name: it is decoded", name)
		}
	}
}
