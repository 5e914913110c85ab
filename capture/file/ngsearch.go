package file

import (
	"io"

	"qsniff/capture"
)

// searchBlocks searches for two sound blocks in a row from pos on. It returns where the
// first begins and true, or else the first position at which one may still begin. Every
// byte is tried: the missing bytes need not be a multiple of four.
func (r *Reader) searchBlocks(buf []byte, pos int) (int, bool) {
	for ; len(buf)-pos >= minBlock; pos++ {
		if !isKnownBlock(u32(buf[pos:], r.section.bigEndian)) {
			continue
		}
		switch r.checkTwoBlocks(buf, pos) {
		case sound:
			return pos, true
		case undecided:
			return pos, false
		}
	}
	return pos, false
}

// isKnownBlock reports whether a block type is one of those that pcapng defines.
func isKnownBlock(kind uint32) bool {
	switch kind {
	case blockInterface, blockObsolete, blockSimple, blockNames, blockStatistics, blockEnhanced,
		blockJournal, blockSecrets, blockCustom, blockCustomNo, blockSection:
		return true
	}
	return false
}

// checkTwoBlocks decides whether two sound blocks begin at pos, or one that ends where
// the file ends.
func (r *Reader) checkTwoBlocks(buf []byte, pos int) soundness {
	big := r.section.bigEndian
	end, big, v := r.checkBlock(buf, pos, big)
	if v != sound {
		return v
	}
	if end == len(buf) && r.inErr == io.EOF {
		return sound
	}
	_, _, v = r.checkBlock(buf, end, big)
	return v
}

// checkBlock decides whether a block at pos, in a section of that byte order, is sound:
// of a known type, with two equal lengths, and with room for what such a block has to
// hold. It returns the position after the block and the byte order there.
func (r *Reader) checkBlock(buf []byte, pos int, big bool) (end int, order bool, v soundness) {
	missing := undecided
	if r.inErr == io.EOF {
		missing = unsound
	}
	if len(buf)-pos < minBlock {
		return 0, big, missing
	}
	kind := u32(buf[pos:], big)
	if kind == blockSection {
		var ok bool
		if big, ok = orderOf(buf[pos:]); !ok {
			return 0, big, unsound
		}
	}
	length := u32(buf[pos+4:], big)
	if !isKnownBlock(kind) || length%4 != 0 || length < minLength(kind) || length > maxHeldBlock {
		return 0, big, unsound
	}
	end = pos + int(length)
	if end > len(buf) {
		return 0, big, missing
	}
	if u32(buf[end-4:], big) != length || kind == blockEnhanced && !r.isPlausiblePacket(buf[pos:end], big) {
		return 0, big, unsound
	}
	return end, big, sound
}

// minLength returns the least length of a block of that type.
func minLength(kind uint32) uint32 {
	switch kind {
	case blockSection:
		return minSection
	case blockInterface:
		return minInterface
	case blockStatistics:
		return minStatistics
	case blockEnhanced, blockObsolete:
		return minPacketBlock
	case blockSimple:
		return minSimplePacketBlock
	}
	return minBlock
}

// isPlausiblePacket reports whether a block may be an enhanced packet block after
// damage: its packet fits, and is within maxTimeStep of the last packet.
func (r *Reader) isPlausiblePacket(block []byte, big bool) bool {
	s := &r.section
	captured := u32(block[20:], big)
	if captured > uint32(len(block)-minPacketBlock) || captured > capture.MaxCaptured {
		return false
	}
	number := u32(block[8:], big)
	if !s.hasTime || number >= uint32(len(s.ifaces)) || big != s.bigEndian {
		return true
	}
	stamp := uint64(u32(block[12:], big))<<32 | uint64(u32(block[16:], big))
	const step = maxTimeStep * 1_000_000_000
	at := s.ifaces[number].time.nanos(stamp)
	return uint64(at-s.lastNanos+step) <= 2*step
}
