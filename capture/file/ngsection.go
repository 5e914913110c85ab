package file

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"qsniff/capture"
	"qsniff/internal/base/digits"
)

// iface is an interface of the current section.
type iface struct {
	link         uint16
	number       uint16 // over all sections
	snapLen      uint32
	time         resolution
	lostReported uint64 // packets lost, of the last statistics block
	lostBetween  uint64 // packets lost between packets, of their options
}

// description is what pcapng has besides packets.
type description struct {
	sections   []Section
	interfaces []capture.Interface // by number, the first maxDescribed
}

// Section is how a section of a pcapng file describes itself: bytes of the file, cut
// to a bounded length, not meant for a terminal as they are.
type Section struct {
	Hardware, OS, Application, Comment string
}

// Sections returns the sections read so far, the first 64 at most, none of
// classic pcap. Later calls do not change a slice that was returned.
func (r *Reader) Sections() []Section { return append([]Section(nil), r.described.sections...) }

// Interfaces returns the interfaces described so far, the first 256 at most.
// Classic pcap has one. Later calls do not change a slice that was returned.
func (r *Reader) Interfaces() []capture.Interface {
	if !r.isPcapng {
		return []capture.Interface{{Link: r.format.link, SnapLen: r.format.snapLen}}
	}
	return append([]capture.Interface(nil), r.described.interfaces...)
}

// Options of section headers, interfaces and statistics.
const (
	optHardware    = 2
	optOS          = 3
	optApplication = 4

	optName        = 2
	optDescription = 3
	optTsresol     = 9
	optFilter      = 11
	optTsoffset    = 14

	optDropped   = 5
	optDroppedOS = 7
)

const (
	optionsOfSection    = 24
	optionsOfInterface  = 16
	optionsOfStatistics = 20

	minInterface  = optionsOfInterface + 4
	minStatistics = optionsOfStatistics + 4

	sectionMajor  = 1
	filterText    = 0 // first byte of if_filter: what follows is libpcap's language
	noCounter     = math.MaxUint64
	lastInterface = math.MaxUint16
)

// beginSection reads a section header. The interfaces of the section before do not
// apply to the new one.
func (r *Reader) beginSection(b *capture.Batch, pos, end int) {
	s := &r.section
	s.ifaces = s.ifaces[:0]
	s.isUnknown = false
	block := b.Buf[pos:end]
	if len(block) < minSection {
		s.isUnknown = true
		r.skipTooShort(b, pos, end, "section header", minSection)
		return
	}
	if major := s.u16(block[12:]); major != sectionMajor {
		s.isUnknown = true
		minor := s.u16(block[14:])
		r.skipBlock(b, pos, end, func() string {
			return "pcapng version " + strconv.Itoa(int(major)) + "." + strconv.Itoa(int(minor)) + " not known, only 1.x is"
		})
		return
	}
	if len(r.described.sections) == maxSections {
		return
	}
	var d Section
	for w := (optionWalk{block[optionsOfSection : len(block)-4], s.bigEndian}); w.hasNext(); {
		switch code, value := w.next(); code {
		case optComment:
			d.Comment = textOf(value)
		case optHardware:
			d.Hardware = textOf(value)
		case optOS:
			d.OS = textOf(value)
		case optApplication:
			d.Application = textOf(value)
		}
	}
	r.described.sections = append(r.described.sections, d)
}

