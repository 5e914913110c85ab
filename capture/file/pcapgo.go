//go:build !js

package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"

	"github.com/google/gopacket"
	"github.com/google/gopacket/pcapgo"

	"qsniff/capture"
	"qsniff/internal/base/digits"
)

// pcapgoSource reads with gopacket's pcapgo, which is Go alone and so in every build.
type pcapgoSource struct {
	packetwise
	units     *unitReader
	isPcapng  bool
	lastNanos int64
}

// OpenPcapgo opens a capture file with gopacket's pcapgo; "-" is standard input. It reads
// plain and compressed pcap 2.4 and pcapng, and ends at the first damage.
//
// pcapgo takes from the file how much memory it allocates and how far it reads. So it is
// given whole headers, records and blocks, after their lengths and those of the options
// in them have been checked.
func OpenPcapgo(name string, opts ...Option) (capture.Source, error) {
	s := &pcapgoSource{packetwise: packetwise{name: name}}
	s.explain, s.describe = s.readError, s.describePacket
	if err := s.open(name); err != nil {
		s.Close()
		return nil, err
	}
	s.stats.Bytes = fileHeaderLen
	return s, nil
}

// open opens the input, expands it if it is compressed, and has pcapgo read the header.
func (s *pcapgoSource) open(name string) error {
	f := os.Stdin
	if name == stdinArg {
		s.name = stdinName
	} else {
		var err error
		if f, err = os.Open(name); err != nil {
			return systemError(name, err)
		}
		s.closers = append(s.closers, f)
	}
	switch info, err := f.Stat(); {
	case err != nil:
		return systemError(s.name, err)
	case info.IsDir():
		return systemError(s.name, syscall.EISDIR)
	case info.Mode().IsRegular():
		s.regular, s.stats.Size = true, info.Size()
	}
	in := io.Reader(f)
	start, err := s.readStart(in)
	if err != nil {
		return err
	}
	if kind := packingOf(start); kind != nil {
		s.packed = &packed{packing: kind, in: io.MultiReader(bytes.NewReader(start), in)}
		if in, err = kind.open(s.packed); err == nil {
			start, err = s.readStart(in)
		}
		if err != nil {
			return s.packed.expandError(s.name, 0, err)
		}
		if inner := packingOf(start); inner != nil {
			return twicePackedError(s.name, kind, inner)
		}
	}
	return s.begin(start, in)
}

// begin makes the reader for the format of a file that begins with start.
func (s *pcapgoSource) begin(start []byte, in io.Reader) error {
	s.isPcapng = isSection(start)
	s.units = &unitReader{in: io.MultiReader(bytes.NewReader(start), in), name: s.name, packed: s.packed, isPcapng: s.isPcapng}
	if !s.isPcapng {
		if _, err := s.units.format.parse(s.name, start); err != nil {
			return err
		}
	}
	err := guard(func() error {
		if s.isPcapng {
			r, err := pcapgo.NewNgReader(s.units, pcapgo.NgReaderOptions{WantMixedLinkType: true, SkipUnknownVersion: true})
			s.in = r
			return err
		}
		r, err := pcapgo.NewReader(s.units)
		if err == nil {
			r.SetSnaplen(capture.MaxCaptured) // what it allocates; many files have longer records than they say
		}
		s.in = r
		return err
	})
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return s.readError(err)
	}
	return nil
}

// describePacket sets what the format has of a packet besides its bytes. The link type is
// that of the file: gopacket's has 8 bits.
func (s *pcapgoSource) describePacket(p *capture.Packet, ci *gopacket.CaptureInfo) {
	p.Nanos, p.Link = ci.Timestamp.UnixNano(), s.units.format.link
	if !s.isPcapng {
		return
	}
	if ci.Timestamp.IsZero() { // a simple packet block has no time
		p.Nanos = s.lastNanos
	}
	s.lastNanos = p.Nanos
	i := s.units.ifaces[ci.InterfaceIndex]
	p.Link, p.Iface = i.link, i.number
}

// readError returns the error for one with which pcapgo ends. An error of the input or of a
// check comes first: pcapgo reports a regular end for a block that is cut.
func (s *pcapgoSource) readError(err error) error {
	var known *Error
	switch {
	case s.units.err != nil && errors.As(s.units.err, &known):
		return known
	case err == io.EOF:
		return err
	}
	return &Error{File: s.name, Offset: s.units.offset, Expanded: s.packed != nil, Reason: "pcapgo: " + err.Error(),
		Hint: "use --reader native, which says more and reads more"}
}

