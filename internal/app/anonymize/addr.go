package anonymize

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// Addr returns the address that stands for ip. Two addresses whose first 8, 16 or 24 bits
// are equal (IPv6: any multiple of 4) get addresses of which the same is true, and others
// do not. Each octet gets one with as many digits, and a digit of IPv6 that is 0 stays so:
// written as text, the address is as long. Loopback, multicast, broadcast and no address
// stay; what is private, link-local or for documentation stays that.
//
// Prefixes are not kept bit by bit, as Crypto-PAn does: addresses are in texts, too, where
// they must stay as long, and an octet of two digits would become one of three. Only bits
// whose change leaves all octets below them as long, and makes none special, could be kept
// so: 5.5 of 8 on average where an octet now becomes one of 2^6.8, 1 bit of 8 to 11, and
// none of 193, which would stay itself.
func (a *Anonymizer) Addr(ip netip.Addr) netip.Addr {
	w := a.work.Get().(*work)
	defer a.work.Put(w)
	return w.addr(ip)
}

func (w *work) addr(ip netip.Addr) netip.Addr {
	switch {
	case ip.Is4():
		return w.addr4(ip)
	case ip.Is4In6():
		return netip.AddrFrom16(w.addr4(ip.Unmap()).As16())
	}
	return w.addr6(ip)
}

// documentation6 is the network of IPv6 for documentation, which stays itself.
var documentation6 = netip.MustParsePrefix("2001:db8::/32")

// Networks returns what stands for the addresses of a network: one, or up to 128 where it ends
// within an octet, or a digit of IPv6, as these are replaced as a whole.
func (a *Anonymizer) Networks(n netip.Prefix) (all []netip.Prefix) {
	step := 8
	if n.Addr().Is6() {
		step = 4
		if n.Bits() < documentation6.Bits() && n.Overlaps(documentation6) {
			all = append(all, documentation6)
		}
	}
	bits := (n.Bits() + step - 1) / step * step
	b := n.Masked().Addr().AsSlice()
	for i := range 1 << (bits - n.Bits()) {
		sub := slices.Clone(b)
		if i > 0 {
			sub[(bits-1)/8] |= byte(i << (7 - (bits-1)%8))
		}
		base, _ := netip.AddrFromSlice(sub)
		all = append(all, netip.PrefixFrom(a.Addr(base), bits).Masked())
	}
	return all
}

func (w *work) addr4(ip netip.Addr) netip.Addr {
	b := ip.As4()
	if b[0] == 0 || b[0] == 127 || b[0] >= 224 {
		return ip
	}
	last := &w.addrs[binary.BigEndian.Uint32(b[:])*hashFactor>>(32-addrBits)]
	if last.from != b {
		out := b
		for i := range b {
			if !isFixed(b[:i], b[i]) {
				out[i] = w.octet(b[:i], b[i])
			}
		}
		last.from, last.to = b, out
	}
	return netip.AddrFrom4(last.to)
}

// isFixed reports whether the octet v after prefix stays: it makes the address special, or
// the next one can.
func isFixed(prefix []byte, v byte) bool {
	switch len(prefix) {
	case 0:
		switch v {
		case 0, 10, 100, 127, 169, 172, 192, 198, 203:
			return true
		}
		return v >= 224
	case 1:
		switch prefix[0] {
		case 100:
			return v >= 64 && v < 128
		case 169:
			return v == 254
		case 172:
			return v >= 16 && v < 32
		case 192:
			return v == 0 || v == 168
		case 198:
			return v == 18 || v == 19 || v == 51
		case 203:
			return v == 0
		}
	}
	return false
}

// octet returns the octet that stands for v after prefix: never v itself, and one with as
// many digits.
func (w *work) octet(prefix []byte, v byte) byte {
	lo, hi := 0, 9
	switch {
	case v >= 100:
		lo, hi = 100, 255
	case v >= 10:
		lo, hi = 10, 99
	}
	var all [256]byte
	n := 0
	at := 0
	for x := lo; x <= hi; x++ {
		if isFixed(prefix, byte(x)) {
			continue
		}
		if byte(x) == v {
			at = n
		}
		all[n] = byte(x)
		n++
	}
	return w.cycle(all[:n], at, append(append(w.seed[:0], 4, byte(hi)), prefix...))
}

// cycle returns what element at of all becomes by a permutation that the key and seed
// choose, of one cycle (Sattolo's algorithm): nothing stays in its place.
func (w *work) cycle(all []byte, at int, seed []byte) byte {
	w.source.Seed(w.a.draw(forAddress, seed...))
	for i := len(all) - 1; i > 0; i-- {
		j := w.random.IntN(i)
		all[i], all[j] = all[j], all[i]
	}
	return all[at]
}

func (w *work) addr6(ip netip.Addr) netip.Addr {
	if ip.IsUnspecified() || ip.IsLoopback() || ip.IsMulticast() {
		return ip
	}
	b := ip.As16()
	out := b
	keep := 1 // digits: 2 of 2000::/3, which is all that is routed
	switch {
	case ip.IsLinkLocalUnicast():
		keep = 4
	case ip.IsPrivate():
		keep = 2
	case binary.BigEndian.Uint32(b[:]) == 0x20010db8: // for documentation
		keep = 8
	}
	for i := keep; i < 32; i++ {
		v := b[i/2] >> (4 * (1 - i%2)) & 15
		if v == 0 {
			continue
		}
		digits := [...]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
		seed := append(append(w.seed[:0], 6, byte(i)), b[:i/2]...)
		if i%2 == 1 {
			seed = append(seed, b[i/2]>>4)
		}
		to := w.cycle(digits[:], int(v)-1, seed)
		shift := 4 * (1 - i%2)
		out[i/2] = out[i/2]&^(15<<shift) | to<<shift
	}
	return netip.AddrFrom16(out).WithZone(ip.Zone())
}