// addInterface reads the description of an interface. In the section its number is its
// position among the section's interfaces; in the file numbers go on over all sections.
func (r *Reader) addInterface(b *capture.Batch, pos, end int) {
	s := &r.section
	block := b.Buf[pos:end]
	if len(block) < minInterface {
		r.skipTooShort(b, pos, end, "interface description", minInterface)
		return
	}
	if len(s.ifaces) == maxSectionInterfaces {
		r.skipBlock(b, pos, end, func() string { return "more than " + digits.Grouped(maxSectionInterfaces) + " interfaces" })
		return
	}
	i := iface{link: s.u16(block[8:]), snapLen: s.u32(block[12:]), number: uint16(min(s.nextNumber, lastInterface))}
	if s.nextNumber == 0 {
		s.firstLink = i.link
	}
	d := capture.Interface{Index: i.number, Link: i.link, SnapLen: i.snapLen}
	describe := len(r.described.interfaces) < maxDescribed
	resol, offset := byte(tsresolMicro), int64(0)
	for w := (optionWalk{block[optionsOfInterface : len(block)-4], s.bigEndian}); w.hasNext(); {
		code, value := w.next()
		switch {
		case code == optTsresol && len(value) == 1:
			resol = value[0]
		case code == optTsoffset && len(value) == 8:
			offset = int64(s.u64(value))
		case !describe:
		case code == optName:
			d.Name = textOf(value)
		case code == optDescription:
			d.Description = textOf(value)
		case code == optFilter && len(value) > 0 && value[0] == filterText:
			d.Filter = textOf(value[1:])
		}
	}
	i.time = newResolution(resol, offset)
	s.ifaces = append(s.ifaces, i)
	s.nextNumber++
	if describe {
		r.described.interfaces = append(r.described.interfaces, d)
	}
}

// readStatistics reads the counters of lost packets. They are totals: those of a later
// block replace those of an earlier one.
func (r *Reader) readStatistics(block []byte) {
	s := &r.section
	if len(block) < minStatistics {
		return
	}
	number := s.u32(block[8:])
	if number >= uint32(len(s.ifaces)) {
		return
	}
	var dropped uint64
	for w := (optionWalk{block[optionsOfStatistics : len(block)-4], s.bigEndian}); w.hasNext(); {
		code, value := w.next()
		if (code == optDropped || code == optDroppedOS) && len(value) == 8 {
			if n := s.u64(value); n != noCounter {
				dropped += n
			}
		}
	}
	i := &s.ifaces[number]
	r.setDropped(i, dropped, i.lostBetween)
}

// setDropped sets the counters of an interface: packets lost as a statistics block
// reports, and as packets report of the time between them. Both count the same losses,
// so the larger one is taken.
func (r *Reader) setDropped(i *iface, counted, between uint64) {
	before := max(i.lostReported, i.lostBetween)
	i.lostReported, i.lostBetween = counted, between
	now := max(counted, between)
	r.stats.Dropped += now - before
	if int(i.number) < len(r.described.interfaces) {
		r.described.interfaces[i.number].Dropped = now
	}
}

// textOf copies a string of a block, up to maxText bytes of it and without NULs at its end,
// which not all writers omit.
func textOf(value []byte) string {
	return strings.TrimRight(string(value[:min(len(value), maxText)]), "\x00")
}

// optionWalk steps through the options of a pcapng block: a code and a length of
// 16 bits each, the value, and padding to four bytes. It ends at the end of the
// block, at the option that marks the end (code 0), or at an option that does not fit:
// a malformed option is no reason to doubt the packet.
type optionWalk struct {
	rest      []byte
	bigEndian bool
}

const optionHeaderLen = 4

// hasNext reports whether there is another option.
func (w *optionWalk) hasNext() bool {
	if len(w.rest) < optionHeaderLen {
		return false
	}
	code, length := w.parseHeader()
	return code != 0 && length <= len(w.rest)-optionHeaderLen
}

// next returns the next option, if hasNext. The value points into the block.
func (w *optionWalk) next() (code uint16, value []byte) {
	code, length := w.parseHeader()
	end := optionHeaderLen + length
	value = w.rest[optionHeaderLen:end:end]
	w.rest = w.rest[min((end+3)&^3, len(w.rest)):]
	return code, value
}

func (w *optionWalk) parseHeader() (code uint16, length int) {
	if w.bigEndian {
		return binary.BigEndian.Uint16(w.rest), int(binary.BigEndian.Uint16(w.rest[2:]))
	}
	return binary.LittleEndian.Uint16(w.rest), int(binary.LittleEndian.Uint16(w.rest[2:]))
}

