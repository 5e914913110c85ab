package payload

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/hextest"
)

// info and ask are what the tools below printed: an A2S_INFO reply, and a request.
const (
	info = `ffffffff 49 11 "Name with  space" 00 "map" 00 "dir" 00 "game" 00 0a00 05 10 00 "dl" 00 01 "v1" 00`
	ask  = `ffffffff 55 4ba1d522`
)

// engines are the marks of what the engines send.
var engines = Marks{{0xff, 0xff, 0xff, 0xff}, {0xfe, 0xff, 0xff, 0xff}}

func TestParse(t *testing.T) {
	tests := []struct {
		name, in string
		form     Form
		want     []string
	}{
		{"hex stream", "ffffffff554ba1d522", Hex, []string{ask}},
		{"upper case", "FFFFFFFF554BA1D522", Hex, []string{ask}},
		{"0x in front", "0xffffffff554ba1d522", Hex, []string{ask}},
		{"pairs", "ff ff ff ff 55 4b a1 d5 22", Hex, []string{ask}},
		{"pairs with 0x", "0xff 0xff 0xff 0xff 0x55 0x4b 0xa1 0xd5 0x22", Hex, []string{ask}},
		{"colons", "ff:ff:ff:ff:55:4b:a1:d5:22", Hex, []string{ask}},
		{"dashes of .NET", "FF-FF-FF-FF-55-4B-A1-D5-22", Hex, []string{ask}},
		{"Node.js Buffer", "<Buffer ff ff ff ff 55 4b a1 d5 22>", Hex, []string{ask}},
		{"byte order mark and CR", "\ufeffffffffff55\r\n4ba1d522\r\n", Hex, []string{ask}},
		{"xxd -p", "ffffffff49114e616d6520776974682020737061636500\n6d61700064697200\n", Hex,
			[]string{`ffffffff49114e616d6520776974682020737061636500 6d61700064697200`}},
		{"a stream a line", "ffffffff55ffffffff\nffffffff554ba1d522\n", Hex, []string{"ffffffff55ffffffff", ask}},
		{"a stream a line, of different lengths", "ffffffff69\nffffffff6a00\n", Hex, []string{"ffffffff69", "ffffffff6a00"}},
		{"words and a stream", "ffff ffff 554b\nffffffff69\n", Hex, []string{"ffffffff554b", "ffffffff69"}},
		{"pairs, of different lengths", "ff ff ff ff 69\nff ff ff ff 6a 00\n", Hex, []string{"ffffffff69", "ffffffff6a00"}},
		{"lines that are not wrapped", "0f00\n0a00000000\n", Hex, []string{"0f00", "0a00000000"}},
		{"blank lines", "ff\n\n \nfe\n", Hex, []string{"ff", "fe"}},

		{"base64", "/////1VLodUi", Base64, []string{ask}},
		{"base64 with padding", "/////1U=", Base64, []string{"ffffffff55"}},
		{"base64 with padding, two requests", "/////w==\n/////1U=\n", Base64, []string{"ffffffff", "ffffffff55"}},
		{"base64 without it", "/////1U", Base64, []string{"ffffffff55"}},
		{"base64 for addresses", "_____1VLodUi", Base64, []string{ask}},
		{"base64, wrapped", "/////0kRTmFtZSB3\naXRoICBzcGFjZQBt\nYXAAZGlyAGdhbWUA\nCgAFEABkbAABdjEA\n", Base64, []string{info}},

		{"shell argument", `\xff\xff\xff\xffUK\xa1\xd5"`, Escaped, []string{`ffffffff "UK" a1d522`}},
		{"Python", `b'\xff\xff\xff\xffUK\xa1\xd5"'`, Escaped, []string{ask}},
		{"Python with \"", `b"\xff'\\\t\r\n\x00"`, Escaped, []string{`ff "'\" 09 0d 0a 00`}},
		{"bytearray", `bytearray(b'\xff\xff\xff\xffUK\xa1\xd5"')`, Escaped, []string{ask}},
		{"assignment", `data = b'\xff\xff\xff\xffUK\xa1\xd5"'`, Escaped, []string{ask}},
		{"Python list", `[b'\xff', b'\xfe']`, Escaped, []string{"ff", "fe"}},
		{"Python, a print a line", "b'\\xff\\xff'\nb'\\xff\\xfe'\n", Escaped, []string{"ffff", "fffe"}},
		{"Go %q", `"\xff\xff\xff\xffUK\xa1\xd5\""`, Escaped, []string{ask}},
		{"C, in pieces", `"\xff\xff\xff\xff" "UK\241\325\x22"`, Escaped, []string{ask}},
		{"C, over lines", "\"\\xff\\xff\\xff\\xff\"\n\"UK\\241\\325\\042\";\n", Escaped, []string{ask}},
		{"Wireshark escaped string", "\"\\xff\\xff\\xff\\xff\" \\\n\"\\x55\\x4b\\xa1\\xd5\\x22\"\n", Escaped, []string{ask}},
		{"two Go strings", "\"\\xff\\xff\\xff\\xffi\"\n\"\\xff\\xff\\xff\\xffW\"\n", Escaped, []string{`ffffffff "i"`, `ffffffff "W"`}},
		{"JSON", `"\u00ff\u00ff\u00ff\u00ffUK\u00a1\u00d5\""`, Escaped, []string{ask}},
		{"PHP", `$q = "\xFF\xFF\xFF\xFF" . "UK\xA1\xD5\"";`, Escaped, []string{ask}},
		{"octal", `"\377\377\377\377i\0"`, Escaped, []string{`ffffffff "i" 00`}},
		{"octal next to a digit", `"\0001\18"`, Escaped, []string{`00 "1" 01 "8"`}},
		{"brackets in a string", `"\xff [1, 300] {0x5} \0"`, Escaped, []string{`ff " [1, 300] {0x5} " 00`}},
		{"no escapes", `"s"`, Escaped, []string{`"s"`}},

		{"C array", "{0xff, 0xff, 0xff, 0xff, 0x55, 0x4b, 0xa1, 0xd5, 0x22}", Array, []string{ask}},
		{"xxd -i", "unsigned char q[] = {\n  0xff, 0xff, 0xff, 0xff, 0x55, 0x4b,\n  0xa1, 0xd5, 0x22\n};\nunsigned int q_len = 9;\n", Array, []string{ask}},
		{"Wireshark C array", "/* Frame (9 bytes) */\nstatic const unsigned char pkt1[9] = {\n0xff, 0xff, 0xff, 0xff, 0x55, 0x4b, 0xa1, 0xd5, /* ....UK\\\" */\n0x22 /* \" */\n};\n", Array, []string{ask}},
		{"no brackets", "0xff, 0xff, 0xff, 0xff, 0x55, 0x4b, 0xa1, 0xd5, 0x22", Array, []string{ask}},
		{"Go %#v", "[]byte{0xff, 0xff, 0xff, 0xff, 0x55, 0x4b, 0xa1, 0xd5, 0x22}", Array, []string{ask}},
		{"Go array", "[2]uint8{0xff, 0x1}", Array, []string{"ff01"}},
		{"Go %v", "[255 255 255 255 85 75 161 213 34]", Array, []string{ask}},
		{"Rust", "vec![255, 255, 255, 255, 85, 75, 161, 213, 34]", Array, []string{ask}},
		{"Java", "[-1, -1, -1, -1, 85, 75, -95, -43, 34]", Array, []string{ask}},
		{"JSON of a Buffer", `{"type":"Buffer","data":[255,255,255,255,85,75,161,213,34]}`, Array, []string{ask}},
		{"Uint8Array", "Uint8Array(9) [\n  255, 255, 255, 255,\n   85,  75, 161, 213,\n   34\n]", Array, []string{ask}},
		{"digits of .NET", "FF,FF,FF,FF,55,4B,A1,D5,22", Array, []string{ask}},
		{"two arrays", "a = {1, 2}\nb = {3}\n", Array, []string{"0102", "03"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { compare(t, tt.in, tt.form, tt.want) })
	}
}

func compare(t *testing.T, in string, form Form, want []string) {
	t.Helper()
	got, err := Parse(in, engines)
	if err != nil {
		t.Fatalf("got %v", err)
	}
	if len(got) != len(want) {
		t.Fatalf("got %d payloads, want %d", len(got), len(want))
	}
	for i := range want {
		if w := hextest.Bytes(t, want[i]); !bytes.Equal(got[i].Data, w) || got[i].Form != form {
			t.Errorf("payload %d\n got %s % x\nwant %s % x", i+1, got[i].Form, got[i].Data, form, w)
		}
	}
}

func TestErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing", "", "no payload"},
		{"white space", " \n\t\n", "no payload"},
		{"half a byte", "fffffffff", "line 1: 9 hexadecimal digits: half a byte is missing"},
		{"neither of the two", "hello", "line 1: neither hexadecimal nor whole base64: characters are missing at its end"},
		{"not base64", "ffff\n\nff%f", `line 3, character 3: '%' fits neither hexadecimal nor base64`},
		{"base64 after padding", "/w==/w==", "line 1: base64 that goes on after its padding"},
		{"base64 with bits left over", "//", "line 1: neither hexadecimal nor whole base64: characters are missing at its end"},
		{"no escape", `"\xff\q"`, "line 1, character 6: a backslash that begins no escape"},
		{"backslash at the end", `\xff\`, "line 1, character 5: a backslash that begins no escape"},
		{"octal above a byte", `"\777"`, "line 1, character 2: a backslash that begins no escape"},
		{"not a byte", `"\u1234"`, `line 1, character 2: \u beyond 00ff: not a byte`},
		{"no end", `b'\xff`, "line 1: the string does not end: ' is missing"},
		{"expression", `b'\xff' + struct.pack('<i', 1)`, "line 1, character 8: something stands beside the string that would not be read"},
		{"after the string", `b'\xff' + x`, "line 1, character 9: something stands beside the string that would not be read"},
		{"empty string", `""`, "line 1: an empty payload"},
		{"above a byte", "{0xff, 256}", "line 1: number 2 of the list is not a byte"},
		{"below a byte", "x = [\n-129]", "line 1: number 1 of the list is not a byte"},
		{"beside the list", "{0xff, 0xff} + {x}, 0x55, 0x56", "line 1: numbers beside the brackets would not be read"},
		{"tcpdump -A", "21:35:28.149627 IP 198.51.100.60.49447 > 203.0.113.60.27016: UDP, length 25\nE..5.........4{...i..'i..!......TSource Engine Query.\n",
			"line 1: tcpdump printed no bytes here"},
		{"hexdump", "0000000 ffff ffff 4e49\n0000006\n", "line 1: words of two bytes: in which order depends on the machine that printed them"},
		{"row missing", "0x0000:  ffff ffff\n0x0010:  49\n", "line 2: offset 0010 does not follow: the row above ends at 4"},
		{"text that cannot be theirs", "00000000: ffff 5453  ..XY and more\n", "line 1: the bytes and the text beside them do not agree"},
		{"digit that is none", "0000  ff ff ff ff  ....\n0004  5g 41 42 43  SABC\n0008  00  .\n", "line 2: not a row of the dump, though it looks like bytes"},
		{"remark beside digits", "FF FF FF FF 69 // ping\n", "line 1: the bytes and the text beside them do not agree"},
		{"string among rows", "ff ff ff ff ....\n\"\\xff\\xff\"\n", "line 2: not a row of the dump, though it looks like bytes"},
		{"list among rows", "0000  ff ff ff ff  ....\n[1, 2, 3]\n", "line 2: not a row of the dump, though it looks like bytes"},
		{"digit that is none, no offsets", "ff ff ff ff ....\n5g 41 42 43 SABC\n", "line 2: not a row of the dump, though it looks like bytes"},
		{"line in place of a row", "0x0000:  ffff ffff\nnonsense\n0x0008:  49\n", "line 3: offset 0008 does not follow: the row above ends at 4"},
		{"repeats up to a heading", "00000000  41 42 43 44\n*\nheading\nother\n00000010  45 46 47 48\n", "line 3: the dump ends with *: how often the row repeats is missing"},
		{"repeats without end", "00000000  00 00 |..|\n*\n", "line 2: the dump ends with *: how often the row repeats is missing"},
		{"repeats in the middle of a row", "00000000  00 00 |..|\n*\n00000005\n", "line 3: offset 00000005 is not where rows of 2 bytes end"},
		{"too many", strings.Repeat("ff\n\n", MaxPayloads+1), "line 1025: more than 512 payloads"},
		{"too long", strings.Repeat("ff", MaxPayload+1), "line 1: a payload of 65508 bytes: no datagram has more than 65507"},
		{"a whole disk", strings.Repeat(" ", MaxText+1), "more than 8 MiB of text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ps, err := Parse(tt.in, engines)
			if err == nil {
				t.Fatalf("got %d payloads, want %s", len(ps), tt.want)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
		})
	}
}

