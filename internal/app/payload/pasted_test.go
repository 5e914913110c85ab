package payload

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/hextest"
)

// players is a reply whose name has brackets, quotes, UTF-8 and what looks like bytes.
const players = `ffffffff 44 01 00 "[D] #1 'b" c3b8 "e de" 00 05000000 00008044`

// pasted are texts from pages, tools and terminals, with what is around the bytes.
var pasted = []struct {
	name, in string
	want     []string
	notes    []string
	skipped  []int
}{
	{name: "one blank before the text, no offsets", in: `FF FF FF FF 44 01 00 5B 44 5D 20 23 31 20 27 62 ÿÿÿÿD..[D] #1 'b
C3 B8 65 20 64 65 00 05 00 00 00 00 00 80 44 Ã¸e de.......€D
`, want: []string{players}},
	{name: "text in UTF-8", in: `FF FF FF FF 44 01 00 5B 44 5D 20 23 31 20 27 62  ....D..[D] #1 'b
C3 B8 65 20 64 65 00 05 00 00 00 00 00 80 44     øe de........D
`, want: []string{players}},
	{name: "text that lacks its end", in: `FF FF FF FF 44 01 00 5B 44 5D 20 23 31 20 27 62 ....D..[D] #1 'b
C3 B8 65 20 64 65 00 05 00 00 00 00 00 80 44 00 ..e de........D
`, want: []string{players + "00"}},
	{name: "text with HTML's entities", in: "0020   FF FF FF FF 26 6C 74 3B 3C   &#255;&#255;&#255;&#255;&lt;&#60;\n0029   22   &quot;\n", notes: []string{
		"the text beside the bytes shows others in 1 of its rows, first in line 1: the bytes are decoded"}, want: []string{`ffffffff "&lt;<" 22`}},
	{name: "text with entities that agree", in: "0020   FF FF 3C 26   &#255;&#255;&lt;&amp;\n", want: []string{`ffff "<&"`}},
	{name: "no blank before the text", in: `0000   ff ff ff ff 44 01 00 5b 44 5d 20 23 31 20 27 62....D..[D] #1 'b
0010   c3 b8 65 20 64 65 00 05 00 00 00 00 00 80 44..e de........D
`, want: []string{players}},
	{name: "eight bytes a row", in: `ff ff ff ff 55 4b a1 d5 ....UK..
22 "
`, want: []string{ask}},
	{name: "twenty bytes a row", in: "ff ff ff ff 54 53 6f 75 72 63 65 20 45 6e 67 69 6e 65 20 51 ....TSource Engine Q\n75 65 72 79 00 uery.\n",
		want: []string{`ffffffff "TSource Engine Query" 00`}},
	{name: "first row indented to its column", in: `0020                                 ff ff ff ff 55 4b            ....UK
0030   a1 d5 22                                          .."
`, want: []string{ask}},
	{name: "one row at any offset", in: "0020   ff ff ff ff 55 4b a1 d5 22                         ....UK..\"\n", want: []string{ask}},
	{name: "two excerpts at one offset", in: "0020   ff ff ff ff 57          ....W\n0020   ff ff ff ff 55 4b a1 d5 22   ....UK..\"\n",
		want: []string{`ffffffff "W"`, ask}},
	{name: "elision between rows", in: "0000  ff ff ff ff  ....\n...\n0040  55 4b  UK\n", want: []string{"ffffffff"},
		notes: []string{"line 2 leaves bytes out: what is before it is decoded, nothing after it"}},
	{name: "elision without offsets", in: "ff ff ff ff 55 55 ....UU\n[...]\n4b a1 K.\n\nff ff ff ff 57 57 ....WW\n", want: []string{`ffffffff "UU"`, `ffffffff "WW"`},
		notes: []string{"line 2 leaves bytes out: what is before it is decoded, nothing after it"}},
	{name: "elision in a row", in: "ff ff ff ff 55 ... d5 22\n", want: []string{`ffffffff "U"`},
		notes: []string{"line 1 leaves bytes out: what is before it is decoded, nothing after it"}},
	{name: "Buffer that Node.js cut", in: "<Buffer ff ff ff ff 55 ... 25 more bytes>", want: []string{`ffffffff "U"`},
		notes: []string{"line 1 leaves bytes out: what is before it is decoded, nothing after it"}},
	{name: "list that was cut", in: "[255, 254, ...]", want: []string{"fffe"},
		notes: []string{"the list leaves bytes out: what is before them is decoded, nothing after it"}},
	{name: "three dots that are text", in: "0000  ff ff ff  ...\n0003  fe  .\n", want: []string{"fffffffe"}},
	{name: "placeholder", in: "FF FF FF FF 55 <4 byte number>    ....U\n", want: []string{`ffffffff "U"`},
		notes: []string{"line 1 has <4 byte number> in place of bytes: what is before it is decoded, nothing after it"}},
	{name: "placeholder after an offset", in: "0020   FF FF FF FF 55 [4 bytes]    ....U\n", want: []string{`ffffffff "U"`},
		notes: []string{"line 1 has [4 bytes] in place of bytes: what is before it is decoded, nothing after it"}},
	{name: "digits that stand for any", in: "ff ff ff ff 55 xx xx xx xx\n", want: []string{`ffffffff "U"`},
		notes: []string{"line 1 has xx xx xx xx in place of bytes: what is before it is decoded, nothing after it"}},
	{name: "dumps and headings in one block", in: "Request:\nff ff ff ff 55 55 ....UU\nReply\nff ff ff ff 57 57 ....WW\nend\n",
		want: []string{`ffffffff "UU"`, `ffffffff "WW"`}, skipped: []int{1, 3, 5}},
	{name: "headings in blocks of their own", in: "The client sends\n\nffffffff69\n\nA2A_ACK\n\nff ff ff ff 6a ....j\n\nThat is all.\n",
		want: []string{`ffffffff "i"`, `ffffffff "j"`}, skipped: []int{1, 5, 9}},
	{name: "parts, the first with a short row at its end", in: "FE FF FF FF 56 01 00 00 02 61 þÿÿÿV....a\n62 63 bc\nFE FF FF FF 56 01 00 00 12 64 þÿÿÿV....d\n",
		want: []string{`feffffff "V" 01000002 "abc"`, `feffffff "V" 01000012 "d"`}},
	{name: "a page ends between rows", in: "0000  ff ff ff ff  ....\nPage 3 of 9\n0004  55 4b  UK\n", want: []string{`ffffffff "UK"`}, skipped: []int{2}},
	{name: "frame and heading of a table", in: `+--------+-------------------------+
|Offset  |  0  1  2  3  4  5  6  7 |
|00000000| ff ff ff ff 55 4b a1 d5 |....UK..|
|00000008| 22                      |"       |
`, want: []string{ask}, skipped: []int{1, 2}},
	{name: "ruler of Format-Hex", in: "           00 01 02 03 04 05 06 07 08\n\n00000000   FF FF FF FF 55 4B A1 D5 22   ÿÿÿÿUK¡Õ\"\n", want: []string{ask}, skipped: []int{1}},
	{name: "heading of HxD", in: "Offset(h) 00 01 02 03 04 05 06 07 08\n\n00000000  FF FF FF FF 55 4B A1 D5 22  ÿÿÿÿUK¡Õ\"\n", want: []string{ask}, skipped: []int{1}},
	{name: "quoted in a mail", in: "> 0000  ff ff ff ff 55 4b  ....UK\n> 0006  a1 d5 22  ..\"\n", want: []string{ask}},
	{name: "Follow Stream", in: "00000000  ff ff ff ff 55 4b a1 d5  22                       ....UK.. \"\n\t00000000  ff ff ff ff 44 01 00 4e  61 6d 65 00              ....D..N ame.\n",
		want: []string{ask, `ffffffff "D" 0100 "Name" 00`}},
	{name: "FortiGate", in: "interfaces=[port3]\n2.140475 port3 in 198.51.100.60.40001 -> 203.0.113.60.27015: udp 9\n0x0000\t ffff ffff 554b a1d5 22                 \t....UK..\"\n",
		want: []string{ask}, skipped: []int{1, 2}},
	{name: "Cisco ASA", in: "1 packet captured\n\n   1: 12:01:45.052762       198.51.100.60.40001 > 203.0.113.60.27015:  udp 9 \n0x0000   ffff ffff 554b a1d5 22                         ....UK..\"\n1 packet shown\n",
		want: []string{ask}, skipped: []int{1, 3, 5}},
	{name: "qstat -d", in: `debug(2) 11:47:16 qserver.c:33 qserver_send_initial() - [A2S] send
TO 127.0.0.1:27115 len 25
    0: ffffffff 54536f75 72636520 456e6769  ....TSou rce Engi
   16: 6e652051 75657279 00                 ne Query .

FROM 127.0.0.1:27115 len 9
    0: ffffffff 554ba1d5 22                 ....UK.. "

debug(3) 11:47:16 a2s.c:261 deal_with_a2s_packet() - challenge 22d5a14b
`, want: []string{`ffffffff "TSource Engine Query" 00`, ask}, skipped: []int{1, 2, 6, 9}},
	{name: "gamedig --debug", in: "Q#0 Requesting info ...\n127.0.0.1:27115 UDP(44942)-->\nBuffer length: 25 bytes\n" +
		"ff ff ff ff 54 53 6f 75 72 63 65 20 45 6e 67 69 6e 65 20 51 75 \n            T  S  o  u  r  c  e     E  n  g  i  n  e     Q  u  \n" +
		"65 72 79 00 \ne  r  y     \n\nQ#0 Registered RTT: 8ms\n", want: []string{`ffffffff "TSource Engine Query" 00`}, skipped: []int{1, 2, 3, 9}},
	{name: "gamedig --debug, a row that no character shows", in: "Buffer length: 8 bytes\nff ff ff ff 00 00 \n" + strings.Repeat(" ", 18) + "\n44 \nD  \n",
		want: []string{`ffffffff0000 "D"`}, skipped: []int{1}},
	{name: "text that was anonymised", in: `0000  ff ff ff ff 44 01 00 4e 61 6d 65 00  ....D..xxxx.
000c  05 00 00 00 00 00 80 44              .......D
`, want: []string{`ffffffff "D" 0100 "Name" 00 05000000 00008044`},
		notes: []string{"the text beside the bytes shows others in 1 of its rows, first in line 1: the bytes are decoded"}},
	{name: "text that was anonymised, no offsets", in: "ff ff ff ff 55 55 55 55 ....UUUU\n44 01 00 4e 61 6d 65 00 D..xxxx.\n", want: []string{`ffffffff "UUUUD" 0100 "Name" 00`},
		notes: []string{"the text beside the bytes shows others in 1 of its rows, first in line 2: the bytes are decoded"}},
}

