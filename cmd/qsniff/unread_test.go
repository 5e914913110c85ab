package main

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeLinkCapture writes a pcap file with a link type and one packet, in hexadecimal, n times.
func writeLinkCapture(t *testing.T, link uint32, packet string, n int) string {
	t.Helper()
	data, err := hex.DecodeString(strings.ReplaceAll(packet, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 0xa1b2c3d4)
	b = append(b, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	b = le.AppendUint32(le.AppendUint32(b, 65535), link)
	for i := range n {
		for _, v := range []int{1700000000, i, len(data), len(data)} {
			b = le.AppendUint32(b, uint32(v))
		}
		b = append(b, data...)
	}
	name := filepath.Join(t.TempDir(), "link.pcap")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestCountedAndNamed holds the README's words on what is not decoded: such packets are counted and named at the end,
// with what to do.
func TestCountedAndNamed(t *testing.T) {
	const mac = "020000000002 020000000001"
	ip := func(proto string) string { // 192.0.2.1 to 192.0.2.2, 40 bytes
		return mac + " 0800 45000028 00010000 40" + proto + "0000 c0000201 c0000202 " + strings.Repeat("00", 20)
	}
	for _, tc := range []struct {
		name   string
		link   uint32
		packet string
		want   []string
	}{
		{"802.11", 105, "0801 0000 " + strings.Repeat("02", 30), []string{"IEEE 802.11"}},
		{"USB", 220, strings.Repeat("00", 64), []string{"USB"}},
		{"EtherIP", 1, ip("61"), []string{"EtherIP"}},
		{"PBB", 1, mac + " 88e7 " + strings.Repeat("00", 60), []string{"PBB"}},
		{"NSH", 1, mac + " 894f " + strings.Repeat("00", 60), []string{"NSH"}},
		{"HSR", 1, mac + " 892f " + strings.Repeat("00", 60), []string{"HSR"}},
		{"Teredo", 1, mac + " 0800 45000044 00010000 40110000 c0000201 c0000202 0dd80dd8 00300000 60000000 00003bff 20010000 00000000 00000000 00000001 20010000 00000000 00000000 00000002", []string{"Teredo"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			name := writeLinkCapture(t, tc.link, tc.packet, 12)
			for _, command := range []string{"stats", "read"} {
				out, errs, _ := output(t, command, name)
				text := out + errs
				for _, want := range append(tc.want, "12", "capture") {
					if !strings.Contains(text, want) {
						t.Errorf("%s: %q is not in\n%s", command, want, text)
					}
				}
			}
		})
	}
}
