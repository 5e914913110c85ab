// Package hostset is a set of hosts as people name them on a command line:
// networks, addresses, and addresses with a port. It resolves no names.
package hostset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
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

// OfThisHost returns the addresses of this host; nil if the system does not list them.
func OfThisHost() *Set {
	var list []string
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			list = append(list, p.Addr().WithZone("").String())
		}
	}
	s, err := Parse(strings.Join(list, ","))
	if err != nil {
		return nil
	}
	return s
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

// Expression returns the display filter that chooses the messages of these servers, in the order of their addresses.
// That of a nil set is empty.
func (s *Set) Expression() string {
	if s == nil {
		return ""
	}
	var parts []string
	for _, n := range s.nets {
		parts = append(parts, "server == "+n.String())
	}
	for _, e := range slices.SortedFunc(maps.Keys(s.ends), netip.AddrPort.Compare) {
		parts = append(parts, fmt.Sprintf("(server == %v && server.port == %d)", e.Addr(), e.Port()))
	}
	return strings.Join(parts, " || ")
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

// Networks is a set of addresses and networks that is quick to look up: disjoint prefixes, sorted. A
// nil *Networks holds none.
type Networks struct {
	sorted    []netip.Prefix
	four, six []stretch // of sorted, for Holds
}

// stretch is the addresses from first to last.
type stretch struct{ first, last words }

// words are the upper and the lower half of an address of 16 bytes.
type words [2]uint64

func wordsOf(b *[16]byte) words {
	return words{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

func (a words) precedes(b words) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }

// isFour reports whether the address is of IPv4, in the form that IPv6 has for these.
func (a words) isFour() bool { return a[0] == 0 && a[1]>>32 == 0xffff }

// ParseNetworks reads a list like 198.51.100.9,2001:db8::/64; spaces and line breaks separate words as
// commas do. The error quotes the word that has none of the forms.
func ParseNetworks(list string) (*Networks, error) {
	var all []netip.Prefix
	for word := range strings.FieldsFuncSeq(list, isSeparator) {
		if len(all) == MaxNetworks {
			return nil, fmt.Errorf("more than %d addresses and networks: name networks", MaxNetworks)
		}
		p, err := parseNetwork(word)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, errors.New("no address in the list")
	}
	return newNetworks(all), nil
}

func isSeparator(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }

// parseNetwork returns the network that a word names, of an address itself.
func parseNetwork(word string) (netip.Prefix, error) {
	p, ok, err := networkOf(word)
	if err != nil {
		return p, err
	}
	if !ok {
		return p, fmt.Errorf("%q: not a network, or an address without a port", word)
	}
	widest := widestV6
	if p.Addr().Is4() {
		widest = widestV4
	}
	if p.Bits() < widest {
		return netip.Prefix{}, fmt.Errorf("%s: wider than a /%d", word, widest)
	}
	return p, nil
}

// newNetworks sorts networks, and drops those that lie in another. It returns nil for none.
func newNetworks(all []netip.Prefix) *Networks {
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	x := &Networks{}
	for _, p := range all {
		if n := len(x.sorted); n == 0 || !x.sorted[n-1].Overlaps(p) { // the wider one precedes
			x.sorted = append(x.sorted, p)
			x.addStretch(p)
		}
	}
	return x
}

// addStretch adds the addresses of a network, which follow those before.
func (x *Networks) addStretch(p netip.Prefix) {
	b := p.Addr().As16()
	s := stretch{first: wordsOf(&b)}
	s.last = s.first
	free := 128 - p.Bits()
	if p.Addr().Is4() {
		free = 32 - p.Bits()
	}
	s.last[0] |= 1<<max(free-64, 0) - 1
	s.last[1] |= 1<<min(free, 64) - 1 // 1<<64 is 0
	if p.Addr().Is4() {
		x.four = append(x.four, s)
	} else {
		x.six = append(x.six, s)
	}
}

// Has reports whether an address belongs to the set.
func (x *Networks) Has(a netip.Addr) bool {
	b := a.As16()
	return a.IsValid() && x.Holds(&b)
}

// Holds is Has of an address of 16 bytes, in IPv4 after ::ffff.
func (x *Networks) Holds(b *[16]byte) bool {
	if x == nil {
		return false
	}
	a, all := wordsOf(b), x.six
	if a.isFour() {
		all = x.four
	}
	from, to := 0, len(all)
	for from < to {
		if at := (from + to) / 2; all[at].last.precedes(a) {
			from = at + 1
		} else {
			to = at
		}
	}
	return from < len(all) && !a.precedes(all[from].first)
}

// Overlaps reports whether an address of a network belongs to the set.
func (x *Networks) Overlaps(network netip.Prefix) bool {
	if x == nil {
		return false
	}
	at, isThere := slices.BinarySearchFunc(x.sorted, network, func(p, q netip.Prefix) int { return p.Addr().Compare(q.Addr()) })
	return isThere || at > 0 && x.sorted[at-1].Overlaps(network) || at < len(x.sorted) && x.sorted[at].Overlaps(network)
}

// Map returns the set of what stands for the networks of x, as Set.Map does.
func (x *Networks) Map(stand func(netip.Prefix) []netip.Prefix) *Networks {
	if x == nil {
		return nil
	}
	var all []netip.Prefix
	for _, p := range x.sorted {
		all = append(all, stand(p)...)
	}
	return newNetworks(all)
}

// limit: MaxNetworks is how many addresses and networks a list of Networks has at most. Chosen: more than
// any service that polls has probes, and 12 steps to look one up.
const MaxNetworks = 4096

// limit: widestV4 and widestV6 are the bits of the widest networks that a list of Networks may have. Chosen:
// 10.0.0.0/8 is somebody's own, and what is wider is a part of the Internet.
const widestV4, widestV6 = 8, 16
