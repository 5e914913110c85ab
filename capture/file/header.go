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
const (
	fileHeaderLen   = 24
	recordHeaderLen = 16
)

// The magic numbers, read in the order in which the rest is to be read.
const (
	magicMicro = 0xa1b2c3d4
	magicNano  = 0xa1b23c4d
)

const majorVersion = 2

// lengths says which of a record's two lengths comes first. Versions before 2.3
// wrote the length on the wire first, and programs that wrote 2.3 disagree, so
// there the smaller one is the captured length (libpcap, sf-pcap.c).
type lengths uint8

const (
	capturedFirst lengths = iota
	wireFirst
	smallerIsCaptured
)

// format is what the file header says about the records.
type format struct {
	bigEndian bool
	lengths   lengths
	link      uint16
	snapLen   uint32
	fraction  int64 // nanoseconds in a unit of the second time field
}

// readFileHeader reads until the file header is complete and decodes it. What
// arrived behind it waits in r.spare for the first batch.
func (r *Reader) readFileHeader() error {
	buf := make([]byte, 0, minChunk)
	for len(buf) < fileHeaderLen && r.inErr == nil {
		buf = r.fill(buf, minChunk)
	}
	if r.inErr != nil && r.inErr != io.EOF {
		return readError(r.name, int64(len(buf)), r.inErr)
	}
	if err := r.format.parse(r.name, buf); err != nil {
		return err
	}
	r.offset = fileHeaderLen
	r.spare = buf[:copy(buf, buf[fileHeaderLen:])]
	return nil
}

// parse decodes the file header at the start of b, which is shorter than a
// header only if the file is.
func (f *format) parse(name string, b []byte) error {
	switch {
	case len(b) == 0:
		return &Error{File: name, Offset: wholeFile, Reason: "empty, not even a file header",
			Hint: "nothing was captured, or nothing was written yet: tcpdump -U writes each packet at once",
			Err:  io.ErrUnexpectedEOF}
	case !f.parseMagic(b):
		return foreign(name, b)
	case len(b) < fileHeaderLen:
		return &Error{File: name, Offset: 0, Hint: hintCut, Err: io.ErrUnexpectedEOF,
			Reason: "file header cut: " + strconv.Itoa(len(b)) + " of " + strconv.Itoa(fileHeaderLen) + " bytes"}
	}
	var order binary.ByteOrder = binary.LittleEndian
	if f.bigEndian {
		order = binary.BigEndian
	}
	major, minor := order.Uint16(b[4:]), order.Uint16(b[6:])
	if major != majorVersion {
		return &Error{File: name, Offset: 4, Reason: "pcap version " + strconv.Itoa(int(major)) + "." +
			strconv.Itoa(int(minor)) + " not known, only 2.x is"}
	}
	switch {
	case minor < 3:
		f.lengths = wireFirst
	case minor == 3:
		f.lengths = smallerIsCaptured
	}
	f.snapLen = order.Uint32(b[16:])
	f.link = uint16(order.Uint32(b[20:]))
	return nil
}

// parseMagic recognises the magic number, also by its first bytes alone if the
// file is shorter than that.
func (f *format) parseMagic(b []byte) bool {
	b = b[:min(len(b), 4)]
	for _, v := range [...]struct {
		magic    uint32
		fraction int64
	}{{magicMicro, 1000}, {magicNano, 1}} {
		for _, big := range [...]bool{false, true} {
			m := v.magic
			if big {
				m = bits.ReverseBytes32(m)
			}
			var want [4]byte
			binary.LittleEndian.PutUint32(want[:], m)
			if bytes.HasPrefix(want[:], b) {
				f.bigEndian, f.fraction = big, v.fraction
				return true
			}
		}
	}
	return false
}
