package advice

import "fmt"

// This file has the lines for nft about whom the server sent something, and about whom it
// answered.

// writePeerSet writes the set of those whom the server sent something lately.
func (w *nftWriter) writePeerSet() {
	w.writeLine("  set peers%d {", w.id)
	w.writeLine("    type %s; flags dynamic, timeout; timeout %ds; size %d", w.typ, int(peerIdle.Seconds()), trialPeers)
	w.writeLine("  }")
}

// writeSentHook writes the chain that sees what the servers send and fills the sets, if a plan
// has one.
func (w *nftWriter) writeSentHook(groups []group) {
	isFirst := true
	for _, g := range groups {
		w.turnTo(g[0])
		host, port := filterAddress(w.net), w.target.Port()
		if w.expiry > 0 {
			host = "@" + w.untilSet()
		}
		for _, p := range g {
			if w.turnTo(p); !w.needsSent() {
				continue
			}
			if isFirst {
				w.writeLine("  chain sent {")
				w.writeLine("    type filter hook %s; policy accept", leavingHook)
				isFirst = false
			}
			from := fmt.Sprintf("%s saddr %s udp sport %d", w.ip, host, port)
			if w.needsPeers() {
				w.writeLine("    # whom the server sent something, for a minute")
				w.writeLine("    %s update @peers%d { %s daddr }", from, w.id, w.ip)
			}
			if w.needsAnswered() {
				w.writeLine("    # whom the server sent what it gives for a challenge only")
				for _, m := range formatNFTMatches(w.gated.patterns) {
					w.writeMatch(append([]string{from}, m...), fmt.Sprintf("update @answered%d { %s daddr }", w.id, w.ip))
				}
			}
		}
	}
	if !isFirst {
		w.writeLine("  }")
	}
}

// writeAnsweredSets writes the set of those who were answered for a challenge, and the one with
// the limits up to which they pass.
func (w *nftWriter) writeAnsweredSets() {
	w.writeLine("  set answered%d {", w.id)
	w.writeLine("    type %s; flags dynamic, timeout; timeout %ds; size %d", w.typ, int(answeredIdle.Seconds()), trialAnswered)
	w.writeLine("  }")
	w.writeLine("  set pass%d {", w.id)
	w.writeLine("    type %s; flags dynamic, timeout; timeout %ds; size %d", w.typ, int(sourceIdle.Seconds()), trialAnswered)
	w.writeLine("  }")
}

// writeAnsweredPass writes the line that lets them pass.
func (w *nftWriter) writeAnsweredPass() {
	w.writeLine("    %s saddr @answered%d update @pass%d { %s \\", w.ip, w.id, w.id, w.eachEnd("saddr"))
	w.writeLine("      limit rate %s } counter return", w.pass.formatNFT())
}
