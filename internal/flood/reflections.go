package flood

import (
	"slices"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood/other"
	"qsniff/internal/flood/sketch"
)

// An attacker who has reflectors of several kinds uses all of them at once: DNS, NTP and CLDAP servers
// answer the same port. That is one attack, and one incident, which names the kinds.

// reflections are the spells of one incident: of the replies of reflectors to one target.
type reflections struct {
	parts   []reflection
	past    other.Spell // the sums of those that ended
	peak    float64     // packets of all of them in one second
	amount  uint64      // and bytes
	viewed  uint64      // of how many packets the past sources were counted
	sources sketch.Distinct
}

// reflection is one kind of reflectors.
type reflection struct {
	class *other.Class
	spell *other.Spell // nil: it ended
	past  uint64       // packets of spells that ended
}

// isMixed reports whether there is more than one kind of reflectors.
func (g *reflections) isMixed() bool { return g != nil && len(g.parts) > 1 }

// isOver reports whether all of them ended.
func (g *reflections) isOver() bool {
	return !slices.ContainsFunc(g.parts, func(p reflection) bool { return p.spell != nil })
}

// classes returns the kinds.
func (g *reflections) classes() (all []*other.Class) {
	for _, p := range g.parts {
		all = append(all, p.class)
	}
	return all
}

// addSecond adds the second that ended to the peak.
func (g *reflections) addSecond() {
	rate, amount := uint64(0), uint64(0)
	for _, p := range g.parts {
		if s := p.spell; s != nil && s.IsActive() {
			rate, amount = rate+s.Rate, amount+s.Amount
		}
	}
	g.peak, g.amount = max(g.peak, float64(rate)), max(g.amount, amount)
}

// end moves what a spell came to into the past.
func (g *reflections) end(s *other.Spell) {
	g.past.Packets, g.past.Bytes = g.past.Packets+s.Packets, g.past.Bytes+s.Bytes
	g.past.LastEnd, g.past.Pulses = max(g.past.LastEnd, s.LastEnd), max(g.past.Pulses, s.Pulses)
	g.viewed += s.Viewed()
	if k := s.Sketch(); k != nil {
		g.sources.Merge(k)
	}
	for i := range g.parts {
		if p := &g.parts[i]; p.spell == s {
			p.spell, p.past = nil, p.past+s.Packets
		}
	}
}

// join makes a spell of a reflector part of the incident that is open for another kind at the same
// target, and reports whether there is one.
func (x *others) join(h *other.Host, c *other.Class, s *other.Spell) bool {
	if !c.Reflected {
		return false
	}
	to := targetOf(h, c, s)
	for in, g := range x.groups {
		if in.Target != to {
			continue
		}
		if !g.isMixed() {
			g.peak, g.amount = g.parts[0].spell.Peak, g.parts[0].spell.PeakOf
		}
		if i := slices.IndexFunc(g.parts, func(p reflection) bool { return p.class == c }); i >= 0 {
			g.parts[i].spell = s
		} else {
			g.parts = append(g.parts, reflection{class: c, spell: s})
		}
		x.open[s] = in
		in.Start, in.Frame = min(in.Start, s.Start), min(in.Frame, s.Frame)
		in.Baseline += s.Usual
		in.Class = other.Together(g.classes())
		x.describeMixed(in, g)
		x.advisor.Advise(in)
		x.announce(in, Changes)
		return true
	}
	return false
}

// describeMixed fills in what an incident with several kinds of reflectors shows now.
func (x *others) describeMixed(in *Incident, g *reflections) {
	sum, end := g.past, g.past.LastEnd
	all := sketch.Distinct{}
	all.Merge(&g.sources)
	in.Viewed = g.viewed
	for _, p := range g.parts {
		s := p.spell
		if s == nil {
			continue
		}
		sum.Packets, sum.Bytes, sum.Pulses = sum.Packets+s.Packets, sum.Bytes+s.Bytes, max(sum.Pulses, s.Pulses)
		if s.IsActive() {
			end = x.secondEnd()
		}
		end = max(end, s.LastEnd)
		if k := s.Sketch(); k != nil {
			all.Merge(k)
		}
		in.Viewed += s.Viewed()
	}
	g.addSecond()
	in.Packets, in.BytesIn, in.PeakBytes, in.Peak, in.Pulses = sum.Packets, sum.Bytes, g.amount, g.peak, sum.Pulses
	in.setMean(end)
	in.Sources, in.SourcesError, in.SourceSketch = min(all.Count(), float64(sum.Packets)), sketch.DistinctError, &all
	in.Top = in.Top[:0] // reflectors of several kinds: none of them is worth a line of its own
	if w := x.weigh(otherScore+otherMore, false); w.Value > in.Weight.Value {
		in.Weight = w
	}
	in.Level = Alert
	in.Features = append(in.Features[:0], FeatureValue{in.Class.Group, in.Peak})
	var e sentences
	whole := e.within(span{in.Start, end})
	whole.add("%s in the busiest second: %s, %s", digits.Counted(uint64(in.Peak), "packet"), in.Class.Says, bytesOf(in.PeakBytes))
	whole.add("from %s; %s in the mean, with headers from IP's on", plural("source", in.Sources), digits.Counted(in.BytesIn/max(in.Packets, 1), "byte"))
	for _, p := range g.parts {
		n := p.past
		if p.spell != nil {
			n += p.spell.Packets
		}
		whole.add("%s: %s", p.class.Says, digits.Counted(n, "packet"))
	}
	in.Evidence = e
}
