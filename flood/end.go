package flood

import (
	"encoding/binary"
	"net/netip"

	"qsniff/internal/lru"
	"qsniff/track"
)

// key keys the detector's sketches: who does not know it cannot aim at places in them.
type key uint64

// keyOf makes a key of the first packet's hashes, which have the seed of the run: the
// same capture gives the same incidents.
func keyOf(s *track.Sighting) key { return key(lru.Mix(s.ClientHash, s.ServerHash) | 1) }

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

// prefixHash is a hash of what prefixOf returned, siteHash one of the larger network
// of a host: the /16, in IPv6 the /32.
func (k key) prefixHash(p *track.Host) uint64 {
	if p.Is4() {
		return lru.Mix(uint64(k), uint64(binary.BigEndian.Uint32(p[12:])))
	}
	return lru.Mix(uint64(k)+1, binary.BigEndian.Uint64(p[:8]))
}

func (k key) siteHash(h *track.Host) uint64 {
	if h.Is4() {
		return lru.Mix(lru.Mix(uint64(k), uint64(binary.BigEndian.Uint16(h[12:]))), 0)
	}
	return lru.Mix(lru.Mix(uint64(k)+1, uint64(binary.BigEndian.Uint32(h[:4]))), 0)
}

// portHash is a hash of a port: ports in a row are to differ in every bit.
func (k key) portHash(port uint16) uint64 { return lru.Mix(lru.Mix(uint64(k), uint64(port)), 0) }

func (k key) hostHash(h track.Host) uint64 { return h.Hash(uint64(k)) }

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
