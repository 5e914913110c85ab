package advice

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"qsniff/internal/flood"
)

// This file has the methods by which a plan is flood.Rules.

// DefaultExpiry is how long rules match after they were loaded, unless another time is asked
// for. Chosen: floods of queries last minutes, an evening's attacker comes back for longer,
// and what nobody loads again must not stand in a firewall next month.
const DefaultExpiry = time.Hour

// FormatExpiry returns a time of whole seconds for people: "1h", "90m".
func FormatExpiry(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// NFTables returns the lines of the plan as a file for nft, with a table of its own.
func (p *plan) NFTables() string {
	w := newNFTWriter(p.tableName(), p.expiry)
	w.writeLine("# load:   nft -f FILE")
	w.writeLine("# remove: nft delete table inet %s", w.table)
	w.writeTable([]group{{p}})
	return w.String()
}

// IPTables returns the lines of the plan as a file for iptables-restore or ip6tables-restore,
// and which of the two tools it is for.
func (p *plan) IPTables() (file, tool string) { return p.formatIPTables(), p.iptablesName() }

// Scope returns which packets the lines look at.
func (p *plan) Scope() flood.RuleScope {
	return flood.RuleScope{Net: p.net, Port: p.target.Port(), TCP: p.isTCP, Outgoing: p.kind == flood.Reflection}
}

// Lines returns what the lines do.
func (p *plan) Lines() (list []flood.RuleLine) {
	for i := range p.rules[:p.numRules] {
		r := &p.rules[i]
		x := flood.RuleLine{What: p.comment(r.kind), Packets: int(r.limit.packets), Per: r.limit.per, Burst: int(r.limit.burst),
			Each: r.kind.isPerSource(), NeedsPeers: r.kind.needsPeers()}
		if r.kind == lineSources || r.kind == lineVictims {
			x.Named = slices.Clone(p.named[:p.numNames])
		} else if !p.isTCP {
			x.Patterns, x.Exempt = p.sets[r.kind].patterns, p.sets[r.kind].exempt
		}
		list = append(list, x)
	}
	return list
}

// group is the plans for one target: those whose rules look at the same packets.
type group []*plan

// Ruleset is the rules against several incidents, as one file for a tool.
type Ruleset struct {
	groups []group // in the order of their first incidents
	table  string  // of nftables
	expiry time.Duration
}

// NewRuleset returns the rules against those of the incidents that have any. Of incidents of
// one kind at one target only the last counts. With an expiry above 0 the rules match nothing
// any more so long after they were loaded.
func NewRuleset(table string, incidents []flood.Incident, expiry time.Duration) *Ruleset {
	r := &Ruleset{table: table, expiry: expiry}
	for i := range incidents {
		p, ok := incidents[i].Advice.Rules.(*plan)
		if !ok || IsReplaced(incidents[i+1:], &incidents[i]) {
			continue
		}
		same := func(g group) bool { return g[0].Scope() == p.Scope() }
		if at := slices.IndexFunc(r.groups, same); at >= 0 {
			r.groups[at] = append(r.groups[at], p)
		} else {
			r.groups = append(r.groups, group{p})
		}
	}
	return r
}

// IsReplaced reports whether one of the later incidents has the same kind and target and
// rules, which then count.
func IsReplaced(later []flood.Incident, in *flood.Incident) bool {
	return slices.ContainsFunc(later, func(l flood.Incident) bool {
		return l.Kind == in.Kind && l.Target == in.Target && l.Advice.Rules != nil
	})
}

// IsEmpty reports whether there are no rules.
func (r *Ruleset) IsEmpty() bool { return len(r.groups) == 0 }

// Names reports whether the rules drop everything from an address, which is named alone and
// not by its network.
func (r *Ruleset) Names(a netip.Addr) bool {
	for _, g := range r.groups {
		for _, p := range g {
			if p.hasRule(lineSources) && slices.ContainsFunc(p.named[p.numNetworks:p.numNames],
				func(x netip.Prefix) bool { return x.Contains(a) }) {
				return true
			}
		}
	}
	return false
}
