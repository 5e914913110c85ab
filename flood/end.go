package flood

import (
	"net/netip"

	"qsniff/internal/lru"
	"qsniff/track"
)

// end is an address and a port.
type end struct {
	host track.Host
	port uint16
}

// Hash mixes the key.
func (e end) Hash(seed uint64) uint64 { return lru.Mix(e.host.Hash(seed), uint64(e.port)) }

func (e end) addrPort() netip.AddrPort { return netip.AddrPortFrom(e.host.Addr(), e.port) }

// prefixOf is the network that a host shares with its neighbours: the /24, in IPv6
// the /64.
func prefixOf(h *track.Host) track.Host {
	p := *h
	if h.Is4() {
		p[15] = 0
	} else {
		clear(p[8:])
	}
	return p
}

// siteOf is the larger network: the /16, in IPv6 the /32.
func siteOf(h *track.Host) track.Host {
	p := *h
	if h.Is4() {
		p[14], p[15] = 0, 0
	} else {
		clear(p[4:])
	}
	return p
}

// network is a prefix as others write it.
func network(h track.Host) netip.Prefix {
	bits := 64
	if h.Is4() {
		bits = 24
	}
	return netip.PrefixFrom(h.Addr(), bits).Masked()
}

// scope says of an address whether it can be a source in the internet.
type scope uint8

const (
	public     scope = iota
	local            // private, shared or for tests: possible where the server's own is
	impossible       // no host has it
)

// scopeOf is the scope of a source. A thirteenth to a seventh of random IPv4
// addresses are not public, and nearly nine tenths of random IPv6
// ones.
func scopeOf(h *track.Host) scope {
	if !h.Is4() {
		return scope6(h)
	}
	a, b := h[12], h[13]
	switch {
	case a == 0, a == 127, a >= 224:
		return impossible
	case a == 10, a == 100 && b>>6 == 1, a == 172 && b>>4 == 1, a == 192 && b == 168, a == 169 && b == 254, a == 198 && b>>1 == 9:
		return local
	}
	return public
}

func scope6(h *track.Host) scope {
	switch {
	case h[0]>>5 == 1: // 2000::/3
		return public
	case h[0] == 0xfe && h[1]>>6 == 2, h[0]>>1 == 0x7e: // link local, unique local
		return local
	}
	return impossible
}

// share is n of all; 0 of nothing is 0.
func share(n, all float64) float64 {
	if all <= 0 {
		return 0
	}
	return n / all
}
