package file

import (
	"bytes"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// signature tells a kind of file by its first bytes.
type signature struct {
	magic string
	is    string // what the file is
	unzip string // the program that decompresses it to standard output
	edit  bool   // a capture in a format that editcap converts
}

var signatures = []signature{
	{magic: "\x0a\x0d\x0d\x0a", is: "pcapng capture, not read yet", edit: true},
	{magic: "\x1f\x8b", is: "compressed with gzip", unzip: "zcat"},
	{magic: "\x28\xb5\x2f\xfd", is: "compressed with zstd", unzip: "zstdcat"},
	{magic: "\x04\x22\x4d\x18", is: "compressed with lz4", unzip: "lz4cat"},
	{magic: "\x02\x21\x4c\x18", is: "compressed with lz4", unzip: "lz4cat"},
	{magic: "BZh", is: "compressed with bzip2", unzip: "bzcat"},
	{magic: "\xfd7zXZ\x00", is: "compressed with xz", unzip: "xzcat"},
	{magic: "PK\x03\x04", is: "zip archive", unzip: "unzip -p"},
	{magic: "7z\xbc\xaf\x27\x1c", is: "7z archive", unzip: "7z x -so"},

	// Patched libpcaps wrote other magic numbers and other record headers:
	// a1b2cd34 (24-byte record headers), a1b234cd, a12b3c4d and relatives.
	{magic: "\xa1\xb2", is: "pcap of a modified libpcap, not read", edit: true},
	{magic: "\xa1\x2b\x3c\x4d", is: "pcap of a modified libpcap, not read", edit: true},
	{magic: "\x4d\x3c\x2b\xa1", is: "pcap of a modified libpcap, not read", edit: true},
	{magic: "snoop\x00\x00\x00", is: "snoop capture, not read", edit: true},
	{magic: "GMBU", is: "Network Monitor capture, not read", edit: true},
	{magic: "RTSS", is: "Network Monitor capture, not read", edit: true},
	{magic: "TRSNIFF data", is: "Sniffer capture, not read", edit: true},

	{magic: "\x7fELF", is: "program (ELF), not a capture"},
	{magic: "%PDF-", is: "PDF document, not a capture"},
	{magic: "PAR1", is: "Parquet table, not a capture"},
}

// foreign is the error for a file that starts with b and is not classic pcap.
func foreign(name string, b []byte) error {
	e := &Error{File: name, Offset: wholeFile}
	for _, s := range signatures {
		if bytes.HasPrefix(b, []byte(s.magic)) {
			e.Reason, e.Hint = s.is, s.hint(name)
			return e
		}
	}
	// The low half of a modified magic number varies, so in little-endian
	// order it is recognised by its end.
	if len(b) >= 4 && b[2] == 0xb2 && b[3] == 0xa1 {
		e.Reason, e.Hint = "pcap of a modified libpcap, not read", editHint(name)
		return e
	}
	if e.Reason, e.Hint = textKind(name, b); e.Reason == "" {
		start := b[:min(len(b), 4)]
		e.Reason = "not a capture file (starts with " + spacedHex(start) + ")"
	}
	return e
}

func (s *signature) hint(name string) string {
	switch {
	case s.edit:
		return editHint(name)
	case s.unzip == "":
		return ""
	case name == stdinName:
		return "decompress first: COMMAND | " + s.unzip + " | qsniff -"
	}
	return "decompress first: " + s.unzip + " " + shellWord(name) + " | qsniff -"
}

func editHint(name string) string {
	if name == stdinName {
		return "save it to a file and convert that: editcap -F pcap IN OUT"
	}
	return "convert it: editcap -F pcap " + shellWord(name) + " OUT"
}

// textKind says what kind of text b is, "" if it is none.
func textKind(name string, b []byte) (is, hint string) {
	b = b[:min(len(b), textProbe)]
	if !isText(b) {
		return "", ""
	}
	start := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), " \t\r\n"))
	switch {
	case bytes.HasPrefix(start, []byte("<!doctype html")), bytes.HasPrefix(start, []byte("<html")):
		return "HTML page, not a capture", "the page around the file was saved instead of the file"
	case bytes.HasPrefix(start, []byte("<?xml")):
		return "XML, not a capture", ""
	case bytes.HasPrefix(start, []byte("{")), bytes.HasPrefix(start, []byte("[")):
		return "JSON, not a capture", ""
	case name == stdinName:
		return "text, not a capture", "payloads as hex or base64: COMMAND | qsniff decode -"
	}
	return "text, not a capture", "payloads as hex or base64: qsniff decode - < " + shellWord(name)
}

// isText reports whether b is printable UTF-8. A character that the end of b
// cuts is forgiven.
func isText(b []byte) bool {
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		if c == utf8.RuneError && n == 1 && utf8.FullRune(b) {
			return false
		}
		if (c < ' ' && !strings.ContainsRune("\t\n\f\r\x1b", c)) || c == 0x7f {
			return false
		}
		b = b[n:]
	}
	return true
}

// spacedHex writes bytes as pairs of digits with spaces between.
func spacedHex(b []byte) string {
	var out []byte
	for i := range b {
		if i > 0 {
			out = append(out, ' ')
		}
		out = hex.AppendEncode(out, b[i:i+1])
	}
	return string(out)
}

// shellWord quotes a file name where a shell would not take it for one word.
func shellWord(name string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+-"
	if name != "" && strings.Trim(name, plain) == "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
