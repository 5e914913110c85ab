package payload

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// written is b in every form that has one reading.
func written(b []byte) map[string]string {
	list := strings.ReplaceAll(strings.Trim(fmt.Sprint(b), "[]"), " ", ", ")
	var octal, chars, angles, slashes strings.Builder
	for _, c := range b {
		fmt.Fprintf(&octal, `\%03o`, c)
		switch {
		case c > ' ' && c <= '~' && c != '<' && c != '\\' && c != '\'':
			angles.WriteByte(c)
			slashes.WriteByte(c)
			fmt.Fprintf(&chars, "b'%c', ", c)
		default:
			fmt.Fprintf(&angles, "<%02X>", c)
			fmt.Fprintf(&slashes, `\%02x`, c)
			fmt.Fprintf(&chars, "0x%02X_u8, ", c)
		}
	}
	forms := map[string]string{
		"hex":         hex.EncodeToString(b),
		"pairs":       fmt.Sprintf("% x", b),
		"escaped":     `"` + hexEscapes(b) + `"`,
		"unquoted":    hexEscapes(b),
		"octal":       `'` + octal.String() + `'`,
		"quoted":      fmt.Sprintf("%+q", asLatin1(b)),
		"Rust string": `let q = b"` + hexEscapes(b) + `";`,
		"C array":     fmt.Sprintf("%#v", b),
		"list":        "[" + list + "]",
		"Rust list":   "const Q: &[u8] = &[0x00, " + chars.String() + "];",
		"with prefix": "0x" + strings.ToUpper(hex.EncodeToString(b)),

		"hexdump -C":    hex.Dump(b),
		"tcpdump -X":    rows(b, dumpStyle{offset: "\t0x%04x:  ", group: 2, gap: "  ", space: '.'}),
		"xxd":           rows(b, dumpStyle{offset: "%08x: ", group: 2, gap: "  ", space: ' '}),
		"Wireshark":     rows(b, dumpStyle{offset: "%04x   ", group: 1, gap: "   ", space: ' '}),
		"octal rows":    rows(b, dumpStyle{offset: "%07o ", group: 1}),
		"FortiGate":     "2.140475 port3 in\n" + rows(b, dumpStyle{offset: "0x%04x\t ", group: 2, gap: "\t", space: '.', columns: true}),
		"Cisco ASA":     rows(b, dumpStyle{offset: "0x%04x   ", group: 2, gap: "        ", space: ' ', columns: true}),
		"Follow Stream": rows(b, dumpStyle{offset: "\t%08x  ", group: 1, gap: "  ", space: ' ', halves: true, columns: true}),
		"qstat -d":      rows(b, dumpStyle{offset: "%5d: ", group: 4, gap: "  ", space: ' ', halves: true, columns: true}),
		"frame":         rows(b, dumpStyle{offset: "|%08x| ", group: 1, gap: " |", space: '.', close: "|", columns: true}),
		"PHP":           rows(b, dumpStyle{offset: "%6X : ", group: 1, gap: " [", space: '.', close: "]"}),
	}
	if len(b) > 1 && !bytes.ContainsRune(b, ' ') { // two digits in the first group, and no text that begins with a blank
		forms["no blank"] = rows(b, dumpStyle{offset: "%04x   ", group: 1, space: ' '})
	}
	if engines.matches(b) { // by which alone \ff is no form feed
		forms["angles"], forms["slashes"] = angles.String(), slashes.String()
	}
	for at := 16; at < len(b); at += 16 {
		if engines.matches(b[at:]) { // begins a payload of its own where nothing says otherwise
			return forms
		}
	}
	const least = 4 // bytes that a row needs to be one without an offset
	if len(b) >= least {
		forms["headed"] = "Request:\n" + rows(b, dumpStyle{group: 1}) + "and so on\n"
		forms["gamedig"] = "Buffer length: some bytes\n" + rows(b, dumpStyle{group: 1, gap: " ", below: true})
		forms["wiki, columns"] = rows(b, dumpStyle{group: 1, gap: "    ", latin1: true, space: ' ', columns: true})
		first := b[:min(len(b), 16)]
		// Three dots alone, or with blanks after them, are what people write for the rest.
		isElision := len(bytes.TrimRight(first, " ")) == 3
		if slices.ContainsFunc(first, func(c byte) bool { return c != ' ' && countDigits(string(rune(c))) == 0 }) && !isElision {
			forms["wiki"] = rows(b, dumpStyle{group: 1, gap: " ", latin1: true, space: ' '})
		}
	}
	return forms
}

// dumpStyle is how a program prints dumps.
type dumpStyle struct {
	offset  string // its format; "" for none
	group   int    // bytes in a group
	gap     string // before the text
	close   string // after it
	space   byte   // how the text shows a space; 0: there is no text
	columns bool   // all texts begin in the same column
	halves  bool   // a blank in the middle of the text
	latin1  bool   // the text has the characters of Latin-1
	below   bool   // the text is below the bytes
}

func hexEscapes(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		fmt.Fprintf(&s, `\x%02x`, c)
	}
	return s.String()
}

