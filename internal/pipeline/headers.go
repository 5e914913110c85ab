package pipeline

import "net/netip"

// Lengths in bytes of the headers around a payload, without options. A flood or an
// amplified reply loads a line with them, too.
const (
	udpHeaders  = 8
	tcpHeaders  = 20
	ipv4Headers = 20
	ipv6Headers = 40
)

// headerBytes returns the length of the headers around a payload in each of its packets.
func headerBytes(s *payload) uint32 {
	if s.isTCP {
		return tcpHeaders + ipHeaderBytes(s.src)
	}
	return udpHeaders + ipHeaderBytes(s.src)
}

// ipHeaderBytes returns the length of the IP header of a packet from a.
func ipHeaderBytes(a netip.AddrPort) uint32 {
	if a.Addr().Is4() {
		return ipv4Headers
	}
	return ipv6Headers
}
