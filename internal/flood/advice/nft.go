package advice

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"qsniff/internal/flood"
)

// nftWriter writes a table for nft. Names of chains and sets have the number of their
// incident.
type nftWriter struct {
	strings.Builder
	*plan   // the one that is being written
	ip, typ string
	table   string
	expiry  time.Duration // 0: never
	passes  bool          // clients in the sets of proven ones pass first
}

func newNFTWriter(table string, expiry time.Duration) *nftWriter {
	return &nftWriter{table: table, expiry: expiry}
}

// turnTo makes p the plan that is written.
func (w *nftWriter) turnTo(p *plan) {
	w.plan, w.ip, w.typ = p, "ip", "ipv4_addr"
	if p.isIPv6 {
		w.ip, w.typ = "ip6", "ipv6_addr"
	}
}

// tableName returns the name of a table for this incident alone.
func (p *plan) tableName() string {
	name := p.net.Addr().String()
	if !p.net.IsSingleIP() {
		name += "_" + strconv.Itoa(p.net.Bits())
	}
	if port := p.target.Port(); port != 0 {
		name += "_" + strconv.Itoa(int(port))
	}
	return "qsniff_" + strings.Map(func(r rune) rune {
		if r == '.' || r == ':' || r == '%' || r == '/' {
			return '_'
		}
		return r
	}, name) + "_" + p.kind.String() + strconv.FormatUint(p.id, 10)
}

// AppendNFT appends a table for nft. Loading it replaces the table of that name, if there is
// one. sets is the text of the sets of proven clients, proven4 and proven6, whose queries pass
// before others' up to a limit of their own; empty if there are none.
func (r *Ruleset) AppendNFT(dst []byte, sets string) []byte {
	w := newNFTWriter(r.table, r.expiry)
	w.passes = sets != ""
	w.writeTable(r.groups, sets)
	return append(dst, w.String()...)
}

// writeTable writes the table with a chain for each target.
func (w *nftWriter) writeTable(groups []group, sets ...string) {
	w.writeLine("add table inet %s", w.table)
	w.writeLine("delete table inet %s", w.table)
	w.writeLine("table inet %s {", w.table)
	for _, text := range sets {
		w.WriteString(text)
	}
	if w.passes {
		w.writePaces(groups)
	}
	for _, g := range groups {
		w.writeExpiry(g)
		for _, p := range g {
			w.turnTo(p)
			w.writeSets()
		}
	}
	w.writeHook(groups, "pre", arrivingHook, false)
	w.writeHook(groups, "post", leavingHook, true)
	w.writeSentHook(groups)
	for _, g := range groups {
		w.writeTarget(g)
		for _, p := range g {
			w.turnTo(p)
			for i := range p.rules[:p.numRules] {
				w.writeChain(&p.rules[i])
			}
		}
	}
	w.writeLine("}")
}

// writeExpiry writes the set that holds the target until its rules expire: a rule has no time
// limit of its own, an element of a set has one.
func (w *nftWriter) writeExpiry(g group) {
	if w.expiry == 0 {
		return
	}
	w.turnTo(g[0])
	flags := "timeout"
	if !w.net.IsSingleIP() {
		flags = "interval, timeout"
	}
	w.writeLine("  set %s { # holds the target until its rules expire", w.untilSet())
	w.writeLine("    type %s; flags %s; timeout %s", w.typ, flags, formatNFTTime(w.expiry))
	w.writeLine("    elements = { %s }", filterAddress(w.net))
	w.writeLine("  }")
}

func (w *nftWriter) untilSet() string { return fmt.Sprintf("until%d", w.id) }

