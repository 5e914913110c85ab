package nft

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qsniff/internal/flood/proof"
	"qsniff/internal/flood/rules"
	"qsniff/internal/test/floodtest"
)

func sources(addrs ...string) *proof.Summary {
	p := &proof.Summary{}
	for _, a := range addrs {
		p.Sources = append(p.Sources, proof.Source{Addr: netip.MustParseAddr(a), Methods: proof.Challenge})
	}
	return p
}

var cases = []struct {
	name   string
	in     *proof.Summary
	v4, v6 string // elements
}{
	{"nobody", sources(), "", ""},
	{"IPv4", sources("198.51.100.1", "203.0.113.7"), "198.51.100.1, 203.0.113.7,", ""},
	{"IPv6", sources("2001:db8::7", "fe80::1"), "", "2001:db8::7, fe80::1,"},
	{"both", sources("0.0.0.0", "255.255.255.255", "::", "::1"), "0.0.0.0, 255.255.255.255,", "::, ::1,"},
}

func TestAppendProven(t *testing.T) {
	for _, tt := range cases {
		words := strings.Join(strings.Fields(string(AppendProven(nil, tt.in.Sources, ""))), " ")
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
		if out, err := check(AppendProven(nil, tt.in.Sources, "")); err != nil {
			t.Errorf("%s: %v: %s", tt.name, err, out)
		}
	}
}

// TestAppendFloods compares rules against many incidents with a golden file: one table, a
// chain for each target, and comments about what no rule helps against.
func TestAppendFloods(t *testing.T) {
	f := floodtest.Report(t, time.Hour)
	f.Proven = sources(floodtest.Attacker, "192.0.2.200", "2001:db8:7::1")
	floodtest.Golden(t, "testdata/floods.nft", AppendFloods(nil, f))
	if got := string(AppendFloods(nil, &rules.Input{Cut: "7 packets"})); !strings.HasPrefix(got, "# Interrupted after 7 packets") {
		t.Errorf("of a run that was interrupted: %s", got)
	}
	if got := string(AppendFloods(nil, &rules.Input{})); !strings.Contains(got, "# No rules") || strings.Contains(got, "table") {
		t.Errorf("of no incident: %s", got)
	}
}
