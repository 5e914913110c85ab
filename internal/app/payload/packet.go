package payload

import (
	"encoding/binary"

	"qsniff/capture/packet"
	"qsniff/internal/base/checksum"
)

// Packet is a payload that is a whole packet, as tcpdump -x prints it.
type Packet struct {
	Link uint16 // LINKTYPE_ value of its first header
	Wire int    // length in bytes as sent; tcpdump may have printed fewer
	packet.Packet
}

// links are the link headers that dumps can have: type, length, and the offset of the
// EtherType, -1 if there is none.
var links = [...]struct {
	link      uint16
	len, kind int
}{
	{packet.LinkRaw, 0, -1},
	{packet.LinkEthernet, 14, 12},
	{packet.LinkLinuxSLL, 16, 14},
	{packet.LinkLinuxSLL2, 20, 0},
	{packet.LinkNull, 4, -1},
}

// etherTypes maps EtherTypes to IP versions, and those of tags, labels and sessions,
// which package packet decodes, to 0.
var etherTypes = map[uint16]byte{0x0800: 4, 0x86dd: 6, 0x8100: 0, 0x88a8: 0, 0x8847: 0, 0x8864: 0}

// AsPacket reports whether b is a packet and not its payload: the lengths in its IP
// and UDP headers fit, or the checksum of its IP header does. The result points
// into b.
func AsPacket(b []byte) (p Packet, ok bool) {
	for _, l := range links {
		if len(b) < l.len+ipv4Len {
			continue
		}
		ip, version := b[l.len:], b[l.len]>>4
		if l.kind >= 0 {
			if version, ok = etherTypes[binary.BigEndian.Uint16(b[l.kind:])]; !ok {
				continue
			}
		}
		total := 0
		switch ok = false; version {
		case 4:
			total, ok = fitsIPv4(ip)
		case 6:
			total, ok = fitsIPv6(ip)
		}
		p = Packet{Link: l.link, Wire: l.len + max(total, len(ip))}
		p.Decode(l.link, b, p.Wire)
		if ok || version == 0 && p.Depth > 0 && p.Stop == packet.OK && !p.Frag.Set {
			return p, true
		}
	}
	return Packet{}, false
}

const (
	ipv4Len     = 20
	ipv6Len     = 40
	minEthernet = 46 // bytes after the header: shorter packets are padded
)

// fitsIPv4 returns the total length in the header that b starts with, and reports
// whether b can be that packet: the checksum of the header is right, or the lengths in
// it and in a UDP header are.
func fitsIPv4(b []byte) (total int, ok bool) {
	header := int(b[0]&0x0f) * 4
	total = int(binary.BigEndian.Uint16(b[2:]))
	if header < ipv4Len || total < header || len(b) < header {
		return 0, false
	}
	padded := total < len(b) && len(b) <= minEthernet
	return total, checksum.Fold(checksum.Add(0, b[:header])) == 0xffff || fitsUDP(b[9], b[header:], total-header) && (total == len(b) || padded)
}

// fitsIPv6 is fitsIPv4 for IPv6, whose header has no checksum: the length has to be
// right, and the next header one of those that queries travel in.
func fitsIPv6(b []byte) (total int, ok bool) {
	if len(b) < ipv6Len {
		return 0, false
	}
	n := int(binary.BigEndian.Uint16(b[4:]))
	const fragment = 44
	known := fitsUDP(b[6], b[ipv6Len:], n) || b[6] == packet.ProtoTCP || b[6] == packet.ProtoICMPv6 || b[6] == fragment
	return ipv6Len + n, known && n == len(b)-ipv6Len
}

// fitsUDP reports whether b starts with the header of a UDP datagram of n bytes.
func fitsUDP(proto byte, b []byte, n int) bool {
	return proto == packet.ProtoUDP && len(b) >= 8 && int(binary.BigEndian.Uint16(b[4:])) == n
}