// unitReader passes a capture on to pcapgo, in each Read bytes of one file header, record
// or block: pcapgo looks no further ahead than that, so that ifaces are those of the
// section of the packet that it has returned last.
type unitReader struct {
	in       io.Reader
	name     string
	packed   *packed
	isPcapng bool
	format   recordFormat // of classic pcap

	section      sectionState // of pcapng: its byte order
	ifaces       []pcapgoInterface
	descriptions int // bytes of interface descriptions in the section
	nextNumber   int

	unit, left []byte
	offset     int64 // of unit
	next       int64 // of what follows it
	err        error // sticky
}

// pcapgoInterface is what is needed of an interface of the section.
type pcapgoInterface struct {
	link, number uint16
	snapLen      uint32
}

// Read implements io.Reader.
func (u *unitReader) Read(b []byte) (int, error) {
	for len(u.left) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		u.offset = u.next
		if u.err = u.readUnit(); u.err != nil {
			return 0, u.err
		}
		u.next = u.offset + int64(len(u.unit))
		u.left = u.unit
	}
	n := copy(b, u.left)
	u.left = u.left[n:]
	return n, nil
}

// readUnit reads the next header, record or block into unit.
func (u *unitReader) readUnit() error {
	switch {
	case u.isPcapng:
		return u.readBlock()
	case u.offset == 0:
		return u.fill("file header", 0, u.format.headerLen)
	}
	if err := u.fill("record", 0, u.format.recordLen); err != nil {
		return err
	}
	captured := u32(u.unit[8:], u.format.bigEndian)
	if captured > capture.MaxCaptured {
		return u.damage(lengthReason(captured))
	}
	return u.fill("record", u.format.recordLen, u.format.recordLen+int(captured))
}

// fill reads bytes of a unit from begin up to end, which is bounded. It returns io.EOF if
// there is no unit any more.
func (u *unitReader) fill(what string, begin, end int) error {
	u.unit = grow(u.unit[:begin], end)[:end]
	n, err := io.ReadFull(u.in, u.unit[begin:])
	switch {
	case err == nil, err == io.EOF && begin == 0:
		return err
	case err == io.EOF, err == io.ErrUnexpectedEOF:
		return &Error{File: u.name, Offset: u.offset, Expanded: u.packed != nil, Hint: hintCut, Err: io.ErrUnexpectedEOF,
			Reason: what + " cut: " + digits.Grouped(int64(end-begin-n)) + " of " + digits.Counted(uint64(end), "byte") + " missing"}
	case u.packed != nil:
		return u.packed.expandError(u.name, u.offset, err)
	}
	return readError(u.name, u.offset, err)
}

func (u *unitReader) damage(reason string) error {
	return &Error{File: u.name, Offset: u.offset, Expanded: u.packed != nil, Reason: reason, Hint: "use --reader native, which reads on after damage"}
}

// readBlock reads a block and checks every length in it that pcapgo believes. A long
// block of a kind that holds no packets is skipped.
func (u *unitReader) readBlock() error {
	const headerLen = 12 // with the byte order magic of a section
	for {
		if err := u.fill("block", 0, headerLen); err != nil {
			return err
		}
		s := &u.section
		kind := s.u32(u.unit)
		if kind == blockSection {
			big, ok := orderOf(u.unit)
			if !ok {
				return u.damage("pcapng byte order magic " + spacedHex(u.unit[8:12]) + " not known")
			}
			s.bigEndian = big
		}
		length := s.u32(u.unit[4:])
		least, isRead := blockLens[kind]
		switch {
		case length%4 != 0:
			return u.damage("block length " + digits.Grouped(int64(length)) + " not a multiple of 4")
		case length < max(least, minBlock):
			return u.damage("block length " + digits.Grouped(int64(length)) + " below the minimum of " + digits.Grouped(int64(max(least, minBlock))))
		case length > maxBlock, length > maxHeldBlock && isRead:
			return u.damage("block length " + digits.Grouped(int64(length)) + " above the limit")
		case length > maxHeldBlock:
			if _, err := io.CopyN(io.Discard, u.in, int64(length)-headerLen); err != nil {
				return u.damage("block cut")
			}
			u.offset += int64(length)
			continue
		}
		if err := u.fill("block", headerLen, int(length)); err != nil {
			return err
		}
		if again := s.u32(u.unit[length-4:]); again != length {
			return u.damage("block length " + digits.Grouped(int64(length)) + " at its start, " + digits.Grouped(int64(again)) + " at its end")
		}
		return u.checkBlock(kind, u.unit[:length-4])
	}
}

