package file

import (
	"encoding/binary"
	"io"
	"math/bits"
	"strconv"

	"qsniff/capture"
	"qsniff/internal/digits"
)

// The layout of pcapng (draft-ietf-opsawg-pcapng); numbers in the byte order of
// the machine that wrote the section:
//
//	block                           section header: type 0a0d0d0a, then
//	 0  type                         8  byte order magic
//	 4  total length                12  major version
//	 8  body                        14  minor version
//	n-4 total length again          16  section length, unused
//	                                24  options
const (
	minBlock   = 12
	minSection = 28

	byteOrderMagic = 0x1a2b3c4d
)

// Block types. Those without use here are known because after damage only
// known ones are believed.
const (
	blockInterface  = 1
	blockObsolete   = 2
	blockSimple     = 3
	blockNames      = 4
	blockStatistics = 5
	blockEnhanced   = 6
	blockJournal    = 9
	blockSecrets    = 10
	blockCustom     = 0x0bad
	blockCustomNo   = 0x4000_0bad // not to be copied
	blockSection    = 0x0a0d_0d0a // the same in both byte orders
)

// section is what blocks refer to until the next section begins.
type section struct {
	bigEndian bool
	unknown   bool // of a version that is not known: none of its blocks is read
	ifaces    []iface
	firstLink uint16 // of the first interface of the file
	next      int    // number that the file's next interface gets
	nanos     int64  // time of the last packet
	timed     bool   // there was one

	// A block too long to be held, of which this much is left, and where it
	// began.
	left    int64
	leftAt  int64
	leftLen uint32
}

// isSection says whether b begins like pcapng.
func isSection(b []byte) bool {
	return len(b) >= 4 && binary.LittleEndian.Uint32(b) == blockSection
}

// orderOf reads the byte order magic of a section header.
func orderOf(header []byte) (bigEndian, ok bool) {
	switch binary.LittleEndian.Uint32(header[8:]) {
	case byteOrderMagic:
		return false, true
	case bits.ReverseBytes32(byteOrderMagic):
		return true, true
	}
	return false, false
}

// parseFirstSection looks at the header of the first section, which is walked
// over like any other block later.
func (r *Reader) parseFirstSection(b []byte) error {
	if len(b) < minSection {
		return &Error{File: r.name, Offset: 0, Hint: hintCut, Err: io.ErrUnexpectedEOF,
			Reason: "section header cut: " + strconv.Itoa(len(b)) + " of " + strconv.Itoa(minSection) + " bytes"}
	}
	if _, ok := orderOf(b); !ok {
		return &Error{File: r.name, Offset: 8, Err: ErrFormat,
			Reason: "pcapng byte order magic " + spacedHex(b[8:12]) + " not known"}
	}
	return nil
}

