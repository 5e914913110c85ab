package file

import (
	"io"
	"time"

	"github.com/google/gopacket"

	"qsniff/capture"
)

// singleReader is the state of reading packet by packet.
type singleReader struct {
	batch capture.Batch
	next  int
	ended bool // the error has been returned
}

var _ gopacket.ZeroCopyPacketDataSource = (*Reader)(nil)

// ZeroCopyReadPacketData returns the next packet, for programs built on
// gopacket. The data is valid until the next call. An error is returned once, then
// io.EOF, because gopacket.PacketSource takes most errors for temporary and would
// call for ever. The link type is that of LinkType: gopacket's own type for it has 8
// bits, too few.
func (r *Reader) ZeroCopyReadPacketData() (data []byte, ci gopacket.CaptureInfo, err error) {
	s := &r.single
	for s.next >= len(s.batch.Packets) {
		if s.ended {
			return nil, ci, io.EOF
		}
		s.next = 0
		if err := r.Read(&s.batch); err != nil {
			s.ended = true
			return nil, ci, err
		}
	}
	p := &s.batch.Packets[s.next]
	s.next++
	ci.Timestamp = time.Unix(0, p.Nanos).UTC()
	ci.CaptureLength = len(p.Data)
	ci.Length = int(p.Wire)
	return p.Data, ci, nil
}
