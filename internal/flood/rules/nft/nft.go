// Package nft renders files for nft -f: sets of proven addresses, and the rules that
// package internal/flood/advice made for incidents. Of what came from the network, it writes
// nothing but addresses and ports. It decides on no rule, and loads none.
package nft

import (
	"fmt"
	"net/netip"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood/advice"
	"qsniff/internal/flood/proof"
	"qsniff/internal/flood/rules"
)

// Timeout is how long nftables keeps an address. Chosen: a proof is of its moment, and the
// players of an evening prove themselves again within an hour.
const Timeout = "1h"

// AppendProven appends a table with a set for addresses of each family. Loading it
// adds to what is there, so that several captures can be loaded one after the other. If cut is not
// empty, the user ended the run after so much.
func AppendProven(dst []byte, sources []proof.Source, cut string) []byte {
	if cut != "" {
		dst = append(dst, "# Interrupted after "+cut+": more may have proved themselves.\n#\n"...)
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
	dst = appendSet(dst, "proven4", "ipv4_addr", sources, func(a netip.Addr) bool { return a.Is4() })
	dst = append(dst, '\n')
	dst = appendSet(dst, "proven6", "ipv6_addr", sources, func(a netip.Addr) bool { return !a.Is4() })
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

// Table is the table that rules against floods and the sets of proven addresses are in.
const Table = advice.Table

// FirstWords begin each file of rules.
const FirstWords = "# Rules of qsniff for nftables"

// AppendFloods appends the rules against the incidents in f, as one file for nft -f with one
// table. Comments say how to load and to remove it, and what the rules are. An incident that
// no rule helps against is a comment, so that nobody takes its absence for calm.
func AppendFloods(dst []byte, f *rules.Input) []byte {
	set := advice.NewRuleset(Table, f.Incidents, f.Expiry)
	if set.IsEmpty() {
		return rules.AppendNone(dst, f)
	}
	dst = rules.AppendInterrupted(dst, f)
	dst = fmt.Appendf(dst, FirstWords+", made from %s\n", f.Asked.Files())
	dst = fmt.Appendf(dst, "# load:   %s\n", f.Asked.LoadNFT())
	dst = append(dst, "#         Again does no harm. The rules of a new report replace these.\n"...)
	dst = append(dst, replaced(f)...)
	dst = append(dst, "# undo:   sudo nft delete table inet "+Table+"\n"...)
	dst = rules.AppendExpiry(dst, f)
	dst = rules.AppendList(dst, f)
	var sets []byte
	if f.Proven != nil {
		dst, sets = appendPassing(dst, f.Proven, set)
	}
	return set.AppendNFT(dst, string(sets))
}

// replaced returns the comment about sets of proven clients that are loaded already: a file for
// nft cannot replace a table's rules and keep its sets.
func replaced(f *rules.Input) string {
	if f.Proven != nil {
		return "#         So do its proven clients; qsniff proven -o nft, loaded later, adds some.\n"
	}
	return "#         The sets of qsniff proven -o nft in this table go; --proven has its own.\n"
}

// appendPassing appends comments about the proven clients that pass first, and returns their
// sets. Who is dropped by name does not pass, whatever he proved.
func appendPassing(dst []byte, p *proof.Summary, set *advice.Ruleset) (comments, sets []byte) {
	var passing []proof.Source
	for i := range p.Sources {
		if !set.Names(p.Sources[i].Addr) {
			passing = append(passing, p.Sources[i])
		}
	}
	n := uint64(len(passing))
	text := digits.Counted(n, "address that proved itself passes", "addresses that proved themselves pass") +
		" first, up to a limit of " + digits.Noun(n, "its", "their") + " own"
	if k := uint64(len(p.Sources)) - n; k > 0 {
		text += fmt.Sprintf("; %d that rules name as %s not", k, digits.Noun(k, "a source does", "sources do"))
	}
	text += ". Anybody can forge an address that somebody else proved: each is dropped from the set after " + Timeout + "."
	dst = rules.AppendComment(append(dst, "#\n"...), "# ", "# ", text)
	sets = appendSet(sets, "proven4", "ipv4_addr", passing, netip.Addr.Is4)
	return dst, appendSet(sets, "proven6", "ipv6_addr", passing, netip.Addr.Is6)
}
