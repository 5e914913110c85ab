package file

import (
	"math"
	"strconv"
	"strings"

	"qsniff/capture"
	"qsniff/internal/digits"
)

// iface is an interface of the current section.
type iface struct {
	link    uint16
	number  uint16 // over all sections
	snapLen uint32
	time    resolution
	counted uint64 // packets lost, as the last statistics block says
	between uint64 // packets lost, as packets say
}

// about is what pcapng says besides packets.
type about struct {
	sections   []Section
	interfaces []capture.Interface // by number, the first maxDescribed
}

// Section is what a section of a pcapng file says about itself: bytes of the
// file, cut to a bounded length, not meant for a terminal as they are.
type Section struct {
	Hardware, OS, Application, Comment string
}

// Sections returns the sections read so far, the first 64 at most, none of
// classic pcap. What was returned stays as it is.
func (r *Reader) Sections() []Section { return append([]Section(nil), r.about.sections...) }

// Interfaces returns the interfaces described so far, the first 256 at most.
// Classic pcap has one. What was returned stays as it is.
func (r *Reader) Interfaces() []capture.Interface {
	if !r.blocks {
		return []capture.Interface{{Link: r.format.link, SnapLen: r.format.snapLen}}
	}
	return append([]capture.Interface(nil), r.about.interfaces...)
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

// newSection begins a section: what the one before described is of no use for
// it.
func (r *Reader) newSection(b *capture.Batch, pos, end int) {
	s := &r.section
	s.ifaces = s.ifaces[:0]
	s.unknown = false
	block := b.Buf[pos:end]
	if len(block) < minSection {
		s.unknown = true
		r.tooShort(b, pos, end, "section header", minSection)
		return
	}
	if major := s.u16(block[12:]); major != sectionMajor {
		s.unknown = true
		minor := s.u16(block[14:])
		r.unusable(b, pos, end, func() string {
			return "pcapng version " + strconv.Itoa(int(major)) + "." + strconv.Itoa(int(minor)) + " not known, only 1.x is"
		})
		return
	}
	if len(r.about.sections) == maxSections {
		return
	}
	var d Section
	for w := (optionWalk{block[optionsOfSection : len(block)-4], s.bigEndian}); w.next(); {
		switch code, value := w.option(); code {
		case optComment:
			d.Comment = text(value)
		case optHardware:
			d.Hardware = text(value)
		case optOS:
			d.OS = text(value)
		case optApplication:
			d.Application = text(value)
		}
	}
	r.about.sections = append(r.about.sections, d)
}

// newInterface adds an interface to the section. Its number in the section is
// its position among the section's interfaces, its number in the file goes on.
func (r *Reader) newInterface(b *capture.Batch, pos, end int) {
	s := &r.section
	block := b.Buf[pos:end]
	if len(block) < minInterface {
		r.tooShort(b, pos, end, "interface description", minInterface)
		return
	}
	if len(s.ifaces) == maxSectionInterfaces {
		r.unusable(b, pos, end, func() string { return "more than " + digits.Grouped(maxSectionInterfaces) + " interfaces" })
		return
	}
	i := iface{link: s.u16(block[8:]), snapLen: s.u32(block[12:]), number: uint16(min(s.next, lastInterface))}
	if s.next == 0 {
		s.firstLink = i.link
	}
	d := capture.Interface{Index: i.number, Link: i.link, SnapLen: i.snapLen}
	describe := len(r.about.interfaces) < maxDescribed
	resol, offset := byte(tsresolMicro), int64(0)
	for w := (optionWalk{block[optionsOfInterface : len(block)-4], s.bigEndian}); w.next(); {
		code, value := w.option()
		switch {
		case code == optTsresol && len(value) == 1:
			resol = value[0]
		case code == optTsoffset && len(value) == 8:
			offset = int64(s.u64(value))
		case !describe:
		case code == optName:
			d.Name = text(value)
		case code == optDescription:
			d.Description = text(value)
		case code == optFilter && len(value) > 0 && value[0] == filterText:
			d.Filter = text(value[1:])
		}
	}
	i.time = newResolution(resol, offset)
	s.ifaces = append(s.ifaces, i)
	s.next++
	if describe {
		r.about.interfaces = append(r.about.interfaces, d)
	}
}

// statistics keeps the counters of lost packets. They are totals: a later block
// replaces an earlier one.
func (r *Reader) statistics(block []byte) {
	s := &r.section
	if len(block) < minStatistics {
		return
	}
	number := s.u32(block[8:])
	if number >= uint32(len(s.ifaces)) {
		return
	}
	var dropped uint64
	for w := (optionWalk{block[optionsOfStatistics : len(block)-4], s.bigEndian}); w.next(); {
		code, value := w.option()
		if (code == optDropped || code == optDroppedOS) && len(value) == 8 {
			if n := s.u64(value); n != noCounter {
				dropped += n
			}
		}
	}
	i := &s.ifaces[number]
	r.setDropped(i, dropped, i.between)
}

// setDropped changes the counters of an interface. They are two accounts of the
// same losses, so the larger one counts.
func (r *Reader) setDropped(i *iface, counted, between uint64) {
	before := max(i.counted, i.between)
	i.counted, i.between = counted, between
	now := max(counted, between)
	r.stats.Dropped += now - before
	if int(i.number) < len(r.about.interfaces) {
		r.about.interfaces[i.number].Dropped = now
	}
}

// text keeps a string of a block, without the NULs that some writers end it
// with.
func text(value []byte) string {
	return strings.TrimRight(string(value[:min(len(value), maxText)]), "\x00")
}
