// Package payload reads the bytes of datagrams from text that people copy: what a
// program printed, a dump, a page of a wiki. It recognises the form by the text alone. It
// decodes no protocol; that is the pipeline's work.
//
// The forms, in the order in which they are tried:
//
//	Dump     rows of bytes with an offset, or text beside them, or both: tcpdump -x -X
//	         -xx -XX, xxd, hexdump -C, od -tx1, Wireshark, firewalls, Go's hex.Dump,
//	         debug output of query tools, wikis
//	Array    numbers in brackets or between commas: C, Go, Rust, JavaScript, Java
//	Escaped  a string with \x, \u00 and octal escapes, as C, Go, Rust, Python, JavaScript
//	         and PHP have them, or with <ff> or \ff for a byte
//	Hex      digits, in pairs or not, with spaces, colons or dashes between them
//	Base64   of either alphabet, padded or not
//
// Text that fits two forms has the first of them: DEADBEEF is Hex. A line is a row of a
// Dump if something proves it: its offset continues that of the row above, or the text
// beside the bytes shows them. What proves most also distinguishes hexadecimal from octal
// and decimal offsets, and the last byte from the first character.
//
// A blank line ends a payload, and so do an offset that begins again, a heading, a closing
// bracket, and a comma between strings. Lines of the other forms are one payload if they
// look wrapped (all are equally long but the last) and none begins with one of
// the caller's Marks; otherwise each line is a payload.
//
// Nothing is left out in silence: a Payload lists the lines around it that hold no bytes,
// and has a note where bytes are missing. A line that holds bytes and cannot be read is an
// error.
//
// Input that is no text is one payload as it is.
package payload

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"qsniff/capture/packet"
	"qsniff/internal/base/checksum"
)

// Form is how a payload was written.
type Form uint8

// The forms.
const (
	Hex Form = iota
	Base64
	Escaped
	Array
	Dump
	Raw // the bytes themselves: see Read
)

var forms = [...]string{"hexadecimal", "base64", "escaped string", "array", "dump", "raw bytes"}

func (f Form) String() string { return forms[f] }

// Payload is one payload.
type Payload struct {
	Data []byte
	Form Form
	Line int // of the text, from 1, where it begins

	Notes   []string // sentences: what of the text is not in Data, or contradicts it
	Skipped []int    // lines around it that hold no bytes
	isWord  bool     // it is base64 by its letters, and could be a word
}

// Error is what is wrong with a text, and where. It quotes one character at most: the
// text may hold a password. It has no Hint where the text has none of the forms.
type Error struct {
	Line, Col int // from 1; 0 if the whole text, or line, is meant
	What      string
	Hint      string
}

func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return e.What
	case e.Col == 0:
		return fmt.Sprintf("line %d: %s", e.Line, e.What)
	}
	return fmt.Sprintf("line %d, character %d: %s", e.Line, e.Col, e.What)
}

// Forms lists what Read reads, for hints.
const Forms = `hexadecimal (xxd -p FILE | qsniff decode), base64, a dump, a "\xff" string, {0xff, ...}, or raw bytes (--raw)`

// line is one line of the text, without white space at its ends.
type line struct {
	text   string
	indent int // white space before it
	no     int // from 1
}

const (
	// MaxPayload is the longest UDP payload that IPv4 carries, in bytes.
	MaxPayload = 65_507

	// MaxPayloads has room for all that a split header can count, 255 parts, and as
	// many messages around them.
	MaxPayloads = 512

	// MaxText is the longest text that is read, in bytes. The longest dumps have five
	// characters a byte: 8 MiB hold 25 payloads of the longest kind, and MaxPayloads
	// of up to 3,200 bytes.
	MaxText = 8 << 20

	// maxLines is the most lines between two blank ones: those of four payloads of the
	// longest kind with a byte a line. A line costs about 100 bytes while it is read,
	// so that MaxText of the shortest lines would take half a gigabyte.
	maxLines = 4 * MaxPayload

	// maxBrackets is how many pairs of brackets with numbers in them are read: an array
	// has one, and up to three more for its type, its name and an index.
	maxBrackets = 4 * MaxPayloads

	// widestRow is the most bytes in a row of a dump with a text column, the limit of
	// xxd -c. Where the text begins is found by trial, in time proportional to the
	// square of the width.
	widestRow = 256
)