// TestErrorsQuoteNothing: a payload may hold a password, so no error shows more
// than one character of the text.
func TestErrorsQuoteNothing(t *testing.T) {
	const secret = "Secret1234"
	for _, in := range []string{secret + "%", `b'rcon ` + secret + `' + f('` + secret + `')`, `"` + secret, `\xff` + secret + `\q`,
		"{0xff, " + secret + "}", "0x0000:  ff  " + secret, "00000000: ff  " + secret, "rcon: " + secret} {
		_, err := Parse(in, engines)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v, want an Error", in, err)
			continue
		}
		for i := range len(secret) - 3 {
			if piece := secret[i : i+4]; strings.Contains(e.Error()+e.Hint, piece) {
				t.Errorf("%s: %q is in %q, %q", in, piece, e.Error(), e.Hint)
			}
		}
	}
}

// TestMarks: what begins a payload is what the caller says, however long it is.
func TestMarks(t *testing.T) {
	const in = "fefd0001\nfefd00\n0203"
	for _, tt := range []struct {
		name  string
		marks Marks
		want  int
	}{
		{"of these datagrams", Marks{{0xfe, 0xfd, 0x00}}, 2},
		{"longer than a line", Marks{{0xfe, 0xfd, 0x00, 0x01, 0x02}}, 3},
		{"of others", engines, 3},
		{"none", nil, 3},
	} {
		if got, err := Parse(in, tt.marks); len(got) != tt.want || err != nil {
			t.Errorf("%s: payloads\ngot  %d, %v\nwant %d", tt.name, len(got), err, tt.want)
		}
	}
}

