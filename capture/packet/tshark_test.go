package packet

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tsharkCannot has what Wireshark 4.0 does not follow, or follows only if told to.
var tsharkCannot = map[string]string{
	"L2TPv3 over UDP":             "needs the sublayer as a setting",
	"L2TPv3 over IP, cookie of 4": "needs the cookie as a setting",
	"GUE":                         noDissector,
	"GUE, private data, GRE":      noDissector,
	"GUE variant 1":               noDissector,
	"FOU":                         noDissector,
	"FOU, IPv6":                   noDissector,
	"FOU, GRE":                    noDissector,
	"VXLAN-GPE, no protocol":      "wants bit P",
	"EDSA, EtherType":             "as a link type only",
	"SLL, IP says the protocol, the rest of a tag": "believes the protocol",
	"SLL2, IP says the protocol, a tag":            "believes the protocol",
}

const noDissector = "has no dissector"

// TestAgainstTshark asks that tshark finds the same innermost datagram in every tunnel.
func TestAgainstTshark(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	byLink := map[uint16][]tunnelTest{}
	for _, tt := range moreTunnels() {
		if tt.want.Stop == OK && len(tt.ways)+len(tt.want.Payload) > 0 && !strings.HasPrefix(tt.name, "port of") {
			byLink[tt.link] = append(byLink[tt.link], tt)
		}
	}
	compared := 0
	for link, tests := range byLink {
		file := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
		file = append(file, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0)
		file = binary.LittleEndian.AppendUint32(file, uint32(link))
		for _, tt := range tests {
			b := unhex(tt.in)
			for _, n := range []int{1, 0, len(b), len(b)} {
				file = binary.LittleEndian.AppendUint32(file, uint32(n))
			}
			file = append(file, b...)
		}
		name := filepath.Join(t.TempDir(), "x.pcap")
		if err := os.WriteFile(name, file, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(tshark, "-n", "-r", name, "-T", "fields", "-E", "occurrence=l", "-E", "separator=|",
			"-e", "ip.src", "-e", "ipv6.src", "-e", "udp.srcport", "-e", "udp.dstport", "-e", "data.len", "-e", "frame.protocols", "-e", "frame.number")
		out, err := cmd.Output()
		if err != nil { // it prints what it cannot read
			t.Logf("%s: %v %s", LinkName(link), err, err.(*exec.ExitError).Stderr)
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if len(lines) != len(tests) {
			t.Fatalf("got %d lines, want %d", len(lines), len(tests))
		}
		for i, tt := range tests {
			f := strings.Split(lines[i], "|")
			source := f[0]
			if tt.want.Src.Addr().Is6() {
				source = f[1]
			}
			got := fmt.Sprintf("%s %s %s", source, f[2], f[3])
			want := fmt.Sprintf("%s %d %d", tt.want.Src.Addr(), tt.want.Src.Port(), tt.want.Dst.Port())
			why, cannot := tsharkCannot[tt.name]
			switch {
			case got == want && cannot:
				t.Errorf("%s: tshark reads it, the list says %q", tt.name, why)
			case got != want && !cannot:
				t.Errorf("%s: tshark %s (%s)\nwant %s", tt.name, got, f[5], want)
			case got == want:
				compared++
			}
		}
	}
	if compared < 20 {
		t.Errorf("got  %d tunnels compared\nwant most", compared)
	}
	t.Logf("%d tunnels compared", compared)
}
