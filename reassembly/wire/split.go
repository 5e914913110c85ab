// Package wire parses the headers with which game servers mark the parts of a reply that
// they cut into several datagrams. Each function looks at one datagram and keeps nothing:
// reassembly/split and reassembly/eye join the parts.
package wire

import (
	"encoding/binary"
)

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

// bzip2Offsets are the offsets at which a bzip2 stream can begin in part 0, in the order
// in which they are tried: after size and CRC in the 10-byte form (every recorded
// server) and in the 12-byte form, then without size and CRC.
var bzip2Offsets = [...]struct {
	off  int
	form Engine
}{{18, SourceOld}, {20, Source}, {10, SourceOld}, {12, Source}}

// sizeDefault and sizeValve2 are the part sizes that Source servers ship with:
// Orange Box and later, and the Left 4 Dead and CS:GO branch.
const (
	sizeDefault = 1248
	sizeValve2  = 1188
)

// goldSourcePartLen is the length in bytes of every GoldSource part but the last, header
// included.
const goldSourcePartLen = 1400

// ProveSplitForm returns the form of a part 0 if the start of its payload proves it: the
// FF FF FF FF of the message, or a bzip2 stream, lies at the right offset for one form
// only. It returns None for another part and for a part 0 that proves nothing; then the
// other parts of the message have to show the form.
func ProveSplitForm(b []byte) Engine {
	switch {
	case hasOnes(b, 9) && b[8]&0x0f >= 2 && b[8]>>4 == 0:
		return GoldSource
	case hasOnes(b, 10) && b[9] == 0:
		return SourceOld
	case hasOnes(b, 12) && b[9] == 0:
		return Source
	case len(b) >= MinSplitLen+1 && b[9] == 0 && SplitID(b)&Compressed != 0:
		for _, o := range bzip2Offsets {
			if len(b) > o.off && IsBzip2(b[o.off:]) {
				return o.form
			}
		}
	}
	return None
}

// hasOnes reports whether the four bytes at off are FF FF FF FF.
func hasOnes(b []byte, off int) bool {
	return len(b) >= off+4 && binary.LittleEndian.Uint32(b[off:]) == 0xffff_ffff
}

// IsPlain reports whether b, read as part 0 of form e, starts with the FF FF FF FF
// of a message that is not compressed, even if the id has the bit of a compressed one.
// FF FF FF FF before a bzip2 stream is no message but a declared size, a false one.
func IsPlain(b []byte, e Engine) bool {
	const prefix = 8 // decompressed size and CRC-32
	h := e.HeaderLen()
	return hasOnes(b, h) && (len(b) < h+prefix || !IsBzip2(b[h+prefix:]))
}

// IsBzip2 reports whether b starts like a bzip2 stream: "BZh", a level, and the
// magic of a block or of an empty stream's end.
func IsBzip2(b []byte) bool {
	if len(b) < 10 || string(b[:3]) != "BZh" || b[3] < '1' || b[3] > '9' {
		return false
	}
	magic := string(b[4:10])
	return magic == "1AY&SY" || magic == "\x17\x72\x45\x38\x50\x90"
}

// GuessSplitForm returns the form that fits a part best when nothing else is known. wire
// is the datagram's length on the wire. The order of its tests was right for every
// part of the recorded servers, but it proves nothing: ParseSplit may refuse b under
// the returned form. b has at least MinSplitLen bytes.
func GuessSplitForm(b []byte, wire int) Engine {
	switch {
	case HasPlausibleSize(b, wire):
		return Source
	case b[8]>>4 == 0 && len(b) > 9 && b[9] > 0 && b[9] < b[8]: // not a part 0 of GoldSource: ProveSplitForm recognises those
		return SourceOld
	case wire == goldSourcePartLen || b[8]>>4 < b[8]&0x0f:
		return GoldSource
	}
	return SourceOld
}

// HasPlausibleSize reports whether the bytes where newer Source engines have the part
// size could be one: a value that servers ship with, or one from 256 to 4,096
// (chosen: sane packet sizes) that is not less than the payload. wire is the datagram's length
// on the wire.
func HasPlausibleSize(b []byte, wire int) bool {
	if len(b) < Source.HeaderLen() || b[9] >= b[8] {
		return false
	}
	size := int(binary.LittleEndian.Uint16(b[10:]))
	return size == sizeDefault || size == sizeValve2 ||
		size >= 256 && size <= 4096 && size >= wire-Source.HeaderLen()
}
