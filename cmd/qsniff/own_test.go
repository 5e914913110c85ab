package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Storms of one's own tools, and what must be none.
func TestOwnTools(t *testing.T) {
	t.Parallel()
	kindOf := regexp.MustCompile(`"kind":"([^"]+)".*?"level":"([^"]+)"`)
	for _, tc := range []struct {
		capture, own string
		want         []string // kinds of warnings and alerts
	}{
		{"own-storm", "10.64.9.9", []string{"own_tool_storm"}},
		{"own-storm", "10.64.9.0/24,2001:db8::/64", []string{"own_tool_storm"}},
		{"own-storm", "10.64.9.8", []string{"flood_few"}},
		{"own-storm", "", []string{"flood_few"}},
		{"own-near", "10.64.9.9", nil},
		{"own-forged", "10.64.9.9", []string{"flood_few"}},
		{"own-forged", "10.0.0.0/8", []string{"flood_few"}},
	} {
		for _, command := range []string{"floods", "read"} {
			args := []string{command, "-o", "json", pcapfiles + "/floods/" + tc.capture + ".pcap"}
			if tc.own != "" {
				args = append(args, "--own", tc.own)
			}
			out, errs, status := output(t, args...)
			if status != exitOK {
				t.Fatalf("%v: exit status %d: %s", args, status, errs)
			}
			var got []string
			for line := range strings.Lines(out) {
				x := kindOf.FindStringSubmatch(line)
				if strings.Contains(line, `"record":"incident"`) && x != nil && x[2] != "info" && !slices.Contains(got, x[1]) {
					got = append(got, x[1])
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%v\ngot  %v\nwant %v", args, got, tc.want)
			}
		}
	}
}

// No rules name an address of one's own, which is in every form that can name one otherwise.
func TestOwnToolsInNoRules(t *testing.T) {
	t.Parallel()
	const address = "10.64.9.9"
	for _, form := range []string{"nft", "iptables", "xdp-filter", "ovh", "path"} {
		args := []string{"floods", "-o", form, pcapfiles + "/floods/own-forged.pcap"}
		named, _, _ := output(t, args...)
		spared, errs, status := output(t, append(args, "--own", "10.64.9.0/28")...)
		if status != exitOK {
			t.Errorf("%s: exit status %d: %s", form, status, errs)
		}
		if !strings.Contains(named, address) {
			t.Errorf("%s names nobody: %s", form, named)
		}
		if rules := strings.ReplaceAll(spared, "--own", ""); strings.Contains(rules, address) || spared == "" {
			t.Errorf("%s: got %s", form, spared)
		}
	}
}

// A list that is wrong is refused with the way out, wherever floods are found.
func TestOwnToolsRefused(t *testing.T) {
	t.Parallel()
	file := pcapfiles + "/floods/own-near.pcap"
	for _, args := range [][]string{{"floods", file}, {"read", file}, {"report", "-o", "json", file}, {"monitor", file}, {"live", "-i", "nowhere0"}, {"mcp", pcapfiles}} {
		_, errs, status := output(t, append(args, "--own", "10.64.9.9:27015")...)
		if status != exitUsage || !strings.Contains(errs, `--own "10.64.9.9:27015": not a network, or an address without a port`) || !strings.Contains(errs, "hint: write addresses") {
			t.Errorf("%v: exit status %d: %s", args, status, errs)
		}
	}
	if _, errs, status := output(t, "floods", "--limits", "rehlds", "--own", "10.64.9.9", file); status != exitUsage || !strings.Contains(errs, "--own does not go with --limits") {
		t.Errorf("exit status %d: %s", status, errs)
	}
}
