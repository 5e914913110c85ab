package file

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/bits"
	"strconv"

	"qsniff/capture"
	"qsniff/internal/base/digits"
)

// The layout of classic pcap (draft-ietf-opsawg-pcap, pcap-savefile(5)); all
// numbers in the byte order of the machine that wrote the file:
//
//	file header                     record header
//	 0  magic                        0  seconds since 1970, unsigned
//	 4  major version                4  micro- or nanoseconds
//	 6  minor version                8  captured length
//	 8  time zone, unused           12  length on the wire
//	12  accuracy, unused            16  captured bytes
//	16  snap length
//	20  link type and FCS length
//
// Two relatives differ in little: libpcap with Alexey Kuznetsov's patches has
// the interface, the Ethernet type and the packet type after each record
// header, 8 bytes with padding (libpcap, sf-pcap.c); the lcap files of Ixia
// testers have the length of all records after the file header (Wireshark,
// wiretap/libpcap.c).
const (
	fileHeaderLen   = 24
	recordHeaderLen = 16

	patchedRecordLen = 24
	lcapHeaderLen    = 28

	longestHeader = lcapHeaderLen // of any format
)

// The magic numbers, in the byte order of the rest of the file.
const (
	magicMicro   = 0xa1b2c3d4
	magicNano    = 0xa1b23c4d
	magicPatched = 0xa1b2cd34
	magicLcapHW  = 0x1c0001ac // captured by the card, time stamps in microseconds too
	magicLcapSW  = 0x1c0001ab
)

// magics are the numbers by which classic pcap is recognised.
var magics = [...]struct {
	magic                uint32
	fraction             int64 // nanoseconds in a unit of the second time field
	headerLen, recordLen int
}{
	{magicMicro, 1000, fileHeaderLen, recordHeaderLen},
	{magicNano, 1, fileHeaderLen, recordHeaderLen},
	{magicPatched, 1000, fileHeaderLen, patchedRecordLen},
	{magicLcapHW, 1000, lcapHeaderLen, recordHeaderLen},
	{magicLcapSW, 1000, lcapHeaderLen, recordHeaderLen},
}

const majorVersion = 2

// lengths is the order of a record's two lengths. Versions before 2.3 wrote the
// length on the wire first, and programs that wrote 2.3 differ, so there the smaller
// one is the captured length (libpcap, sf-pcap.c).
type lengths uint8

const (
	capturedFirst lengths = iota
	wireFirst
	smallerIsCaptured
)

// recordFormat is what the file header states about the records.
type recordFormat struct {
	bigEndian bool
	lengths   lengths
	isUnusual bool // big-endian, or another order of lengths
	link      uint16
	snapLen   uint32
	second    uint32 // units of the second time field in a second
	fraction  int64  // nanoseconds in such a unit
	headerLen int    // of the file
	recordLen int    // of a record's header
}

// parse decodes the file header at the start of b and returns its length. It takes a b
// that is shorter than a header for the whole file.
func (f *recordFormat) parse(name string, b []byte) (int, error) {
	switch {
	case !f.parseMagic(b):
		return 0, foreignError(name, b)
	case len(b) < f.headerLen:
		return 0, &Error{File: name, Offset: 0, Hint: hintCut, Err: io.ErrUnexpectedEOF,
			Reason: "file header cut: " + strconv.Itoa(len(b)) + " of " + strconv.Itoa(f.headerLen) + " bytes"}
	}
	var order binary.ByteOrder = binary.LittleEndian
	if f.bigEndian {
		order = binary.BigEndian
	}
	major, minor := order.Uint16(b[4:]), order.Uint16(b[6:])
	if major != majorVersion {
		return 0, &Error{File: name, Offset: 4, Reason: "pcap version " + strconv.Itoa(int(major)) + "." +
			strconv.Itoa(int(minor)) + " not known, only 2.x is"}
	}
	switch {
	case minor < 3:
		f.lengths = wireFirst
	case minor == 3:
		f.lengths = smallerIsCaptured
	}
	f.isUnusual = f.bigEndian || f.lengths != capturedFirst
	f.snapLen = order.Uint32(b[16:])
	f.link = uint16(order.Uint32(b[20:]))
	return f.headerLen, nil
}

