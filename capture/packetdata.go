package capture

import (
	"io"
	"time"

	"github.com/google/gopacket"
)

// PacketData reads a Source packet by packet, for programs that are built on gopacket:
// gopacket.NewPacketSource and DecodingLayerParser take it. The source is read by it
// alone. It is not safe for concurrent use.
type PacketData struct {
	in    Source
	batch Batch
	next  int // index of the packet in batch that is returned next
	link  uint16
	err   error // what is returned after the packets of batch
}

var (
	_ gopacket.PacketDataSource         = (*PacketData)(nil)
	_ gopacket.ZeroCopyPacketDataSource = (*PacketData)(nil)
)

// NewPacketData returns a PacketData of a file, an interface, or several merged.
func NewPacketData(in Source) *PacketData { return &PacketData{in: in} }

// ReadPacketData returns the next packet in memory of its own; in all else it is
// ZeroCopyReadPacketData.
func (d *PacketData) ReadPacketData() (data []byte, ci gopacket.CaptureInfo, err error) {
	data, ci, err = d.ZeroCopyReadPacketData()
	return append([]byte(nil), data...), ci, err
}

// ZeroCopyReadPacketData returns the next packet, whose data is valid until the next
// call. It waits while an interface has none. InterfaceIndex is Packet.Iface; gaps of a
// malformed file are not reported before its end. An error is returned once, then
// io.EOF: gopacket.PacketSource takes most errors for temporary, and would call for ever.
func (d *PacketData) ZeroCopyReadPacketData() (data []byte, ci gopacket.CaptureInfo, err error) {
	for d.next >= len(d.batch.Packets) {
		if d.err != nil {
			err, d.err = d.err, io.EOF
			return nil, ci, err
		}
		d.next = 0
		d.err = d.in.Read(&d.batch)
	}
	p := &d.batch.Packets[d.next]
	d.next++
	d.link = p.Link
	return p.Data, gopacket.CaptureInfo{
		Timestamp:      time.Unix(0, p.Nanos).UTC(),
		CaptureLength:  len(p.Data),
		Length:         int(p.Wire),
		InterfaceIndex: int(p.Iface),
	}, nil
}

// LinkType returns the LINKTYPE_ value of the last packet. gopacket's own type for it has
// 8 bits, too few for LINUX_SLL2 (276).
func (d *PacketData) LinkType() uint16 { return d.link }
