package measure

import (
	"encoding/binary"
	"net/netip"

	"qsniff/internal/lru"
	"qsniff/track"
)

// Key keys hashes of addresses and ports, and with them sketches: who does not know it
// cannot aim at places in them.
type Key uint64

// KeyOf makes a key of the first packet's hashes, which have the seed of the run: the
// same capture gives the same incidents.
func KeyOf(s *track.Sighting) Key { return Key(lru.Mix(s.ClientHash, s.ServerHash) | 1) }

// PrefixOf returns the network that a host shares with its neighbours: the /24, in IPv6
// the /64.
func PrefixOf(h *track.Host) track.Host {
	p := *h
	if h.Is4() {
		p[15] = 0
	} else {
		clear(p[8:])
	}
	return p
}

// Prefix returns a hash of what PrefixOf returned.
func (k Key) Prefix(p *track.Host) uint64 {
	if p.Is4() {
		return lru.Mix(uint64(k), uint64(binary.BigEndian.Uint32(p[12:])))
	}
	return lru.Mix(uint64(k)+1, binary.BigEndian.Uint64(p[:8]))
}

// Site returns a hash of the larger network of a host: the /16, in IPv6 the /32.
func (k Key) Site(h *track.Host) uint64 {
	if h.Is4() {
		return lru.Mix(lru.Mix(uint64(k), uint64(binary.BigEndian.Uint16(h[12:]))), 0)
	}
	return lru.Mix(lru.Mix(uint64(k)+1, uint64(binary.BigEndian.Uint32(h[:4]))), 0)
}

// Port returns a hash of a port: ports in a row are to differ in every bit.
func (k Key) Port(port uint16) uint64 { return lru.Mix(lru.Mix(uint64(k), uint64(port)), 0) }

// Host returns a hash of a host.
func (k Key) Host(h track.Host) uint64 { return h.Hash(uint64(k)) }

// Network returns the network of a host as others write it: its /24, in IPv6 its /64.
func Network(h track.Host) netip.Prefix {
	bits := 64
	if h.Is4() {
		bits = 24
	}
	return netip.PrefixFrom(h.Addr(), bits).Masked()
}

// scope is where an address can be a source.
type scope uint8

const (
	public     scope = iota
	local            // private, shared or for tests: possible where the server's own is
	impossible       // no host has it
)

// scopeOf returns the scope of a source. A thirteenth to a seventh of random IPv4
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

// Share returns n as a part of all; 0 of nothing is 0.
func Share(n, all float64) float64 {
	if all <= 0 {
		return 0
	}
	return n / all
}
