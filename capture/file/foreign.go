package file

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"path"
	"strings"
	"unicode/utf8"
)

// signature identifies a kind of file by bytes at its start.
type signature struct {
	magic       string
	offset      int    // of magic in the file
	kind        string // what the file is
	unzip       string // the program that decompresses it to standard output
	convertible bool   // a capture in a format that editcap converts
}

var signatures = []signature{
	{magic: "PK\x03\x04", kind: "zip archive", unzip: "unzip -p"},
	{magic: "7z\xbc\xaf\x27\x1c", kind: "7z archive", unzip: "7z x -so"},
	{magic: "Rar!\x1a\x07", kind: "RAR archive", unzip: "unrar p -inul"},
	{magic: "ustar", offset: 257, kind: "tar archive", unzip: "tar -xOf"},

	// Patched libpcaps wrote further magic numbers, among them a1b234cd,
	// a1b2c30b and a12b3c4d, with other record headers, which Wireshark
	// determines by trial.
	{magic: "\xa1\xb2", kind: "pcap of a modified libpcap, not read", convertible: true},
	{magic: "\xa1\x2b\x3c\x4d", kind: "pcap of a modified libpcap, not read", convertible: true},
	{magic: "\x4d\x3c\x2b\xa1", kind: "pcap of a modified libpcap, not read", convertible: true},
	{magic: "snoop\x00\x00\x00", kind: "snoop capture, not read", convertible: true},
	{magic: "GMBU", kind: "Network Monitor capture, not read", convertible: true},
	{magic: "RTSS", kind: "Network Monitor capture, not read", convertible: true},
	{magic: "TRSNIFF data", kind: "Sniffer capture, not read", convertible: true},
	{magic: "XCP\x00", kind: "Sniffer capture, not read", convertible: true},
	{magic: "iptrace ", kind: "AIX iptrace capture, not read", convertible: true},
	{magic: "\x7fver", kind: "OmniPeek capture, not read", convertible: true},
	{magic: "Trace Display Trace File", offset: 6, kind: "LANalyzer capture, not read", convertible: true},
	{magic: "TR\x00d\x00", kind: "HP-UX nettl trace, not read", convertible: true},
	{magic: "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x07\xd0\x00", kind: "HP-UX nettl trace, not read", convertible: true},
	{magic: "btsnoop\x00", kind: "Bluetooth capture, not read"},
	{magic: "ElfFile\x00", kind: "Windows event log, not a capture"},

	{magic: "\x7fELF", kind: "program (ELF), not a capture"},
	{magic: "MZ", kind: "program (Windows), not a capture"},
	{magic: "%PDF-", kind: "PDF document, not a capture"},
	{magic: "PAR1", kind: "Parquet table, not a capture"},
	{magic: "SQLite format 3\x00", kind: "SQLite database, not a capture"},
	{magic: "\x89PNG", kind: "picture, not a capture"},
	{magic: "\xff\xd8\xff", kind: "picture, not a capture"},
}

// foreignError is the error for a file that starts with b and is in no format that is
// read.
func foreignError(name string, b []byte) error {
	e := &Error{File: name, Offset: wholeFile, Err: ErrFormat}
	for _, s := range signatures {
		if len(b) >= s.offset && bytes.HasPrefix(b[s.offset:], []byte(s.magic)) {
			e.Reason, e.Hint = s.kind, s.hint(name)
			return e
		}
	}
	// The low half of a modified magic number varies, so a little-endian one is
	// recognised by its last two bytes.
	if len(b) >= 4 && b[2] == 0xb2 && b[3] == 0xa1 {
		e.Reason, e.Hint = "pcap of a modified libpcap, not read", editHint(name)
		return e
	}
	if isERF(b) {
		e.Reason, e.Hint = "ERF capture, not read", editHint(name)
		return e
	}
	if isPacketLogger(b) {
		e.Reason = "PacketLogger capture of Bluetooth, not read"
		return e
	}
	// Event traces have no magic number, so their name has to identify them.
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

// NotPayload returns an error if a file that was given as the bytes of a message is a
// capture, or compressed as captures may be, and nil otherwise. start is the first bytes
// of the file.
func NotPayload(name string, start []byte) *Error {
	e := &Error{File: name, Offset: wholeFile, Err: ErrFormat, Hint: "qsniff read " + shellWord(name)}
	if name == stdinName {
		e.Hint = "COMMAND | qsniff read -"
	}
	var f recordFormat
	switch p := packingOf(start); {
	case isSection(start), len(start) >= 4 && f.parseMagic(start):
		e.Reason = "is a capture, not a payload"
	case p != nil:
		e.Reason = "is compressed with " + p.name
		e.Hint = "if it is a capture: " + e.Hint + "; if not, expand it with " + p.unzip
	default:
		return nil
	}
	return e
}

// hint returns what to do with a file of that kind, "" if there is nothing.
func (s *signature) hint(name string) string {
	switch {
	case s.convertible:
		return editHint(name)
	case s.unzip == "":
		return ""
	}
	return unzipHint(name, s.unzip)
}

// unzipHint returns the command that reads a file through a program that expands it to
// standard output.
func unzipHint(name, program string) string {
	if name == stdinName {
		return "decompress first: COMMAND | " + program + " | qsniff -"
	}
	return "decompress first: " + program + " " + shellWord(name) + " | qsniff -"
}

// editHint returns the command that converts a capture.
func editHint(name string) string {
	if name == stdinName {
		return "save it to a file and convert that: editcap -F pcap IN OUT"
	}
	return "convert it: editcap -F pcap " + shellWord(name) + " OUT"
}

// isERF reports whether b is of Endace's format. That has no magic number, so two
// records in a row are checked: 8 bytes of time, type (without its extension bit 1 to
// 48), flags, record length, two bytes, length on the wire, in network order
// (Wireshark, wiretap/erf.c).
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

// isPacketLogger reports whether b is of Apple's PacketLogger, which has no magic number
// either: records of a length after itself, seconds, microseconds and a type, in either
// byte order (Wireshark, wiretap/packetlogger.c).
func isPacketLogger(b []byte) bool {
	const headerLen, restLen, maxLen, lastCommand, firstNote = 13, 9, 1 << 16, 0x12, 0xf8
	record := func(b []byte, order binary.ByteOrder) int {
		if len(b) < headerLen {
			return 0
		}
		n, isKnown := order.Uint32(b), b[12] <= lastCommand || b[12] >= firstNote
		if n < restLen || n > maxLen || order.Uint32(b[8:]) >= 1_000_000 || !isKnown {
			return 0
		}
		return int(n) + 4
	}
	for _, order := range [...]binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
		if first := record(b, order); first > 0 && first < len(b) && record(b[first:], order) > 0 {
			return true
		}
	}
	return false
}

// hexDumps is the hint for text, which may be a dump of packets.
const hexDumps = "if this is a hex dump, text2pcap of Wireshark makes a capture of it"

// textKind returns what kind of text b is, with a hint, or "" if it is none.
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

// isText reports whether b is printable UTF-8. The end of b may cut a character.
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

// shellWord quotes a file name if a shell would not read it as one word.
func shellWord(name string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+-"
	if name != "" && strings.Trim(name, plain) == "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
