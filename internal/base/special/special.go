// Package special holds the networks whose addresses are no places on the Internet.
package special

import "net/netip"

// networks are those that IANA's registries of special-purpose addresses (RFC 6890, as of 2024) call
// not globally reachable, and multicast. Those for benchmarks are left out on purpose, 198.18.0.0/15 and
// 2001:2::/48: they are found in laboratories only, where they stand for public servers, as they do in
// the captures of this repository, and what is found of these has to be what is found of public ones.
var networks = parse(
	"0.0.0.0/8",       // this network
	"10.0.0.0/8",      // private
	"100.64.0.0/10",   // shared by the customers of a provider
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // for protocols
	"192.0.2.0/24",    // documentation
	"192.168.0.0/16",  // private
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, and broadcast
	"::/127",          // no address, loopback
	"64:ff9b:1::/48",  // translation within a network
	"100::/64",        // discarded
	"2001:db8::/32",   // documentation
	"3fff::/20",       // documentation
	"5f00::/16",       // segment routing
	"fc00::/7",        // private
	"fe80::/10",       // link-local
	"ff00::/8",        // multicast
)

func parse(all ...string) (out []netip.Prefix) {
	for _, s := range all {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// IsPublic reports whether packets from or to a pass networks of others.
func IsPublic(a netip.Addr) bool {
	if !a.IsValid() {
		return false
	}
	a = a.Unmap().WithZone("")
	for _, n := range networks {
		if n.Contains(a) {
			return false
		}
	}
	return true
}
