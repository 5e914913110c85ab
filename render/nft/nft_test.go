package nft

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/flood"
	"qsniff/flood/proof"
	"qsniff/render"
	"qsniff/render/tally"
)

func sources(addrs ...string) *render.Proven {
	p := &render.Proven{}
	for _, a := range addrs {
		p.Sources = append(p.Sources, proof.Source{Addr: netip.MustParseAddr(a), Methods: proof.Challenge})
	}
	return p
}

var cases = []struct {
	name   string
	in     *render.Proven
	v4, v6 string // elements
}{
	{"nobody", sources(), "", ""},
	{"IPv4", sources("198.51.100.1", "203.0.113.7"), "198.51.100.1, 203.0.113.7,", ""},
	{"IPv6", sources("2001:db8::7", "fe80::1"), "", "2001:db8::7, fe80::1,"},
	{"both", sources("0.0.0.0", "255.255.255.255", "::", "::1"), "0.0.0.0, 255.255.255.255,", "::, ::1,"},
}

func TestAppendProven(t *testing.T) {
	for _, tt := range cases {
		words := strings.Join(strings.Fields(string(AppendProven(nil, tt.in))), " ")
		for _, set := range []struct{ name, kind, elements string }{{"proven4", "ipv4_addr", tt.v4}, {"proven6", "ipv6_addr", tt.v6}} {
			want := "set " + set.name + " { type " + set.kind + " flags timeout timeout 1h }"
			if set.elements != "" {
				want = strings.TrimSuffix(want, "}") + "elements = { " + set.elements + " } }"
			}
			if !strings.Contains(words, want) {
				t.Errorf("%s:\ngot  %s\nwant %s", tt.name, words, want)
			}
		}
		if !strings.Contains(words, "forge") {
			t.Errorf("%s: nothing says that the addresses can be forged", tt.name)
		}
	}
}

// TestNft: nft understands the output.
func TestNft(t *testing.T) {
	nft, err := exec.LookPath("nft")
	if err != nil {
		t.Skip("nft is not installed")
	}
	check := func(text []byte) ([]byte, error) {
		name := filepath.Join(t.TempDir(), "sets.nft")
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return exec.Command(nft, "-c", "-f", name).CombinedOutput()
	}
	if out, err := check([]byte("table inet qsniff {\n}\n")); err != nil {
		t.Skipf("nft cannot check a table here, it takes a right: %s", out)
	}
	for _, tt := range cases {
		if out, err := check(AppendProven(nil, tt.in)); err != nil {
			t.Errorf("%s: %v: %s", tt.name, err, out)
		}
	}
}

// fileOf is rules that are a file for nft.
type fileOf string

func (x fileOf) NFTables() string      { return string(x) }
func (fileOf) IPTables() (_, _ string) { return "", "iptables" }
func (fileOf) ExpiryGap() string       { return "" }

// TestAppendFloods: an incident has its rules, or a comment that says there are none; of
// two with one table the last one counts, and a capture without incidents says so.
func TestAppendFloods(t *testing.T) {
	at := netip.MustParseAddrPort("198.51.100.17:27015")
	incident := func(kind flood.Kind, level flood.Level, rules string) flood.Incident {
		in := flood.Incident{Kind: kind, Level: level, Target: flood.Target{End: at}}
		if rules != "" {
			in.Advice.Rules = fileOf(rules)
		}
		return in
	}
	f := &render.Floods{Incidents: []flood.Incident{
		incident(flood.FloodSpoofed, flood.Alert, "first\n"), incident(flood.FloodSpoofed, flood.Alert, "second\n"),
		incident(flood.FloodFew, flood.Warn, "third\n"), incident(flood.Scan, flood.Alert, ""), incident(flood.Crowd, flood.Info, "note\n"),
	}}
	want := "# alert: flood_spoofed at udp/198.51.100.17:27015, detected 1970-01-01T00:00:00Z\nsecond\n\n" +
		"# warn: flood_few at udp/198.51.100.17:27015, detected 1970-01-01T00:00:00Z\nthird\n\n" +
		"# alert: scan at udp/198.51.100.17:27015, detected 1970-01-01T00:00:00Z\n# no rule helps against this; qsniff floods says what does\n\n"
	if diff := cmp.Diff(want, string(AppendFloods(nil, f))); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	cut := tally.Run{Interrupted: true, Packets: 7}
	if got := string(AppendFloods(nil, &render.Floods{Run: cut})); !strings.HasPrefix(got, "# Interrupted after 7 packets") {
		t.Errorf("of a run that was interrupted: %s", got)
	}
	if got := string(AppendFloods(nil, &render.Floods{})); !strings.HasPrefix(got, "# no attack") {
		t.Errorf("of no incident: %s", got)
	}
}
