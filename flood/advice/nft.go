package advice

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"qsniff/flood"
)

// formatNFT returns the lines of the plan as a file for nft. Names of chains and sets have the
// incident's number.
func (p *plan) formatNFT() string {
	w := &nftWriter{plan: p, ip: "ip", typ: "ipv4_addr"}
	if p.isIPv6 {
		w.ip, w.typ = "ip6", "ipv6_addr"
	}
	w.writeLine("# load:   nft -f FILE")
	w.writeLine("# remove: nft delete table inet %s", p.tableName())
	w.writeLine("add table inet %s", p.tableName())
	w.writeLine("delete table inet %s", p.tableName())
	w.writeLine("table inet %s {", p.tableName())
	w.writeSets()
	w.writeHook()
	w.writeLine("  chain target%d {", p.id)
	if p.kind == flood.RconBruteforce {
		w.writeLine("    # let in: nft add element inet TABLE admins%d { ADDRESS }", p.id)
		w.writeLine("    %s saddr @admins%d return", w.ip, p.id)
	}
	for i := range p.rules[:p.numRules] {
		w.writeRule(&p.rules[i])
	}
	w.writeLine("  }")
	for i := range p.rules[:p.numRules] {
		w.writeChain(&p.rules[i])
	}
	w.writeLine("}")
	return w.String()
}

// tableName returns the name of the table: one for each target and kind of attack, so that
// rules of two incidents do not replace each other, and those of one can be loaded again and
// removed alone.
func (p *plan) tableName() string {
	name := p.target.Addr().String()
	if port := p.target.Port(); port != 0 {
		name += "_" + strconv.Itoa(int(port))
	}
	return "qsniff_" + strings.Map(func(r rune) rune {
		if r == '.' || r == ':' || r == '%' {
			return '_'
		}
		return r
	}, name) + "_" + p.kind.String()
}

type nftWriter struct {
	strings.Builder
	*plan
	ip, typ string
}

