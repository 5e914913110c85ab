package file

import (
	"io"

	"qsniff/capture"
)

// searchBlocks looks for the next two sound blocks in a row from pos on. It
// returns where the first begins, or how far nothing can begin. Blocks are
// looked for at every byte: what was lost need not have been a multiple of four.
func (r *Reader) searchBlocks(buf []byte, pos int) (int, bool) {
	for ; len(buf)-pos >= minBlock; pos++ {
		if !knownBlock(u32(buf[pos:], r.section.bigEndian)) {
			continue
		}
		switch r.twoBlocks(buf, pos) {
		case sound:
			return pos, true
		case undecided:
			return pos, false
		}
	}
	return pos, false
}

func knownBlock(kind uint32) bool {
	switch kind {
	case blockInterface, blockObsolete, blockSimple, blockNames, blockStatistics, blockEnhanced,
		blockJournal, blockSecrets, blockCustom, blockCustomNo, blockSection:
		return true
	}
	return false
}

// twoBlocks says whether two sound blocks begin at pos, or one that ends where
// the file ends.
func (r *Reader) twoBlocks(buf []byte, pos int) verdict {
	big := r.section.bigEndian
	end, big, v := r.soundBlock(buf, pos, big)
	if v != sound {
		return v
	}
	if end == len(buf) && r.inErr == io.EOF {
		return sound
	}
	_, _, v = r.soundBlock(buf, end, big)
	return v
}

// soundBlock says whether a block at pos, in a section of that byte order, is of
// a known type, agrees with itself about its length, and holds what such a block
// has to hold. It returns the position after the block and the byte order
// there.
func (r *Reader) soundBlock(buf []byte, pos int, big bool) (end int, order bool, v verdict) {
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
	if !knownBlock(kind) || length%4 != 0 || length < leastLength(kind) || length > maxHeldBlock {
		return 0, big, unsound
	}
	end = pos + int(length)
	if end > len(buf) {
		return 0, big, missing
	}
	if u32(buf[end-4:], big) != length || kind == blockEnhanced && !r.plausiblePacket(buf[pos:end], big) {
		return 0, big, unsound
	}
	return end, big, sound
}

// leastLength is how long a block of that type is at least.
func leastLength(kind uint32) uint32 {
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

// plausiblePacket is what is asked of an enhanced packet block after damage:
// that its packet fits, and comes within maxTimeStep of the last packet.
func (r *Reader) plausiblePacket(block []byte, big bool) bool {
	s := &r.section
	captured := u32(block[20:], big)
	if captured > uint32(len(block)-minPacketBlock) || captured > capture.MaxCaptured {
		return false
	}
	number := u32(block[8:], big)
	if !s.timed || number >= uint32(len(s.ifaces)) || big != s.bigEndian {
		return true
	}
	stamp := uint64(u32(block[12:], big))<<32 | uint64(u32(block[16:], big))
	const step = maxTimeStep * 1_000_000_000
	at := s.ifaces[number].time.nanos(stamp)
	return uint64(at-s.nanos+step) <= 2*step
}
