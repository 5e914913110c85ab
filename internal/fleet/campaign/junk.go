package campaign

import (
	"fmt"

	"qsniff/internal/flood"
	"qsniff/internal/flood/measure"
)

// A server is raised by junk if it gets raisedFactor times as much as usual and junkLeast/s more, and junk_share of what
// it gets is junk, so that busy servers, whom it harms less, do not outweigh the others. Chosen: a quarter of
// junk_rate, and more than is sent by thirty players who come back within twenty seconds, as to all servers after a
// restart: to join takes two datagrams that are nothing known. A server gets some junk from junkSome/s more than usual
// on. Chosen: half of that.
const (
	junkLeast = 5
	junkSome  = 2.5
)

func (e *Engine) isRaisedByJunk(x *entry, v *serverState) bool {
	return x.Junk >= raisedFactor*v.UsualJunk+junkLeast && x.Record.Features[measure.JunkShareMean] >= e.lim.JunkShare
}

// judgeJunk judges the junk that servers get together. Where most hosts get some and are not raised, those that are
// got more by chance.
func (e *Engine) judgeJunk(w *window, g *group) {
	f := g.features
	g.rate, g.verdict = f[measure.JunkMean], e.judge.JudgeJunk(f)
	if g.verdict.Kind != flood.NoKind && e.isByChance(w, g) {
		g.verdict = flood.Verdict{}
	}
}

func (e *Engine) isByChance(w *window, g *group) bool {
	sensors := map[string]bool{}
	for _, r := range g.list {
		sensors[r.key.Sensor] = true
	}
	raised := len(sensors)
	for k, x := range w.Entries {
		if v := e.findServer(k); v != nil && x.Junk >= v.UsualJunk+junkSome {
			sensors[k.Sensor] = true
		}
	}
	return 2*raised < len(sensors)
}

// isJunkCarpet reports whether a campaign is a carpet of junk. Its sources are unknown: what sensors sketch, and the
// networks that they list, are of queries.
func (c *course) isJunkCarpet() bool { return c.How == Carpet && c.Family == ofJunk }

// junkEvidence returns sentences on servers that get junk together.
func junkEvidence(c *course, g *group) []string {
	most, share := 0.0, 1.0
	for _, r := range g.list {
		most = max(most, r.rate)
		share = min(share, r.entry.Record.Features[measure.JunkShareMean])
	}
	return []string{
		fmt.Sprintf("%s together got %s datagrams/s in ten seconds that are nothing known (usual: %s), the busiest %s of it",
			c.hosts(), number(g.rate), number(g.usual), percent(measure.Share(most, g.rate))),
		fmt.Sprintf("at each of them that is at least %s of what it got", percent(share)),
	}
}