// Parse reads the payloads in text. marks separate payloads in consecutive lines; nil is
// valid. An error is an *Error.
func Parse(text string, marks Marks) ([]Payload, error) {
	if len(text) > MaxText {
		return nil, &Error{What: fmt.Sprintf("more than %d MiB of text", MaxText>>20), Hint: "is it a capture? qsniff read takes those"}
	}
	p := parser{marks: marks}
	no, above := 0, ""
	for s := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		no++
		trimmed := strings.TrimSpace(s)
		// Below a row of bytes that no character shows, gamedig prints blanks only.
		const row = 12
		isText := len(s) > row && len(s) == len(above) && strings.HasSuffix(strings.TrimRight(above, "\r\n"), " ")
		if above = s; trimmed != "" || isText {
			if len(p.block) == maxLines {
				return nil, &Error{Line: no, What: fmt.Sprintf("more than %d lines without a blank one", maxLines),
					Hint: "put a blank line between two payloads"}
			}
			p.block = append(p.block, line{trimmed, strings.Index(s, trimmed), no})
		} else if err := p.endBlock(); err != nil {
			return nil, err
		}
		if len(p.out) > MaxPayloads { // few characters of a dump can stand for 64 KiB
			break
		}
	}
	if err := p.endBlock(); err != nil {
		return nil, err
	}
	return p.finish()
}

// parser reads a text block by block: lines without a blank one between them.
type parser struct {
	marks    Marks
	block    []line
	out      []Payload
	skipped  []int // lines of blocks that are prose, since the payload before
	firstErr error // of such a block
}

func (p *parser) endBlock() error {
	if len(p.block) == 0 {
		return nil
	}
	ps, err := parseBlock(p.block, p.marks)
	switch {
	case err != nil && !isProse(p.block):
		return err
	case err != nil:
		if p.firstErr == nil {
			p.firstErr = err
		}
		for _, l := range p.block {
			p.skipped = append(p.skipped, l.no)
		}
	default:
		ps[0].isWord = ps[0].Form == Base64 && len(p.block) == 1 && word.MatchString(p.block[0].text) && !p.marks.matches(ps[0].Data)
		ps[0].Skipped = append(p.skipped, ps[0].Skipped...)
		p.out, p.skipped = append(p.out, ps...), nil
	}
	p.block = p.block[:0]
	return nil
}

// finish returns the payloads. A word in a block of its own can be base64 by its letters,
// and the numbers of columns are digits: beside payloads of other forms they are headings.
func (p *parser) finish() ([]Payload, error) {
	if len(p.out) == 0 && p.firstErr != nil {
		return nil, p.firstErr
	}
	var out []Payload
	after := p.skipped
	p.skipped = nil
	for _, x := range p.out {
		if x.isWord && !isAll(p.out, Base64) || x.Form == Hex && !isAll(p.out, Hex) && isRuler(x.Data) {
			p.skipped = append(p.skipped, append(x.Skipped, x.Line)...)
			continue
		}
		x.Skipped = append(p.skipped, x.Skipped...)
		out, p.skipped = append(out, x), nil
	}
	if n := len(out); n > 0 {
		out[n-1].Skipped = append(out[n-1].Skipped, append(p.skipped, after...)...)
	}
	return checkLimits(out)
}

// isRuler reports whether b counts from 0, as the numbers above the columns of a dump do.
func isRuler(b []byte) bool {
	for i, c := range b {
		if int(c) != i {
			return false
		}
	}
	return len(b) > 1
}

var (
	literal  = regexp.MustCompile(`\\[xu0-7]|\b0[xX][0-9a-fA-F]{1,2}\s*,|[\[{]\s*[0-9]+\s*,|^[\w+/-]+={1,2}$`)
	word     = regexp.MustCompile(`^([A-Z]?[a-z]+[0-9]*|[A-Z0-9_]+|\w+( \w+)+)$`)
	heading  = regexp.MustCompile(`^[\w#=*~|+.:-]{1,40}$`)
	sentence = regexp.MustCompile(`[ \t]`)
	letter   = regexp.MustCompile(`[g-zG-Z]`) // of words alone
)