// formatNFTTime returns a time of whole seconds as nft takes it.
func formatNFTTime(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// writeTarget writes the chain of a target, with the lines of all of its incidents.
func (w *nftWriter) writeTarget(g group) {
	w.turnTo(g[0])
	w.writeLine("  chain target%d {", w.id)
	for _, p := range g {
		w.turnTo(p)
		if p.kind == flood.RconBruteforce {
			w.writeAdmit()
			w.writeLine("    %s saddr @admins%d return", w.ip, p.id)
		}
		for i := range p.rules[:p.numRules] {
			w.writeRule(&p.rules[i])
		}
	}
	w.writeLine("  }")
}

func (w *nftWriter) writeLine(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// writeAdmit writes the comment on how to let an address in.
func (w *nftWriter) writeAdmit() {
	const format = "    # let in: nft add element inet %s admins%d { ADDRESS }"
	line := fmt.Sprintf(format, w.table, w.id)
	if len(line) > textWidth {
		line = fmt.Sprintf(format, "TABLE", w.id)
	}
	w.writeLine("%s", line)
}

// writeSets writes the sets of the plan. Named addresses expire, because anybody may have them
// next.
func (w *nftWriter) writeSets() {
	for i := range w.rules[:w.numRules] {
		r := &w.rules[i]
		switch {
		case r.kind == lineSources || r.kind == lineVictims:
			expiry := w.expiry
			if expiry == 0 {
				expiry = DefaultExpiry
			}
			w.writeLine("  set named%d {", w.id)
			w.writeLine("    type %s; flags interval, timeout; timeout %s", w.typ, formatNFTTime(expiry))
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
	if w.needsPeers() {
		w.writePeerSet()
	}
	if w.needsAnswered() {
		w.writeAnsweredSets()
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

// The hooks see the addresses that clients see, with NAT on the host (Docker) and without. The
// kernel translates what arrives at prerouting, priority dstnat (-100), and gives replies the
// outer address back at postrouting, priority srcnat (100): whatever priority the chain of the
// NAT rule itself has, and also where the server runs on the host. TestNATKernel shows it.
const (
	// arrivingHook sees queries before connection tracking, whose table a flood would fill.
	arrivingHook = "prerouting priority raw"
	// leavingHook sees replies after NAT. It needs no match on connection tracking, which would
	// start it on a host that has none.
	leavingHook = "postrouting priority srcnat + 1"
)

// writeHook writes the chain that a hook calls, if a group needs it.
func (w *nftWriter) writeHook(groups []group, name, hook string, outgoing bool) {
	isOther := func(g group) bool { return g[0].Scope().Outgoing != outgoing }
	groups = slices.DeleteFunc(slices.Clone(groups), isOther)
	if len(groups) == 0 {
		return
	}
	w.writeLine("  chain %s {", name)
	w.writeLine("    type filter hook %s; policy accept", hook)
	for _, g := range groups {
		w.writeJump(g)
	}
	w.writeLine("  }")
}

// writeJump writes the line that matches the packets of a target.
func (w *nftWriter) writeJump(g group) {
	w.turnTo(g[0])
	host, port := filterAddress(w.net), w.target.Port()
	if w.expiry > 0 {
		host = "@" + w.untilSet()
	}
	switch {
	case w.kind == flood.Reflection:
		w.writeLine("    %s saddr %s udp sport %d jump target%d", w.ip, host, port, w.id)
	case w.kind == flood.ReplyFloodVictim:
		w.writeLine("    %s daddr %s meta l4proto udp jump target%d", w.ip, host, w.id)
	case w.isTCP:
		w.writeLine("    %s daddr %s tcp dport %d tcp flags & (syn | ack) == syn \\", w.ip, host, port)
		w.writeLine("      jump target%d", w.id)
	default:
		w.writeLine("    %s daddr %s udp dport %d jump target%d", w.ip, host, port, w.id)
	}
}

// nftChainNames are the names of the chains that the lines of a rule jump to.
var nftChainNames = [...]string{lineQueries: "queries", lineFirst: "first", lineVictims: "victims", lineOthers: "others",
	lineUnasked: "unasked", lineJunk: "junk", lineLogins: "logins", lineOdd: "odd",
	lineUnissued: "unissued", lineStrangers: "strangers"}

// writeRule writes the lines of the target's chain that match the packets of a rule.
func (w *nftWriter) writeRule(r *planRule) {
	w.writeLine("    # %s", w.comment(r.kind))
	switch r.kind {
	case lineSources:
		w.writeLine("    %s saddr @named%d %scounter drop", w.ip, w.id, w.networkExemption())
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
	case lineOdd:
		return "queries of a length that no client sends"
	case lineUnissued:
		return "challenges from sources this server sent nothing to"
	case lineStrangers:
		return "a cap on all but queries, from sources this server sent nothing to"
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
	if w.passes && r.kind.letsProvenPass() {
		w.writePass()
	}
	if r.kind.needsPeers() {
		w.writeLine("    %s saddr @peers%d return", w.ip, w.id)
	}
	if w.letsAnsweredPass(r.kind) {
		w.writeAnsweredPass()
	}
	if r.limit.packets == 0 {
		w.writeLine("    counter drop")
		w.writeLine("  }")
		return
	}
	over := "limit rate over " + r.limit.formatNFT()
	end := "saddr"
	if r.kind == lineOthers {
		end = "daddr"
	}
	if !r.kind.isPerSource() {
		w.writeLine("    %s counter drop", over)
	} else {
		w.writeLine("    update @each%d { %s \\", w.id, w.eachEnd(end))
		w.writeLine("      %s } counter drop", over)
	}
	w.writeLine("  }")
}

// eachEnd returns what has a bucket of its own: the address at an end, in IPv6 its /64.
func (w *nftWriter) eachEnd(end string) string {
	if w.isIPv6 {
		return "ip6 " + end + " and ffff:ffff:ffff:ffff::"
	}
	return "ip " + end
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
