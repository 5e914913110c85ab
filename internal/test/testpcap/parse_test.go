package testpcap

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// preamble is what most sources begin with; payloads begin in line 4.
const preamble = "# test\n@ client 10.64.0.1:40001\n@ server 198.18.0.1:27015\n"

func TestAppendHex(t *testing.T) {
	tests := []struct {
		name, in, want string
	}{
		{"spaces", "ff  ff\tFFff", "\xff\xff\xff\xff"},
		{"text", `"a b;c"`, "a b;c"},
		{"escapes", `"\0\n\r\t\\\"\x1B\xff"`, "\x00\n\r\t\\\"\x1b\xff"},
		{"digits after an escape", `"\x1bcd\01"`, "\x1bcd\x001"},
		{"repeated byte", "00*3 41*1", "\x00\x00\x00A"},
		{"repeated text", `"ab"*2 cd`, "abab\xcd"},
		{"comment", `41 ; 42 "`, "A"},
		{"nothing", "  ; only a comment", ""},
	}
	for _, test := range tests {
		got, err := appendHex(nil, test.in)
		if err != nil || string(got) != test.want {
			t.Errorf("%s\n got %q, %v\nwant %q", test.name, got, err, test.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		name, in, want string
	}{
		{"empty", "", "x.hex: empty"},
		{"no title", "> ff\n", "x.hex: line 1: the first line is a comment that says what the capture is"},
		{"control character", "# t\n# \x1b[2J\n", "x.hex: line 2: column 3: byte 0x1b is not printable ASCII"},
		{"not ASCII", "# caf\xc3\xa9\n", "x.hex: line 1: column 6: byte 0xc3 is not printable ASCII"},
		{"unknown line", preamble + "ff ff\n", "x.hex: line 4: 'f' begins no line; want one of # @ > < ! or a space"},
		{"bytes first", preamble + "  ff\n", "x.hex: line 4: bytes before a payload began"},
		{"half a byte", preamble + "> fff\n", `x.hex: line 4: "f" is half a byte`},
		{"not hex", preamble + "> fg\n", `x.hex: line 4: "fg" is not a byte in hex`},
		{"open text", preamble + "> \"abc\n", `x.hex: line 4: "text" has no end`},
		{"empty text", preamble + "> \"\"\n", `x.hex: line 4: "" says no byte`},
		{"bad escape", preamble + "> \"\\q\"\n", `x.hex: line 4: "\\q" is not an escape`},
		{"bad hex escape", preamble + "> \"\\xg0\"\n", `x.hex: line 4: "\\xg0" is not an escape`},
		{"cut escape", preamble + "> \"\\x1", `x.hex: line 4: "\\x" is not an escape`},
		{"bad repeat", preamble + "> ff*\n", `x.hex: line 4: "*" is not a repeat count`},
		{"zero repeat", preamble + "> ff*0\n", `x.hex: line 4: "*0" is not a repeat count`},
		{"huge repeat", preamble + "> \"ab\"*8388609\n", "x.hex: line 4: payload above the limit of 16777216 bytes"},
		{"huge in sum", preamble + "> ff*9000000\n  ff*9000000\n", "x.hex: line 5: payload above the limit of 16777216 bytes"},
		{"no ends", "# t\n> ff\n", "x.hex: line 2: payload before @ client and @ server"},
		{"too long", preamble + "> ff*65508\n> ff\n", "x.hex: line 5: payload of line 4: payload of 65508 bytes above the limit of 65507"},
		{"bare directive", preamble + "@ mtu\n", "x.hex: line 4: a directive is a word and its arguments"},
		{"unknown directive", preamble + "@ speed 9\n", "x.hex: line 4: @ speed: no such directive"},
		{"two arguments", preamble + "@ mtu 9 9\n", "x.hex: line 4: @ mtu: 2 arguments, want 1"},
		{"not a number", preamble + "@ mtu abc\n", `x.hex: line 4: @ mtu: "abc" is not a number`},
		{"out of range", preamble + "@ ttl 256\n", "x.hex: line 4: @ ttl: 256 is outside 0 to 255"},
		{"negative time", preamble + "@ step -1s\n", "x.hex: line 4: @ step: -1s runs backwards"},
		{"late link", preamble + "> ff\n@ link raw\n", "x.hex: line 5: @ link: must stand before the first packet"},
		{"unknown link", "# t\n@ link ppp\n", `x.hex: line 2: @ link: "ppp" is not a link type`},
		{"vlan without tag", "# t\n@ link vlan\n", "x.hex: line 2: @ link: vlan and only vlan has tags"},
		{"tag without vlan", "# t\n@ link sll 5\n", "x.hex: line 2: @ link: vlan and only vlan has tags"},
		{"tag too large", "# t\n@ link vlan 4096\n", "x.hex: line 2: @ link: 4096 is outside 0 to 4095"},
		{"unknown format", "# t\n@ format pico\n", `x.hex: line 2: @ format: "pico" is none of micro, nano, little, big`},
		{"unknown engine", preamble + "@ split quake\n", `x.hex: line 4: @ split: "quake" is none of goldsource, source, source-old`},
		{"no size", preamble + "@ split source id=1\n", "x.hex: line 4: @ split: size is missing"},
		{"unknown option", preamble + "@ split source size=9 x=1\n", `x.hex: line 4: @ split: "x" is not an option`},
		{"bad option", preamble + "@ split source size=7\n", "x.hex: line 4: @ split: size: 7 is outside 8 to 65535"},
		{"goldsource compressed", preamble + "@ split goldsource size=9 compressed\n", "x.hex: line 4: @ split: goldsource has no compressed form"},
		{"crc alone", preamble + "@ split source size=9 crc=1\n", "x.hex: line 4: @ split: declared and crc belong to compressed"},
		{"too many parts", preamble + "@ split goldsource size=8\n> ff*121\n", "x.hex: line 5: 16 parts above the limit of 15"},
		{"no such part", preamble + "@ split source size=8 order=0,2\n> ff*16\n", "x.hex: line 5: part 2 of 2 does not exist"},
		{"no such fragment", preamble + "@ fragments 1\n> ff\n", "x.hex: line 5: fragment 1 of 1 does not exist"},
		{"split frame", preamble + "@ split source size=8\n! ff\n", "x.hex: line 5: a whole frame cannot be split, fragmented or refused"},
		{"refused frame", preamble + "@ icmp 3 3\n! ff\n", "x.hex: line 5: a whole frame cannot be split, fragmented or refused"},
		{"refused nothing", preamble + "@ icmp 3 3\n", "x.hex: line 4: directive without a payload after it"},
		{"no code", preamble + "@ icmp 3\n", "x.hex: line 4: @ icmp: 1 arguments, want 2: type and code"},
		{"type too large", preamble + "@ icmp 256 0\n", "x.hex: line 4: @ icmp: 256 is outside 0 to 255"},
		{"unknown tunnel", "# t\n@ tunnel teredo\n", `x.hex: line 2: @ tunnel: "teredo" is not a tunnel`},
		{"tunnel without ends", "# t\n@ tunnel vxlan 1\n", "x.hex: line 2: @ tunnel: vxlan has 1 arguments, want 3"},
		{"tunnel number too large", "# t\n@ tunnel pppoe 65536\n", "x.hex: line 2: @ tunnel: 65536 is outside 0 to 65535"},
		{"tunnel of two families", "# t\n@ tunnel ip 192.0.2.1 2001:db8::1\n",
			"x.hex: line 2: @ tunnel: 192.0.2.1 to 2001:db8::1: addresses of two families"},
		{"session in a tunnel", "# t\n@ tunnel ip 192.0.2.1 192.0.2.2\n@ tunnel pppoe 1\n",
			"x.hex: line 3: @ tunnel: pppoe must be the outermost"},
		{"label without EtherType", "# t\n@ link raw\n@ tunnel mpls 16\n" + preamble[7:] + "> ff\n",
			"x.hex: line 6: link type 101 carries nothing but IP"},
		{"tunnel too long", preamble + "@ tunnel ip 192.0.2.1 192.0.2.2\n@ mtu 65535\n> ff*65507\n",
			"x.hex: line 6: ip around 65535 bytes above the limit of 65507"},
		{"late tunnel", preamble + "> ff\n@ tunnel pppoe 1\n", "x.hex: line 5: @ tunnel: must stand before the first packet"},
		{"directive at the end", preamble + "> ff\n@ wait 1s\n", "x.hex: line 5: directive without a payload after it"},
		{"two families", "# t\n@ client [::1]:1\n@ server 127.0.0.1:2\n> ff\n", "x.hex: line 4: [::1]:1 to 127.0.0.1:2: addresses of two families"},
	}
	for _, test := range tests {
		_, err := Parse("x.hex", []byte(test.in))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s\n got %v\nwant %s", test.name, err, test.want)
		}
	}
	if _, err := ReadFile("no/such.hex"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file\n got %v\nwant %v", err, os.ErrNotExist)
	}
}

func TestParseTimes(t *testing.T) {
	c, err := Parse("x.hex", []byte(preamble+`> 01
@ split source size=8
< 02*16
@ wait 1s
> 03
@ step 1ms
@ mtu 576
< 04*600
@ fragments 1,0
< 05*600
@ fragments 0
< 06*600
! 07
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, p := range c.Packets {
		got = append(got, (p.Nanos-Start)/1000)
	}
	want := []int64{
		0, 20_000, 20_200, 1_040_200, 1_041_200, 1_041_400,
		1_042_400, 1_042_600, 1_043_600, 1_044_600,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("microseconds from the start (-want +got):\n%s", diff)
	}
	var first []byte
	ids := map[uint32]bool{}
	for _, d := range c.Whole {
		first = append(first, d.Payload[len(d.Payload)-1])
		ids[d.ID] = true
	}
	if want := []byte{1, 2, 2, 3, 4, 5}; !bytes.Equal(first, want) {
		t.Errorf("datagrams that arrive whole\n got % x\nwant % x", first, want)
	}
	if len(ids) != len(c.Whole) {
		t.Errorf("identifications\n got %d\nwant %d", len(ids), len(c.Whole))
	}
}

func TestParseOrder(t *testing.T) {
	c, err := Parse("x.hex", []byte(preamble+"@ ttl 9\n@ split goldsource id=0x10 size=8 order=1,1,0\n> 01*8 02*8 03\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got [][]byte
	for _, d := range c.Whole {
		got = append(got, d.Payload)
		if d.TTL != 9 || d.Src != client4 || d.Dst != server4 {
			t.Errorf("datagram\n got %v to %v, time to live %d\nwant %v to %v, 9", d.Src, d.Dst, d.TTL, client4, server4)
		}
	}
	want := [][]byte{
		unhex(t, "feffffff 10000000 13 02*8"),
		unhex(t, "feffffff 10000000 13 02*8"),
		unhex(t, "feffffff 10000000 03 01*8"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseLyingPrefix(t *testing.T) {
	c, err := Parse("x.hex", []byte(preamble+"@ split source id=5 size=1248 compressed declared=38 crc=0xdeadbeef\n< 41*1000000\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := c.Whole[0].Payload
	want := unhex(t, `feffffff 05000080 01 00 e004 26000000 efbeadde "BZh9"`)
	if !bytes.HasPrefix(got, want) {
		t.Errorf("\n got % x\nwant % x and the stream", got, want)
	}
}

// FuzzParse checks that errors name their place, and that a source which is
// accepted gives the same bytes again and a file of the size that its frames
// have.
func FuzzParse(f *testing.F) {
	f.Add([]byte(preamble + "@ split source id=1 size=8 order=1,0\n> \"abc\\x00\" ff*3 ; c\n  00\n"))
	f.Add([]byte("# t\n@ link vlan 1 2\n@ format nano big\n@ snaplen 9\n! ff*60\n"))
	f.Add([]byte(overTCP + "@ mss 2\n@ segments 1,0\n> \"abc\"\n@ seek -1\n< ff\n@ close fin server\n@ open syn\n"))
	f.Add([]byte("# t\n@ client [::1]:1\n@ server [::2]:2\n@ mtu 56\n@ fragments 1,0\n@ wait 2h\n> 00*90\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4096 || bytes.Count(text, []byte("*")) > 3 || bytes.Contains(text, []byte("0000")) {
			return // megabytes of repeats only cost time
		}
		c, err := Parse("x.hex", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x.hex: ") {
				t.Fatalf("error without its place: %v", err)
			}
			return
		}
		again, err := Parse("x.hex", text)
		if err != nil {
			t.Fatal(err)
		}
		var a, b bytes.Buffer
		if err := errors.Join(c.WritePcap(&a), again.WritePcap(&b)); err != nil {
			t.Fatal(err)
		}
		size := 24
		for _, p := range c.Packets {
			size += 16 + min(len(p.Frame), int(c.Format.SnapLen))
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) || a.Len() != size {
			t.Fatalf("%d and %d bytes, want %d twice", a.Len(), b.Len(), size)
		}
	})
}
