package advice

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"qsniff/dissect"
	"qsniff/internal/flood"
)

// formatIPTables returns the lines of the plan as a file for iptables-restore, or
// ip6tables-restore.
func (p *plan) formatIPTables() string {
	w := &iptWriter{}
	w.turnTo(p)
	w.chain = w.ownChain()
	jump := fmt.Sprintf("%s %s -j %s", p.iptablesHook(), w.endMatch(), w.chain)
	natJump := fmt.Sprintf("%s %s -j %s", p.iptablesHook(), w.natReplyMatch(), w.chain)
	tool := p.iptablesName()
	sets := w.ipSets("")
	if len(sets) > 0 {
		w.writeLine("# first, as iptables remembers no addresses (Debian: apt install ipset):")
		for i := range sets {
			w.writeLine("# %s", w.formatCreate(&sets[i]))
		}
	}
	if w.seesReplies() {
		w.writeLine("# load on a host with NAT (Docker): sed 's/^%s//' FILE | %s-restore -n", natComment, tool)
	}
	w.writeLine("# load: %s-restore -n FILE   remove, in this order:", tool)
	w.writeLine("# %s -t %s -D %s", tool, p.iptablesTable(), jump)
	if p.kind == flood.Reflection {
		w.writeLine("# %s -t %s -D %s   (with NAT)", tool, p.iptablesTable(), natJump)
	}
	for _, do := range [...]string{"F", "X"} {
		for _, c := range w.chainNames() {
			w.writeLine("# %s -t %s -%s %s", tool, p.iptablesTable(), do, c)
		}
	}
	w.writeFills(tool, sets)
	w.writeLine("*%s", p.iptablesTable())
	for _, c := range w.chainNames() {
		w.writeLine(":%s - [0:0]", c)
	}
	w.writeLine("-I %s", jump)
	if p.kind == flood.Reflection {
		w.writeLine("%s-I %s", natComment, natJump)
	}
	w.writePlan()
	w.writeLine("COMMIT")
	return w.String()
}

// writeFills writes the rules that fill the sets, and how to remove them and the sets.
func (w *iptWriter) writeFills(tool string, sets []ipSet) {
	for _, x := range sets {
		for _, rule := range x.fills {
			w.writeLine("# %s -t mangle -D POSTROUTING %s", tool, rule)
		}
		for _, rule := range x.natFills {
			w.writeLine("# %s -t mangle -D POSTROUTING %s   (with NAT)", tool, rule)
		}
		if x.chain != "" {
			w.writeLine("# %s -t mangle -F %s", tool, x.chain)
			w.writeLine("# %s -t mangle -X %s", tool, x.chain)
		}
		w.writeLine("# ipset destroy %s", x.name)
	}
	if len(sets) == 0 {
		return
	}
	w.writeLine("*mangle")
	for _, x := range sets {
		if x.chain != "" {
			w.writeLine(":%s - [0:0]", x.chain)
		}
	}
	for _, x := range sets {
		for _, rule := range x.rules {
			w.writeLine("%s", rule)
		}
		for _, rule := range x.fills {
			w.writeLine("-A POSTROUTING %s", rule)
		}
		for _, rule := range x.natFills {
			w.writeLine("%s-A POSTROUTING %s", natComment, rule)
		}
	}
	w.writeLine("COMMIT")
}

// iptablesTable returns the table of the plan's lines: raw, which is before connection
// tracking; it has no hook for what leaves a router.
func (p *plan) iptablesTable() string {
	if p.kind == flood.Reflection {
		return "mangle"
	}
	return "raw"
}

func (p *plan) iptablesHook() string {
	if p.kind == flood.Reflection {
		return "POSTROUTING"
	}
	return "PREROUTING"
}

func (p *plan) iptablesName() string {
	if p.isIPv6 {
		return "ip6tables"
	}
	return "iptables"
}

// IPTablesChain is the chain that the lines of a Ruleset for iptables begin in.
const IPTablesChain = "QSNIFF"

// iptWriter writes lines for iptables-restore.
type iptWriter struct {
	strings.Builder
	*plan        // the one that is being written
	chain string // of the target
}

// turnTo makes p the plan that is written.
func (w *iptWriter) turnTo(p *plan) { w.plan = p }

// ownChain returns the name of the plan's first chain.
func (w *iptWriter) ownChain() string { return fmt.Sprintf("%s%d", IPTablesChain, w.id) }

// writePlan writes the rules of the plan.
func (w *iptWriter) writePlan() {
	if w.kind == flood.RconBruteforce {
		w.writeLine("# let in: -A %s -s ADDRESS -j RETURN", w.chain)
	}
	for i := range w.rules[:w.numRules] {
		w.writeRule(&w.rules[i])
	}
}

