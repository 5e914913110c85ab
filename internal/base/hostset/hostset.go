// Package hostset is a set of hosts as people name them on a command line:
// networks, addresses, and addresses with a port. It resolves no names.
package hostset

import (
	"fmt"
	"net/netip"
	"strings"
)

// mappedBits are those before an IPv4 address in an IPv6 one.
const mappedBits = 96

// Set is a set of hosts and ends, as --servers names them. A nil *Set holds all.
type Set struct {
	nets []netip.Prefix
	ends map[netip.AddrPort]struct{}
}

// Parse reads a list like 198.18.0.0/15,[2001:db8::1]:27015. The error quotes the
// word that has none of the forms.
func Parse(list string) (*Set, error) {
	s := &Set{ends: map[netip.AddrPort]struct{}{}}
	for word := range strings.SplitSeq(list, ",") {
		if err := s.add(strings.TrimSpace(word)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Set) add(word string) error {
	if p, ok, err := networkOf(word); ok || err != nil {
		s.nets = append(s.nets, p)
		return err
	}
	if e, err := netip.ParseAddrPort(word); err == nil && e.Addr().Zone() == "" && e.Port() != 0 {
		s.ends[netip.AddrPortFrom(e.Addr().Unmap(), e.Port())] = struct{}{}
		return nil
	}
	return fmt.Errorf("%q: not a network, an address, or an address with a port", word)
}

// networkOf returns the network that a word names, of an address the one that is it alone. ok is
// false where the word is neither.
func networkOf(word string) (p netip.Prefix, ok bool, err error) {
	if p, err := netip.ParsePrefix(word); err == nil {
		if p != p.Masked() {
			return p, false, fmt.Errorf("%s: bits after the first %d are set, the network is %s", word, p.Bits(), p.Masked())
		}
		if p.Addr().Is4In6() { // of 96 bits or more: a shorter prefix has the bits of ffff after it
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mappedBits)
		}
		return p, true, nil
	}
	if a, err := netip.ParseAddr(word); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), true, nil
	}
	return netip.Prefix{}, false, nil
}

// Map returns the set of what stands for the hosts of s: for those of a network, several can.
// Ports stay. Of a nil set it is nil.
func (s *Set) Map(stand func(netip.Prefix) []netip.Prefix) *Set {
	if s == nil {
		return nil
	}
	to := &Set{ends: make(map[netip.AddrPort]struct{}, len(s.ends))}
	for _, n := range s.nets {
		to.nets = append(to.nets, stand(n)...)
	}
	for e := range s.ends {
		for _, n := range stand(netip.PrefixFrom(e.Addr(), e.Addr().BitLen())) {
			to.ends[netip.AddrPortFrom(n.Addr(), e.Port())] = struct{}{}
		}
	}
	return to
}

// Ends returns the addresses with a port that were named, in no order.
func (s *Set) Ends() (all []netip.AddrPort) {
	if s == nil {
		return nil
	}
	for e := range s.ends {
		all = append(all, e)
	}
	return all
}

// HasHost reports whether any port of a host belongs to the set.
func (s *Set) HasHost(host netip.Addr) bool {
	if s.Has(netip.AddrPortFrom(host, 0)) {
		return true
	}
	for e := range s.ends {
		if e.Addr() == host {
			return true
		}
	}
	return false
}

// Overlaps reports whether an end in a network with that port belongs to the set.
func (s *Set) Overlaps(network netip.Prefix, port uint16) bool {
	if s == nil {
		return true
	}
	for _, n := range s.nets {
		if n.Overlaps(network) {
			return true
		}
	}
	for e := range s.ends {
		if e.Port() == port && network.Contains(e.Addr()) {
			return true
		}
	}
	return false
}

// Has reports whether an end belongs to the set.
func (s *Set) Has(end netip.AddrPort) bool {
	if s == nil {
		return true
	}
	if _, ok := s.ends[end]; ok {
		return true
	}
	for _, n := range s.nets {
		if n.Contains(end.Addr()) {
			return true
		}
	}
	return false
}
