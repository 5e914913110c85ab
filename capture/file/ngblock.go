package file

import (
	"encoding/binary"
	"io"
	"math/bits"
	"strconv"

	"qsniff/capture"
	"qsniff/internal/base/digits"
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

// Block types. Those that are not read are listed too, because after damage only
// blocks of these types are believed.
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

// sectionState is the state of a section, to which its blocks refer, with what goes on over
// all sections.
type sectionState struct {
	bigEndian  bool
	isUnknown  bool // its version is unknown: none of its blocks is read
	ifaces     []iface
	firstLink  uint16 // of the first interface of the file
	nextNumber int    // number that the file's next interface gets
	lastNanos  int64  // time of the last packet
	hasTime    bool   // there was such a packet

	// A block above maxHeldBlock that is being skipped: the bytes that are left of it,
	// where it began, and its length.
	skipLeft   int64
	skipOffset int64
	skipLen    uint32
}

// isSection reports whether b begins like pcapng.
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

// parseFirstSection checks the header of the first section, which is read later like any
// other block.
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
func (s *sectionState) u16(b []byte) uint16 {
	if s.bigEndian {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

func (s *sectionState) u32(b []byte) uint32 { return u32(b, s.bigEndian) }

// u32 reads a number in the given byte order.
func u32(b []byte, bigEndian bool) uint32 {
	n := binary.LittleEndian.Uint32(b)
	if bigEndian {
		n = bits.ReverseBytes32(n)
	}
	return n
}

func (s *sectionState) u64(b []byte) uint64 {
	if s.bigEndian {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

// cutBlocks reads the complete blocks of b.Buf from position pos on and appends their
// packets to b.Packets. It returns the position after the last of them, and the damage
// there if there is any.
func (r *Reader) cutBlocks(b *capture.Batch, pos int) (int, *Error) {
	buf, s := b.Buf, &r.section
	for len(b.Packets) < capture.MaxPackets {
		if s.skipLeft > 0 {
			var damage *Error
			if pos, damage = r.skipLongBlock(buf, pos); damage != nil || s.skipLeft > 0 {
				return pos, damage
			}
			continue
		}
		if len(buf)-pos < minBlock {
			return r.checkIncomplete(buf, pos, "header", 0)
		}
		big := s.bigEndian
		kind := u32(buf[pos:], big)
		if kind == blockSection {
			var ok bool
			if big, ok = orderOf(buf[pos:]); !ok {
				return pos, r.damageAt(pos, "pcapng byte order magic "+spacedHex(buf[pos+8:pos+12])+" not known")
			}
		}
		length := u32(buf[pos+4:], big)
		if length%4 != 0 || length < minBlock || length > maxHeldBlock {
			if damage := r.beginLongBlock(pos, kind, length); damage != nil {
				return pos, damage
			}
			continue
		}
		end := pos + int(length)
		if end > len(buf) {
			return r.checkIncomplete(buf, pos, "", length)
		}
		if again := u32(buf[end-4:], big); again != length {
			return pos, r.lengthsError(pos, length, again)
		}
		if kind == blockEnhanced && !s.isUnknown {
			r.readEnhanced(b, pos, end)
		} else {
			s.bigEndian = big
			r.readBlock(b, kind, pos, end)
		}
		pos = end
	}
	return pos, nil
}

// checkIncomplete returns pos, and the damage of the block there if the input has ended
// in it. what is "header" if the block's length is not known yet.
func (r *Reader) checkIncomplete(buf []byte, pos int, what string, length uint32) (int, *Error) {
	if r.inErr != io.EOF || pos == len(buf) {
		return pos, nil
	}
	if what != "" {
		return pos, r.cutError(r.offset+int64(pos), "block", minBlock, buf[pos:], 0)
	}
	return pos, r.cutError(r.offset+int64(pos), "block", minBlock, buf[pos:], int64(length))
}

// beginLongBlock returns the damage if the length of a block is impossible, and
// otherwise begins to skip the block, which is above maxHeldBlock.
func (r *Reader) beginLongBlock(pos int, kind, length uint32) *Error {
	text := "block length " + digits.Grouped(int64(length))
	limit := int64(maxBlock)
	switch kind {
	case blockSection, blockInterface, blockObsolete, blockSimple, blockStatistics, blockEnhanced:
		limit = maxHeldBlock
	}
	switch {
	case length < minBlock:
		return r.damageAt(pos, text+" below the minimum of "+digits.Grouped(minBlock))
	case length%4 != 0:
		return r.damageAt(pos, text+" not a multiple of 4")
	case int64(length) > limit:
		return r.damageAt(pos, text+" above the limit of "+digits.Grouped(limit))
	}
	s := &r.section
	s.skipLeft, s.skipOffset, s.skipLen = int64(length), r.offset+int64(pos), length
	return nil
}

// skipLongBlock skips what buf has of the long block from pos on. It returns the
// position after that, and the damage if the block ends wrongly.
func (r *Reader) skipLongBlock(buf []byte, pos int) (int, *Error) {
	s := &r.section
	n := min(s.skipLeft-4, int64(len(buf)-pos))
	pos += int(n)
	s.skipLeft -= n
	switch {
	case s.skipLeft == 4 && len(buf)-pos >= 4:
		s.skipLeft = 0
		if again := s.u32(buf[pos:]); again != s.skipLen {
			return pos, r.lengthsError(int(s.skipOffset-r.offset), s.skipLen, again)
		}
		return pos + 4, nil
	case r.inErr == io.EOF:
		left := s.skipLeft - int64(len(buf)-pos)
		s.skipLeft = 0
		return pos, &Error{File: r.name, Offset: s.skipOffset, Expanded: r.packed != nil, Hint: hintCut, Err: io.ErrUnexpectedEOF,
			Reason: "block cut: " + digits.Grouped(left) + " of " + digits.Counted(uint64(s.skipLen), "byte") + " missing"}
	}
	return pos, nil
}

// lengthsError is about a block whose two lengths differ.
func (r *Reader) lengthsError(pos int, first, second uint32) *Error {
	return r.damageAt(pos, "block length "+digits.Grouped(int64(first))+" at its start, "+
		digits.Grouped(int64(second))+" at its end")
}

// skipBlock skips a sound block whose content is impossible or cannot be used: it is a
// gap, but reading goes on right after it. reason is called only if its text is shown.
func (r *Reader) skipBlock(b *capture.Batch, pos, end int, reason func() string) {
	if r.extendGap(b, int64(end-pos)) {
		return
	}
	r.addGap(b, int64(end-pos), r.damageAt(pos, reason()))
}