// isProse reports whether lines are words for people, and no bytes with a mistake in them.
func isProse(lines []line) bool {
	return !slices.ContainsFunc(lines, func(l line) bool {
		isText := heading.MatchString(l.text) || sentence.MatchString(l.text) && letter.MatchString(l.text)
		return !isText || looksLikeBytes(l.text)
	})
}

// tcpdumpLine matches the line that tcpdump prints above each packet.
var tcpdumpLine = regexp.MustCompile(`^([0-9-]+ )?[0-9:.]+ (\w+ +)*IP6? .* > .*: `)

// parseBlock reads lines without a blank one between them.
func parseBlock(lines []line, marks Marks) ([]Payload, error) {
	isDigits := !slices.ContainsFunc(lines, func(l line) bool { _, ok := hexDigits(l.text); return !ok })
	if ps, ok, err := parseDump(lines, marks, isDigits); ok {
		return ps, err
	}
	lines = slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return l.text == "" })
	if tcpdumpLine.MatchString(lines[0].text) {
		return nil, &Error{Line: lines[0].no, What: "tcpdump printed no bytes here",
			Hint: "print them with tcpdump -X, or write a capture with tcpdump -w FILE: qsniff read takes that"}
	}
	if isDigits {
		return parseHex(lines, marks)
	}
	if ps, ok, err := parseArray(lines); ok || err != nil {
		return ps, err
	}
	if ps, ok := parseMarked(lines, marks); ok {
		return ps, nil
	}
	if slices.ContainsFunc(lines, func(l line) bool { return strings.ContainsAny(l.text, `\"'`) }) {
		return parseEscaped(lines, marks)
	}
	return parseBase64(lines, marks)
}

// checkLimits returns ps, or an error if there is none, are too many, or one is empty or
// too long.
func checkLimits(ps []Payload) ([]Payload, error) {
	if len(ps) == 0 {
		return nil, &Error{What: "no payload"}
	}
	if len(ps) > MaxPayloads {
		return nil, &Error{Line: ps[MaxPayloads].Line, What: fmt.Sprintf("more than %d payloads", MaxPayloads),
			Hint: "a capture has room for more: qsniff read takes those"}
	}
	for i := range ps {
		switch n := len(ps[i].Data); {
		case n == 0:
			return nil, &Error{Line: ps[i].Line, What: "an empty payload"}
		case n > MaxPayload:
			return nil, &Error{Line: ps[i].Line, What: fmt.Sprintf("a payload of %d bytes: no datagram has more than %d", n, MaxPayload),
				Hint: "put a blank line between two payloads"}
		}
	}
	return ps, nil
}

// Read reads the payloads in b: with Parse if b is text, else as one payload. An error
// is an *Error.
func Read(b []byte, marks Marks) ([]Payload, error) {
	if IsText(b) {
		return Parse(string(b), marks)
	}
	if ps, err := Parse(string(b), marks); err == nil && isAll(ps, Dump) && (!hasSkipped(ps) || bytes.IndexFunc(b, isControl) < 0) {
		// Its text column is in another encoding.
		return ps, nil
	}
	return AsIs(b)
}

// AsIs returns b as one payload, whatever is in it.
func AsIs(b []byte) ([]Payload, error) {
	switch n := len(b); {
	case n == 0:
		return checkLimits(nil)
	case n > MaxPayload:
		return nil, &Error{What: fmt.Sprintf("more than %d raw bytes: no datagram has so many", MaxPayload),
			Hint: fmt.Sprintf("is it a capture? qsniff read takes those; for the first bytes: head -c %d FILE | qsniff decode --raw", MaxPayload)}
	}
	return []Payload{{Data: b, Form: Raw}}, nil
}

// IsText reports whether b is UTF-8 without control characters but white space, as all
// forms of text are.
func IsText(b []byte) bool {
	return utf8.Valid(b) && bytes.IndexFunc(b, isControl) < 0
}

