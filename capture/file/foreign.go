package file

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"path"
	"strings"
	"unicode/utf8"
)

// signature tells a kind of file by its first bytes.
type signature struct {
	magic string
	at    int    // where
	is    string // what the file is
	unzip string // the program that decompresses it to standard output
	edit  bool   // a capture in a format that editcap converts
}

var signatures = []signature{
	{magic: "\xfd7zXZ\x00", is: "compressed with xz", unzip: "xzcat"},
	{magic: "PK\x03\x04", is: "zip archive", unzip: "unzip -p"},
	{magic: "7z\xbc\xaf\x27\x1c", is: "7z archive", unzip: "7z x -so"},
	{magic: "Rar!\x1a\x07", is: "RAR archive", unzip: "unrar p -inul"},
	{magic: "ustar", at: 257, is: "tar archive", unzip: "tar -xOf"},

	// Patched libpcaps wrote further magic numbers, among them a1b234cd,
	// a1b2c30b and a12b3c4d, and other record headers, which Wireshark finds
	// out by trial.
	{magic: "\xa1\xb2", is: "pcap of a modified libpcap, not read", edit: true},
	{magic: "\xa1\x2b\x3c\x4d", is: "pcap of a modified libpcap, not read", edit: true},
	{magic: "\x4d\x3c\x2b\xa1", is: "pcap of a modified libpcap, not read", edit: true},
	{magic: "snoop\x00\x00\x00", is: "snoop capture, not read", edit: true},
	{magic: "GMBU", is: "Network Monitor capture, not read", edit: true},
	{magic: "RTSS", is: "Network Monitor capture, not read", edit: true},
	{magic: "TRSNIFF data", is: "Sniffer capture, not read", edit: true},
	{magic: "XCP\x00", is: "Sniffer capture, not read", edit: true},
	{magic: "btsnoop\x00", is: "Bluetooth capture, not read"},
	{magic: "ElfFile\x00", is: "Windows event log, not a capture"},

	{magic: "\x7fELF", is: "program (ELF), not a capture"},
	{magic: "MZ", is: "program (Windows), not a capture"},
	{magic: "%PDF-", is: "PDF document, not a capture"},
	{magic: "PAR1", is: "Parquet table, not a capture"},
	{magic: "SQLite format 3\x00", is: "SQLite database, not a capture"},
	{magic: "\x89PNG", is: "picture, not a capture"},
	{magic: "\xff\xd8\xff", is: "picture, not a capture"},
}

// foreign is the error for a file that starts with b and is no capture that is
// read.
func foreign(name string, b []byte) error {
	e := &Error{File: name, Offset: wholeFile, Err: ErrFormat}
	for _, s := range signatures {
		if len(b) >= s.at && bytes.HasPrefix(b[s.at:], []byte(s.magic)) {
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
	if isERF(b) {
		e.Reason, e.Hint = "ERF capture, not read", editHint(name)
		return e
	}
	// Event traces have no magic number; the name is all that tells them.
	if strings.EqualFold(path.Ext(name), ".etl") {
		e.Reason, e.Hint = "Windows event trace, not read", "convert it: etl2pcapng "+shellWord(name)+" OUT"
		return e
	}
	if e.Reason, e.Hint = textKind(b); e.Reason == "" {
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
	}
	return unzipHint(name, s.unzip)
}

// unzipHint shows how a program that expands files to standard output is used.
func unzipHint(name, program string) string {
	if name == stdinName {
		return "decompress first: COMMAND | " + program + " | qsniff -"
	}
	return "decompress first: " + program + " " + shellWord(name) + " | qsniff -"
}

func editHint(name string) string {
	if name == stdinName {
		return "save it to a file and convert that: editcap -F pcap IN OUT"
	}
	return "convert it: editcap -F pcap " + shellWord(name) + " OUT"
}

// isERF tells Endace's format, which has no magic number, by two records in a
// row: 8 bytes of time, type (without its extension bit 1 to 48), flags, record
// length, two bytes, length on the wire, in network order (Wireshark,
// wiretap/erf.c).
func isERF(b []byte) bool {
	const headerLen, lastType = 16, 48
	record := func(b []byte) int {
		if len(b) < headerLen {
			return 0
		}
		kind, length := b[8]&0x7f, int(binary.BigEndian.Uint16(b[10:]))
		if kind == 0 || kind > lastType || length < headerLen {
			return 0
		}
		return length
	}
	first := record(b)
	return first > 0 && first < len(b) && record(b[first:]) > 0 &&
		bytes.Equal(b[6:8], b[first+6:first+8]) // seconds above 2^16, little-endian
}

// hexDumps is what to do with text: it may be a dump of packets.
const hexDumps = "of a hex dump, Wireshark's text2pcap makes a capture"

// textKind says what kind of text b is, "" if it is none.
func textKind(b []byte) (is, hint string) {
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
	}
	return "text, not a capture", hexDumps
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
