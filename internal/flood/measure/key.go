package measure

import (
	"encoding/binary"
	"math"
	"net/netip"

	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// Key seeds the hashes of addresses and ports, and so the sketches: a sender who cannot
// know it cannot choose addresses that collide.
type Key uint64

// KeyOf derives a key from the hashes of the first packet, which have the seed of the
// run: the same capture gives the same incidents.
func KeyOf(s *track.Sighting) Key { return Key(lru.Mix(s.ClientHash, s.ServerHash) | 1) }

// PrefixOf returns the network that a host shares with its neighbours: the /24, in IPv6
// the /64.
func PrefixOf(h *track.Host) (p track.Host) {
	Key(0).setPrefix(&p, h)
	return p
}

// setPrefix sets p to PrefixOf(h), without a copy, and returns its HashPrefix.
func (k Key) setPrefix(p, h *track.Host) (hash uint64) {
	hi, lo := binary.BigEndian.Uint64(h[:8]), binary.BigEndian.Uint64(h[8:])
	if hi == 0 && lo>>32 == 0xffff { // IPv4
		lo &^= 0xff
		hash = lru.Mix(uint64(k), lo&math.MaxUint32)
	} else {
		lo = 0
		hash = lru.Mix(uint64(k)+1, hi)
	}
	binary.BigEndian.PutUint64(p[:8], hi) // in the words that are read again, see track.Host.Set
	binary.BigEndian.PutUint64(p[8:], lo)
	return hash
}

// HashPrefix returns a hash of a network that PrefixOf returned.
func (k Key) HashPrefix(p *track.Host) uint64 {
	var same track.Host
	return k.setPrefix(&same, p)
}

// HashSite returns a hash of the larger network of a host: the /16, in IPv6 the /32.
func (k Key) HashSite(h *track.Host) uint64 {
	if h.Is4() {
		return lru.Mix(lru.Mix(uint64(k), uint64(binary.BigEndian.Uint16(h[12:]))), 0)
	}
	return lru.Mix(lru.Mix(uint64(k)+1, uint64(binary.BigEndian.Uint32(h[:4]))), 0)
}

// HashPort returns a hash of a port. Consecutive ports differ in every bit of it.
func (k Key) HashPort(port uint16) uint64 { return lru.Mix(lru.Mix(uint64(k), uint64(port)), 0) }

// HashHost returns a hash of a host.
func (k Key) HashHost(h *track.Host) uint64 { return h.HashOf(uint64(k)) }

// Network returns the prefix of a host as netip prints it: its /24, in IPv6 its /64.
func Network(h track.Host) netip.Prefix {
	bits := 64
	if h.Is4() {
		bits = 24
	}
	return netip.PrefixFrom(h.Addr(), bits).Masked()
}

// scope classifies source addresses by where they can be used.
type scope uint8

const (
	public     scope = iota
	local            // private, shared or for tests: possible where the server's own address is
	impossible       // no host has it
	mixed            // of scopes4 only
)

// scopes4 has the scope of IPv4 sources by the first octet, or mixed where the second decides, too.
var scopes4 = func() (all [256]scope) {
	for a := range all {
		switch {
		case a == 0, a == 127, a >= 224:
			all[a] = impossible
		case a == 10:
			all[a] = local
		case a == 100, a == 169, a == 172, a == 192, a == 198:
			all[a] = mixed
		}
	}
	return all
}()

// scopeOf returns the scope of a source. Of random IPv4 addresses, one in seven to one in
// thirteen is not public, of random IPv6 addresses nearly nine in ten.
func scopeOf(h *track.Host) scope {
	if !h.Is4() {
		return scope6(h)
	}
	if x := scopes4[h[12]]; x != mixed {
		return x
	}
	switch a, b := h[12], h[13]; {
	case a == 100 && b>>6 == 1, a == 172 && b>>4 == 1, a == 192 && b == 168, a == 169 && b == 254, a == 198 && b>>1 == 9:
		return local
	}
	return public
}

// scope6 returns the scope of an IPv6 source.
func scope6(h *track.Host) scope {
	switch {
	case h[0]>>5 == 1: // 2000::/3
		return public
	case h[0] == 0xfe && h[1]>>6 == 2, h[0]>>1 == 0x7e: // link local, unique local
		return local
	}
	return impossible
}

// Share returns n / all, or 0 if all is 0.
func Share(n, all float64) float64 {
	if all <= 0 {
		return 0
	}
	return n / all
}
