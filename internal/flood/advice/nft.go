package advice

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"qsniff/dissect"
	"qsniff/internal/flood"
)

// Table is the table for nft that all rules go into, so that one command removes whatever was loaded.
const Table = "qsniff"

// nftWriter writes a table for nft. Names of chains and sets have the number of their
// incident.
type nftWriter struct {
	strings.Builder
	*plan   // the one that is being written
	ip, typ string
	table   string
	suffix  string        // of all names, in a file for one incident alone
	expiry  time.Duration // 0: never
	passes  bool          // clients in the sets of proven ones pass first
}

func newNFTWriter(table string, expiry time.Duration) *nftWriter {
	return &nftWriter{table: table, expiry: expiry}
}

// name returns the name of a chain or set of the plan that is written.
func (w *nftWriter) name(of string) string { return of + strconv.FormatUint(w.id, 10) + w.suffix }

// hookName returns the name of a chain that a hook calls: one for all plans, or that of the only one.
func (w *nftWriter) hookName(of string) string {
	if w.suffix == "" {
		return of
	}
	return w.name(of)
}

// writeAlone writes a file for one incident. Its chains and sets stand in the table beside those of
// other incidents, and replace what the same file left when it was loaded before.
func (w *nftWriter) writeAlone(p *plan) {
	w.turnTo(p)
	w.suffix = "_" + time.Unix(0, p.detected).UTC().Format("150405") // numbers begin anew in each run
	w.writeLine("# load:   nft -f FILE   (again does no harm; rules against others stay)")
	w.writeLine("# remove: nft delete table inet %s   (all rules of qsniff)", w.table)
	body := newNFTWriter(w.table, w.expiry)
	body.suffix = w.suffix
	body.writeBody([]group{{p}})
	w.writeEmptied(body.String())
	w.writeLine("table inet %s {", w.table)
	w.WriteString(body.String())
	w.writeLine("}")
}

// writeEmptied writes lines that empty the chains of a table's body and its sets with elements, whether
// they are there or not: a table of them without content adds those that are not, and then all can be
// flushed.
func (w *nftWriter) writeEmptied(body string) {
	var flushes []string
	lines := strings.Split(body, "\n")
	w.writeLine("table inet %s {", w.table)
	for i, line := range lines {
		words := strings.Fields(line)
		if len(words) < 3 || words[2] != "{" || !strings.HasPrefix(line, "  "+words[0]) {
			continue
		}
		next := lines[i+1]
		switch {
		case words[0] == "set" && strings.HasPrefix(strings.TrimSpace(lines[i+2]), "elements"):
			w.writeLine("  set %s {\n%s\n  }", words[1], next)
		case words[0] == "chain" && strings.HasPrefix(next, "    type "):
			w.writeLine("  chain %s {\n%s\n  }", words[1], next)
		case words[0] == "chain":
			w.writeLine("  chain %s { }", words[1])
		default:
			continue
		}
		flushes = append(flushes, fmt.Sprintf("flush %s inet %s %s", words[0], w.table, words[1]))
	}
	w.writeLine("}\n%s", strings.Join(flushes, "\n"))
}

// turnTo makes p the plan that is written.
func (w *nftWriter) turnTo(p *plan) {
	w.plan, w.ip, w.typ = p, "ip", "ipv4_addr"
	if p.isIPv6 {
		w.ip, w.typ = "ip6", "ipv6_addr"
	}
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
	w.writeBody(groups)
	w.writeLine("}")
}

// writeBody writes the sets and chains for each target.
func (w *nftWriter) writeBody(groups []group) {
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
			w.writeGameChain()
		}
	}
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

