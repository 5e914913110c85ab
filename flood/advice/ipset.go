package advice

import (
	"fmt"
	"strings"
)

// This file has the lines for iptables about whom the server sent something: the addresses are
// in a set of the tool ipset, which lines in the table mangle fill.

// IPSetPackage is what has to be installed for that.
const IPSetPackage = "ipset (Debian: apt install ipset)"

// setName returns the name of the set.
func (w *iptWriter) setName() string {
	if w.isIPv6 {
		return fmt.Sprintf("qsniff%d-6", w.id)
	}
	return fmt.Sprintf("qsniff%d", w.id)
}

// formatSet returns the command that makes the set.
func (w *iptWriter) formatSet() string {
	family := "inet"
	if w.isIPv6 {
		family = "inet6"
	}
	return fmt.Sprintf("ipset -exist create %s hash:ip family %s timeout %d maxelem %d", w.setName(), family,
		int(peerIdle.Seconds()), trialPeers)
}

// peerRule returns the rule that fills the set, without its chain.
func (w *iptWriter) peerRule(until string) string {
	return fmt.Sprintf("-s %s -p udp --sport %d%s -j SET --add-set %s dst --exist", filterAddress(w.net), w.plan.target.Port(), until,
		w.setName())
}

// writePeerRules writes the rules that fill the sets of a group to the first chain of the
// table mangle, which x is for if it is for another table than the group's.
func (w *iptWriter) writePeerRules(g group, x *IPTables, first *strings.Builder, until string) {
	for _, p := range g {
		if w.turnTo(p); x.Table == "mangle" && p.needsPeers() {
			x.Hook = "POSTROUTING"
			x.Sets = append(x.Sets, w.formatSet())
			fmt.Fprintf(first, "-A %s %s\n", IPTablesChain, w.peerRule(until))
		}
	}
}
