package flood

import (
	"fmt"

	"qsniff/flood/other"
)

// otherRule is the rule for floods of what is no query.
func otherRule() Rule {
	r := Rule{Kind: OtherFlood, Means: "a host with servers gets too much of something that is no query", Needs: []Need{
		{"", "times the usual rate, and one of these", needLeast, "other_factor", 0},
	}}
	add := func(c *other.Class, says string) {
		r.Needs = append(r.Needs, Need{"", "packets/s: " + says, needLeast, "other_scale", c.Least})
	}
	for i := range other.Own() {
		add(&other.Own()[i], other.Own()[i].Says)
	}
	add(other.Amplified(), "replies of an amplifier, by the port they come from")
	add(other.Foreign(), "of one message that clients of another game send")
	r.Needs = append(r.Needs,
		Need{"", "times as many, where nothing that the host sends was captured and what it answers would not count", needLeast, "", other.BlindFactor},
		Need{"", "seconds, at ten times that", needLeast, "fast_ticks", 0},
		Need{"", "seconds, below", needLeast, "slow_ticks", 0},
		Need{"", "seconds without, after which it begins anew", needOver, "", other.ColdAfter})
	r.Signs = []Sign{{otherScore, toBegin}, {otherMore, fmt.Sprintf("%d times as much as it takes", otherMuch)}}
	return r
}
