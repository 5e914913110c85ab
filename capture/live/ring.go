package live

import (
	"encoding/binary"

	"qsniff/internal/base/mem"
)

// A block of the ring, all numbers but the protocol in the host's order
// (linux/if_packet.h, struct tpacket_block_desc with tpacket_hdr_v1):
//
//	 0  4  version
//	 4  4  offset to private data
//	 8  4  status: 1 when it is the program's, 0 when it is the kernel's
//	12  4  number of packets
//	16  4  offset of the first packet
//	20  4  bytes used
//	24  .  sequence number and times
//
// and a packet in it (struct tpacket3_hdr, then struct sockaddr_ll):
//
//	 0  4  offset of the next packet from here
//	 4  4  seconds
//	 8  4  nanoseconds
//	12  4  bytes captured
//	16  4  bytes on the wire
//	20  4  status
//	24  2  offset of the captured bytes from here
//	26  2  offset of the network header from here
//	28  4  hash
//	32  4  VLAN tag that the network card took off
//	36  2  its EtherType
//	48  2  family
//	50  2  protocol, big-endian
//	52  4  interface
//	56  2  type of device
//	58  1  direction
//	59  1  length of the sender's address
//	60  8  that address
//
// With PACKET_VNET_HDR struct virtio_net_hdr precedes the captured bytes (linux/virtio_net.h):
//
//	0  1  flags
//	1  1  how the packet is divided before it is sent: 5 is into UDP datagrams
//	2  2  bytes of headers
//	4  2  bytes of payload in each
//	6  4  checksum
const (
	blockStatusAt = 8
	blockCountAt  = 12
	blockFirstAt  = 16
	blockHeader   = 48

	frameNextAt   = 0
	frameSecAt    = 4
	frameNanoAt   = 8
	frameCapAt    = 12
	frameWireAt   = 16
	frameStatusAt = 20
	frameMACAt    = 24
	frameTCIAt    = 32
	frameTPIDAt   = 36
	frameProtoAt  = 50
	frameIfaceAt  = 52
	frameARPAt    = 56
	framePktAt    = 58
	frameAddrAt   = 59
	frameHeader   = 68

	statusKernel    = 0
	statusUser      = 1 // bit
	statusVLAN      = 1 << 4
	statusVLANType  = 1 << 6
	packetOutgoing  = 4
	etherVLAN       = 0x8100
	cookedAddrBytes = 8

	virtioHeader = 10
	virtioTypeAt = 1
	virtioSizeAt = 4
	virtioUDP    = 5    // VIRTIO_NET_HDR_GSO_UDP_L4
	virtioECN    = 0x80 // bit
)

// frame is one packet in a block. Its slices point into the block.
type frame struct {
	nanos    int64
	data     []byte
	wire     uint32
	segment  uint16 // bytes of payload of the datagrams that it was merged from; 0: of none
	tagged   bool   // the network card took a VLAN tag off
	tci      uint16 // that tag
	tpid     uint16 // its EtherType
	protocol uint16
	iface    uint32
	arp      uint16
	kind     uint8  // PACKET_OUTGOING and so on
	address  []byte // its length and 8 bytes
}

// blockWalker steps through the packets of a block. It ends at a packet that does not
// fit into the block.
type blockWalker struct {
	block []byte
	at    uint32
	left  uint32
}

// begin moves to the first packet of a block.
func (w *blockWalker) begin(block []byte) {
	*w = blockWalker{}
	if len(block) >= blockHeader {
		w.block = block
		w.left = binary.NativeEndian.Uint32(block[blockCountAt:])
		w.at = binary.NativeEndian.Uint32(block[blockFirstAt:])
	}
}

// next reads a packet into f. hasSizes: a virtio header precedes its bytes. It returns false at the end.
func (w *blockWalker) next(f *frame, hasSizes bool) bool {
	if w.left == 0 || uint64(w.at)+frameHeader > uint64(len(w.block)) {
		w.left = 0
		return false
	}
	b := w.block[w.at:]
	order := binary.NativeEndian
	mac, n := int(order.Uint16(b[frameMACAt:])), order.Uint32(b[frameCapAt:])
	if mac > len(b) || uint64(n) > uint64(len(b)-mac) {
		w.left = 0
		return false
	}
	status := order.Uint32(b[frameStatusAt:])
	*f = frame{
		nanos:    int64(order.Uint32(b[frameSecAt:]))*1e9 + int64(order.Uint32(b[frameNanoAt:])),
		data:     b[mac : mac+int(n)],
		wire:     max(order.Uint32(b[frameWireAt:]), n),
		tagged:   status&statusVLAN != 0,
		tci:      uint16(order.Uint32(b[frameTCIAt:])),
		tpid:     etherVLAN, // kernels before 3.14 do not deliver it
		protocol: binary.BigEndian.Uint16(b[frameProtoAt:]),
		iface:    order.Uint32(b[frameIfaceAt:]),
		arp:      order.Uint16(b[frameARPAt:]),
		kind:     b[framePktAt],
		address:  b[frameAddrAt : frameAddrAt+1+cookedAddrBytes],
	}
	if status&statusVLANType != 0 {
		f.tpid = order.Uint16(b[frameTPIDAt:])
	}
	if hasSizes && mac >= frameHeader+virtioHeader {
		if v := b[mac-virtioHeader:]; v[virtioTypeAt]&^virtioECN == virtioUDP {
			f.segment = order.Uint16(v[virtioSizeAt:])
		}
	}
	w.left--
	step := order.Uint32(b[frameNextAt:])
	if step == 0 || uint64(w.at)+uint64(step) > uint64(len(w.block)) {
		w.left = 0 // no more, whatever the count of packets
	}
	w.at += step
	return true
}

// isReadable reports whether the kernel has handed over a block. All that the kernel
// wrote into it before is visible then.
func isReadable(block []byte) bool {
	return mem.Status(block, blockStatusAt).Load()&statusUser != 0
}

// release gives a block back to the kernel.
func release(block []byte) { mem.Status(block, blockStatusAt).Store(statusKernel) }

// size returns how many bytes a packet takes in a batch.
func (f *frame) size(link uint16) int {
	n := len(f.data)
	if link == linkSLL2 {
		n += sll2Len
	}
	if f.tagged {
		n += tagLen
	}
	return n
}

// append writes a packet to b as it was on the wire: with the VLAN tag that the card
// took off, and a cooked header if the link type has one. libpcap does the same.
func (f *frame) append(b []byte, link uint16) []byte {
	data, protocol := f.data, f.protocol
	if link == linkSLL2 {
		if f.tagged {
			protocol = f.tpid
		}
		b = binary.BigEndian.AppendUint16(b, protocol)
		b = append(b, 0, 0)
		b = binary.BigEndian.AppendUint32(b, f.iface)
		b = binary.BigEndian.AppendUint16(b, f.arp)
		b = append(b, f.kind)
		b = append(b, f.address...)
		if f.tagged {
			b = binary.BigEndian.AppendUint16(b, f.tci)
			b = binary.BigEndian.AppendUint16(b, f.protocol)
		}
		return append(b, data...)
	}
	if f.tagged && link == linkEthernet && len(data) >= macsLen {
		b = append(b, data[:macsLen]...)
		b = binary.BigEndian.AppendUint16(b, f.tpid)
		b = binary.BigEndian.AppendUint16(b, f.tci)
		data = data[macsLen:]
	}
	return append(b, data...)
}
