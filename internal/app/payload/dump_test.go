package payload

import (
	"strings"
	"testing"
)

// TestDumps has what the tools printed for the same bytes.
func TestDumps(t *testing.T) {
	const infoRows = `00000000  ff ff ff ff 49 11 4e 61  6d 65 20 77 69 74 68 20  |....I.Name with |
00000010  20 73 70 61 63 65 00 6d  61 70 00 64 69 72 00 67  | space.map.dir.g|
00000020  61 6d 65 00 0a 00 05 10  00 64 6c 00 01 76 31 00  |ame......dl..v1.|
`
	tests := []struct {
		name, in string
		want     []string
	}{
		{"hexdump -C", infoRows + "00000030\n", []string{info}},
		{"Go hex.Dump", infoRows, []string{info}},
		{"xxd", `00000000: ffff ffff 4911 4e61 6d65 2077 6974 6820  ....I.Name with 
00000010: 2073 7061 6365 006d 6170 0064 6972 0067   space.map.dir.g
00000020: 616d 6500 0a00 0510 0064 6c00 0176 3100  ame......dl..v1.
`, []string{info}},
		{"xxd -g1 -c8", `00000000: ff ff ff ff 55 4b a1 d5  ....UK..
00000008: 22                       "
`, []string{ask}},
		{"xxd, one row", "00000000: ffff ffff 554b a1d5 22                   ....UK..\"\n", []string{ask}},
		{"od -tx1, octal offsets", `0000000 ff ff ff ff 49 11 4e 61 6d 65 20 77 69 74 68 20
0000020 20 73 70 61 63 65 00 6d 61 70 00 64 69 72 00 67
0000040 61 6d 65 00 0a 00 05 10 00 64 6c 00 01 76 31 00
0000060
`, []string{info}},
		{"od -A d -t x1z, decimal offsets", `0000000 ff ff ff ff 49 11 4e 61 6d 65 20 77 69 74 68 20  >....I.Name with <
0000016 20 73 70 61 63 65 00 6d 61 70 00 64 69 72 00 67  > space.map.dir.g<
0000032 61 6d 65 00 0a 00 05 10 00 64 6c 00 01 76 31 00  >ame......dl..v1.<
0000048
`, []string{info}},
		{"Wireshark hex dump", `0000   ff ff ff ff 49 11 4e 61 6d 65 20 77 69 74 68 20   ....I.Name with 
0010   20 73 70 61 63 65 00 6d 61 70 00 64 69 72 00 67    space.map.dir.g
0020   61 6d 65 00 0a 00 05 10 00 64 6c 00 01 76 31 00   ame......dl..v1.
`, []string{info}},
		{"without text", "0000  ff ff ff ff 55 4b\n0006  a1 d5 22\n", []string{ask}},
		{"tcpdump -x with its lines", `22:13:20.000000 IP 10.64.0.36.40001 > 198.18.0.36.27015: UDP, length 25
	0x0000:  ffff ffff 554b
	0x0006:  a1d5 22
22:13:20.020000 IP 198.18.0.36.27015 > 10.64.0.36.40001: UDP, length 9
	0x0000:  ff
`, []string{ask, "ff"}},
		{"tcpdump -X shows a space as a dot", "\t0x0000:  ffff ffff 5453 6f75 7263 6520 45         ....TSource.E\n",
			[]string{`ffffffff "TSource E"`}},
		{"text that looks like bytes", "00000000: 6162 6364  abcd\n00000004: 6566  ef\n", []string{`"abcdef"`}},
		{"rows that repeat", `00000000  ff ff ff ff 45 01 00 6e  61 6d 65 00 61 61 61 61  |....E..name.aaaa|
00000010  61 61 61 61 61 61 61 61  61 61 61 61 61 61 61 61  |aaaaaaaaaaaaaaaa|
*
00000070  00                                                |.|
00000071
`, []string{`ffffffff 45 0100 "name" 00 "` + strings.Repeat("a", 100) + `" 00`}},
		{"offsets that begin again", "0000  ff fe\n0002  fd\n0000  01\n", []string{"fffefd", "01"}},
		{"Wireshark follow, the server indented", `00000000  ff ff   ..
    00000000  01 02   ..
00000002  fe   .
`, []string{"ffff", "0102", "fe"}},
		{"offset that does not begin at 0", "00000010: ffff  ..\n00000012: fe  .\n", []string{"fffffe"}},
		{"dumps of two programs", "0000   ff fe 61   ..a\n00000000: fffe 61  ..a\n", []string{"fffe61", "fffe61"}},
		{"bars in the text", "00000000  7c 61 7c  ||a||\n", []string{`"|a|"`}},
		{"UTF-8 in the text", "0000  ff 61  ·a\n", []string{"ff61"}},
		{"tshark -x", "Frame (3 bytes):\n0000  ff fe 61   ..a\nReassembled (1 byte):\n0000  01   .\n", []string{"fffe61", "01"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { compare(t, tt.in, Dump, tt.want) })
	}
}

// TestNoDump: groups of digits are an offset only where something says so.
func TestNoDump(t *testing.T) {
	for _, in := range []string{"ffffffff 55 4b a1 d5 22", "0000 ffff", "ffff ffff 554b a1d5\n22"} {
		ps, err := Parse(in, engines)
		if err != nil || len(ps) != 1 || ps[0].Form != Hex {
			t.Errorf("%q: got %v, %v, want hexadecimal", in, ps, err)
		}
	}
}
