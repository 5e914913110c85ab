package file

import (
	"qsniff/capture"
	"qsniff/internal/base/digits"
)

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
