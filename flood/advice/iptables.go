package advice

import (
	"fmt"
	"strings"
	"time"

	"qsniff/flood"
)

// formatIPTables returns the lines of the plan as a file for iptables-restore, or
// ip6tables-restore.
func (p *plan) formatIPTables() string {
	w := &iptWriter{plan: p, table: "raw", chain: fmt.Sprintf("QSNIFF%d", p.id)}
	hook := "PREROUTING"
	if p.kind == flood.Reflection {
		w.table, hook = "mangle", "POSTROUTING" // raw has none
	}
	jump := fmt.Sprintf("%s %s -j %s", hook, w.endMatch(), w.chain)
	tool := p.iptablesName()
	w.writeLine("# load: %s-restore -n FILE   remove, in this order:", tool)
	w.writeLine("# %s -t %s -D %s", tool, w.table, jump)
	for _, do := range [...]string{"F", "X"} {
		for _, c := range w.chainNames() {
			w.writeLine("# %s -t %s -%s %s", tool, w.table, do, c)
		}
	}
	w.writeLine("*%s", w.table)
	for _, c := range w.chainNames() {
		w.writeLine(":%s - [0:0]", c)
	}
	w.writeLine("-I %s", jump)
	if p.kind == flood.RconBruteforce {
		w.writeLine("# let in: -A %s -s ADDRESS -j RETURN", w.chain)
	}
	for i := range p.rules[:p.numRules] {
		w.writeRule(&p.rules[i])
	}
	w.writeLine("COMMIT")
	return w.String()
}

func (p *plan) iptablesName() string {
	if p.isIPv6 {
		return "ip6tables"
	}
	return "iptables"
}

type iptWriter struct {
	strings.Builder
	*plan
	table, chain string
}

func (w *iptWriter) writeLine(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

func (w *iptWriter) endMatch() string {
	a, port := w.plan.target.Addr(), w.plan.target.Port()
	switch {
	case w.kind == flood.Reflection:
		return fmt.Sprintf("-s %s -p udp --sport %d", a, port)
	case w.kind == flood.ReplyFloodVictim:
		return fmt.Sprintf("-d %s -p udp", a)
	case w.isTCP:
		return fmt.Sprintf("-d %s -p tcp --dport %d --tcp-flags SYN,ACK SYN", a, port)
	}
	return fmt.Sprintf("-d %s -p udp --dport %d", a, port)
}

// iptChainSuffixes end the names of the chains whose lines share a limit.
var iptChainSuffixes = [...]string{lineQueries: "Q", lineFirst: "F", lineVictims: "V", lineOthers: "O", lineUnasked: "U",
	lineJunk: "J", lineLogins: "L"}

// chainNames returns the chain of the target and those of its rules.
func (w *iptWriter) chainNames() []string {
	all := []string{w.chain}
	for _, r := range w.rules[:w.numRules] {
		if r.kind != lineSources {
			all = append(all, w.chain+iptChainSuffixes[r.kind])
		}
	}
	return all
}

func (w *iptWriter) writeRule(r *planRule) {
	to, match := w.chain+iptChainSuffixes[r.kind], u32{w.isIPv6}
	switch r.kind {
	case lineSources:
		for _, x := range w.named[:w.numNames] {
			w.writeLine("-A %s -s %s -j DROP", w.chain, filterAddress(x))
		}
		return
	case lineVictims:
		for _, x := range w.named[:w.numNames] {
			w.writeLine("-A %s -d %s -j %s", w.chain, filterAddress(x), to)
		}
	default:
		if w.isTCP { // the hook let nothing else through
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
		// Its table is larger than nft's set: hashlimit drops all that does not fit.
		line += w.hashlimitMode(r.kind) + fmt.Sprintf(" --hashlimit-htable-max %d --hashlimit-htable-expire %d", 8*trialSources,
			r.kind.idleTime().Milliseconds())
	}
	w.writeLine("%s --hashlimit-name qs%d%s -j DROP", line, w.id, strings.ToLower(iptChainSuffixes[r.kind]))
}

// hashlimitMode returns the options that give a bucket to each host, in IPv6 to each /64.
func (w *iptWriter) hashlimitMode(l lineKind) string {
	end := "src"
	if l == lineOthers {
		end = "dst"
	}
	mode := " --hashlimit-mode " + end + "ip"
	if w.isIPv6 {
		mode += " --hashlimit-" + end + "mask 64"
	}
	return mode
}
