package nft

import (
	"fmt"
	"net/netip"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood/advice"
	"qsniff/internal/flood/proof"
	"qsniff/internal/render"
)

// Table is the table that rules against floods and the sets of proven addresses are in.
const Table = "qsniff"

// AppendFloods appends the rules against the incidents in f, as one file for nft -f with one
// table. Comments say how to load and to remove it, and what the rules are. An incident that
// no rule helps against is a comment, so that nobody takes its absence for calm.
func AppendFloods(dst []byte, f *render.Floods) []byte {
	rules := advice.NewRuleset(Table, f.Incidents, f.Expiry)
	if rules.IsEmpty() {
		return render.AppendNoRules(dst, f)
	}
	dst = render.AppendInterruptedRules(dst, f)
	dst = fmt.Appendf(dst, "# Rules of qsniff for nftables, made from %s\n", f.Asked.Files())
	dst = fmt.Appendf(dst, "# load:   %s | sudo nft -f -\n", f.Asked.Floods("nft"))
	dst = append(dst, "#         Again does no harm. The rules of a new report replace these.\n"...)
	dst = append(dst, replaced(f)...)
	dst = append(dst, "# undo:   sudo nft delete table inet "+Table+"\n"...)
	dst = render.AppendExpiry(dst, f)
	dst = render.AppendRuleList(dst, f)
	var sets []byte
	if f.Proven != nil {
		dst, sets = appendPassing(dst, f.Proven, rules)
	}
	return rules.AppendNFT(dst, string(sets))
}

// replaced returns the comment about sets of proven clients that are loaded already: a file for
// nft cannot replace a table's rules and keep its sets.
func replaced(f *render.Floods) string {
	if f.Proven != nil {
		return "#         So do its proven clients; qsniff proven -o nft, loaded later, adds some.\n"
	}
	return "#         The sets of qsniff proven -o nft in this table go; --proven has its own.\n"
}

// appendPassing appends comments about the proven clients that pass first, and returns their
// sets. Who is dropped by name does not pass, whatever he proved.
func appendPassing(dst []byte, p *proof.Summary, rules *advice.Ruleset) (comments, sets []byte) {
	var passing []proof.Source
	for i := range p.Sources {
		if !rules.Names(p.Sources[i].Addr) {
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
	dst = render.AppendComment(append(dst, "#\n"...), "# ", "# ", text)
	sets = appendSet(sets, "proven4", "ipv4_addr", passing, netip.Addr.Is4)
	return dst, appendSet(sets, "proven6", "ipv6_addr", passing, netip.Addr.Is6)
}
