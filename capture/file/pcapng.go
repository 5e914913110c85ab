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

// Packet blocks, from the start of the block; packet data is padded to four
// bytes and followed by options:
//
//	enhanced                        obsolete                   simple
//	 8  interface                    8  interface, 16 bits      8  length on the wire
//	12  time, upper half            10  packets lost before    12  packet
//	16  time, lower half            12  time, upper half
//	20  captured length             16  time, lower half
//	24  length on the wire          20  captured length
//	28  packet                      24  length on the wire
//	                                28  packet
const (
	packetStart       = 28
	simplePacketStart = 12

	minPacketBlock       = packetStart + 4
	minSimplePacketBlock = simplePacketStart + 4

	lostUnknown = 0xffff // in an obsolete packet block
)

// Options of packet blocks.
const (
	optComment   = 1
	optDropCount = 4
)

// readBlock reads a block of any type but enhanced packet blocks, which it is given only
// in a section of an unknown version, to skip them.
func (r *Reader) readBlock(b *capture.Batch, kind uint32, pos, end int) {
	s := &r.section
	if kind == blockSection {
		r.beginSection(b, pos, end)
		return
	}
	if s.isUnknown {
		r.skipBlock(b, pos, end, func() string { return "block of a section that is not read" })
		return
	}
	switch kind {
	case blockInterface:
		r.addInterface(b, pos, end)
	case blockStatistics:
		r.readStatistics(b.Buf[pos:end])
	case blockSimple:
		r.readSimple(b, pos, end)
	case blockObsolete:
		r.readObsolete(b, pos, end)
	}
}

// readEnhanced appends the packet of an enhanced packet block.
func (r *Reader) readEnhanced(b *capture.Batch, pos, end int) {
	if end-pos < minPacketBlock {
		r.skipTooShort(b, pos, end, "enhanced packet block", minPacketBlock)
		return
	}
	r.readPacket(b, pos, end, r.section.u32(b.Buf[pos+8:]))
}

// readObsolete appends the packet of an obsolete packet block.
func (r *Reader) readObsolete(b *capture.Batch, pos, end int) {
	if end-pos < minPacketBlock {
		r.skipTooShort(b, pos, end, "packet block", minPacketBlock)
		return
	}
	s := &r.section
	number := s.u16(b.Buf[pos+8:])
	lost := s.u16(b.Buf[pos+10:])
	if int(number) < len(s.ifaces) && lost != lostUnknown {
		r.addLost(number, lost)
	}
	r.readPacket(b, pos, end, uint32(number))
}

// addLost counts the packets that an obsolete packet block reports as lost before it.
func (r *Reader) addLost(number, lost uint16) {
	i := &r.section.ifaces[number]
	r.setDropped(i, i.lostReported, i.lostBetween+uint64(lost))
}

// readPacket appends the packet of a block with the layout of an enhanced packet
// block, whose interface has that number.
func (r *Reader) readPacket(b *capture.Batch, pos, end int, number uint32) {
	buf, s := b.Buf, &r.section
	if number >= uint32(len(s.ifaces)) {
		r.skipBlock(b, pos, end, func() string { return s.noInterfaceReason(number) })
		return
	}
	h := buf[pos : pos+packetStart]
	stamp := uint64(s.u32(h[12:]))<<32 | uint64(s.u32(h[16:]))
	captured, wire := s.u32(h[20:]), s.u32(h[24:])
	switch {
	case captured > uint32(end-pos-minPacketBlock) || captured > capture.MaxCaptured:
		r.skipBlock(b, pos, end, func() string { return tooLongReason(captured, end-pos-minPacketBlock) })
		return
	case wire|captured == 0 && stamp == 0: // a hole within the block
		r.skipBlock(b, pos, end, func() string { return "packet header of zeros" })
		return
	}
	i := &s.ifaces[number]
	start := pos + packetStart
	dataEnd := start + int(captured)
	n := len(b.Packets)
	b.Packets = b.Packets[:n+1]
	p := &b.Packets[n]
	p.No = r.stats.Received + uint64(n) + 1
	p.Nanos = i.time.nanos(stamp)
	p.Data = buf[start:dataEnd:dataEnd]
	p.Wire = max(wire, captured)
	p.Link = i.link
	p.Iface = i.number
	p.File = 0
	s.lastNanos, s.hasTime = p.Nanos, true
	if opts := start + (int(captured)+3)&^3; opts < end-4 {
		r.readPacketOptions(b, n, i, buf[opts:end-4])
	}
}

