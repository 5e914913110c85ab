package file

import (
	"fmt"
	"io"

	"github.com/google/gopacket"

	"qsniff/capture"
)

// OpenGopacket opens a capture with a reader of gopacket's, to compare with this
// package's own: with libpcap's where the build has it (OpenLibpcap), otherwise with
// pcapgo (OpenPcapgo). GopacketReader is its name.
func OpenGopacket(name string, opts ...Option) (capture.Source, error) {
	if HasLibpcap {
		return OpenLibpcap(name, opts...)
	}
	return OpenPcapgo(name, opts...)
}

// packetwise is a capture.Source of a reader that returns one packet at a time, whose
// memory it uses again: its batches are copies.
//
// Such a reader does not report whether it would block. As a capture.Source must return
// packets before it blocks, a batch from anything but a regular file is one packet.
type packetwise struct {
	in      gopacket.ZeroCopyPacketDataSource
	name    string
	regular bool
	stats   capture.Stats
	err     error // what Read returns from now on

	// explain returns the error for one of in.
	explain func(error) error
	// describe sets the link type, the interface and the time of a packet of which in
	// returned ci.
	describe func(p *capture.Packet, ci *gopacket.CaptureInfo)

	packed  *packed     // nil unless the input is compressed
	closers []io.Closer // in this order

	// The packet that has been fetched and is in no batch yet, if hasPacket. Its data
	// is memory of in, valid until that is read again.
	hasPacket bool
	data      []byte
	info      gopacket.CaptureInfo
}

// Read copies the next packets into b. It returns either packets or an error.
func (s *packetwise) Read(b *capture.Batch) error {
	b.Reset()
	if s.err != nil {
		return s.err
	}
	if cap(b.Packets) < capture.MaxPackets {
		b.Packets = make([]capture.Packet, 0, capture.MaxPackets)
	}
	b.Buf = grow(b.Buf, copiedChunk)[:0]
	limit := capture.MaxPackets
	if !s.regular {
		limit = 1
	}
	for len(b.Packets) < limit {
		if s.err = s.fetch(); s.err != nil {
			break
		}
		if len(b.Buf)+len(s.data) > cap(b.Buf) {
			return nil
		}
		s.deliver(b)
	}
	if len(b.Packets) > 0 {
		return nil
	}
	return s.err
}

// fetch reads the next packet, unless one has been fetched already.
func (s *packetwise) fetch() error {
	if s.hasPacket {
		return nil
	}
	var err error
	if err = guard(func() (err error) { s.data, s.info, err = s.in.ZeroCopyReadPacketData(); return err }); err != nil {
		return s.explain(err)
	}
	if len(s.data) > capture.MaxCaptured {
		return &Error{File: s.name, Offset: wholeFile, Reason: lengthReason(uint32(len(s.data))), Hint: "use --reader native"}
	}
	s.hasPacket = true
	return nil
}

// guard runs f, and returns a panic of it as an error: gopacket's readers are trusted with
// the memory that they are given, not with every file.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// deliver copies the fetched packet into b, which has room for it.
func (s *packetwise) deliver(b *capture.Batch) {
	start := len(b.Buf)
	b.Buf = append(b.Buf, s.data...)
	end := len(b.Buf)
	s.stats.Received++
	s.stats.Bytes += int64(recordHeaderLen + len(s.data))
	b.Packets = append(b.Packets, capture.Packet{
		No:   s.stats.Received,
		Data: b.Buf[start:end:end],
		Wire: uint32(max(s.info.Length, len(s.data))),
	})
	s.describe(&b.Packets[len(b.Packets)-1], &s.info)
	s.hasPacket = false
}

// Stats counts what has been delivered so far. Bytes is what the packets take
// in classic pcap: gopacket's readers do not report their position.
func (s *packetwise) Stats() capture.Stats {
	stats := s.stats
	if s.packed != nil {
		stats.Bytes = s.packed.read.Load()
	}
	return stats
}

// Close closes the file. Standard input stays open.
func (s *packetwise) Close() error {
	var first error
	for _, c := range s.closers {
		if err := c.Close(); err != nil && first == nil {
			first = systemError(s.name, err)
		}
	}
	s.closers = nil
	return first
}

// readStart reads as many bytes as the longest file header has, or all there are.
func (s *packetwise) readStart(in io.Reader) ([]byte, error) {
	start := make([]byte, longestHeader)
	n, err := io.ReadFull(in, start)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, readError(s.name, 0, err)
	}
	return start[:n], nil
}