func (w *nftWriter) untilSet() string { return w.name(untilSet) }

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
	w.writeLine("  chain %s {", w.name(targetChain))
	for _, p := range g {
		w.turnTo(p)
		if p.kind == flood.RconBruteforce {
			w.writeAdmit()
			w.writeLine("    %s saddr @%s return", w.ip, w.name("admins"))
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
	w.writeLine("    # let in: nft add element inet %s %s { ADDRESS }", w.table, w.name("admins"))
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
			w.writeLine("  set %s {", w.name("named"))
			w.writeLine("    type %s; flags interval, timeout; timeout %s", w.typ, formatNFTTime(expiry))
			w.writeElements()
			w.writeLine("  }")
		case r.kind.isPerSource():
			idle := "60s"
			if r.kind.idleTime() == loginIdle {
				idle = "10m"
			}
			if r.kind == linePairs {
				w.writeLine("  set %s {", w.name("pair"))
				w.writeLine("    type %s . inet_service", w.typ)
				w.writeLine("    flags dynamic, timeout; timeout %s; size %d", idle, trialSources)
			} else {
				w.writeLine("  set %s {", w.name("each"))
				w.writeLine("    type %s; flags dynamic, timeout; timeout %s; size %d", w.typ, idle, trialSources)
			}
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
		w.writeLine("  set %s { type %s; flags interval; }", w.name("admins"), w.typ)
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
	w.turnTo(groups[0][0])
	w.writeLine("  chain %s {", w.hookName(name))
	w.writeLine("    type filter hook %s; policy accept", hook)
	for _, g := range groups {
		w.writeJump(g)
	}
	w.writeLine("  }")
}

// writeJump writes the line that matches the packets of a target.
func (w *nftWriter) writeJump(g group) {
	w.turnTo(g[0])
	host, port := filterAddress(w.net), w.nftPorts()
	if w.expiry > 0 {
		host = "@" + w.untilSet()
	}
	match := []string{fmt.Sprintf("%s daddr %s udp dport %s", w.ip, host, port)}
	switch {
	case w.class != nil:
		match = []string{w.ip + " daddr " + host, w.class.nft}
	case w.kind == flood.Reflection:
		match[0] = fmt.Sprintf("%s saddr %s udp sport %s", w.ip, host, port)
	case w.kind == flood.ReplyFloodVictim:
		match[0] = fmt.Sprintf("%s daddr %s meta l4proto udp", w.ip, host)
	case w.isTCP:
		match = []string{fmt.Sprintf("%s daddr %s tcp dport %s", w.ip, host, port), "tcp flags & (syn | ack) == syn"}
	}
	w.writeMatch(append(match, "counter jump "+w.name(targetChain)), fmt.Sprintf("comment %q", g.mark()))
}

// nftChainNames are the names of the chains that the lines of a rule jump to.
var nftChainNames = [...]string{lineQueries: "queries", linePairs: "pairs", lineFirst: "first", lineVictims: "victims", lineOthers: "others",
	lineUnasked: "unasked", lineJunk: "junk", lineLogins: "logins", lineOdd: "odd",
	lineUnissued: "unissued", lineStrangers: "strangers",
	lineClass: "class", lineEach: "each", lineForm: "form"}

// writeRule writes the lines of the target's chain that match the packets of a rule.
func (w *nftWriter) writeRule(r *planRule) {
	w.writeLine("    # %s", w.comment(r.kind))
	switch r.kind {
	case lineSources:
		w.writeLine("    %s saddr @%s %s%scounter drop", w.ip, w.name("named"), w.networkExemption(), w.portExemption())
		return
	case lineVictims:
		w.writeLine("    %s daddr @%s counter jump %s", w.ip, w.name("named"), w.name("victims"))
		return
	}
	jump := "counter jump " + w.name(nftChainNames[r.kind])
	if w.isTCP || r.kind == lineClass { // the hook let nothing else through
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
	case linePairs:
		return "a limit for each address and port; packets of the game are not looked at"
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
	case lineClass:
		return "what this host sent nothing of the kind to"
	case lineEach:
		if p.isTCP {
			return "a limit for the connections of each source"
		}
		return "a limit for each source; other packets of the game are not looked at"
	case lineForm:
		return "a cap on this message; other packets of the game are not looked at"
	case lineStrangers:
		return "a cap on all but queries, from sources sent no more than replies"
	}
	return "attempts to log in"
}

// writeChain writes the chain that the lines of a rule jump to, with their common limit.
func (w *nftWriter) writeChain(r *planRule) {
	if r.kind == lineSources {
		return
	}
	w.writeLine("  chain %s {", w.name(nftChainNames[r.kind]))
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
		w.writeLine("    %s saddr @%s return", w.ip, w.name("peers"))
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
	switch {
	case !r.kind.isPerSource():
		w.writeLine("    %s counter drop", over)
	case r.kind == linePairs:
		w.writeLine("    update @%s { %s saddr . udp sport \\", w.name("pair"), w.ip)
		w.writeLine("      %s } counter drop", over)
	default:
		w.writeLine("    update @%s { %s \\", w.name("each"), w.eachEnd(end))
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

// formatNFTMatches returns the tests for patterns as nft's raw payload expressions. Each is
// for a line of its own, in pieces between which that line can be broken. @th counts bits from
// the start of the UDP header, which has 64.
func formatNFTMatches(patterns []dissect.Pattern) (list [][]string) {
	const maxLen = 8 // bytes of a word; an expression holds up to 16
	for _, m := range matchesOf(patterns, maxLen) {
		var tests []string
		switch lo, hi := m.lengthTest(); {
		case hi > 0 && lo == hi:
			tests = append(tests, fmt.Sprintf("udp length %d", udpHeader+lo))
		case hi > 0:
			tests = append(tests, fmt.Sprintf("udp length %d-%d", udpHeader+lo, udpHeader+hi))
		case lo > 0:
			tests = append(tests, fmt.Sprintf("udp length >= %d", udpHeader+lo))
		}
		for i := range m.words {
			tests = append(tests, m.words[i].formatNFT()...)
		}
		list = append(list, tests)
	}
	return list
}

const udpHeader = 8 // bytes

func (w *word) formatNFT() []string {
	number := func(x uint64) string { return fmt.Sprintf("0x%0*x", 2*w.size, x) }
	s := fmt.Sprintf("@th,%d,%d ", 8*(udpHeader+w.off), 8*w.size)
	if !w.isWhole() {
		s += "& " + number(w.mask) + " == "
	}
	if len(w.values) == 1 {
		return []string{s + number(w.values[0])}
	}
	var list []string
	for _, x := range w.spans() {
		if x.lo == x.hi {
			list = append(list, number(x.lo))
		} else {
			list = append(list, number(x.lo)+"-"+number(x.hi))
		}
	}
	return strings.SplitAfter(s+"{ "+strings.Join(list, ", ")+" }", ", ")
}

// writeMatch writes a line with a match and the verb do, over as many lines of the file as
// that takes.
func (w *nftWriter) writeMatch(match []string, do string) {
	const indent, more = "    ", "      "
	text, col := indent, len(indent)
	pieces := append(match, do)
	for i, x := range pieces {
		x = strings.TrimSpace(x)
		room := textWidth
		if i < len(pieces)-1 {
			room -= len(` \`)
		}
		if i > 0 && col+1+len(x) > room {
			text += " \\\n" + more
			col = len(more)
		} else if i > 0 {
			text += " "
			col++
		}
		text += x
		col += len(x)
	}
	w.writeLine("%s", text)
}

// This file has the lines for nft by which proven clients pass first.

const (
	// passRate is how many queries a second of a proven client pass before the limits for
	// others, and passBurst how many at once. Chosen: several people who share an address
	// refresh their server browsers (three queries for each server) or a monitor asks
	// twice a second, and a flood with somebody's proven address gains next to nothing. What
	// a client sends beyond it meets the limits for others. A query that two limits
	// match counts twice.
	passRate, passBurst = 20, 60
	// passClients is how many proven clients the kernel counts for that: as many as its
	// table of proven addresses is expected to have in an evening, 65,536, of some 100
	// bytes each. One beyond it meets the limits for others.
	passClients = 1 << 16
)

// letsProvenPass reports whether clients that proved their address pass before the limit of
// such lines. Lines for named victims let no client pass. Replies at a victim are no
// client's, and who guesses passwords over TCP has proved an address, too.
func (l lineKind) letsProvenPass() bool {
	switch l {
	case lineQueries, linePairs, lineFirst, lineOthers, lineJunk:
		return true
	}
	return false
}

// passEnd returns which end of packets is the client's, as nft names it.
func (p *plan) passEnd() string {
	if p.kind == flood.Reflection {
		return "daddr"
	}
	return "saddr"
}

// paceSet returns the name of the set that counts what proven clients send, or are sent.
func (p *plan) paceSet() string {
	version := 4
	if p.isIPv6 {
		version = 6
	}
	if p.kind == flood.Reflection {
		return fmt.Sprintf("paceout%d", version)
	}
	return fmt.Sprintf("pace%d", version)
}

func (p *plan) provenSet() string {
	if p.isIPv6 {
		return "@proven6"
	}
	return "@proven4"
}

// writePaces writes the sets that the groups need to count what passes first.
func (w *nftWriter) writePaces(groups []group) {
	var done []string
	for _, g := range groups {
		for _, p := range g {
			w.turnTo(p)
			lets := slices.ContainsFunc(p.rules[:p.numRules], func(r planRule) bool { return r.kind.letsProvenPass() })
			if name := p.paceSet(); lets && !slices.Contains(done, name) {
				done = append(done, name)
				w.writeLine("  set %s { type %s; flags dynamic, timeout; timeout 60s; size %d; }", name, w.typ, passClients)
			}
		}
	}
}

// writePass writes the line that lets proven clients pass.
func (w *nftWriter) writePass() {
	w.writeLine("    %s %s %s update @%s { %s %s \\", w.ip, w.passEnd(), w.provenSet(), w.paceSet(), w.ip, w.passEnd())
	w.writeLine("      limit rate %d/second burst %d packets } counter return", passRate, passBurst)
}

// networkExemption returns the match that keeps proven clients out of a line that drops
// networks. Sources that are named alone are dropped whatever they proved.
func (w *nftWriter) networkExemption() string {
	if w.passes && w.numNetworks > 0 {
		return fmt.Sprintf("%s saddr != %s ", w.ip, w.provenSet())
	}
	return ""
}

// portExemption returns the match that keeps named hosts out of the line where they ask themselves, from
// a port that is known.
func (w *nftWriter) portExemption() string {
	if w.numSpared == 0 {
		return ""
	}
	s := "\\\n      " + w.ip + " saddr . udp sport != { "
	for i, x := range w.spared[:w.numSpared] {
		if i > 0 {
			s += ", "
		}
		s += x.Addr().String() + " . " + strconv.Itoa(int(x.Port()))
	}
	return s + " } \\\n      "
}

// This file has the lines for nft about whom the server sent something, and about whom it
// answered.

// writePeerSet writes the set of those whom the server sent something lately.
func (w *nftWriter) writePeerSet() {
	w.writeLine("  set %s {", w.name("peers"))
	w.writeLine("    type %s; flags dynamic, timeout; timeout %ds; size %d", w.typ, int(peerIdle.Seconds()), trialPeers)
	w.writeLine("  }")
}

// writeSentHook writes the chain that sees what the servers send and fills the sets, if a plan
// has one.
func (w *nftWriter) writeSentHook(groups []group) {
	isFirst := true
	for _, g := range groups {
		w.turnTo(g[0])
		host, port := filterAddress(w.net), w.nftPorts()
		if w.expiry > 0 {
			host = "@" + w.untilSet()
		}
		for _, p := range g {
			if w.turnTo(p); !w.needsSent() {
				continue
			}
			if isFirst {
				w.writeLine("  chain %s {", w.hookName("sent"))
				w.writeLine("    type filter hook %s; policy accept", leavingHook)
				isFirst = false
			}
			from := fmt.Sprintf("%s saddr %s udp sport %s", w.ip, host, port)
			if w.class != nil {
				from = fmt.Sprintf("%s saddr %s %s", w.ip, host, w.class.sentNFT)
			}
			if w.needsPeers() {
				w.writePeerRule(from)
			}
			if w.needsAnswered() {
				w.writeLine("    # whom the server sent what it gives for a challenge only")
				for _, m := range formatNFTMatches(w.gated.patterns) {
					w.writeMatch(append([]string{from}, m...), fmt.Sprintf("update @%s { %s daddr }", w.name("answered"), w.ip))
				}
			}
		}
	}
	if !isFirst {
		w.writeLine("  }")
	}
}

// writePeerRule writes the line that fills the set of peers with the receivers of what from matches.
func (w *nftWriter) writePeerRule(from string) {
	if w.skipsReplies() {
		w.writeLine("    # whom the server sent more than replies to queries, for a minute")
		w.writeLine("    %s jump %s", from, w.name("game"))
		return
	}
	w.writeLine("    # whom the server sent something, for a minute")
	w.writeMatch([]string{from}, w.addPeer())
}

func (w *nftWriter) addPeer() string {
	return fmt.Sprintf("update @%s { %s daddr }", w.name("peers"), w.ip)
}

// writeGameChain writes the chain that keeps replies out of the set of peers, if the plan needs it.
func (w *nftWriter) writeGameChain() {
	if !w.skipsReplies() {
		return
	}
	w.writeLine("  chain %s {", w.name("game"))
	for _, m := range formatNFTMatches(w.replies.patterns) {
		w.writeMatch(m, "return")
	}
	w.writeLine("    %s", w.addPeer())
	w.writeLine("  }")
}

// writeAnsweredSets writes the set of those who were answered for a challenge, and the one with
// the limits up to which they pass.
func (w *nftWriter) writeAnsweredSets() {
	w.writeLine("  set %s {", w.name("answered"))
	w.writeLine("    type %s; flags dynamic, timeout; timeout %ds; size %d", w.typ, int(answeredIdle.Seconds()), trialAnswered)
	w.writeLine("  }")
	w.writeLine("  set %s {", w.name("pass"))
	w.writeLine("    type %s; flags dynamic, timeout; timeout %ds; size %d", w.typ, int(sourceIdle.Seconds()), trialAnswered)
	w.writeLine("  }")
}

// writeAnsweredPass writes the line that lets them pass.
func (w *nftWriter) writeAnsweredPass() {
	w.writeMatch([]string{
		fmt.Sprintf("%s saddr @%s", w.ip, w.name("answered")),
		fmt.Sprintf("update @%s { %s", w.name("pass"), w.eachEnd("saddr")),
	}, fmt.Sprintf("limit rate %s } counter return", w.pass.formatNFT()))
}

const (
	// limit: trialSources is how many sources have a bucket in a trial, and the size of the set in the
	// lines with a limit for each source, so that the kernel follows as many. It is more than the botnets
	// that reach one server with queries above such a limit, and takes 512 KiB of slots for each plan of a
	// trial. Sources beyond it pass, here as there.
	trialSources = 1 << 14
	// limit: trialAnswered is how many sources that the server answered for a challenge a trial keeps, and
	// the size of the sets in such lines: ten minutes of 13 new clients a second, 256 KiB of slots for
	// each of two tables. One beyond it meets the cap.
	trialAnswered = 1 << 13
	// limit: loginIdle is the same for new connections, whose bucket takes a minute to fill.
	loginIdle = 10 * time.Minute
)
