// Package wire parses the headers with which game servers mark the parts of a reply that
// they cut into several datagrams. Each function looks at one datagram and keeps nothing:
// reassembly/split and reassembly/eye join the parts.
package wire

import "encoding/binary"

// Engine is the form of the header of every part of a split message, which starts with
// FE FF FF FF, that is -2. Numbers are little-endian.
//
//	GoldSource   FE FF FF FF | id u32 | number<<4|total u8               | payload
//	Source       FE FF FF FF | id u32 | total u8 | number u8 | size u16  | payload
//	Source, old  FE FF FF FF | id u32 | total u8 | number u8             | payload
//
// In a compressed Source message (top bit of id) the payload of part 0 starts
// with u32 decompressed size and u32 CRC-32, then the bzip2 stream.
//
// None stands for a message that was not split, and for a form that is not known.
type Engine uint8

// The forms.
const (
	None       Engine = iota
	GoldSource        // 9-byte header, nibbles
	Source            // 12-byte header with the part size
	SourceOld         // 10-byte header without it
)

var engineNames = [...]string{"", "goldsource", "source", "source"}

// formNames are shown to people. They name the missing size field, because client
// libraries disagree about it.
var formNames = [...]string{"", "GoldSource split", "Source split", "Source split without size field"}

// Format returns the form in words, "" for None.
func (e Engine) Format() string { return formNames[e] }

// String returns the name of the engine family: "goldsource", "source" or "".
func (e Engine) String() string { return engineNames[e] }

// HeaderLen returns the length of the form's header in bytes, 0 for None.
func (e Engine) HeaderLen() int {
	switch e {
	case GoldSource:
		return 9
	case Source:
		return 12
	case SourceOld:
		return 10
	}
	return 0
}

// Compressed is the bit of the id that marks a message which was compressed
// with bzip2 before it was split. GoldSource never sets it.
const Compressed = 0x8000_0000

// MinSplitLen is the shortest datagram that has a whole header of any form.
const MinSplitLen = 9

// SplitHeader is a header parsed under the assumption that it has the form Engine.
type SplitHeader struct {
	Engine Engine
	ID     uint32 // as on the wire, compression bit included
	Total  uint8
	Number uint8
	Size   uint16 // Source only: the declared maximum payload of a part
}

// SplitMark is the first four bytes of every part of a split message.
var SplitMark = []byte{0xfe, 0xff, 0xff, 0xff}

// IsSplit reports whether b starts like a part of a split message.
func IsSplit(b []byte) bool {
	return len(b) >= 4 && b[0] == 0xfe && b[1] == 0xff && b[2] == 0xff && b[3] == 0xff
}

// IsSingle reports whether b starts with FF FF FF FF: like a message that was not split,
// or like one that was joined from parts.
func IsSingle(b []byte) bool { return hasOnes(b, 0) }

// SplitID returns the id field, which is at the same place in all forms. b has at least
// MinSplitLen bytes.
func SplitID(b []byte) uint32 { return binary.LittleEndian.Uint32(b[4:]) }

// ParseSplit reads b's header as form e. It returns false if b is too short for it
// or if the numbers contradict each other: no parts, or a part beyond the last.
func ParseSplit(b []byte, e Engine) (SplitHeader, bool) {
	h := SplitHeader{Engine: e}
	if len(b) < e.HeaderLen() || len(b) < MinSplitLen {
		return h, false
	}
	h.ID = SplitID(b)
	switch e {
	case GoldSource:
		h.Total, h.Number = b[8]&0x0f, b[8]>>4
	case Source:
		h.Size = binary.LittleEndian.Uint16(b[10:])
		fallthrough
	case SourceOld:
		h.Total, h.Number = b[8], b[9]
	default:
		return h, false
	}
	return h, h.Total > 0 && h.Number < h.Total
}