// resolution converts the time stamps of an interface into Unix nanoseconds. The
// option if_tsresol gives the unit as a power of ten or of two, 10^0 to 10^-127
// and 2^0 to 2^-127 seconds, if_tsoffset what to add to all of them, in seconds.
type resolution struct {
	scale  uint64 // nanoseconds in a unit; 0 where a unit is no whole number of them
	limit  uint64 // largest time stamp that scale may be applied to
	offset int64  // seconds
	power  uint8
	binary bool
}

// Common values of if_tsresol; microseconds are the default.
const (
	tsresolMicro  = 6
	tsresolBinary = 0x80 // the power is one of two
)

// newResolution decodes the two options.
func newResolution(tsresol byte, offset int64) resolution {
	c := resolution{offset: offset, power: tsresol &^ tsresolBinary, binary: tsresol&tsresolBinary != 0}
	if offset == 0 && !c.binary && c.power <= 9 {
		c.scale = pow10(9 - c.power)
		c.limit = math.MaxInt64 / c.scale
	}
	return c
}

// pow10 returns 10^n for n up to 19.
func pow10(n uint8) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

// nanos converts a time stamp, rounding down. A time that does not fit an int64, in years
// before 1678 or after 2262, becomes the nearest that does.
func (c *resolution) nanos(stamp uint64) int64 {
	if c.scale != 0 && stamp <= c.limit {
		return int64(stamp * c.scale)
	}
	return c.exactNanos(stamp)
}

// exactNanos does what nanos does, for any unit and offset.
func (c *resolution) exactNanos(stamp uint64) int64 {
	sec, nano := c.split(stamp)
	// sec + offset in 128 bits, whose upper half has the sign.
	lo, carry := bits.Add64(sec, uint64(c.offset), 0)
	hi := int64(carry)
	if c.offset < 0 {
		hi--
	}
	switch {
	case hi > 0 || hi == 0 && lo > math.MaxInt64:
		return math.MaxInt64
	case hi < 0 && int64(lo) >= 0:
		return math.MinInt64
	}
	const maxSec, minSec = math.MaxInt64 / 1_000_000_000, math.MinInt64/1_000_000_000 - 1
	switch s := int64(lo); {
	case s > maxSec || s == maxSec && int64(nano) > math.MaxInt64%1_000_000_000:
		return math.MaxInt64
	case s < minSec || s == minSec && int64(nano) < 1_000_000_000+math.MinInt64%1_000_000_000:
		return math.MinInt64
	default:
		return s*1_000_000_000 + int64(nano)
	}
}

// split divides a time stamp into seconds and nanoseconds.
func (c *resolution) split(stamp uint64) (sec, nano uint64) {
	if c.binary {
		return c.splitBinary(stamp)
	}
	if c.power > 19 { // 10^20 units are a second: all stamps are below one
		if c.power-9 > 19 {
			return 0, 0
		}
		return 0, stamp / pow10(c.power-9)
	}
	unit := pow10(c.power)
	sec, rest := stamp/unit, stamp%unit
	if c.power <= 9 {
		return sec, rest * pow10(9-c.power)
	}
	return sec, rest / pow10(c.power-9)
}

// splitBinary does what split does, for powers of two: stamp / 2^power seconds.
func (c *resolution) splitBinary(stamp uint64) (sec, nano uint64) {
	rest := stamp
	if c.power < 64 {
		sec = stamp >> c.power
		rest = stamp & (1<<c.power - 1)
	}
	// rest is below 2^power, so that the shifted product is below 10^9.
	hi, lo := bits.Mul64(rest, 1_000_000_000)
	if c.power >= 64 {
		return sec, hi >> (c.power - 64)
	}
	return sec, hi<<(64-c.power) | lo>>c.power
}