// u16 and u32 read a number in the section's byte order.
func (s *section) u16(b []byte) uint16 {
	if s.bigEndian {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

func (s *section) u32(b []byte) uint32 { return u32(b, s.bigEndian) }

func u32(b []byte, bigEndian bool) uint32 {
	n := binary.LittleEndian.Uint32(b)
	if bigEndian {
		n = bits.ReverseBytes32(n)
	}
	return n
}

func (s *section) u64(b []byte) uint64 {
	if s.bigEndian {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

// cutBlocks walks over the complete blocks of b.Buf from position pos on and
// appends their packets to b.Packets. It returns the position after the last
// block, where the damage is if there is any.
func (r *Reader) cutBlocks(b *capture.Batch, pos int) (int, *Error) {
	buf, s := b.Buf, &r.section
	for len(b.Packets) < capture.MaxPackets {
		if s.left > 0 {
			var damage *Error
			if pos, damage = r.passOver(buf, pos); damage != nil || s.left > 0 {
				return pos, damage
			}
			continue
		}
		if len(buf)-pos < minBlock {
			return r.incomplete(buf, pos, "header", 0)
		}
		big := s.bigEndian
		kind := u32(buf[pos:], big)
		if kind == blockSection {
			var ok bool
			if big, ok = orderOf(buf[pos:]); !ok {
				return pos, r.damage(pos, "pcapng byte order magic "+spacedHex(buf[pos+8:pos+12])+" not known")
			}
		}
		length := u32(buf[pos+4:], big)
		if length%4 != 0 || length < minBlock || length > maxHeldBlock {
			if damage := r.longBlock(pos, kind, length); damage != nil {
				return pos, damage
			}
			continue
		}
		end := pos + int(length)
		if end > len(buf) {
			return r.incomplete(buf, pos, "", length)
		}
		if again := u32(buf[end-4:], big); again != length {
			return pos, r.lengthsDiffer(pos, length, again)
		}
		if kind == blockEnhanced && !s.unknown {
			r.enhanced(b, pos, end)
		} else {
			s.bigEndian = big
			r.block(b, kind, pos, end)
		}
		pos = end
	}
	return pos, nil
}

// incomplete is about a block that the input ends in, which is damage only if
// there is no more of the input.
func (r *Reader) incomplete(buf []byte, pos int, what string, length uint32) (int, *Error) {
	if r.inErr != io.EOF || pos == len(buf) {
		return pos, nil
	}
	if what != "" {
		return pos, r.cut(r.offset+int64(pos), "block", minBlock, buf[pos:], 0)
	}
	return pos, r.cut(r.offset+int64(pos), "block", minBlock, buf[pos:], int64(length))
}

// longBlock is about a length that is wrong, or too long to hold the block.
func (r *Reader) longBlock(pos int, kind, length uint32) *Error {
	text := "block length " + digits.Grouped(int64(length))
	limit := int64(maxBlock)
	switch kind {
	case blockSection, blockInterface, blockObsolete, blockSimple, blockStatistics, blockEnhanced:
		limit = maxHeldBlock
	}
	switch {
	case length < minBlock:
		return r.damage(pos, text+" below the minimum of "+digits.Grouped(minBlock))
	case length%4 != 0:
		return r.damage(pos, text+" not a multiple of 4")
	case int64(length) > limit:
		return r.damage(pos, text+" above the limit of "+digits.Grouped(limit))
	}
	s := &r.section
	s.left, s.leftAt, s.leftLen = int64(length), r.offset+int64(pos), length
	return nil
}

// passOver goes on in a block too long to be held.
func (r *Reader) passOver(buf []byte, pos int) (int, *Error) {
	s := &r.section
	n := min(s.left-4, int64(len(buf)-pos))
	pos += int(n)
	s.left -= n
	switch {
	case s.left == 4 && len(buf)-pos >= 4:
		s.left = 0
		if again := s.u32(buf[pos:]); again != s.leftLen {
			return pos, r.lengthsDiffer(int(s.leftAt-r.offset), s.leftLen, again)
		}
		return pos + 4, nil
	case r.inErr == io.EOF:
		left := s.left - int64(len(buf)-pos)
		s.left = 0
		return pos, &Error{File: r.name, Offset: s.leftAt, Expanded: r.packed != nil, Hint: hintCut, Err: io.ErrUnexpectedEOF,
			Reason: "block cut: " + digits.Grouped(left) + " of " + digits.Counted(uint64(s.leftLen), "byte") + " missing"}
	}
	return pos, nil
}

func (r *Reader) lengthsDiffer(pos int, first, second uint32) *Error {
	return r.damage(pos, "block length "+digits.Grouped(int64(first))+" at its start, "+
		digits.Grouped(int64(second))+" at its end")
}

// unusable skips a sound block whose content is not, or is of no use: it is a
// gap, but what follows is not in doubt. reason is called only if it is shown.
func (r *Reader) unusable(b *capture.Batch, pos, end int, reason func() string) {
	if r.extendGap(b, int64(end-pos)) {
		return
	}
	r.addGap(b, int64(end-pos), r.damage(pos, reason()))
}
