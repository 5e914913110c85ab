package advice

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"qsniff/flood"
)

// Names of chains and sets carry the incident's number.

// nft is the lines as a file for nft.
func (p *plan) nft() string {
	w := &nftWriter{plan: p, ip: "ip", typ: "ipv4_addr"}
	if p.six {
		w.ip, w.typ = "ip6", "ipv6_addr"
	}
	w.line("# load:   nft -f FILE")
	w.line("# remove: nft delete table inet %s", p.table())
	w.line("add table inet %s", p.table())
	w.line("delete table inet %s", p.table())
	w.line("table inet %s {", p.table())
	w.writeSets()
	w.writeHook()
	w.line("  chain target%d {", p.id)
	if p.kind == flood.RconBruteforce {
		w.line("    # let in: nft add element inet TABLE admins%d { ADDRESS }", p.id)
		w.line("    %s saddr @admins%d return", w.ip, p.id)
	}
	for i := range p.rules[:p.n] {
		w.writeRule(&p.rules[i])
	}
	w.line("  }")
	for i := range p.rules[:p.n] {
		w.writeChain(&p.rules[i])
	}
	w.line("}")
	return w.String()
}

// table is the name of the table: one for each target and kind of attack, so that rules
// of two incidents do not replace each other, and those of one can be loaded again and
// removed alone.
func (p *plan) table() string {
	name := p.end.Addr().String()
	if port := p.end.Port(); port != 0 {
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

func (w *nftWriter) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// writeSets writes the sets: addresses that are named are let go after an hour, because
// the next one to have them may be anybody.
func (w *nftWriter) writeSets() {
	for i := range w.rules[:w.n] {
		r := &w.rules[i]
		switch {
		case r.line == lineSources || r.line == lineVictims:
			w.line("  set named%d {", w.id)
			w.line("    type %s; flags interval, timeout; timeout 1h", w.typ)
			w.writeElements()
			w.line("  }")
		case r.line.isPerSource():
			idle := "60s"
			if r.line.idle() == loginIdle {
				idle = "10m"
			}
			w.line("  set each%d {", w.id)
			w.line("    type %s; flags dynamic, timeout; timeout %s; size %d", w.typ, idle, trialSources)
			w.line("  }")
		}
	}
	if w.kind == flood.RconBruteforce {
		w.line("  set admins%d { type %s; flags interval; }", w.id, w.typ)
	}
}

func (w *nftWriter) writeElements() {
	const a = "    elements = { "
	text, col := a, len(a)
	for i, x := range w.named[:w.names] {
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
	w.line("%s }", text)
}

// filterAddress is a network as filters take it, a host without its length.
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
	w.line("  chain %s {", name)
	w.line("    type filter hook %s priority raw; policy accept", hook)
	a, port := w.end.Addr(), w.end.Port()
	switch {
	case w.kind == flood.Reflection:
		w.line("    %s saddr %s udp sport %d jump target%d", w.ip, a, port, w.id)
	case w.kind == flood.ReplyFloodVictim:
		w.line("    %s daddr %s meta l4proto udp jump target%d", w.ip, a, w.id)
	case w.tcp:
		w.line("    %s daddr %s tcp dport %d tcp flags & (syn | ack) == syn \\", w.ip, a, port)
		w.line("      jump target%d", w.id)
	default:
		w.line("    %s daddr %s udp dport %d jump target%d", w.ip, a, port, w.id)
	}
	w.line("  }")
}

// nftChains are what the lines of a rule jump to.
var nftChains = [...]string{lineQueries: "queries", lineFirst: "first", lineVictims: "victims", lineOthers: "others",
	lineUnasked: "unasked", lineJunk: "junk", lineLogins: "logins"}

// writeRule writes the lines that choose the packets of a rule.
func (w *nftWriter) writeRule(r *planRule) {
	w.line("    # %s", w.comment(r.line))
	switch r.line {
	case lineSources:
		w.line("    %s saddr @named%d counter drop", w.ip, w.id)
		return
	case lineVictims:
		w.line("    %s daddr @named%d jump victims%d", w.ip, w.id, w.id)
		return
	}
	jump := fmt.Sprintf("jump %s%d", nftChains[r.line], w.id)
	if w.tcp { // the hook let nothing else through
		w.writeMatch(nil, jump)
		return
	}
	for _, m := range nftMatches(w.sets[r.line].patterns) {
		w.writeMatch(m, jump)
	}
}

// comment returns what the lines of a rule do.
func (p *plan) comment(l line) string {
	switch l {
	case lineSources:
		return "sources that sent the most"
	case lineQueries:
		return "a limit for each source; packets of the game are not looked at"
	case lineFirst:
		if p.proves() {
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

// writeChain writes where the lines of a rule jump to: they share one limit.
func (w *nftWriter) writeChain(r *planRule) {
	if r.line == lineSources {
		return
	}
	w.line("  chain %s%d {", nftChains[r.line], w.id)
	for _, m := range nftMatches(w.sets[r.line].passing) {
		w.writeMatch(m, "return")
	}
	if r.line == lineJunk {
		w.line("    limit rate 5/second burst 5 packets log group 5 snaplen 96")
	}
	over := "limit rate over " + r.limit.nft()
	end := "saddr"
	if r.line == lineOthers {
		end = "daddr"
	}
	switch {
	case !r.line.isPerSource():
		w.line("    %s counter drop", over)
	case w.ip == "ip6":
		w.line("    update @each%d { ip6 %s and ffff:ffff:ffff:ffff:: \\", w.id, end)
		w.line("      %s } counter drop", over)
	default:
		w.line("    update @each%d { ip %s \\", w.id, end)
		w.line("      %s } counter drop", over)
	}
	w.line("  }")
}

func (a *allowance) nft() string {
	return fmt.Sprintf("%d/%s burst %d packets", a.packets, a.unit(), a.burst)
}

func (a *allowance) unit() string {
	if a.per == time.Minute {
		return "minute"
	}
	return "second"
}
