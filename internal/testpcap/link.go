package testpcap

import (
	"encoding/binary"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// Link types of capture files, by their LINKTYPE_ numbers (tcpdump.org).
const (
	LinkNull     = 0
	LinkEthernet = 1
	LinkRaw      = 101
	LinkSLL      = 113
	LinkSLL2     = 276
)

// Link is how IP packets are framed.
type Link struct {
	Type  uint16
	VLANs []uint16 // tags on Ethernet, outermost first
}

// The hardware addresses of both ends, locally administered.
var (
	clientMAC = []byte{2, 0, 0, 0, 0, 1}
	serverMAC = []byte{2, 0, 0, 0, 0, 2}
)

// Address families of a NULL header: AF_INET is 2 everywhere; AF_INET6 is the
// value of macOS, the system that still writes this link type most.
const (
	familyIPv4 = 2
	familyIPv6 = 30
)

const hardwareEthernet = 1 // ARPHRD_ETHER

// Frame puts the link header in front of an IP packet. toServer is the
// direction: the capture is taken on the server.
func (l Link) Frame(ip []byte, toServer bool) []byte {
	etherType, family := layers.EthernetTypeIPv4, uint32(familyIPv4)
	if ip[0]>>4 == 6 {
		etherType, family = layers.EthernetTypeIPv6, familyIPv6
	}
	from := serverMAC
	packetType := byte(4) // sent by us
	if toServer {
		from, packetType = clientMAC, 0
	}
	var h []byte
	switch l.Type {
	case LinkEthernet:
		return l.ethernet(ip, etherType, toServer)
	case LinkNull:
		h = binary.LittleEndian.AppendUint32(h, family)
	case LinkSLL:
		h = append(h, 0, packetType, 0, hardwareEthernet, 0, byte(len(from)))
		h = append(append(h, from...), 0, 0)
		h = binary.BigEndian.AppendUint16(h, uint16(etherType))
	case LinkSLL2:
		h = binary.BigEndian.AppendUint16(h, uint16(etherType))
		h = append(h, 0, 0)
		h = binary.BigEndian.AppendUint32(h, 2) // interface index
		h = append(h, 0, hardwareEthernet, packetType, byte(len(from)))
		h = append(append(h, from...), 0, 0)
	}
	return append(h, ip...)
}

// ethernet pads to the minimum frame, as a received one is.
func (l Link) ethernet(ip []byte, etherType layers.EthernetType, toServer bool) []byte {
	header := &layers.Ethernet{SrcMAC: serverMAC, DstMAC: clientMAC, EthernetType: etherType}
	if toServer {
		header.SrcMAC, header.DstMAC = clientMAC, serverMAC
	}
	parts := []gopacket.SerializableLayer{header}
	next := &header.EthernetType
	for i, id := range l.VLANs {
		*next = layers.EthernetTypeDot1Q
		if i == 0 && len(l.VLANs) > 1 {
			*next = layers.EthernetTypeQinQ
		}
		tag := &layers.Dot1Q{VLANIdentifier: id, Type: etherType}
		parts = append(parts, tag)
		next = &tag.Type
	}
	frame, err := serialize(append(parts, gopacket.Payload(ip))...)
	if err != nil {
		panic(err) // only a VLAN ID above 4,095 gets here
	}
	return frame
}
