package packet

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// Three odd numbers without structure: the fractions of the golden ratio and of
// the square roots of 2 and 3, to 64 bits.
const (
	keyA = 0x9e3779b97f4a7c15
	keyB = 0x6a09e667f3bcc909
	keyC = 0xbb67ae8584caa73b
)

// Partition returns a number below Partitions that depends on the two addresses
// alone, not on their order and not on the ports: both directions of a pair get
// the same number, and so do its datagrams and its fragments, which have no
// ports. An ICMP error gets that of the packet that it quotes, whoever sent the
// error. The hash has no seed, since a file must give the same evictions and so
// the same output every time.
func (p *Packet) Partition() uint8 { return uint8(p.PairHash() % Partitions) }

// PairHash returns the hash of the two addresses by whose lowest bits Partition goes.
func (p *Packet) PairHash() uint64 {
	src, dst := p.Src.Addr(), p.Dst.Addr()
	if p.Stop == ICMP {
		if q := p.Quote(); q.Set {
			src, dst = q.Src.Addr(), q.Dst.Addr()
		}
	}
	sum := hashAddr(src) + hashAddr(dst)
	return foldProduct(sum^keyA, keyC)
}

// hashAddr hashes one address. It does without As16 for IPv4: putting the 16
// bytes together and reading them again takes longer than the rest of the hash.
func hashAddr(a netip.Addr) uint64 {
	if a.Is4() {
		b := a.As4()
		return foldProduct(uint64(binary.BigEndian.Uint32(b[:]))^keyA, keyB)
	}
	b := a.As16()
	return foldProduct(binary.BigEndian.Uint64(b[:8])^keyA, binary.BigEndian.Uint64(b[8:])^keyB)
}

// foldProduct multiplies to 128 bits and combines the halves by exclusive or, so
// that every bit of the result depends on every bit of both factors.
func foldProduct(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
