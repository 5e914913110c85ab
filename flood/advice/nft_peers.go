package advice

// This file has the lines for nft about whom the server sent something.

// writePeerSet writes the set of those whom the server sent something lately.
func (w *nftWriter) writePeerSet() {
	w.writeLine("  set peers%d {", w.id)
	w.writeLine("    type %s; flags dynamic, timeout; timeout %ds; size %d", w.typ, int(peerIdle.Seconds()), trialPeers)
	w.writeLine("  }")
}

// writePeerHook writes the chain that sees what the servers send and fills the sets, if a plan
// has one.
func (w *nftWriter) writePeerHook(groups []group) {
	isFirst := true
	for _, g := range groups {
		w.turnTo(g[0])
		host, port := filterAddress(w.net), w.target.Port()
		if w.expiry > 0 {
			host = "@" + w.untilSet()
		}
		for _, p := range g {
			if w.turnTo(p); !w.needsPeers() {
				continue
			}
			if isFirst {
				w.writeLine("  chain sent {")
				w.writeLine("    type filter hook postrouting priority raw; policy accept")
				w.writeLine("    # whom the server sent something, for a minute")
				isFirst = false
			}
			w.writeLine("    %s saddr %s udp sport %d update @peers%d { %s daddr }", w.ip, host, port, w.id, w.ip)
		}
	}
	if !isFirst {
		w.writeLine("  }")
	}
}
