package flood

import (
	"fmt"

	"qsniff/flood/other"
)

// otherRule documents when there are floods of what is no query.
func otherRule() RuleDoc {
	r := RuleDoc{Kind: OtherFlood, Meaning: "a host with servers gets too much of something that is no query", Needs: []NeedDoc{
		{"", "times the usual rate, and one of these", needsAtLeast, "other_factor", 0},
	}}
	add := func(c *other.Class, says string) {
		r.Needs = append(r.Needs, NeedDoc{"", "packets/s: " + says, needsAtLeast, "other_scale", c.Least})
	}
	for i := range other.Own() {
		add(&other.Own()[i], other.Own()[i].Says)
	}
	add(other.Amplified(), "replies of an amplifier, by the port they come from")
	add(other.Foreign(), "of one message that clients of another game send")
	r.Needs = append(r.Needs,
		NeedDoc{"", "times as many, where nothing that the host sends was captured and what it answers would not count", needsAtLeast, "", other.BlindFactor},
		NeedDoc{"", "seconds, at ten times that", needsAtLeast, "fast_ticks", 0},
		NeedDoc{"", "seconds, below", needsAtLeast, "slow_ticks", 0},
		NeedDoc{"", "seconds without, after which it begins anew", needsAbove, "", other.ColdAfter})
	r.Signs = []SignDoc{{otherScore, toBegin}, {otherMore, fmt.Sprintf("%d times as much as it takes", otherMuch)}}
	return r
}