// IPTables is the lines of a Ruleset for one table of one tool.
type IPTables struct {
	Tool, Table, Hook string   // "iptables", "raw", "PREROUTING"
	Chains            []string // all of its own, IPTablesChain first
	Sets              []string // commands of ipset that make the sets in Lines; none fails if it is there
	Lines             string   // a file for iptables-restore -n; nothing jumps to IPTablesChain in it
	HasNAT            bool     // some of Lines start with ${nat}, which is to be empty with NAT, else "#"
}

// IPTables returns the lines for iptables and ip6tables, without a jump to the first chain: a
// file for iptables-restore can add one and cannot find out whether it is there. until is the
// last moment at which the lines match, as the match "time" takes it in UTC; empty: for ever.
func (r *Ruleset) IPTables(until string) (list []IPTables) {
	for _, tool := range [...]string{"iptables", "ip6tables"} {
		for _, table := range [...]string{"raw", "mangle"} {
			if x := r.formatIPTables(tool, table, until); x.Lines != "" {
				list = append(list, x)
			}
		}
	}
	return list
}

// formatIPTables returns the lines for one table of one tool.
func (r *Ruleset) formatIPTables(tool, table, until string) IPTables {
	x := IPTables{Tool: tool, Table: table}
	w := &iptWriter{}
	if until != "" {
		until = " -m time --datestop " + until
	}
	var jumps strings.Builder
	for _, g := range r.groups {
		w.turnTo(g[0])
		if g[0].iptablesName() != tool {
			continue
		}
		if g[0].iptablesTable() != table {
			w.writeSetRules(g, &x, &jumps, until)
			continue
		}
		x.Hook, w.chain = g[0].iptablesHook(), w.ownChain()
		x.Chains = append(x.Chains, w.chain)
		mark := fmt.Sprintf(" -m comment --comment %q", g.mark())
		fmt.Fprintf(&jumps, "-A %s %s%s%s -j %s\n", IPTablesChain, w.endMatch(), mark, until, w.chain)
		if w.kind == flood.Reflection {
			x.HasNAT = true
			fmt.Fprintf(&jumps, "%s-A %s %s%s -j %s\n", natPrefix, IPTablesChain, w.natReplyMatch(), until, w.chain)
		}
		for _, p := range g {
			w.turnTo(p)
			x.Chains = append(x.Chains, w.limitChains()...)
			x.Sets = append(x.Sets, w.createSets()...)
			w.writePlan()
		}
	}
	if x.Hook == "" {
		return x
	}
	x.Chains = append([]string{IPTablesChain}, x.Chains...)
	var b strings.Builder
	fmt.Fprintf(&b, "*%s\n", table)
	for _, c := range x.Chains {
		fmt.Fprintf(&b, ":%s - [0:0]\n", c)
	}
	x.Lines = b.String() + jumps.String() + w.String() + "COMMIT\n"
	return x
}