func isControl(r rune) bool { return (r < ' ' || r == 0x7f) && (r < '\t' || r > '\r') }

func hasSkipped(ps []Payload) bool {
	return slices.ContainsFunc(ps, func(p Payload) bool { return len(p.Skipped) > 0 })
}

func isAll(ps []Payload, f Form) bool {
	for _, p := range ps {
		if p.Form != f {
			return false
		}
	}
	return true
}

// Packet is a payload that is a whole packet, as tcpdump -x prints it.
type Packet struct {
	Link uint16 // LINKTYPE_ value of its first header
	Wire int    // length in bytes as sent; tcpdump may have printed fewer
	packet.Packet
}

// links are the link headers that dumps can have: type, length, and the offset of the
// EtherType, -1 if there is none.
var links = [...]struct {
	link      uint16
	len, kind int
}{
	{packet.LinkRaw, 0, -1},
	{packet.LinkEthernet, 14, 12},
	{packet.LinkLinuxSLL, 16, 14},
	{packet.LinkLinuxSLL2, 20, 0},
	{packet.LinkNull, 4, -1},
}

// etherTypes maps EtherTypes to IP versions, and those of tags, labels and sessions,
// which netlayer decodes, to 0.
var etherTypes = map[uint16]byte{0x0800: 4, 0x86dd: 6, 0x8100: 0, 0x88a8: 0, 0x8847: 0, 0x8864: 0}

// AsPacket reports whether b is a packet and not its payload: the lengths in its IP
// and UDP headers fit, or the checksum of its IP header does. The result points
// into b.
func AsPacket(b []byte) (p Packet, ok bool) {
	for _, l := range links {
		if len(b) < l.len+ipv4Len {
			continue
		}
		ip, version := b[l.len:], b[l.len]>>4
		if l.kind >= 0 {
			if version, ok = etherTypes[binary.BigEndian.Uint16(b[l.kind:])]; !ok {
				continue
			}
		}
		total := 0
		switch ok = false; version {
		case 4:
			total, ok = fitsIPv4(ip)
		case 6:
			total, ok = fitsIPv6(ip)
		}
		p = Packet{Link: l.link, Wire: l.len + max(total, len(ip))}
		p.Decode(l.link, b, p.Wire)
		if ok || version == 0 && p.Depth > 0 && p.Stop == packet.OK && !p.Frag.Set {
			return p, true
		}
	}
	return Packet{}, false
}

const (
	ipv4Len     = 20
	ipv6Len     = 40
	minEthernet = 46 // bytes after the header: shorter packets are padded
)

// fitsIPv4 returns the total length in the header that b starts with, and reports
// whether b can be that packet: the checksum of the header is right, or the lengths in
// it and in a UDP header are.
func fitsIPv4(b []byte) (total int, ok bool) {
	header := int(b[0]&0x0f) * 4
	total = int(binary.BigEndian.Uint16(b[2:]))
	if header < ipv4Len || total < header || len(b) < header {
		return 0, false
	}
	padded := total < len(b) && len(b) <= minEthernet
	return total, checksum.Fold(checksum.Add(0, b[:header])) == 0xffff || fitsUDP(b[9], b[header:], total-header) && (total == len(b) || padded)
}

// fitsIPv6 is fitsIPv4 for IPv6, whose header has no checksum: the length has to be
// right, and the next header one of those that queries travel in.
func fitsIPv6(b []byte) (total int, ok bool) {
	if len(b) < ipv6Len {
		return 0, false
	}
	n := int(binary.BigEndian.Uint16(b[4:]))
	const fragment = 44
	known := fitsUDP(b[6], b[ipv6Len:], n) || b[6] == packet.ProtoTCP || b[6] == packet.ProtoICMPv6 || b[6] == fragment
	return ipv6Len + n, known && n == len(b)-ipv6Len
}

// fitsUDP reports whether b starts with the header of a UDP datagram of n bytes.
func fitsUDP(proto byte, b []byte, n int) bool {
	return proto == packet.ProtoUDP && len(b) >= 8 && int(binary.BigEndian.Uint16(b[4:])) == n
}
