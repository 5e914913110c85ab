package advice

import (
	"fmt"
	"strings"
	"time"

	"qsniff/flood"
)

// iptables is the same lines for iptables-restore, or ip6tables-restore.
func (p *plan) iptables() string {
	w := &iptWriter{plan: p, table: "raw", chain: fmt.Sprintf("QSNIFF%d", p.id)}
	hook := "PREROUTING"
	if p.kind == flood.Reflection {
		w.table, hook = "mangle", "POSTROUTING" // raw has none
	}
	jump := fmt.Sprintf("%s %s -j %s", hook, w.end(), w.chain)
	tool := p.iptablesName()
	w.line("# load: %s-restore -n FILE   remove, in this order:", tool)
	w.line("# %s -t %s -D %s", tool, w.table, jump)
	for _, do := range [...]string{"F", "X"} {
		for _, c := range w.chains() {
			w.line("# %s -t %s -%s %s", tool, w.table, do, c)
		}
	}
	w.line("*%s", w.table)
	for _, c := range w.chains() {
		w.line(":%s - [0:0]", c)
	}
	w.line("-I %s", jump)
	if p.kind == flood.RconBruteforce {
		w.line("# let in: -A %s -s ADDRESS -j RETURN", w.chain)
	}
	for i := range p.rules[:p.n] {
		w.writeRule(&p.rules[i])
	}
	w.line("COMMIT")
	return w.String()
}

func (p *plan) iptablesName() string {
	if p.six {
		return "ip6tables"
	}
	return "iptables"
}

type iptWriter struct {
	strings.Builder
	*plan
	table, chain string
}

func (w *iptWriter) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

func (w *iptWriter) end() string {
	a, port := w.plan.end.Addr(), w.plan.end.Port()
	switch {
	case w.kind == flood.Reflection:
		return fmt.Sprintf("-s %s -p udp --sport %d", a, port)
	case w.kind == flood.ReplyFloodVictim:
		return fmt.Sprintf("-d %s -p udp", a)
	case w.tcp:
		return fmt.Sprintf("-d %s -p tcp --dport %d --tcp-flags SYN,ACK SYN", a, port)
	}
	return fmt.Sprintf("-d %s -p udp --dport %d", a, port)
}

// iptLetters end the names of the chains that share a limit.
var iptLetters = [...]string{lineQueries: "Q", lineFirst: "F", lineVictims: "V", lineOthers: "O", lineUnasked: "U",
	lineJunk: "J", lineLogins: "L"}

// chains are the chain of the target and those of its rules.
func (w *iptWriter) chains() []string {
	all := []string{w.chain}
	for _, r := range w.rules[:w.n] {
		if r.line != lineSources {
			all = append(all, w.chain+iptLetters[r.line])
		}
	}
	return all
}

func (w *iptWriter) writeRule(r *planRule) {
	to, match := w.chain+iptLetters[r.line], u32{w.six}
	switch r.line {
	case lineSources:
		for _, x := range w.named[:w.names] {
			w.line("-A %s -s %s -j DROP", w.chain, filterAddress(x))
		}
		return
	case lineVictims:
		for _, x := range w.named[:w.names] {
			w.line("-A %s -d %s -j %s", w.chain, filterAddress(x), to)
		}
	default:
		if w.tcp { // the hook let nothing else through
			w.line("-A %s -j %s", w.chain, to)
			break
		}
		for _, m := range match.matches(w.sets[r.line].patterns) {
			w.line("-A %s %s -j %s", w.chain, m, to)
		}
	}
	for _, m := range match.matches(w.sets[r.line].passing) {
		w.line("-A %s %s -j RETURN", to, m)
	}
	if r.line == lineJunk {
		w.line("-A %s -m limit --limit 5/sec --limit-burst 5 -j NFLOG --nflog-group 5 --nflog-size 96", to)
	}
	unit := "sec"
	if r.limit.per == time.Minute {
		unit = "min"
	}
	line := fmt.Sprintf("-A %s -m hashlimit --hashlimit-above %d/%s --hashlimit-burst %d", to, r.limit.packets, unit,
		r.limit.burst)
	if r.line.isPerSource() {
		// Its table is larger than nft's set: hashlimit drops all that does not fit.
		line += w.mode(r.line) + fmt.Sprintf(" --hashlimit-htable-max %d --hashlimit-htable-expire %d", 8*trialSources,
			r.line.idle().Milliseconds())
	}
	w.line("%s --hashlimit-name qs%d%s -j DROP", line, w.id, strings.ToLower(iptLetters[r.line]))
}

// mode is what has a bucket of its own: each host, in IPv6 each /64.
func (w *iptWriter) mode(l line) string {
	end := "src"
	if l == lineOthers {
		end = "dst"
	}
	mode := " --hashlimit-mode " + end + "ip"
	if w.six {
		mode += " --hashlimit-" + end + "mask 64"
	}
	return mode
}
