package packet

import (
	"encoding/binary"
	"net/netip"
)

// Proxies for UDP give the server the address of the client in a header that stands before the
// payload of each datagram. There are two of them, and both are formats of 16-bit numbers in network
// order:
//
//   - Simple Proxy Protocol of Cloudflare Spectrum: 56 EC, addresses of the client and of the proxy as
//     IPv6 (of IPv4: ::ffff:a.b.c.d), ports of the client and of the proxy. The server's replies begin
//     with the same header, by which the proxy finds the client.
//   - PROXY protocol, version 2 (haproxy.org, proxy-protocol.txt): a signature of 12 bytes, version and
//     command, family, length, addresses, ports, and TLVs. Replies have none.
const (
	simpleMark = "\x56\xec"
	simpleLen  = 2 + 16 + 16 + 2 + 2

	proxySignature = "\r\n\r\n\x00\r\nQUIT\n"
	proxyHeadLen   = len(proxySignature) + 4
	proxyCommand   = 0x21 // version 2, PROXY; LOCAL (0x20) has no client
	proxyUDP4      = 0x12
	proxyUDP6      = 0x22
)

// ProxyForm is how payloads with a header of a proxy begin: with Value in the bits that are set in Mask.
type ProxyForm struct {
	Value, Mask string
	MinLen      int
}

// ProxyForms are the forms of headers, for filters: of Spectrum's that with an address of IPv4 and the
// one with a global address of IPv6, because two bytes alone are those of many sequence numbers.
var ProxyForms = [...]ProxyForm{
	{simpleMark + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", simpleLen},
	{simpleMark + "\x20", "\xff\xff\xe0", simpleLen},
	{proxySignature, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", proxyHeadLen + 12},
}

// ProxyHeader is what a proxy put before a payload.
type ProxyHeader struct {
	Client netip.AddrPort // with IPv4 addresses as such
	Proxy  netip.AddrPort // the address that the client sent to
	Len    int            // of the header in the payload, in bytes
	// InReplies is set if the server begins its replies with the header of the request.
	InReplies bool
}

// MayBeProxied reports whether b begins like a header of a proxy. It is for callers to ask first.
func MayBeProxied(b []byte) bool {
	return len(b) >= proxyHeadLen+12 && (b[0] == 0x56 && b[1] == 0xec || b[0] == '\r' && b[1] == '\n')
}

// ParseProxyHeader reads the header of a proxy at the beginning of a payload. It reports false if there
// is none, if it is cut, or if no client can have its address.
func ParseProxyHeader(b []byte) (h ProxyHeader, ok bool) {
	if !MayBeProxied(b) {
		return h, false
	}
	if b[0] == simpleMark[0] {
		if len(b) < simpleLen {
			return h, false
		}
		h.Client = simpleAddr(b[2:], b[34:])
		h.Proxy = simpleAddr(b[18:], b[36:])
		h.Len, h.InReplies = simpleLen, true
		return h, isEnd(h.Client) && isEnd(h.Proxy) && h.Client.Addr().Is4() == h.Proxy.Addr().Is4()
	}
	if len(b) < proxyHeadLen || string(b[:len(proxySignature)]) != proxySignature || b[12] != proxyCommand {
		return h, false
	}
	n := int(binary.BigEndian.Uint16(b[14:]))
	a := b[proxyHeadLen:]
	if n > len(a) {
		return h, false
	}
	h.Len, a = proxyHeadLen+n, a[:n]
	switch {
	case b[13] == proxyUDP4 && n >= 12:
		h.Client = netip.AddrPortFrom(netip.AddrFrom4([4]byte(a)), binary.BigEndian.Uint16(a[8:]))
		h.Proxy = netip.AddrPortFrom(netip.AddrFrom4([4]byte(a[4:])), binary.BigEndian.Uint16(a[10:]))
	case b[13] == proxyUDP6 && n >= 36:
		h.Client = simpleAddr(a, a[32:])
		h.Proxy = simpleAddr(a[16:], a[34:])
	default:
		return h, false
	}
	return h, isEnd(h.Client)
}

// ProxyAddresses returns the addresses in the header that b begins with, h, those of the client and of
// the proxy, and the TLVs after them. Addresses of IPv4 are 4 bytes long.
func (h *ProxyHeader) ProxyAddresses(b []byte) (client, proxy, tlvs []byte) {
	b = b[:h.Len]
	switch {
	case h.InReplies && h.Client.Addr().Is4():
		return b[14:18], b[30:34], nil
	case h.InReplies:
		return b[2:18], b[18:34], nil
	case b[13] == proxyUDP4:
		b = b[proxyHeadLen:]
		return b[:4], b[4:8], b[12:]
	}
	b = b[proxyHeadLen:]
	return b[:16], b[16:32], b[36:]
}

// simpleAddr returns the address in 16 bytes of a, with the port in b.
func simpleAddr(a, b []byte) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16([16]byte(a)).Unmap(), binary.BigEndian.Uint16(b))
}

// isEnd reports whether a datagram can have come from there. Of IPv6 only what is assigned for hosts is
// taken (2000::/3, fc00::/7): with two bytes before it, a header is little more than its addresses.
func isEnd(a netip.AddrPort) bool {
	ip := a.Addr()
	if a.Port() == 0 || ip.IsUnspecified() || ip.IsMulticast() {
		return false
	}
	return ip.Is4() || ip.As16()[0]>>5 == 1 || ip.IsPrivate()
}

// EnterProxy makes p, a UDP datagram between a proxy and a server, the one between a client and the
// server: client takes the place of the source or, in a reply, of the destination, and the first n
// bytes of the payload are left out. It is a way in: Outer has the ends of the datagram. TTL and IPID,
// which are the proxy's, become zero. It reports false, and changes nothing, if there are too many.
func (p *Packet) EnterProxy(client netip.AddrPort, isReply bool, n int) bool {
	if p.Depth == maxWays {
		return false
	}
	src, dst, proto := p.Src, p.Dst, p.Proto
	p.enter(WayProxy, 0)
	if p.Src, p.Dst, p.Proto = client, dst, proto; isReply {
		p.Src, p.Dst = src, client
	}
	p.Payload, p.Wire = p.Payload[n:], p.Wire-n
	return true
}