// parseMagic reports whether b starts with a magic number, or is the beginning of one,
// and fills in what it determines.
func (f *recordFormat) parseMagic(b []byte) bool {
	b = b[:min(len(b), 4)]
	for _, v := range magics {
		for _, big := range [...]bool{false, true} {
			m := v.magic
			if big {
				m = bits.ReverseBytes32(m)
			}
			var want [4]byte
			binary.LittleEndian.PutUint32(want[:], m)
			if bytes.HasPrefix(want[:], b) {
				f.bigEndian, f.fraction = big, v.fraction
				f.second = uint32(1e9 / v.fraction)
				f.headerLen, f.recordLen = v.headerLen, v.recordLen
				return true
			}
		}
	}
	return false
}

// clock is the time of the last record that was read.
type clock struct {
	sec     uint32 // seconds since 1970, modulo 2^32
	hasTime bool   // a record was read
}

// isNear reports whether sec is within maxTimeStep of the last record's time. Times
// wrap around in 2106, and so does the comparison.
func (c clock) isNear(sec uint32) bool { return sec-c.sec+maxTimeStep <= 2*maxTimeStep }

// cutRecords appends the packets of the complete records of b.Buf from position pos on
// to b.Packets. It returns the position after the last of them, and the damage there if
// there is any.
func (r *Reader) cutRecords(b *capture.Batch, pos int) (int, *Error) {
	buf, f := b.Buf, r.format
	if !r.clock.hasTime && len(buf)-pos >= f.recordLen {
		r.clock = clock{f.parseRecordHeader(buf[pos:]).sec, true}
	}
	last := r.clock.sec
	packets := b.Packets[:capture.MaxPackets]
	n := len(b.Packets)
	no := r.stats.Received
	var damage *Error
	for n < len(packets) && len(buf)-pos >= f.recordLen {
		h := loadRecordHeader(buf[pos : pos+recordHeaderLen])
		if f.isUnusual {
			h = f.adapt(h)
		}
		start := pos + f.recordLen
		if h.captured != h.wire || h.captured-1 >= capture.MaxCaptured || h.frac >= f.second ||
			h.sec-last+maxTimeStep > 2*maxTimeStep {
			var v soundness
			if v, damage = r.checkOdd(buf, pos, h, clock{last, true}); v != sound {
				break
			}
		}
		end := start + int(h.captured)
		if end > len(buf) {
			break
		}
		last = h.sec
		// Member by member: a composite literal is built elsewhere and copied,
		// which took more time than the rest of the loop.
		p := &packets[n]
		n++
		p.No = no + uint64(n)
		p.Nanos = int64(h.sec)*1e9 + int64(h.frac)*f.fraction
		p.Data = buf[start:end:end]
		p.Wire = max(h.wire, h.captured)
		p.Link = f.link
		p.Iface, p.File = 0, 0
		pos = end
	}
	r.clock.sec = last
	b.Packets = packets[:n]
	return pos, damage
}

// recordHeader is a decoded record header.
type recordHeader struct {
	sec, frac, captured, wire uint32
}

// parseRecordHeader decodes a record header.
func (f *recordFormat) parseRecordHeader(b []byte) recordHeader { return f.adapt(loadRecordHeader(b)) }

// loadRecordHeader decodes a record header as one of the usual format: little-endian,
// captured length first.
func loadRecordHeader(b []byte) recordHeader {
	lo, hi := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	return recordHeader{sec: uint32(lo), frac: uint32(lo >> 32), captured: uint32(hi), wire: uint32(hi >> 32)}
}

// adapt converts a header that was decoded as one of the usual format into that of f.
func (f *recordFormat) adapt(h recordHeader) recordHeader {
	if f.bigEndian {
		h.sec, h.frac = bits.ReverseBytes32(h.sec), bits.ReverseBytes32(h.frac)
		h.captured, h.wire = bits.ReverseBytes32(h.captured), bits.ReverseBytes32(h.wire)
	}
	if f.lengths == wireFirst || f.lengths == smallerIsCaptured && h.captured > h.wire {
		h.captured, h.wire = h.wire, h.captured
	}
	return h
}

