package advice

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"qsniff/dissect"
	"qsniff/internal/flood"
	"qsniff/internal/track"
)

// This file has the methods by which a plan is flood.Rules.

// DefaultExpiry is how long rules match after they were loaded, unless another time is asked
// for. Chosen: floods of queries last minutes, an evening's attacker comes back for longer,
// and rules that are not loaded again must not stand in a firewall next month.
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

// NFTables returns the lines of the plan as a file for nft. They go into the table of all rules, beside
// those against other incidents.
func (p *plan) NFTables() string {
	w := newNFTWriter(Table, p.expiry)
	w.writeAlone(p)
	return w.String()
}

// IPTables returns the lines of the plan as a file for iptables-restore or ip6tables-restore,
// and which of the two tools it is for.
func (p *plan) IPTables() (file, tool string) { return p.formatIPTables(), p.iptablesName() }

// Scope returns which packets the lines look at.
func (p *plan) Scope() flood.RuleScope {
	return flood.RuleScope{Net: p.net, Port: p.target.Port(), TCP: p.isTCP, Outgoing: p.kind == flood.Reflection, Class: p.className()}
}

// className returns what the lines look at where that is not UDP or a new connection.
func (p *plan) className() string {
	if p.class == nil {
		return ""
	}
	return p.class.name
}

// nftPorts returns the ports of the target as nft has them.
func (p *plan) nftPorts() string {
	if len(p.ports) == 0 {
		return strconv.Itoa(int(p.target.Port()))
	}
	return "{ " + p.joinPorts(", ") + " }"
}

// iptablesPorts returns the match of the target's ports at an end of packets, "d" or "s".
func (p *plan) iptablesPorts(end string) string {
	if len(p.ports) == 0 {
		return fmt.Sprintf("--%sport %d", end, p.target.Port())
	}
	return fmt.Sprintf("-m multiport --%sports %s", end, p.joinPorts(","))
}

func (p *plan) joinPorts(sep string) string {
	all := append([]uint16{p.target.Port()}, p.ports...)
	slices.Sort(all)
	s := strconv.Itoa(int(all[0]))
	for _, n := range all[1:] {
		s += sep + strconv.Itoa(int(n))
	}
	return s
}

// Lines returns what the lines do.
func (p *plan) Lines() (list []flood.RuleLine) {
	for i := range p.rules[:p.numRules] {
		r := &p.rules[i]
		x := flood.RuleLine{What: p.comment(r.kind), Packets: int(r.limit.packets), Per: r.limit.per, Burst: int(r.limit.burst),
			Each: r.kind.isPerSource(), NeedsPeers: r.kind.needsPeers()}
		if r.kind == lineSources || r.kind == lineVictims {
			for _, n := range p.named[:p.numNames] { // what looks at no source port would block the host itself
				if !slices.ContainsFunc(p.spared[:p.numSpared], func(a netip.AddrPort) bool { return n.Contains(a.Addr()) }) {
					x.Named = append(x.Named, n)
				}
			}
		} else if !p.isTCP && r.kind != lineClass {
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
		return l.Kind == in.Kind && l.Target == in.Target && l.Advice.Rules != nil && (l.Class == nil || in.Class == nil || l.Class.Name == in.Class.Name)
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

// rateLimit is the limit of a token bucket, as of nftables' "limit rate over" (nft_limit.c of
// Linux) and iptables' hashlimit. A packet costs the time in which one more is allowed; the
// time that passes fills the bucket, up to burst packets. A bucket begins full. A packet over
// the limit is dropped and costs nothing.
type rateLimit struct {
	packets int64 // 0: none is let through
	per     time.Duration
	burst   int64
}

// charge charges a packet at now to a bucket and reports whether it is over the limit, as
// bucketCost.charge does.
func (l *rateLimit) charge(full *int64, now int64) bool { return l.costs().charge(full, now) }

// bucketCost is a limit in nanoseconds: what a packet costs, and what burst packets do.
type bucketCost struct{ each, most int64 }

// costs returns the limit in nanoseconds: who charges many packets divides once. The costs of
// the zero limit are 0.
func (l *rateLimit) costs() bucketCost {
	if l.packets == 0 {
		return bucketCost{}
	}
	each := int64(l.per) / l.packets
	return bucketCost{each, each * l.burst}
}

// charge charges a packet at now to a bucket and reports whether it is over the limit. *full
// is the time when the bucket will be full: all of its state, equivalent to a count of tokens
// with the time of the last packet.
func (c bucketCost) charge(full *int64, now int64) bool {
	from := max(*full, now)
	if from-now+c.each > c.most {
		return true
	}
	*full = from + c.each
	return false
}

// formLines says which lines of a trial look at packets of one form. A flood has few forms, so
// that this need not be found out for every packet.
type formLines struct {
	formKey
	isSet    bool
	isAbout  bool // they are what the incident counts
	numTests int
	tests    [trialPlans * planRules]lineTest // plan by plan; where a line names sources, it looks at theirs
}

// lineTest is a line that looks at packets of a form.
type lineTest struct {
	of   *attempt
	rule *ruleTest
	plan planSet // has that of the attempt
}

// formKey is all of a packet, its ends aside, that decides which lines look at it.
type formKey struct {
	typ   *dissect.Type
	bytes uint32
	what  track.PacketType
	flags track.SightFlags
}

// decisiveFlags are those flags that decide which lines look at a packet.
const decisiveFlags = track.HasKey | track.Cut | track.Connection | track.Familiar

// linesFor returns the lines that look at a packet. They are valid until the next call.
func (t *trial) linesFor(s *track.Sighting) *formLines {
	k := formKey{s.Type, s.Bytes, s.What, s.Flags & decisiveFlags}
	x := &t.forms[(k.bytes^uint32(s.Asks)<<1^uint32(k.flags))%trialForms]
	if x.isSet && x.formKey == k {
		return x
	}
	*x = formLines{formKey: k, isSet: true, isAbout: t.attempts[0].plan.isAbout(s)}
	for i := range t.attempts[:t.numAttempts] {
		p := &t.attempts[i].plan
		for j := range p.rules[:p.numRules] {
			if p.looksAt(p.rules[j].kind, s) {
				x.tests[x.numTests] = lineTest{&t.attempts[i], &t.attempts[i].tests[j], 1 << i}
				x.numTests++
			}
		}
	}
	return x
}

// apply charges a packet of the form at the time now to the limits of those lines that match it, up
// to the one of each plan that drops it. It returns the plans that drop it.
func (x *formLines) apply(end *remoteEnd, now int64) (dropped planSet) {
	for i := range x.tests[:x.numTests] {
		l := &x.tests[i]
		switch r := l.rule; {
		case dropped&l.plan != 0, r.spares && l.of.isSpared(r, end, now):
		case now < r.opens: // of a limit that all sources share, or that lets none through
			dropped |= l.plan
		case !r.isPerSource:
			r.charge(now)
		case l.of.isOver(r, end.bucketOf(r), now):
			dropped |= l.plan
		}
	}
	return dropped
}

const (
	// limit: trialForms is for how many forms of packets a trial keeps which lines look at them. Chosen:
	// the queries of a protocol, with and without a challenge.
	trialForms = 16
)
