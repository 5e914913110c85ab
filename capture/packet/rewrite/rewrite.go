// Package rewrite changes bytes of captured packets and keeps their checksums as right, or
// as wrong, as they were. It decides nothing about what is changed.
//
// A checksum is adjusted by what changed in the bytes that it covers (RFC 1624), and not
// computed anew. A packet that the snap length cut, or that was captured before the network
// card filled its checksum in, therefore keeps one that fits as well as before. A checksum
// of 0, which stands for none, stays 0. That of a UDP datagram in fragments of IP covers
// bytes of other packets: it becomes 0 if anything changes.
package rewrite

import (
	"encoding/binary"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/internal/base/checksum"
)

// Packet is a packet whose bytes are changed in place. The zero value is ready, and may be
// used again for the next packet.
type Packet struct {
	packet.Packet
	trace   packet.Trace
	data    []byte
	link    uint16
	headers []packet.Header
	before  [maxHeaders]uint32 // sums that checksums are of, by header
}

// maxHeaders is how many headers are adjusted: more than any Trace has.
const maxHeaders = 32

// Begin prepares for changes in b, a copy of the bytes of p.
func (x *Packet) Begin(p *capture.Packet, b []byte) {
	x.Packet = packet.Packet{Trace: &x.trace}
	x.data, x.link = b, p.Link
	x.Decode(p.Link, b, int(p.Wire))
	x.headers = x.trace.Headers()
	for i := range x.headers {
		x.before[i] = sumOf(x.headers, i)
	}
}

// Headers lists the headers of the packet, outermost first. Their bytes may be changed.
func (x *Packet) Headers() []packet.Header { return x.headers }

// After returns the bytes of the frame after b, which is a part of it.
func (x *Packet) After(b []byte) []byte { return x.data[cap(x.data)-cap(b)+len(b):] }

// CookedSender returns the hardware address in the header that Linux makes for its device
// "any"; nil if the frame has none, or none of six bytes.
func (x *Packet) CookedSender() []byte {
	const sll, sll2, length = 6, 12, 6
	switch b := x.data; {
	case x.link == packet.LinkLinuxSLL && len(b) >= sll+length && b[5] == length:
		return b[sll:][:length:length]
	case x.link == packet.LinkLinuxSLL2 && len(b) >= sll2+length && b[11] == length:
		return b[sll2:][:length:length]
	}
	return nil
}

// Carried returns what the packet carries: the payload of its datagram or segment or, of a
// fragment, of its IP packet. Its bytes may be changed.
func (x *Packet) Carried() []byte { return x.Payload }

// Finish adjusts the checksums to what was changed since Begin.
func (x *Packet) Finish() {
	for i := len(x.headers) - 1; i >= 0; i-- { // an outer one covers the inner ones
		at := checksumOf(&x.headers[i])
		if at == nil || at[0] == 0 && at[1] == 0 {
			continue
		}
		old := binary.BigEndian.Uint16(at)
		after := sumOf(x.headers, i)
		sum := checksum.Fold(uint64(^old) + uint64(checksum.Fold(uint64(after))) + uint64(^checksum.Fold(uint64(x.before[i]))))
		if sum = ^sum; sum == 0 && x.headers[i].Kind == packet.HeaderUDP {
			sum = 0xffff // 0 would be none
		}
		binary.BigEndian.PutUint16(at, sum)
	}
	if f := &x.Frag; f.Set && f.Off == 0 && x.Proto == packet.ProtoUDP && len(x.Payload) >= 8 {
		x.Payload[6], x.Payload[7] = 0, 0
	}
}

// checksumOf returns the checksum in a header, nil if it has none.
func checksumOf(h *packet.Header) []byte {
	at := -1
	switch h.Kind {
	case packet.HeaderIPv4:
		at = 10
	case packet.HeaderUDP:
		at = 6
	case packet.HeaderTCP:
		at = 16
	}
	if at < 0 || len(h.B) < at+2 {
		return nil
	}
	return h.B[at : at+2 : at+2]
}

// sumOf returns the sum of what the checksum of header i is of, besides itself, lengths and
// protocol numbers, which do not change.
func sumOf(all []packet.Header, i int) uint32 {
	h := &all[i]
	var sum uint64
	switch h.Kind {
	case packet.HeaderIPv4:
		b := h.B[:min(int(h.B[0]&0x0f)*4, len(h.B))]
		sum = checksum.Add(checksum.Add(0, b[:10]), b[12:])
	case packet.HeaderUDP, packet.HeaderTCP:
		at := 6
		if h.Kind == packet.HeaderTCP {
			at = 16
		}
		if i > 0 {
			sum = checksum.Add(sum, Addresses(&all[i-1]))
		}
		sum = checksum.Add(sum, h.B[:at])
		sum = checksum.Add(sum, h.B[min(at+2, len(h.B)):])
	}
	return uint32(checksum.Fold(sum))
}

// Addresses returns the source and the destination address in a header, one after the
// other; nil if it has none.
func Addresses(h *packet.Header) []byte {
	switch h.Kind {
	case packet.HeaderIPv4:
		return h.B[12:20]
	case packet.HeaderIPv6:
		return h.B[8:40]
	}
	return nil
}