// TestHostileText: no text takes more memory than a multiple of what may be read, or
// time beyond reason. Each of these took minutes or gigabytes.
func TestHostileText(t *testing.T) {
	const mib = 1 << 20
	fill := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	tests := []struct{ name, in, want string }{
		{"string in pieces", fill(`"a"`, MaxText), "line 1: a payload of 2796202 bytes: no datagram has more than 65507"},
		{"pairs of brackets", fill("{1}", MaxText), "line 1: more than 2048 pairs of brackets"},
		{"brackets line by line", fill("[]\n", 500_000), "line 1: more than 2048 pairs of brackets"},
		{"rows that repeat", fill("0000 00\n*\nffe0\n\n", MaxText), "line 2049: more than 512 payloads"},
		{"rows that repeat, no blank lines", fill("0000 00\n*\nffe0\n", mib), "line 1537: more than 512 payloads"},
		{"text column far away", "0000: " + fill("20", 2*mib) + fill(" ", 4*mib) + "x",
			"line 1: the bytes and the text beside them do not agree"},
		{"short lines", fill("ff\n", MaxText), "line 262029: more than 262028 lines without a blank one"},
	}
	for _, tt := range tests {
		if testing.Short() && len(tt.in) > 3*mib && !strings.Contains(tt.in, "\n") { // a line of megabytes takes seconds
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Parse(tt.in, engines)
			runtime.ReadMemStats(&after)
			var e *Error
			if !errors.As(err, &e) || e.Error() != tt.want || e.Hint == "" {
				t.Errorf("got %v, want %s and a hint", err, tt.want)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 16*MaxText {
				t.Errorf("allocated %d MiB for %d KiB of text", n/mib, len(tt.in)>>10)
			}
		})
	}
}