func (w *iptWriter) writeLine(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

func (w *iptWriter) endMatch() string {
	a := filterAddress(w.net)
	switch {
	case w.class != nil:
		return fmt.Sprintf("-d %s %s", a, w.class.iptables)
	case w.kind == flood.Reflection:
		return w.replyMatch()
	case w.kind == flood.ReplyFloodVictim:
		return fmt.Sprintf("-d %s -p udp", a)
	case w.isTCP:
		return fmt.Sprintf("-d %s -p tcp %s --tcp-flags SYN,ACK SYN", a, w.iptablesPorts("d"))
	}
	return fmt.Sprintf("-d %s -p udp %s", a, w.iptablesPorts("d"))
}

// Prefixes of lines for replies with NAT: in a file, and in a script for sh.
const (
	natComment = "#nat "
	natPrefix  = "${nat}"
)

// replyMatch returns the match of what the target sends, where NAT leaves its address alone.
func (w *iptWriter) replyMatch() string {
	if w.class != nil {
		return fmt.Sprintf("-s %s %s", filterAddress(w.net), w.class.sent)
	}
	return fmt.Sprintf("-s %s -p udp %s", filterAddress(w.net), w.iptablesPorts("s"))
}

// natReplyMatch returns the match of what the target sends to clients, where NAT on this host
// (Docker) brings them to it. iptables has no table after nat in POSTROUTING, so that replies
// still have the inner address there, and connection tracking has the outer one. The state
// DNAT keeps out what replyMatch has, and the direction keeps out the queries. The match starts
// connection tracking where there was none: the lines that have it are optional.
func (w *iptWriter) natReplyMatch() string {
	return fmt.Sprintf("-p udp -m conntrack --ctstate DNAT --ctdir REPLY --ctorigdst %s --ctorigdstport %d",
		filterAddress(w.net), w.target.Port())
}

// seesReplies reports whether lines of the plan match what the target sends.
func (w *iptWriter) seesReplies() bool {
	return w.kind == flood.Reflection || w.needsSent() && w.class == nil
}

// iptChainSuffixes end the names of the chains whose lines share a limit.
var iptChainSuffixes = [...]string{lineQueries: "Q", linePairs: "P", lineFirst: "F", lineVictims: "V", lineOthers: "O", lineUnasked: "U",
	lineJunk: "J", lineLogins: "L",
	lineOdd: "D", lineUnissued: "G", lineStrangers: "S",
	lineClass: "C", lineEach: "E", lineForm: "M"}

// chainNames returns the chain of the target and those of the plan's rules.
func (w *iptWriter) chainNames() []string { return append([]string{w.chain}, w.limitChains()...) }

// limitChains returns the chains of the plan's rules.
func (w *iptWriter) limitChains() (list []string) {
	for _, r := range w.rules[:w.numRules] {
		if r.kind != lineSources {
			list = append(list, w.ownChain()+iptChainSuffixes[r.kind])
		}
	}
	return list
}

// hashlimitName returns the name of the kernel's table for a limit. A table with the name is
// used again while rules have it, and keeps its own limit (htable_find_get in xt_hashlimit.c):
// so that a new report replaces limits, the name depends on all that the table has.
func (w *iptWriter) hashlimitName(r *planRule) string {
	h := fnv.New32a()
	fmt.Fprint(h, w.id, r.kind, r.limit, w.Scope())
	return fmt.Sprintf("qs%08x%s", h.Sum32(), strings.ToLower(iptChainSuffixes[r.kind]))
}

func (w *iptWriter) writeRule(r *planRule) {
	to, match := w.ownChain()+iptChainSuffixes[r.kind], u32{w.isIPv6}
	switch r.kind {
	case lineSources:
		for _, x := range w.named[:w.numNames] {
			own := ""
			for _, y := range w.spared[:w.numSpared] {
				if x.Contains(y.Addr()) {
					own = fmt.Sprintf(" -p udp ! --sport %d", y.Port())
				}
			}
			w.writeLine("-A %s -s %s%s -j DROP", w.chain, filterAddress(x), own)
		}
		return
	case lineVictims:
		for _, x := range w.named[:w.numNames] {
			w.writeLine("-A %s -d %s -j %s", w.chain, filterAddress(x), to)
		}
	default:
		if w.isTCP || r.kind == lineClass { // the hook let nothing else through
			w.writeLine("-A %s -j %s", w.chain, to)
			break
		}
		for _, m := range match.formatMatches(w.sets[r.kind].patterns) {
			w.writeLine("-A %s %s -j %s", w.chain, m, to)
		}
	}
	for _, m := range match.formatMatches(w.sets[r.kind].exempt) {
		w.writeLine("-A %s %s -j RETURN", to, m)
	}
	if r.kind.needsPeers() {
		w.writeLine("-A %s -m set --match-set %s src -j RETURN", to, w.setName(peerSet))
	}
	if w.letsAnsweredPass(r.kind) {
		w.writeAnsweredPass(to)
	}
	if r.limit.packets == 0 {
		w.writeLine("-A %s -j DROP", to)
		return
	}
	if r.kind == lineJunk {
		w.writeLine("-A %s -m limit --limit 5/sec --limit-burst 5 -j NFLOG --nflog-group 5 --nflog-size 96", to)
	}
	unit := "sec"
	if r.limit.per == time.Minute {
		unit = "min"
	}
	line := fmt.Sprintf("-A %s -m hashlimit --hashlimit-above %d/%s --hashlimit-burst %d", to, r.limit.packets, unit,
		r.limit.burst)
	if r.kind.isPerSource() {
		line += w.hashlimitTable(r.kind)
	}
	w.writeLine("%s --hashlimit-name %s -j DROP", line, w.hashlimitName(r))
}

// hashlimitTable returns the options of a table with a bucket for each source. It is larger
// than nft's set: hashlimit drops all that does not fit.
func (w *iptWriter) hashlimitTable(l lineKind) string {
	return w.hashlimitMode(l) + fmt.Sprintf(" --hashlimit-htable-max %d --hashlimit-htable-expire %d", 8*trialSources,
		l.idleTime().Milliseconds())
}

// hashlimitMode returns the options that give a bucket to each host, in IPv6 to each /64.
func (w *iptWriter) hashlimitMode(l lineKind) string {
	end := "src"
	if l == lineOthers {
		end = "dst"
	}
	mode := " --hashlimit-mode " + end + "ip"
	if l == linePairs {
		return mode + ",srcport"
	}
	if w.isIPv6 {
		mode += " --hashlimit-" + end + "mask 64"
	}
	return mode
}

// u32 writes patterns as matches of iptables, each for a line of its own. Lines on TCP need
// none: the hook's line has the match.
type u32 struct{ isIPv6 bool }

// u32Values is how many values, or runs of them, the match takes in one test.
const u32Values = 10

// formatMatches returns the tests for patterns as options of iptables.
func (u u32) formatMatches(patterns []dissect.Pattern) (list []string) {
	const maxLen = 4 // bytes that a test compares
	for _, m := range matchesOf(patterns, maxLen) {
		for _, m := range m.split(u32Values) {
			var tests []string
			for i := range m.words {
				tests = append(tests, u.formatWord(&m.words[i]))
			}
			text := strings.TrimSuffix(u.formatLength(&m), " ")
			if len(tests) > 0 {
				text = u.formatLength(&m) + fmt.Sprintf("-m u32 --u32 %q", strings.Join(tests, "&&"))
			}
			list = append(list, text)
		}
	}
	return list
}

// split returns matches that together are m, whose words have at most so many spans of values
// each.
func (m match) split(most int) []match {
	for i := range m.words {
		spans := m.words[i].spans()
		if len(spans) <= most {
			continue
		}
		first, rest := m.withValues(i, spans[:most]), m.withValues(i, spans[most:])
		return append(first.split(most), rest.split(most)...)
	}
	return []match{m}
}

// withValues returns m with other values for word at.
func (m match) withValues(at int, spans []span) match {
	m.words = append([]word(nil), m.words...)
	var values []uint64
	for _, x := range spans {
		for v := x.lo; ; v++ {
			values = append(values, v)
			if v == x.hi {
				break
			}
		}
	}
	m.words[at].values = values
	return m
}

// formatWord returns the test of a word. The match loads four bytes; a shorter word is the
// last of these, so that a message may end with it.
func (u u32) formatWord(w *word) string {
	s := u.formatOffset(udpHeader + w.off + w.size - 4)
	if mask := w.mask; mask != 0xffffffff {
		s += fmt.Sprintf("&0x%X", mask)
	}
	var list []string
	for _, x := range w.spans() {
		if x.lo == x.hi {
			list = append(list, fmt.Sprintf("0x%X", x.lo))
		} else {
			list = append(list, fmt.Sprintf("0x%X:0x%X", x.lo, x.hi))
		}
	}
	return s + "=" + strings.Join(list, ",")
}

// formatOffset returns the place of four bytes at an offset from the UDP header, which follows
// the IPv4 header, however long, or an IPv6 header without extensions.
func (u u32) formatOffset(offset int) string {
	if u.isIPv6 {
		return fmt.Sprint(40 + offset)
	}
	return fmt.Sprintf("0>>22&0x3C@%d", offset)
}

// formatLength returns the test of a payload's length, empty if there is none. The match
// counts the IP header, taken to be without options.
func (u u32) formatLength(m *match) string {
	headers, most := 20+udpHeader, 65535
	if u.isIPv6 {
		headers += 20
	}
	lo, hi := m.lengthTest()
	switch {
	case lo == 0 && hi == 0:
		return ""
	case lo == hi:
		return fmt.Sprintf("-m length --length %d ", headers+lo)
	case hi > 0:
		most = headers + hi
	}
	return fmt.Sprintf("-m length --length %d:%d ", headers+lo, most)
}

// This file has the lines for iptables about whom the server sent something, and about whom it
// answered: the addresses are in sets of the tool ipset, which lines in the table mangle fill.

// ipSet is one of these sets.
type ipSet struct {
	name     string
	idle     time.Duration
	size     int
	fills    []string // the rules that fill it, without their chain
	natFills []string // the same for replies that NAT translates
	chain    string   // that the fills jump to; empty: they fill the set themselves
	rules    []string // of that chain
}

// formatAdd returns the target of a rule that adds the receiver.
func (x *ipSet) formatAdd() string { return fmt.Sprintf("-j SET --add-set %s dst --exist", x.name) }

// skip gives the set a chain of its own, which adds the receivers of all but what the patterns match.
func (x *ipSet) skip(w *iptWriter, patterns []dissect.Pattern) {
	x.chain = w.ownChain() + "T"
	for _, m := range (u32{w.isIPv6}).formatMatches(patterns) {
		x.rules = append(x.rules, fmt.Sprintf("-A %s %s -j RETURN", x.chain, m))
	}
	x.rules = append(x.rules, fmt.Sprintf("-A %s %s", x.chain, x.formatAdd()))
}

// fill adds the rules that add the receivers of replies with a match.
func (x *ipSet) fill(w *iptWriter, match, until string) {
	rule := x.formatAdd()
	if x.chain != "" {
		rule = "-j " + x.chain
	}
	if match != "" {
		rule = match + " " + rule
	}
	x.fills = append(x.fills, fmt.Sprintf("%s%s %s", w.replyMatch(), until, rule))
	if w.class != nil { // its packets are not those of one server behind NAT
		return
	}
	x.natFills = append(x.natFills, fmt.Sprintf("%s%s %s", w.natReplyMatch(), until, rule))
}

// ipSets returns the sets of the plan. until is a match that ends the rules that fill them.
func (w *iptWriter) ipSets(until string) (list []ipSet) {
	if w.needsPeers() {
		x := ipSet{name: w.setName(peerSet), idle: peerIdle, size: trialPeers}
		if w.skipsReplies() {
			x.skip(w, w.replies.patterns)
		}
		x.fill(w, "", until)
		list = append(list, x)
	}
	if w.needsAnswered() {
		x := ipSet{name: w.setName(answeredSet), idle: answeredIdle, size: trialAnswered}
		for _, m := range (u32{w.isIPv6}).formatMatches(w.gated.patterns) {
			x.fill(w, m, until)
		}
		list = append(list, x)
	}
	return list
}

// What the names of the sets end with.
const (
	peerSet     = ""
	answeredSet = "a"
)

// IPSetPackage is what has to be installed for that.
const IPSetPackage = "ipset (Debian: apt install ipset)"

// setName returns the name of a set.
func (w *iptWriter) setName(set string) string {
	if w.isIPv6 {
		return fmt.Sprintf("qsniff%d%s-6", w.id, set)
	}
	return fmt.Sprintf("qsniff%d%s", w.id, set)
}

// formatCreate returns the command that makes a set.
func (w *iptWriter) formatCreate(x *ipSet) string {
	family := "inet"
	if w.isIPv6 {
		family = "inet6"
	}
	return fmt.Sprintf("ipset -exist create %s hash:ip family %s timeout %d maxelem %d", x.name, family,
		int(x.idle.Seconds()), x.size)
}

// createSets returns the commands that make the sets of the plan.
func (w *iptWriter) createSets() (list []string) {
	for _, x := range w.ipSets("") {
		list = append(list, w.formatCreate(&x))
	}
	return list
}

// writeSetRules writes the rules that fill the sets of a group to the first chain of the
// table mangle, which x is for if it is for another table than the group's.
func (w *iptWriter) writeSetRules(g group, x *IPTables, first *strings.Builder, until string) {
	for _, p := range g {
		w.turnTo(p)
		if x.Table != "mangle" || !p.needsSent() {
			continue
		}
		x.Hook = "POSTROUTING"
		x.Sets = append(x.Sets, w.createSets()...)
		for _, set := range w.ipSets(until) {
			if set.chain != "" {
				x.Chains = append(x.Chains, set.chain)
			}
			for _, rule := range set.rules {
				w.writeLine("%s", rule)
			}
			for _, rule := range set.fills {
				fmt.Fprintf(first, "-A %s %s\n", IPTablesChain, rule)
			}
			for _, rule := range set.natFills {
				x.HasNAT = true
				fmt.Fprintf(first, "%s-A %s %s\n", natPrefix, IPTablesChain, rule)
			}
		}
	}
}

// writeAnsweredPass writes the line that lets those pass whom the server answered.
func (w *iptWriter) writeAnsweredPass(chain string) {
	pass := planRule{kind: lineQueries, limit: w.pass}
	w.writeLine("-A %s -m set --match-set %s src -m hashlimit --hashlimit-upto %d/sec --hashlimit-burst %d%s --hashlimit-name %s -j RETURN",
		chain, w.setName(answeredSet), pass.limit.packets, pass.limit.burst, w.hashlimitTable(pass.kind), w.hashlimitName(&pass)+"p")
}

const (
	// limit: trialPeers is how many sources that the server sent something to a trial keeps, and the size
	// of the set in such lines: a minute of the answers to capUnknown queries a second, and of the players
	// of a large server. It takes 1 MiB for each plan.
	trialPeers = 1 << 15
)
