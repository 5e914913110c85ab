package file

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/bits"
	"strconv"
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
