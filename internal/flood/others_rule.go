package flood

import (
	"fmt"

	"qsniff/internal/flood/other"
)

// timesUsual is the feature that says how many times the usual rate the peak is.
const timesUsual = "times_usual"

// otherRule documents when there are floods of what is no query.
func otherRule() RuleDoc {
	r := RuleDoc{Kind: OtherFlood, Meaning: "a host with servers gets too much of something that is no query", Needs: []NeedDoc{
		{timesUsual, "times the usual rate, and one of these", needsAtLeast, "other_factor", 0},
	}}
	for _, c := range other.Groups() {
		r.Needs = append(r.Needs, NeedDoc{c.Group, "packets/s: " + c.Says, needsAtLeast, "other_scale", c.Least})
	}
	r.Needs = append(r.Needs,
		NeedDoc{"", "times as many, where nothing that the host sends was captured and what it answers would not count", needsAtLeast, "", other.BlindFactor},
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
