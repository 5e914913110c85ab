package edge

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"qsniff/internal/flood"
	"qsniff/internal/flood/other"
	"qsniff/internal/flood/rules"
	"qsniff/internal/test/floodtest"
)

// forms are the outputs of the package.
var forms = []struct {
	name   string
	append func([]byte, *rules.Input) []byte
}{{"xdp-filter.sh", AppendXDPFilter}, {"ovh.txt", AppendOVH}, {"path.txt", AppendPath}}

// TestForms compares rules against many incidents with golden files.
func TestForms(t *testing.T) {
	for _, x := range forms {
		floodtest.Golden(t, "testdata/"+x.name, x.append(nil, floodtest.Report(t, time.Hour)))
	}
}

// TestNothing: without incidents the script does nothing, and a text says so.
func TestNothing(t *testing.T) {
	for _, x := range forms {
		got := string(x.append(nil, &rules.Input{Cut: "7 packets"}))
		if !strings.Contains(got, "Interrupted after 7 packets") || !strings.Contains(got, "no warning") {
			t.Errorf("%s: %s", x.name, got)
		}
		for line := range strings.Lines(got) {
			if strings.HasSuffix(x.name, ".sh") && !strings.HasPrefix(line, "#") {
				t.Errorf("%s does something: %s", x.name, line)
			}
		}
	}
}

// TestMany: what does not fit into the provider's rules is said.
func TestMany(t *testing.T) {
	f := floodtest.Report(t, time.Hour)
	f.Incidents = floodtest.Named(t, 40)
	got := string(AppendOVH(nil, f))
	if strings.Count(got, " deny ") != ovhRules || !strings.Contains(got, "more sources to block") {
		t.Errorf("got\n%s", got)
	}
}

// TestClasses: floods of other packets have rules by protocol and port where a firewall of
// these can tell them, and are named where it cannot.
func TestClasses(t *testing.T) {
	f := &rules.Input{}
	for _, c := range other.Classes(nil) {
		at := netip.MustParseAddrPort("198.51.100.17:0")
		if c.Ports {
			at = netip.MustParseAddrPort("198.51.100.17:27015")
		}
		f.Incidents = append(f.Incidents, flood.Incident{Kind: flood.OtherFlood, Level: flood.Alert, Class: &c, Target: flood.Target{End: at, TCP: c.TCP}})
	}
	floodtest.Golden(t, "testdata/classes-ovh.txt", AppendOVH(nil, f))
	floodtest.Golden(t, "testdata/classes-path.txt", AppendPath(nil, f))
}