// asLatin1 is the text whose characters are b: quoted, \u00ff stands for a byte.
func asLatin1(b []byte) string {
	r := make([]rune, len(b))
	for i, c := range b {
		r[i] = rune(c)
	}
	return string(r)
}

// rows prints b in a style.
func rows(b []byte, d dumpStyle) string {
	var s strings.Builder
	for at := 0; at < len(b); at += 16 {
		row := b[at:min(at+16, len(b))]
		if d.offset != "" {
			fmt.Fprintf(&s, d.offset, at)
		}
		var digits, text, below strings.Builder
		for i, c := range row {
			if i > 0 && i%d.group == 0 {
				digits.WriteByte(' ')
			}
			fmt.Fprintf(&digits, "%02x", c)
			if d.halves && i == 8 {
				text.WriteByte(' ')
			}
			switch {
			case isGraphic(c), d.latin1 && c > 0xa0:
				text.WriteRune(rune(c))
			case c == ' ':
				text.WriteByte(d.space)
			default:
				text.WriteByte('.')
			}
			if !isGraphic(c) {
				c = ' '
			}
			below.WriteString(string(rune(c)) + "  ")
		}
		s.WriteString(digits.String())
		if d.columns {
			s.WriteString(strings.Repeat(" ", 15/d.group+32-digits.Len()))
		}
		switch {
		case d.below:
			s.WriteString(" \n" + below.String())
		case d.space > 0:
			s.WriteString(d.gap + text.String() + d.close)
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// FuzzForms: what is written in any form reads as the same bytes.
func FuzzForms(f *testing.F) {
	for _, b := range []string{"\xff\xff\xff\xffTSource Engine Query\x00", "s", " ", "0000 ff ff", "|a|  >b<", "ab cd ef 01 23 45 67 89 ab",
		"\x00\b\b  ", strings.Repeat("  ", 40), strings.Repeat("\xfe\xff\xff\xff", 9), "12", `\"'`, "\x00\x00", "EYE1", "\x00\x00\x00 \f"} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || len(b) > 4096 {
			return
		}
		for form, text := range written(b) {
			got, err := Parse(text, engines)
			want := b
			if form == "Rust list" { // characters alone are a list of strings
				want = append([]byte{0}, b...)
			}
			if err != nil || len(got) != 1 || !bytes.Equal(got[0].Data, want) || len(got[0].Notes) > 0 && len(b) != 3 { // [...] can be three bytes
				t.Fatalf("%s\n%s\n got %+v, %v\nwant %x", form, text, got, err, want)
			}
		}
		text := base64.StdEncoding.EncodeToString(b)
		if hexDigits(text) != "" { // what could be hexadecimal is
			return
		}
		if got, err := Parse(text, engines); err != nil || len(got) != 1 || !bytes.Equal(got[0].Data, b) {
			t.Fatalf("base64\n%s\n got %+v, %v\nwant %x", text, got, err, b)
		}
	})
}

// FuzzParse: any text is read within the limits, or refused with an Error that
// quotes one character at most.
func FuzzParse(f *testing.F) {
	for _, text := range written([]byte("\xff\xff\xff\xffI\x11Name\x00map\x00")) {
		f.Add(text)
	}
	f.Add("Header:\n0020                 ff ff ff ff 55 <4 bytes>   ....U\n...\n0040  00\n\nprose, then\n<ff>a\n")
	f.Add("ff ff ff ff 41 4b a1 d5 22 \u00ff\u00ff\u00ff\u00ffAK\u00a1\u00d5\"\n|0| ff &#255;\n")
	f.Add("vec![b'a', (byte)0xffu8; 4] [D]")
	f.Add("0000  00 00\n*\n0004\n")
	f.Add("00000000  41 42 43 44\n*\nheading\nother\n00000010  45 46 47 48\n")
	f.Add("a = {1, 2}; // x\n\n[3]byte{0x1}")
	f.Add("b'\\xff' + \"\\0\"")
	f.Fuzz(func(t *testing.T, text string) {
		ps, err := Parse(text, engines)
		var e *Error
		if err != nil {
			if !errors.As(err, &e) || e.What == "" || !utf8.ValidString(err.Error()) || len(err.Error()) > 200 {
				t.Fatalf("error %q", err)
			}
			if lines := strings.Count(text, "\n") + 1; e.Line > lines {
				t.Fatalf("line %d of %d", e.Line, lines)
			}
			return
		}
		if len(ps) == 0 || len(ps) > MaxPayloads {
			t.Fatalf("%d payloads", len(ps))
		}
		lines := map[int]bool{} // each is skipped once at most
		for i, p := range ps {
			for _, no := range p.Skipped {
				if lines[no] || no < 1 || no > strings.Count(text, "\n")+1 {
					t.Fatalf("line %d is skipped twice, or is none", no)
				}
				lines[no] = true
			}
			if len(p.Data) == 0 || len(p.Data) > MaxPayload || i > 0 && p.Line < ps[i-1].Line {
				t.Fatalf("payload %d: %d bytes, line %d", i, len(p.Data), p.Line)
			}
			AsPacket(p.Data)
		}
	})
}