// checkOdd decides whether a record at pos that looks odd is sound; if it is not, it
// returns the damage. Sound files have odd records, too: of writers that do not carry a
// full second, of clocks that were set, of packets cut shorter than the snap length. An
// odd record is believed if another record begins where it ends, since a wrong length
// leads elsewhere.
func (r *Reader) checkOdd(buf []byte, pos int, h recordHeader, c clock) (soundness, *Error) {
	if h == (recordHeader{}) {
		return unsound, r.damageAt(pos, "record header of zeros")
	}
	if h.captured > capture.MaxCaptured {
		return unsound, r.lengthError(pos, h.captured)
	}
	f := &r.format
	if h.captured == f.snapLen && h.captured < h.wire && h.frac < f.second && c.isNear(h.sec) {
		return sound, nil // cut as the file header announces
	}
	start := pos + f.recordLen
	end := start + int(h.captured)
	if h.captured > h.wire && len(buf)-start-int(h.wire) >= f.recordLen {
		// If a record begins where the length on the wire leads, that length is right
		// and the captured one wrong, even if it happens to lead to a record.
		if next := f.parseRecordHeader(buf[start+int(h.wire):]); f.isPlausible(next, c) {
			return unsound, r.damageAt(pos, "captured length "+digits.Grouped(int64(h.captured))+
				" above the length on the wire of "+digits.Grouped(int64(h.wire)))
		}
	}
	switch r.checkFollowing(buf, end, h, c) {
	case undecided:
		return undecided, nil
	case sound:
		return sound, nil
	}
	if end > len(buf) {
		return unsound, r.cutError(r.offset+int64(pos), "record", f.recordLen, buf[pos:], int64(f.recordLen)+int64(h.captured))
	}
	return unsound, r.damageAt(pos, "no record where one of "+digits.Counted(uint64(h.captured), "byte")+" ends")
}

// checkFollowing decides whether records begin at end, after the odd one with header h:
// one that is odd in no other way than h, or else chainLength of them, or as
// many as there are up to the end of the file.
func (r *Reader) checkFollowing(buf []byte, end int, h recordHeader, c clock) soundness {
	f := &r.format
	for link := range chainLength {
		if len(buf)-end < f.recordLen {
			switch {
			case r.inErr == nil:
				return undecided
			case end > len(buf):
				return unsound
			}
			return sound
		}
		next := f.parseRecordHeader(buf[end:])
		if next.captured > capture.MaxCaptured || next == (recordHeader{}) {
			return unsound
		}
		if link == 0 && f.isAlike(next, h, c) {
			return sound
		}
		end += f.recordLen + int(next.captured)
	}
	return sound
}

// isAlike reports whether the record next is odd in no way in which h, the one before
// it, is not.
func (f *recordFormat) isAlike(next, h recordHeader, c clock) bool {
	return (next.captured <= next.wire || h.captured > h.wire) &&
		(next.frac < f.second || h.frac >= f.second) &&
		(c.isNear(next.sec) || clock{sec: h.sec}.isNear(next.sec))
}

// searchRecords searches for a chain of sound records from pos on. It returns where the
// chain begins and true, or else the first position at which one may still begin.
func (r *Reader) searchRecords(buf []byte, pos int) (int, bool) {
	f := &r.format
	for ; len(buf)-pos >= f.recordLen; pos++ {
		h := f.parseRecordHeader(buf[pos:])
		if h.captured-1 >= capture.MaxCaptured {
			continue
		}
		switch r.checkChain(buf, pos) {
		case sound:
			return pos, true
		case undecided:
			return pos, false
		}
	}
	return pos, false
}

// checkChain decides whether records begin at pos: chainLength of them, or fewer that
// end where the file ends.
func (r *Reader) checkChain(buf []byte, pos int) soundness {
	f, c := &r.format, r.clock
	eof := r.inErr == io.EOF
	for range chainLength {
		switch {
		case len(buf)-pos >= f.recordLen:
		case !eof:
			return undecided
		case len(buf) == pos:
			return sound
		default:
			return unsound
		}
		h := f.parseRecordHeader(buf[pos:])
		if !c.hasTime {
			c = clock{h.sec, h.sec != 0}
		}
		if !f.isPlausible(h, c) {
			return unsound
		}
		c.sec = h.sec
		pos += f.recordLen + int(h.captured)
	}
	return sound
}

// isPlausible reports whether h may be a record after damage; c is the time of the one
// before it.
func (f *recordFormat) isPlausible(h recordHeader, c clock) bool {
	return c.hasTime && c.isNear(h.sec) && h.frac < f.second &&
		h.captured > 0 && h.captured <= h.wire && h.wire <= maxWire &&
		h.captured <= capture.MaxCaptured && (f.snapLen == 0 || h.captured <= f.snapLen)
}