func (w *nftWriter) writeLine(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// writeSets writes the sets. Named addresses expire after an hour, because anybody may have
// them next.
func (w *nftWriter) writeSets() {
	for i := range w.rules[:w.numRules] {
		r := &w.rules[i]
		switch {
		case r.kind == lineSources || r.kind == lineVictims:
			w.writeLine("  set named%d {", w.id)
			w.writeLine("    type %s; flags interval, timeout; timeout 1h", w.typ)
			w.writeElements()
			w.writeLine("  }")
		case r.kind.isPerSource():
			idle := "60s"
			if r.kind.idleTime() == loginIdle {
				idle = "10m"
			}
			w.writeLine("  set each%d {", w.id)
			w.writeLine("    type %s; flags dynamic, timeout; timeout %s; size %d", w.typ, idle, trialSources)
			w.writeLine("  }")
		}
	}
	if w.kind == flood.RconBruteforce {
		w.writeLine("  set admins%d { type %s; flags interval; }", w.id, w.typ)
	}
}

func (w *nftWriter) writeElements() {
	const a = "    elements = { "
	text, col := a, len(a)
	for i, x := range w.named[:w.numNames] {
		s := filterAddress(x)
		if i > 0 {
			text += ","
			if col += len(s) + 2; col > textWidth-2 {
				text += "\n" + strings.Repeat(" ", len(a))
				col = len(a) + len(s)
			} else {
				text += " "
			}
		} else {
			col += len(s)
		}
		text += s
	}
	w.writeLine("%s }", text)
}

// filterAddress returns a network as filters take it, a host without a prefix length.
func filterAddress(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// writeHook writes the chain that sees packets first: before connection tracking,
// whose table a flood would fill.
func (w *nftWriter) writeHook() {
	name, hook := "pre", "prerouting"
	if w.kind == flood.Reflection {
		name, hook = "post", "postrouting"
	}
	w.writeLine("  chain %s {", name)
	w.writeLine("    type filter hook %s priority raw; policy accept", hook)
	a, port := w.target.Addr(), w.target.Port()
	switch {
	case w.kind == flood.Reflection:
		w.writeLine("    %s saddr %s udp sport %d jump target%d", w.ip, a, port, w.id)
	case w.kind == flood.ReplyFloodVictim:
		w.writeLine("    %s daddr %s meta l4proto udp jump target%d", w.ip, a, w.id)
	case w.isTCP:
		w.writeLine("    %s daddr %s tcp dport %d tcp flags & (syn | ack) == syn \\", w.ip, a, port)
		w.writeLine("      jump target%d", w.id)
	default:
		w.writeLine("    %s daddr %s udp dport %d jump target%d", w.ip, a, port, w.id)
	}
	w.writeLine("  }")
}

// nftChainNames are the names of the chains that the lines of a rule jump to.
var nftChainNames = [...]string{lineQueries: "queries", lineFirst: "first", lineVictims: "victims", lineOthers: "others",
	lineUnasked: "unasked", lineJunk: "junk", lineLogins: "logins"}

// writeRule writes the lines of the target's chain that match the packets of a rule.
func (w *nftWriter) writeRule(r *planRule) {
	w.writeLine("    # %s", w.comment(r.kind))
	switch r.kind {
	case lineSources:
		w.writeLine("    %s saddr @named%d counter drop", w.ip, w.id)
		return
	case lineVictims:
		w.writeLine("    %s daddr @named%d jump victims%d", w.ip, w.id, w.id)
		return
	}
	jump := fmt.Sprintf("jump %s%d", nftChainNames[r.kind], w.id)
	if w.isTCP { // the hook let nothing else through
		w.writeMatch(nil, jump)
		return
	}
	for _, m := range formatNFTMatches(w.sets[r.kind].patterns) {
		w.writeMatch(m, jump)
	}
}

// comment returns the comment above the lines of a rule.
func (p *plan) comment(l lineKind) string {
	switch l {
	case lineSources:
		return "sources that sent the most"
	case lineQueries:
		return "a limit for each source; packets of the game are not looked at"
	case lineFirst:
		if p.hasProof() {
			return "a cap for queries that bring no challenge back"
		}
		return "a cap for all queries together"
	case lineVictims:
		return "what the victims are sent"
	case lineOthers:
		return "what every other host is sent"
	case lineUnasked:
		return "a cap for replies to queries"
	case lineJunk:
		return "a cap for what begins like a query and is neither one nor a join"
	}
	return "attempts to log in"
}

// writeChain writes the chain that the lines of a rule jump to, with their common limit.
func (w *nftWriter) writeChain(r *planRule) {
	if r.kind == lineSources {
		return
	}
	w.writeLine("  chain %s%d {", nftChainNames[r.kind], w.id)
	for _, m := range formatNFTMatches(w.sets[r.kind].exempt) {
		w.writeMatch(m, "return")
	}
	if r.kind == lineJunk {
		w.writeLine("    limit rate 5/second burst 5 packets log group 5 snaplen 96")
	}
	over := "limit rate over " + r.limit.formatNFT()
	end := "saddr"
	if r.kind == lineOthers {
		end = "daddr"
	}
	switch {
	case !r.kind.isPerSource():
		w.writeLine("    %s counter drop", over)
	case w.ip == "ip6":
		w.writeLine("    update @each%d { ip6 %s and ffff:ffff:ffff:ffff:: \\", w.id, end)
		w.writeLine("      %s } counter drop", over)
	default:
		w.writeLine("    update @each%d { ip %s \\", w.id, end)
		w.writeLine("      %s } counter drop", over)
	}
	w.writeLine("  }")
}

func (a *rateLimit) formatNFT() string {
	return fmt.Sprintf("%d/%s burst %d packets", a.packets, a.nftUnit(), a.burst)
}

func (a *rateLimit) nftUnit() string {
	if a.per == time.Minute {
		return "minute"
	}
	return "second"
}
