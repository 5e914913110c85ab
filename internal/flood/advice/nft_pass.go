package advice

import (
	"fmt"
	"slices"

	"qsniff/internal/flood"
)

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
// such lines. Of lines for named victims nobody is let past. Replies at a victim are no
// client's, and who guesses passwords over TCP has proved an address, too.
func (l lineKind) letsProvenPass() bool {
	switch l {
	case lineQueries, lineFirst, lineOthers, lineJunk:
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