// blockLens are the blocks that pcapgo reads, with the shortest length of each.
var blockLens = map[uint32]uint32{
	blockSection: minSection, blockInterface: minInterface, blockStatistics: minStatistics,
	blockObsolete: minPacketBlock, blockEnhanced: minPacketBlock, blockSimple: minSimplePacketBlock,
}

// checkBlock checks what a block claims; b is the block without its second length.
func (u *unitReader) checkBlock(kind uint32, b []byte) error {
	s := &u.section
	switch kind {
	case blockSection:
		u.ifaces, u.descriptions = u.ifaces[:0], 0
		return u.checkOptions(b[optionsOfSection:], nil)
	case blockInterface:
		return u.checkInterface(b)
	case blockStatistics:
		return u.checkOptions(b[optionsOfStatistics:], func(code uint16, value []byte) bool {
			return code < optBeginStatistics || code > optDropped || len(value) == 8
		})
	case blockObsolete, blockEnhanced:
		return u.checkPacket(s.u32(b[20:]), len(b)-packetStart)
	case blockSimple:
		if len(u.ifaces) == 0 {
			return nil // pcapgo refuses it
		}
		captured := s.u32(b[8:])
		if most := u.ifaces[0].snapLen; most > 0 {
			captured = min(captured, most)
		}
		return u.checkPacket(captured, len(b)-simplePacketStart)
	}
	return nil
}

// optBeginStatistics is the first of the options of a statistics block whose values have 8 bytes.
const optBeginStatistics = 2

// checkPacket checks the captured length of a packet in a block with that room for it.
func (u *unitReader) checkPacket(captured uint32, room int) error {
	if captured > capture.MaxCaptured || int(captured) > room {
		return u.damage(tooLongReason(captured, room))
	}
	return nil
}

// checkInterface checks the description of an interface, keeps what the packets need of
// it, and bounds the snap length: pcapgo allocates as much.
func (u *unitReader) checkInterface(b []byte) error {
	s := &u.section
	if u.descriptions += len(b); len(u.ifaces) == maxSectionInterfaces || u.descriptions > maxPcapgoDescriptions {
		return u.damage("interface descriptions above the limit of " + digits.Grouped(maxSectionInterfaces) + " or " +
			digits.Counted(maxPcapgoDescriptions, "byte"))
	}
	i := pcapgoInterface{link: s.u16(b[8:]), snapLen: s.u32(b[12:]), number: uint16(min(u.nextNumber, lastInterface))}
	if i.snapLen > capture.MaxCaptured {
		i.snapLen = capture.MaxCaptured
		var order binary.ByteOrder = binary.LittleEndian
		if s.bigEndian {
			order = binary.BigEndian
		}
		order.PutUint32(b[12:], i.snapLen)
	}
	u.nextNumber++
	u.ifaces = append(u.ifaces, i)
	return u.checkOptions(b[optionsOfInterface:], func(code uint16, value []byte) bool {
		switch code {
		case optTsresol:
			return len(value) == 1 && isCountable(value[0])
		case optTsoffset:
			return len(value) == 8
		case optFilter:
			return len(value) > 0
		}
		return true
	})
}

// isCountable reports whether pcapgo can count in a unit of time: it takes the units of a
// second as a number of 64 bits.
func isCountable(tsresol byte) bool {
	if tsresol&tsresolBinary != 0 {
		return tsresol&^tsresolBinary < 64
	}
	return tsresol <= 19
}

// checkOptions checks that options lie within b, and that accept, if there is one, accepts
// each value.
func (u *unitReader) checkOptions(b []byte, accept func(code uint16, value []byte) bool) error {
	s := &u.section
	for len(b) > 0 {
		if len(b) < 4 {
			return u.damage("option cut")
		}
		code, n := s.u16(b), int(s.u16(b[2:]))
		if code == 0 {
			return nil
		}
		padded := 4 + (n+3)&^3
		if padded > len(b) {
			return u.damage("option " + strconv.Itoa(int(code)) + " of " + digits.Counted(uint64(n), "byte") + " beyond its block")
		}
		if accept != nil && !accept(code, b[4:4+n]) {
			return u.damage("option " + strconv.Itoa(int(code)) + " of " + digits.Counted(uint64(n), "byte") + ", which pcapgo cannot read")
		}
		b = b[padded:]
	}
	return nil
}
