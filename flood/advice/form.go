package advice

import (
	"qsniff/dissect"
	"qsniff/track"
)

// formLines says which lines of a trial look at packets of one form. A flood has few forms, so
// that this need not be found out for every packet.
type formLines struct {
	formKey
	isSet   bool
	isAbout bool              // they are what the incident counts
	rules   [trialPlans]uint8 // bit i: rule i of the plan looks at them; where it names sources, at theirs
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
				x.rules[i] |= 1 << j
			}
		}
	}
	return x
}
