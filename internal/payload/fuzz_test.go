package payload

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// written is b in every form that has one reading.
func written(b []byte) map[string]string {
	list := strings.ReplaceAll(strings.Trim(fmt.Sprint(b), "[]"), " ", ", ")
	var octal strings.Builder
	for _, c := range b {
		fmt.Fprintf(&octal, `\%03o`, c)
	}
	return map[string]string{
		"hex":         hex.EncodeToString(b),
		"pairs":       fmt.Sprintf("% x", b),
		"escaped":     `"` + hexEscapes(b) + `"`,
		"unquoted":    hexEscapes(b),
		"octal":       `'` + octal.String() + `'`,
		"quoted":      fmt.Sprintf("%+q", asLatin1(b)),
		"C array":     fmt.Sprintf("%#v", b),
		"list":        "[" + list + "]",
		"hexdump -C":  hex.Dump(b),
		"tcpdump -X":  rows(b, "\t0x%04x:  ", 2, '.'),
		"xxd":         rows(b, "%08x: ", 2, ' '),
		"Wireshark":   rows(b, "%04x   ", 1, ' '),
		"octal rows":  rows(b, "%07o ", 1, 0),
		"with prefix": "0x" + strings.ToUpper(hex.EncodeToString(b)),
	}
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

// rows prints b as dumps do; space is how the text column shows one, and 0 leaves
// the column out.
func rows(b []byte, offset string, group int, space byte) string {
	var s strings.Builder
	for at := 0; at < len(b); at += 16 {
		row := b[at:min(at+16, len(b))]
		fmt.Fprintf(&s, offset, at)
		for i, c := range row {
			if i > 0 && i%group == 0 {
				s.WriteByte(' ')
			}
			fmt.Fprintf(&s, "%02x", c)
		}
		if space > 0 {
			s.WriteString("  ")
			for _, c := range row {
				switch {
				case c == ' ':
					c = space
				case c < ' ' || c > '~':
					c = '.'
				}
				s.WriteByte(c)
			}
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// FuzzForms: what is written in any form reads as the same bytes.
func FuzzForms(f *testing.F) {
	for _, b := range []string{"\xff\xff\xff\xffTSource Engine Query\x00", "s", " ", "0000 ff ff", "|a|  >b<", "ab cd ef 01 23 45 67 89 ab",
		strings.Repeat("  ", 40), strings.Repeat("\xfe\xff\xff\xff", 9), "12", `\"'`, "\x00\x00", "EYE1"} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || len(b) > 4096 {
			return
		}
		for form, text := range written(b) {
			got, err := Parse(text, engines)
			if err != nil || len(got) != 1 || !bytes.Equal(got[0].Data, b) {
				t.Fatalf("%s\n%s\n got %x, %v\nwant %x", form, text, got, err, b)
			}
		}
		text := base64.StdEncoding.EncodeToString(b)
		if _, ok := hexDigits(text); ok { // what could be hexadecimal is
			return
		}
		if got, err := Parse(text, engines); err != nil || len(got) != 1 || !bytes.Equal(got[0].Data, b) {
			t.Fatalf("base64\n%s\n got %x, %v\nwant %x", text, got, err, b)
		}
	})
}

// FuzzParse: any text is read within the limits, or refused with an Error that
// quotes one character at most.
func FuzzParse(f *testing.F) {
	for _, text := range written([]byte("\xff\xff\xff\xffI\x11Name\x00map\x00")) {
		f.Add(text)
	}
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
		for i, p := range ps {
			if len(p.Data) == 0 || len(p.Data) > MaxPayload || i > 0 && p.Line < ps[i-1].Line {
				t.Fatalf("payload %d: %d bytes, line %d", i, len(p.Data), p.Line)
			}
			AsPacket(p.Data)
		}
	})
}