// readSimple appends the packet of a simple packet block. It is of the section's
// first interface, cut to its snap length, and has no time: it gets that of the
// packet before, 1970 if there is none.
func (r *Reader) readSimple(b *capture.Batch, pos, end int) {
	buf, s := b.Buf, &r.section
	if end-pos < minSimplePacketBlock {
		r.skipTooShort(b, pos, end, "simple packet block", minSimplePacketBlock)
		return
	}
	if len(s.ifaces) == 0 {
		r.skipBlock(b, pos, end, func() string { return s.noInterfaceReason(0) })
		return
	}
	i := &s.ifaces[0]
	wire := s.u32(buf[pos+8:])
	captured := wire
	if i.snapLen > 0 {
		captured = min(captured, i.snapLen)
	}
	if captured > uint32(end-pos-minSimplePacketBlock) || captured > capture.MaxCaptured {
		r.skipBlock(b, pos, end, func() string { return tooLongReason(captured, end-pos-minSimplePacketBlock) })
		return
	}
	start := pos + simplePacketStart
	dataEnd := start + int(captured)
	b.Packets = append(b.Packets, capture.Packet{
		No:    r.stats.Received + uint64(len(b.Packets)) + 1,
		Nanos: s.lastNanos,
		Data:  buf[start:dataEnd:dataEnd],
		Wire:  wire,
		Link:  i.link,
		Iface: i.number,
	})
}

// readPacketOptions appends the comments of packet n of the batch and counts the packets
// that were lost before it.
func (r *Reader) readPacketOptions(b *capture.Batch, n int, i *iface, opts []byte) {
	comments := 0
	for w := (optionWalk{opts, r.section.bigEndian}); w.hasNext(); {
		code, value := w.next()
		switch {
		case code == optComment && len(value) > 0 && comments < maxPacketComments:
			comments++
			b.Comments = append(b.Comments, capture.Comment{At: n, Text: value})
		case code == optDropCount && len(value) == 8:
			r.setDropped(i, i.lostReported, i.lostBetween+r.section.u64(value))
		}
	}
}

// skipTooShort skips a block that is shorter than its type allows.
func (r *Reader) skipTooShort(b *capture.Batch, pos, end int, what string, least int) {
	r.skipBlock(b, pos, end, func() string {
		return what + " of " + digits.Grouped(int64(end-pos)) + " bytes, below the minimum of " + digits.Grouped(int64(least))
	})
}

// noInterfaceReason returns the reason for a packet of an interface that the section
// has not described.
func (s *sectionState) noInterfaceReason(number uint32) string {
	if number >= maxSectionInterfaces {
		return "interface " + digits.Grouped(int64(number)) + " above the limit of " + digits.Grouped(maxSectionInterfaces)
	}
	return "packet of interface " + digits.Grouped(int64(number)) + ", of which there " + isOrAre(len(s.ifaces))
}

// isOrAre returns the rest of the sentence "there ..." for n interfaces.
func isOrAre(n int) string {
	switch n {
	case 0:
		return "are none"
	case 1:
		return "is 1"
	}
	return "are " + digits.Grouped(int64(n))
}

// tooLongReason returns the reason for a packet that is longer than its block, or than
// any can be.
func tooLongReason(captured uint32, room int) string {
	if captured > capture.MaxCaptured {
		return lengthReason(captured)
	}
	return "packet of " + digits.Counted(uint64(captured), "byte") + " in a block with room for " + digits.Grouped(int64(room))
}

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
