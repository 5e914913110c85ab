package testpcap

import (
	"encoding/binary"
	"io"
	"time"
)

// Format is the form of a pcap file.
type Format struct {
	Link      uint16
	SnapLen   uint32
	Nano      bool // time stamps in nanoseconds instead of microseconds
	BigEndian bool
}

// The magic numbers of pcap, read in the byte order of the writer.
const (
	magicMicro = 0xa1b2c3d4
	magicNano  = 0xa1b23c4d
)

// Writer writes a pcap file. gopacket's own cannot: its link type has 8 bits
// and its byte order is fixed.
type Writer struct {
	w      io.Writer
	format Format
	order  binary.AppendByteOrder
	buf    []byte
}

// NewWriter writes the file header to w.
func NewWriter(w io.Writer, f Format) (*Writer, error) {
	p := &Writer{w: w, format: f, order: binary.LittleEndian}
	if f.BigEndian {
		p.order = binary.BigEndian
	}
	magic := uint32(magicMicro)
	if f.Nano {
		magic = magicNano
	}
	b := p.order.AppendUint32(nil, magic)
	b = p.order.AppendUint16(b, 2) // version 2.4
	b = p.order.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...) // time zone and accuracy, 0 in every file
	b = p.order.AppendUint32(b, f.SnapLen)
	b = p.order.AppendUint32(b, uint32(f.Link))
	_, err := w.Write(b)
	return p, err
}

// WritePacket writes one record, cut to the snap length. nanos is Unix time.
func (p *Writer) WritePacket(nanos int64, frame []byte) error {
	seconds, fraction := nanos/int64(time.Second), nanos%int64(time.Second)
	if !p.format.Nano {
		fraction /= int64(time.Microsecond)
	}
	captured := min(len(frame), int(p.format.SnapLen))
	b := p.order.AppendUint32(p.buf[:0], uint32(seconds))
	b = p.order.AppendUint32(b, uint32(fraction))
	b = p.order.AppendUint32(b, uint32(captured))
	b = p.order.AppendUint32(b, uint32(len(frame)))
	p.buf = append(b, frame[:captured]...)
	_, err := p.w.Write(p.buf)
	return err
}
