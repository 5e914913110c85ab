package testpcap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/google/gopacket/layers"
)

// Tunnel is one layer around every IP packet: a session, a label or a tunnel.
type Tunnel struct {
	Kind           string
	ID             uint32
	Client, Server netip.Addr // its ends, if it is one over IP
}

// tunnelKinds lists the kinds, with the arguments that each has.
var tunnelKinds = map[string]struct {
	id   uint64 // the highest number, 0 if it has none
	ends bool
}{
	"pppoe":  {id: 0xffff},
	"mpls":   {id: 0xf_ffff},
	"ip":     {ends: true},
	"gre":    {id: 0xffff_ffff, ends: true},
	"erspan": {id: 0x3ff, ends: true},
	"vxlan":  {id: 0xff_ffff, ends: true},
	"geneve": {id: 0xff_ffff, ends: true},
}

const (
	portVXLAN  = 4789
	portGeneve = 6081
	tunnelPort = 50000 // source of those over UDP; real ones hash the flow

	protoGRE      = layers.IPProtocolGRE
	etherMPLS     = layers.EthernetTypeMPLSUnicast
	etherPPPoE    = layers.EthernetTypePPPoESession
	etherBridging = layers.EthernetTypeTransparentEthernetBridging
	etherERSPAN   = layers.EthernetTypeERSPAN
	pppIPv4       = 0x0021
	pppIPv6       = 0x0057
	mplsBottom    = 0x100
	greKeyPresent = 0x2000
	greSequence   = 0x1000
	erspanVersion = 0x1000 // type II, no VLAN
)

// parseTunnel parses KIND [ID] [ADDR ADDR].
func parseTunnel(args []string) (Tunnel, error) {
	kind, ok := tunnelKinds[args[0]]
	if !ok {
		return Tunnel{}, fmt.Errorf("%q is not a tunnel", args[0])
	}
	t, rest := Tunnel{Kind: args[0]}, args[1:]
	want := 0
	if kind.id != 0 {
		want++
	}
	if kind.ends {
		want += 2
	}
	if len(rest) != want {
		return t, fmt.Errorf("%s has %d arguments, want %d", t.Kind, len(rest), want)
	}
	if kind.id != 0 {
		id, err := parseNumber(rest[0], 0, kind.id)
		if err != nil {
			return t, err
		}
		t.ID, rest = uint32(id), rest[1:]
	}
	if !kind.ends {
		return t, nil
	}
	var err, err2 error
	t.Client, err = netip.ParseAddr(rest[0])
	t.Server, err2 = netip.ParseAddr(rest[1])
	if err := errors.Join(err, err2); err != nil {
		return t, err
	}
	if t.Client.Is4() != t.Server.Is4() {
		return t, fmt.Errorf("%v to %v: addresses of two families", t.Client, t.Server)
	}
	return t, nil
}

// wrap puts t around b, which an EtherType describes, and returns both anew.
func (t Tunnel) wrap(typ layers.EthernetType, b []byte, toServer bool) (layers.EthernetType, []byte, error) {
	var header []byte
	switch t.Kind {
	case "pppoe":
		proto := uint16(pppIPv4)
		if typ == layers.EthernetTypeIPv6 {
			proto = pppIPv6
		}
		header = binary.BigEndian.AppendUint16([]byte{0x11, 0}, uint16(t.ID))
		header = binary.BigEndian.AppendUint16(header, uint16(2+len(b)))
		header = binary.BigEndian.AppendUint16(header, proto)
		return etherPPPoE, append(header, b...), nil
	case "mpls":
		header = binary.BigEndian.AppendUint32(nil, t.ID<<12|mplsBottom|defaultTTL)
		return etherMPLS, append(header, b...), nil
	case "ip":
		proto := layers.IPProtocolIPv4
		if typ == layers.EthernetTypeIPv6 {
			proto = layers.IPProtocolIPv6
		}
		return t.wrapIP(proto, b, toServer)
	case "gre":
		header = binary.BigEndian.AppendUint16([]byte{greKeyPresent >> 8, 0}, uint16(typ))
		header = binary.BigEndian.AppendUint32(header, t.ID)
		return t.wrapIP(protoGRE, append(header, b...), toServer)
	}
	return t.wrapFrame(Link{Type: LinkEthernet}.ethernetFrame(b, typ, toServer), toServer)
}

// wrapFrame puts a tunnel for Ethernet frames around frame.
func (t Tunnel) wrapFrame(frame []byte, toServer bool) (layers.EthernetType, []byte, error) {
	switch t.Kind {
	case "erspan":
		header := binary.BigEndian.AppendUint16([]byte{greSequence >> 8, 0}, uint16(etherERSPAN))
		header = append(header, 0, 0, 0, 1) // sequence
		header = binary.BigEndian.AppendUint16(header, erspanVersion)
		header = binary.BigEndian.AppendUint16(header, uint16(t.ID))
		header = append(header, 0, 0, 0, 1) // port index
		return t.wrapIP(protoGRE, append(header, frame...), toServer)
	case "vxlan":
		return t.wrapUDP(portVXLAN, []byte{0x08, 0, 0, 0}, frame, toServer)
	}
	header := binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(etherBridging))
	return t.wrapUDP(portGeneve, header, frame, toServer)
}

// wrapUDP returns a UDP datagram between the ends: header, network number, frame.
func (t Tunnel) wrapUDP(port uint16, header, frame []byte, toServer bool) (layers.EthernetType, []byte, error) {
	header = binary.BigEndian.AppendUint32(header, t.ID<<8)
	d := t.outerDatagram(toServer)
	d.Src = netip.AddrPortFrom(d.Src.Addr(), tunnelPort)
	d.Dst = netip.AddrPortFrom(d.Dst.Addr(), port)
	d.Payload = append(header, frame...)
	packets, err := d.IP(0)
	if err != nil {
		return 0, nil, err
	}
	return etherTypeOf(packets[0]), packets[0], nil
}

// wrapIP returns an IP packet between the ends, of a protocol other than UDP.
func (t Tunnel) wrapIP(proto layers.IPProtocol, body []byte, toServer bool) (layers.EthernetType, []byte, error) {
	if len(body) > maxUDPv4 {
		return 0, nil, fmt.Errorf("%s around %d bytes above the limit of %d", t.Kind, len(body), maxUDPv4)
	}
	packet, err := t.outerDatagram(toServer).serializePacket(proto, body)
	if err != nil {
		return 0, nil, err
	}
	return etherTypeOf(packet), packet, nil
}

func (t Tunnel) outerDatagram(toServer bool) Datagram {
	d := Datagram{Src: netip.AddrPortFrom(t.Server, 0), Dst: netip.AddrPortFrom(t.Client, 0), TTL: defaultTTL}
	if toServer {
		d.Src, d.Dst = d.Dst, d.Src
	}
	return d
}

func etherTypeOf(ip []byte) layers.EthernetType {
	if ip[0]>>4 == 6 {
		return layers.EthernetTypeIPv6
	}
	return layers.EthernetTypeIPv4
}
