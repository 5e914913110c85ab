// Package nft renders files for nft -f: sets of proven addresses, and the rules that
// package internal/flood/advice made for incidents. Of what came from the network, it writes
// nothing but addresses and ports. It decides on no rule, and loads none.
package nft

import (
	"net/netip"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood/proof"
	"qsniff/internal/render"
)

// Timeout is how long nftables keeps an address. Chosen: a proof is of its moment, and the
// players of an evening prove themselves again within an hour.
const Timeout = "1h"

// AppendProven appends a table with a set for addresses of each family. Loading it
// adds to what is there, so that several captures can be loaded one after the other.
func AppendProven(dst []byte, p *render.Proven) []byte {
	if run := &p.Run; run.Interrupted {
		dst = append(dst, "# Interrupted after "+digits.Extent(run.Packets, run.Read, run.Size)+": more may have proved themselves.\n#\n"...)
	}
	dst = append(dst, `# Addresses that proved themselves in a capture (qsniff proven): they brought back
# what a server had sent to them. A proof is of its moment: anybody can forge these
# addresses later. So give them a higher limit than others, and do not let them past
# all limits. Each address is dropped from its set after `+Timeout+`.
#
# nft -f FILE adds them to the sets; "ip saddr @proven4" and "ip6 saddr @proven6" in
# rules of this table use those, as the rules of qsniff floods -o nft --proven do,
# which replace the table when they are loaded. Who is in a set already keeps the time
# that is left: nft flush set inet qsniff proven4 before it, where that matters.
`...)
	dst = append(dst, "table inet "+Table+" {\n"...)
	dst = appendSet(dst, "proven4", "ipv4_addr", p.Sources, func(a netip.Addr) bool { return a.Is4() })
	dst = append(dst, '\n')
	dst = appendSet(dst, "proven6", "ipv6_addr", p.Sources, func(a netip.Addr) bool { return !a.Is4() })
	return append(dst, "}\n"...)
}

// appendSet appends a set of those sources for which isMember returns true.
func appendSet(dst []byte, name, kind string, sources []proof.Source, isMember func(netip.Addr) bool) []byte {
	n := 0
	for i := range sources {
		if isMember(sources[i].Addr) {
			n++
		}
	}
	dst = append(dst, "\tset "+name+" {\n\t\ttype "+kind+"\n\t\tflags timeout\n\t\ttimeout "+Timeout+"\n"...)
	if n == 0 { // an empty list is none to nft
		return append(dst, "\t}\n"...)
	}
	dst = append(dst, "\t\telements = {\n"...)
	for i := range sources {
		if !isMember(sources[i].Addr) {
			continue
		}
		dst = append(dst, "\t\t\t"...)
		dst = sources[i].Addr.AppendTo(dst)
		dst = append(dst, ",\n"...)
	}
	return append(dst, "\t\t}\n\t}\n"...)
}
