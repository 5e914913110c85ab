package advice

import (
	"qsniff/dissect"
	"qsniff/internal/track"
)

// formLines says which lines of a trial look at packets of one form. A flood has few forms, so
// that this need not be found out for every packet.
type formLines struct {
	formKey
	isSet    bool
	isAbout  bool // they are what the incident counts
	numTests int
	tests    [trialPlans * planRules]lineTest // plan by plan; where a line names sources, it looks at theirs
}

// lineTest is a line that looks at packets of a form.
type lineTest struct {
	of   *attempt
	rule *ruleTest
	plan planSet // has that of the attempt
}

// formKey is all of a packet, its ends aside, that decides which lines look at it.
type formKey struct {
	typ   *dissect.Type
	bytes uint32
	what  track.PacketType
	flags track.SightFlags
}

// decisiveFlags are those flags that decide which lines look at a packet.
const decisiveFlags = track.HasKey | track.Cut | track.Connection | track.Familiar

// linesFor returns the lines that look at a packet. They are valid until the next call.
func (t *trial) linesFor(s *track.Sighting) *formLines {
	k := formKey{s.Type, s.Bytes, s.What, s.Flags & decisiveFlags}
	x := &t.forms[(k.bytes^uint32(s.Asks)<<1^uint32(k.flags))%trialForms]
	if x.isSet && x.formKey == k {
		return x
	}
	*x = formLines{formKey: k, isSet: true, isAbout: t.attempts[0].plan.isAbout(s)}
	for i := range t.attempts[:t.numAttempts] {
		p := &t.attempts[i].plan
		for j := range p.rules[:p.numRules] {
			if p.looksAt(p.rules[j].kind, s) {
				x.tests[x.numTests] = lineTest{&t.attempts[i], &t.attempts[i].tests[j], 1 << i}
				x.numTests++
			}
		}
	}
	return x
}

// apply charges a packet of the form at the time now to the limits of those lines that match it, up
// to the one of each plan that drops it. It returns the plans that drop it.
func (x *formLines) apply(end *remoteEnd, now int64) (dropped planSet) {
	for i := range x.tests[:x.numTests] {
		l := &x.tests[i]
		switch r := l.rule; {
		case dropped&l.plan != 0, r.spares && l.of.isSpared(r, end, now):
		case now < r.opens: // of a limit that all sources share, or that lets none through
			dropped |= l.plan
		case !r.isPerSource:
			r.charge(now)
		case l.of.isOver(r, end.source, now):
			dropped |= l.plan
		}
	}
	return dropped
}
