package flood

import (
	"fmt"
	"net/netip"
	"slices"

	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/other"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// others finds floods of what is no query, at hosts that have servers.
type others struct {
	*book
	*other.Table
	servers  *servers
	networks *networks
	open     map[*other.Spell]*Incident // never more than openIncidents
	trials   map[*Incident]Trial
	groups   map[*Incident]*reflections // of those that several spells are part of, or may come to be
	limits   other.Limits
}

func newOthers(b *book, all *side, size float64) *others {
	x := &others{book: b, Table: other.New(size), servers: &all.servers, networks: &all.networks, open: map[*other.Spell]*Incident{}, groups: map[*Incident]*reflections{}, trials: map[*Incident]Trial{}, limits: limitsOfOthers(&b.lim)}
	x.Judged, x.Decide = x.isJudged, x.decide
	return x
}

func limitsOfOthers(lim *Thresholds) other.Limits {
	return other.Limits{Scale: lim.OtherScale, Factor: lim.OtherFactor, Fast: lim.FastTicks, Slow: lim.SlowTicks,
		Quiet: lim.Quiet.Seconds(), Share: liveShare, Each: lim.FewUnproven, FewShare: lim.FewShare, FewFactor: lim.SlowFactor}
}

// Know tells the detector at which ports servers are met, and which messages of other games
// sightings have the numbers of.
func (d *Detector) Know(ports []uint16, foreign []*dissect.ForeignType) {
	d.others.Know(ports, foreign)
}

// Others returns what else came than queries, to hosts with servers: in all, the second with
// most of no session to one host, and the most packets of sessions to one in a second.
func (d *Detector) Others() (all other.Traffic, peak other.Peak, sessions uint64) {
	return d.others.Total, d.others.Peak, d.others.Sessions
}

// CountOthersAt makes Others count only what comes to hosts for which isOurs reports true. It is
// called before the first sighting.
func (d *Detector) CountOthersAt(isOurs func(netip.Addr) bool) {
	d.others.IsCounted = func(h *track.Host) bool { return isOurs(h.Addr()) }
}

// isJudged reports whether what comes to an end and is no query is judged as junk: at a
// server that is watched closely, of which both directions are seen. One that gets much of it is from
// then on, however little it is asked.
func (x *others) isJudged(s *track.Sighting) bool {
	w := x.servers.receiver(s)
	if w == nil {
		if x.networks.takesStrange(s) {
			return true
		}
		w = x.servers.countStrange(s)
	}
	return w != nil && w.LastSent != 0
}

// tick takes the second that ends.
func (x *others) tick() {
	x.Tick(x.Now, x.secondEnd(), &x.limits)
	for _, g := range x.groups {
		g.addSecond()
	}
}

// end announces the incidents that the capture leaves open.
func (x *others) end() { x.End() }

// decide does what an event asks for.
func (x *others) decide(h *other.Host, class int, s *other.Spell, e other.Event) bool {
	c := &x.Classes()[class]
	in := x.open[s]
	switch e {
	case other.Ripens:
		if x.isExplained(h, c, s) {
			return false
		}
		return x.join(h, c, s) || x.begin(h, c, s)
	case other.Doubles:
		x.describe(in, c, s)
		x.announce(in, Changes)
	case other.Ends:
		x.close(in, c, s)
	}
	return true
}

// isExplained reports whether something else makes others send what came, where the host's
// own packets were not captured: a query flood ICMP errors about the answers to forged
// addresses, and the host's questions the replies of the few servers that it asks.
func (x *others) isExplained(h *other.Host, c *other.Class, s *other.Spell) bool {
	if c.Reflected && s.Blind && s.Sources() < fewReflectors {
		return true
	}
	if c.Joins && x.isOfAsker(h, c, s) {
		return true
	}
	if !c.Errors {
		return false
	}
	for _, w := range x.servers.heavy {
		if w.End.Host == h.Addr && w.courses[ofQueries].in != nil {
			return true
		}
	}
	return false
}

// isOfAsker reports whether attempts to join are those of a source whose queries to the same server are
// an incident: who fakes players asks for a challenge first. The incident gets their rate.
func (x *others) isOfAsker(h *other.Host, c *other.Class, s *other.Spell) bool {
	end := targetOf(h, c, s).End
	w := x.servers.find(&h.Addr, end.Port())
	if w == nil || w.courses[ofQueries].in == nil {
		return false
	}
	in := w.courses[ofQueries].in
	x.busiest = s.Busiest(x.busiest)
	if len(x.busiest) == 0 || len(in.Top) == 0 || x.busiest[0].Addr.Addr() != in.Top[0].Addr || 2*uint64(x.busiest[0].Low) < s.Viewed() {
		return false
	}
	in.Joins = max(in.Joins, s.Peak)
	return true
}

// begin opens an incident, if there is room.
func (x *others) begin(h *other.Host, c *other.Class, s *other.Spell) bool {
	in := x.openIncident(targetOf(h, c, s), x.kindOf(c, s), ofOthers, s.Start)
	if in == nil {
		return false
	}
	in.Class, in.Baseline, in.Frame = c, s.Usual, s.Frame
	x.open[s] = in
	if c.Reflected {
		x.groups[in] = &reflections{parts: []reflection{{class: c, spell: s}}}
	}
	x.describe(in, c, s)
	if in.Kind != OtherFlood { // its rules are about what the host sends
		x.advisor.Advise(in)
	} else if t := x.advisor.Try(in); t != nil {
		x.trials[in] = t
		x.try(in, s)
	}
	x.announce(in, Begins)
	return true
}

// try applies the rules that are tried for an incident to the packets of a spell of it.
func (x *others) try(in *Incident, s *other.Spell) {
	if t := x.trials[in]; t != nil {
		s.Try = func(packet *track.Sighting) { t.Apply(packet, false) }
	}
}

// conclude writes the final advice on an incident.
func (x *others) conclude(in *Incident) {
	if t := x.trials[in]; t != nil {
		t.Conclude(in, true)
		delete(x.trials, in)
	} else {
		x.advisor.Advise(in)
	}
}

// kindOf returns the kind of a flood: that of few sources with a new port for most messages, which are sent
// more than comes from them, is a reflection, and the sources are its victims.
func (x *others) kindOf(c *other.Class, s *other.Spell) Kind {
	if s.Fast.IsOdd && s.Fast.Gain >= x.lim.Amplified {
		return Reflection
	}
	return OtherFlood
}

// targetOf is the port that nearly all goes to, or the host.
func targetOf(h *other.Host, c *other.Class, s *other.Spell) Target {
	port, share := s.Port()
	if !c.Ports || share < other.PortShare {
		port = 0
	}
	return Target{End: netip.AddrPortFrom(h.Addr.Addr(), port), TCP: c.TCP && port != 0}
}

// OtherTarget is what most of a peak went to.
func OtherTarget(p *other.Peak) Target {
	return Target{End: netip.AddrPortFrom(p.Host.Addr(), p.Port), TCP: p.Port != 0 && p.Class.TCP}
}

// close ends an incident at the last second that qualified. One that goes on when the
// capture ends stays open.
func (x *others) close(in *Incident, c *other.Class, s *other.Spell) {
	x.describe(in, c, s)
	delete(x.open, s)
	if g := x.groups[in]; g != nil {
		isActive := s.IsActive()
		if g.end(s); !g.isOver() {
			return
		}
		x.conclude(in)
		delete(x.groups, in)
		if g.isMixed() {
			if isActive {
				x.announce(in, Ends)
				return
			}
			in.End = g.past.LastEnd
			x.closeIncident(in, ofOthers)
			return
		}
	} else {
		x.conclude(in)
	}
	if s.IsActive() {
		x.announce(in, Ends)
		return
	}
	in.End = s.LastEnd
	x.closeIncident(in, ofOthers)
}

const (
	// otherScore is what a rate above the bounds counts, otherMore what ten times as much as
	// a flood needs counts besides.
	otherScore, otherMore = 4, 2
	otherMuch             = 10
	// completedShare is the share of handshakes that are completed from which on who begins
	// them is there: a crowd of clients, or bots with addresses of their own.
	completedShare = 0.5
	// completed is the name of that share as a feature.
	completed = "completed"
)

// describe fills in what an incident shows now.
func (x *others) describe(in *Incident, c *other.Class, s *other.Spell) {
	if g := x.groups[in]; g.isMixed() {
		x.describeMixed(in, g)
		return
	}
	in.Packets, in.BytesIn, in.PeakBytes = s.Packets, s.Bytes, s.PeakOf
	end := s.LastEnd
	if s.IsActive() {
		end = x.secondEnd()
	}
	in.Peak, in.Pulses = s.Peak, s.Pulses
	in.setMean(end)
	in.Sources, in.SourcesError = min(s.Sources(), float64(s.Packets)), sketch.DistinctError
	in.SourceSketch = s.Sketch()
	x.busiest = s.Busiest(x.busiest)
	in.Viewed = s.Viewed()
	in.Top = appendTop(in.Top[:0], x.busiest, false)
	for i := range in.Top {
		if !c.Ports {
			in.Top[i].Ports = 0
		}
		if in.Top[i].TTL == 0 { // around what came through a tunnel it is not known
			in.Top[i].TTL = -1
		}
	}
	score := float64(otherScore)
	if s.Peak >= otherMuch*c.Least*x.lim.OtherScale {
		score += otherMore
	}
	if w := x.weigh(score, s.Blind); w.Value > in.Weight.Value {
		in.Weight = w
	}
	in.Level = Alert
	if c.Handshakes && !s.Blind && float64(s.Completed) >= completedShare*float64(s.Packets) {
		in.Level = Warn
	}
	in.Features = append(in.Features[:0], FeatureValue{c.Group, s.Peak})
	if s.Usual > 0 {
		in.Features = append(in.Features, FeatureValue{timesUsual, s.Peak / s.Usual})
	}
	if c.Handshakes && !s.Blind {
		in.Features = append(in.Features, FeatureValue{completed, min(1, measure.Share(float64(s.Completed), float64(s.Packets)))})
	}
	if s.Fast.Gain > 0 {
		in.Features = append(in.Features, FeatureValue{measure.Meanings[measure.Gain].Name, s.Fast.Gain})
		in.BytesOut = max(in.BytesOut, s.Fast.Out)
	}
	writeOtherEvidence(in, c, s, end)
}

// writeOtherEvidence writes the evidence of an incident, which goes on or ends at end.
func writeOtherEvidence(in *Incident, c *other.Class, s *other.Spell, end int64) {
	var e sentences
	whole := e.within(span{in.Start, end})
	if in.Kind == Reflection {
		whole.add("the server is a reflector: it sends few addresses %s the bytes that come in their names", times(s.Fast.Gain))
	}
	whole.add("%s in the busiest second (%s), %s; usual are %s/s", digits.Counted(uint64(s.Peak), "packet"), c.Says, bytesOf(s.PeakOf), count(s.Usual))
	whole.add("%s; %s in the mean, with headers from IP's on", aim(in, c, s), digits.Counted(s.Bytes/max(s.Packets, 1), "byte"))
	switch {
	case !c.Handshakes:
	case s.Blind:
		in.Missing = append(in.Missing[:0], completed)
	default:
		whole.add("%s of the connections begun were completed", percent(min(1, measure.Share(float64(s.Completed), float64(s.Packets)))))
	}
	if c.Sessions && s.Blind {
		whole.add("nothing that the host sends was captured, so its sessions count as well: it takes ten times as much to call this a flood, or as much from ports that sent nothing before")
	}
	in.TopFrom, in.TopTo = in.Start, end
	whole.addBusiest(in, digits.Counted(in.Viewed, "such packet"))
	in.Evidence = e
}

// aim says where it goes, and from where.
func aim(in *Incident, c *other.Class, s *other.Spell) string {
	to := "to the host"
	if c.Ports {
		to = "to many ports"
		if port, share := s.Port(); port != 0 && share >= other.PortShare/2 {
			to = fmt.Sprintf("to port %d", port)
			if share < 1 {
				to = percent(share) + " of it at least " + to
			}
		}
	}
	if in.Sources >= 0.5 {
		return to + ", from " + plural("source", in.Sources)
	}
	return to
}

// timesUsual is the feature that says how many times the usual rate the peak is.
const timesUsual = "times_usual"

// otherRule documents when there are floods of what is no query.
func otherRule() RuleDoc {
	r := RuleDoc{Kind: OtherFlood, Meaning: "a host with servers gets too much of something that is no query", Needs: []NeedDoc{
		{timesUsual, "times the usual rate, and one of these", needsAtLeast, "other_factor", 0},
	}}
	for _, c := range other.Groups() {
		r.Needs = append(r.Needs, NeedDoc{c.Group, "packets/s: " + c.Says, needsAtLeast, "other_scale", c.Least})
		if c.FromFew > 0 {
			r.Needs = append(r.Needs, NeedDoc{c.Group, "packets/s: " + c.Says + ", at one port, where few sources send few_share of it and few_unproven or more each; then slow_factor times the usual rate are enough", needsAtLeast, "other_scale", c.FromFew})
		}
		if c.AtServers > 0 {
			r.Needs = append(r.Needs, NeedDoc{c.Group, "packets/s: " + c.Says + ", most of them to ports of game servers, or nearly all to one other port than 80, 443, 8080 and 8443", needsAtLeast, "other_scale", c.AtServers})
		}
	}
	r.Needs = append(r.Needs,
		NeedDoc{"", "times as many, where nothing that the host sends was captured and what it answers would not count", needsAtLeast, "", other.BlindFactor},
		NeedDoc{"", "packets/s there: UDP of no session, from ports that sent nothing before", needsAtLeast, "other_scale", other.LeastFresh},
		NeedDoc{"", "seconds, at ten times that", needsAtLeast, "fast_ticks", 0},
		NeedDoc{"", "seconds, below", needsAtLeast, "slow_ticks", 0},
		NeedDoc{"", "seconds without, after which it begins anew", needsAbove, "", other.ColdAfter})
	r.Signs = []SignDoc{{otherScore, toBegin}, {otherMore, fmt.Sprintf("%d times as much as it takes", otherMuch)}}
	return r
}

// otherMeanings documents the features of floods of what is no query.
func otherMeanings() []Meaning {
	all := []Meaning{{Name: timesUsual, Text: "packets in the busiest second, as a multiple of the usual rate"},
		{Name: completed, Text: "share of the connections begun that are completed"}}
	for _, c := range other.Groups() {
		all = append(all, Meaning{Name: c.Group, Text: "packets in the busiest second: " + c.Says})
	}
	return all
}

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

// end adds the packets of a spell that ended to the past.
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
		if t := x.trials[in]; t != nil {
			t.Restart(in)
			x.try(in, s)
		} else {
			x.advisor.Advise(in)
		}
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