func TestPasted(t *testing.T) {
	for _, tt := range pasted {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.in, engines)
			if err != nil {
				t.Fatalf("got %v", err)
			}
			if len(got) != len(tt.want) {
				t.Fatalf("got %d payloads, want %d", len(got), len(tt.want))
			}
			var notes []string
			var skipped []int
			for i, p := range got {
				if w := hextest.Bytes(t, tt.want[i]); !bytes.Equal(p.Data, w) {
					t.Errorf("payload %d\n got % x\nwant % x", i+1, p.Data, w)
				}
				notes, skipped = append(notes, p.Notes...), append(skipped, p.Skipped...)
			}
			if diff := cmp.Diff(tt.notes, notes); diff != "" {
				t.Errorf("notes: want -, got +\n%s", diff)
			}
			if diff := cmp.Diff(tt.skipped, skipped); diff != "" {
				t.Errorf("skipped lines: want -, got +\n%s", diff)
			}
		})
	}
}

// TestLiterals has forms of one language each.
func TestLiterals(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"Rust byte string", `let q = b"\xff\xff\xff\xffUK\xa1\xd5\x22";`, ask},
		{"Rust array", "const Q: [u8; 9] = [0xFF, 0xFF, 0xFF, 0xFF, 0x55, 0x4B, 0xA1, 0xD5, 0x22];", ask},
		{"Rust slice with types and characters", `let q: &[u8] = &[0xFFu8, 255, 255, 0xff_u8, b'U', b'K', 0xa1, 0xd5, b'"'];`, ask},
		{"Rust repeats", "vec![0xff; 4]", "ffffffff"},
		{"C characters", `char q[] = {0xff, 0xff, 0xff, 0xff, 'U', '\x4b', 0xa1, '\325', '"'};`, ask},
		{"Java casts", "byte[] q = {(byte) 0xff, (byte)0xff, (byte)0xff, (byte)0xff, 0x55, 0x4b, (byte)0xa1, (byte)0xd5, 0x22};", ask},
		{"a byte in angle brackets", `<FF><FF><FF><FF>UK<A1><D5>"`, ask},
		{"a byte after a backslash", `\ff\ff\ff\ffUK\a1\d5"`, ask},
		{"form feeds", `"\ff\ff"`, "0c660c66"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.in, engines)
			if err != nil || len(got) != 1 || !bytes.Equal(got[0].Data, hextest.Bytes(t, tt.want)) || len(got[0].Notes) > 0 {
				t.Errorf("got %v, %v, want %s", got, err, tt.want)
			}
		})
	}
}
