package other

import "testing"

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
