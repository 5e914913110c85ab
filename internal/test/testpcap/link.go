package testpcap

import (
	"encoding/binary"
	"fmt"

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
	// Tunnels lie around every IP packet, outermost first.
	Tunnels []Tunnel
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

// Frame puts the link header before an IP packet. toServer is the
// direction: the capture is taken on the server. It panics where a tunnel's
// packet would be too long, or the link type has no field for what it carries.
func (l Link) Frame(ip []byte, toServer bool) []byte {
	frame, err := l.tryFrame(ip, toServer)
	if err != nil {
		panic(err)
	}
	return frame
}

// tryFrame is Frame that returns an error where that panics.
func (l Link) tryFrame(ip []byte, toServer bool) ([]byte, error) {
	etherType := etherTypeOf(ip)
	for i := len(l.Tunnels) - 1; i >= 0; i-- {
		var err error
		if etherType, ip, err = l.Tunnels[i].wrap(etherType, ip, toServer); err != nil {
			return nil, err
		}
	}
	family := uint32(familyIPv4)
	switch etherType {
	case layers.EthernetTypeIPv4:
	case layers.EthernetTypeIPv6:
		family = familyIPv6
	default:
		if l.Type == LinkNull || l.Type == LinkRaw {
			return nil, fmt.Errorf("link type %d carries nothing but IP", l.Type)
		}
	}
	from := serverMAC
	packetType := byte(4) // sent by us
	if toServer {
		from, packetType = clientMAC, 0
	}
	var h []byte
	switch l.Type {
	case LinkEthernet:
		return l.ethernetFrame(ip, etherType, toServer), nil
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
	return append(h, ip...), nil
}

// ethernetFrame returns the frame around ip, padded to the minimum length as received
// frames are.
func (l Link) ethernetFrame(ip []byte, etherType layers.EthernetType, toServer bool) []byte {
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
