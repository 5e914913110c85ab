package advice

import (
	"fmt"

	"qsniff/dissect"
	"qsniff/internal/flood"
)

// This file lets clients pass before a cap that have just proved their address: those to whom
// the server sent data that it gives for a challenge only. The kernel sees what the server
// sends, so that it learns them by itself, from the moment at which the lines are loaded.

// withGated returns a catalog whose gated packets are the answers to what asks names, those of
// the catalog's protocol alone: of others that the server may speak as well, nobody asked.
func (c *catalog) withGated(all []*dissect.Proto, asks dissect.Asked) *catalog {
	gives := func(t *dissect.Type) bool { return isAnswer(t) && t.Asks&dissect.Public&^asks == 0 }
	fitted := *c
	fitted.gated = packetSet{patterns: dissect.Needed(patternsOf([]*dissect.Proto{c.proto}, gives, allForms))}
	fitted.gated.indexForms(all)
	return &fitted
}

// letAnsweredPass makes the caps of a plan let those clients pass, each up to the limit for
// one source, if the server gives some answers for a challenge only.
func (p *plan) letAnsweredPass(in *flood.Incident, all []*dissect.Proto) {
	if in.Gated == 0 || !p.hasProof() {
		return
	}
	if c := p.withGated(all, in.Gated); len(c.gated.patterns) > 0 {
		p.catalog, p.pass = c, p.eachRate(in)
	}
}

// letsAnsweredPass reports whether lines of a kind do.
func (p *plan) letsAnsweredPass(l lineKind) bool { return l == lineFirst && p.pass.packets > 0 }

// needsAnswered reports whether a plan has such lines.
func (p *plan) needsAnswered() bool { return p.letsAnsweredPass(lineFirst) && p.hasRule(lineFirst) }

// isLetPass reports whether a packet passes before the cap, and charges its bucket.
func (a *attempt) isLetPass(end *remoteEnd, now int64) bool {
	at := a.answered.lookup(end.hash)
	if at == nil || *at <= now-int64(answeredIdle) {
		return false
	}
	full := a.passBuckets.findOrReplace(end.source, now, sourceIdle)
	return full != nil && !a.plan.pass.charge(full, now)
}

// answeredWords returns whom the lines let pass before a cap, and why; empty if nobody.
func (p *plan) answeredWords() string {
	if !p.needsAnswered() {
		return ""
	}
	return fmt.Sprintf(" Whoever the server has answered in the last %d minutes passes, too, up to %d queries a second and %d at once:"+
		" it gives these answers for a challenge only, so whoever got one is at their address. The lines see for themselves what the server sends.",
		int(answeredIdle.Minutes()), p.pass.packets, p.pass.burst)
}
