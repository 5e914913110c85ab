package advice

import (
	"fmt"
	"strings"
	"time"
)

// This file has the lines for iptables about whom the server sent something, and about whom it
// answered: the addresses are in sets of the tool ipset, which lines in the table mangle fill.

// ipSet is one of these sets.
type ipSet struct {
	name     string
	idle     time.Duration
	size     int
	fills    []string // the rules that fill it, without their chain
	natFills []string // the same for replies that NAT translates
}

// fill adds the rules that add the receivers of replies with a match.
func (x *ipSet) fill(w *iptWriter, match, until string) {
	rule := fmt.Sprintf("-j SET --add-set %s dst --exist", x.name)
	if match != "" {
		rule = match + " " + rule
	}
	x.fills = append(x.fills, fmt.Sprintf("%s%s %s", w.replyMatch(), until, rule))
	x.natFills = append(x.natFills, fmt.Sprintf("%s%s %s", w.natReplyMatch(), until, rule))
}

// ipSets returns the sets of the plan. until is a match that ends the rules that fill them.
func (w *iptWriter) ipSets(until string) (list []ipSet) {
	if w.needsPeers() {
		x := ipSet{name: w.setName(peerSet), idle: peerIdle, size: trialPeers}
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
