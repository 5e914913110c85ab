package campaign

import (
	"fmt"
	"math"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
	"qsniff/internal/flood/measure"
)

// fewSensors is the sentence on campaigns that fewer than trustedSensors report.
const fewSensors = "fewer than three hosts report it: stolen sensors could have made it up; look at one of these hosts"

// number returns a rate or an estimate as sentences have it.
func number(x float64) string { return digits.Grouped(int64(math.Round(x))) }

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// hosts returns how many servers of how many hosts there are.
func (c *Campaign) hosts() string {
	return digits.Counted(uint64(c.Servers), "server") + " of " + digits.Counted(uint64(c.Sensors), "host")
}

// carpetEvidence returns sentences on servers that are flooded together, by the features of a window.
func carpetEvidence(c *course, g *group) []string {
	f := g.features
	if c.isJunkCarpet() {
		return junkEvidence(c, g)
	}
	text := []string{fmt.Sprintf("%s together got %s queries/s in ten seconds (usual: %s), the busiest %s of it", c.hosts(),
		number(f[measure.Rate10]), number(f[measure.Base]), percent(f[measure.NetBusiest]))}
	add := func(format string, args ...any) { text = append(text, fmt.Sprintf(format, args...)) }
	add("these queries came from about %s sources, %s each", number(f[measure.Sources]), fmt.Sprintf("%.1f", f[measure.Each]))
	if f[measure.Challenged] >= flood.LeastChallenged {
		add("of the sources that were challenged %s brought the challenge back, of those beyond the usual ones %s",
			percent(f[measure.Completion]), percent(f[measure.Echoed]))
	}
	if f[measure.Alien] >= 0.005 {
		add("%s of the queries are from impossible addresses (of random addresses 14 %% are)", percent(f[measure.Alien]))
	}
	if f[measure.TTL1] >= 0.7 {
		add("%s of the queries have the time to live %.0f", percent(f[measure.TTL1]), f[measure.TTL])
	}
	if f[measure.TTLX] >= 0.1 {
		add("%s of the queries have a time to live that no usual system sends", percent(f[measure.TTLX]))
	}
	if f[measure.Port1] >= 0.5 {
		add("%s of the queries have the source port %.0f", percent(f[measure.Port1]), f[measure.Port])
	}
	if f[measure.Prefix] >= 0.1 {
		add("one network sent at least %s of the queries", percent(f[measure.Prefix]))
	}
	return text
}

// linkEvidence returns sentences on incidents that belong together, by their start.
func (e *Engine) linkEvidence(c *course, all []*incident) []string {
	var text []string
	add := func(format string, args ...any) { text = append(text, fmt.Sprintf(format, args...)) }
	if c.How == Walk {
		add("%s were attacked one after the other, at up to %s packets/s", c.hosts(), number(c.Peak))
	} else {
		add("%s were attacked, at up to %s packets/s together", c.hosts(), number(c.Peak))
	}
	switch c.Base {
	case SameShape:
		add("the packets of each have the same form, and the peaks differ by less than a factor of %d", peakFactor)
		if c.How == SameShape {
			add("the attacks began within %d s", (all[len(all)-1].Start-all[0].Start)/1e9)
		}
	default:
		e.addCommon(&text, c, all)
	}
	if c.Sources > 0 {
		add("about %s different sources at all of them", number(c.Sources))
	}
	return text
}

// addCommon adds what the incident that has least in common with the others has in common with one.
func (e *Engine) addCommon(text *[]string, c *course, all []*incident) {
	least := 1.0
	for _, x := range all[:min(len(all), evidenceMembers)] {
		most := 0.0
		for _, y := range all[:min(len(all), evidenceMembers)] {
			if x != y {
				most = max(most, e.commonSources(x, y))
			}
		}
		if most > 0 {
			least = min(least, most)
		}
	}
	what := "sources"
	switch {
	case c.Family == ofReplies:
		what = "reflectors"
	case c.Family == ofReflections:
		what = "victims"
	}
	*text = append(*text, fmt.Sprintf("at each of them at least %s of the %s, or of their packets, are also at another", percent(least), what))
}

// evidenceMembers is how many incidents are compared with each other for a sentence. Chosen: those that are listed would be 4,032 comparisons.
const evidenceMembers = 16

// adviceOn returns what to do about a campaign, in a sentence.
func adviceOn(c *course) string {
	switch k := c.Kind(); {
	case c.Family == ofReplies:
		return "Give the list of reflectors, and the form of their replies, to the provider of the line: rules on a host do not help once the line is full."
	case c.Family == ofReflections:
		return "Make these servers ask for a challenge, or load the rules that each host advises: they cut what the victims are sent."
	case c.Family == ofScans:
		return "Usually nothing: block the source at the edge of the network if it comes back."
	case c.Family == ofLogins:
		return "Let remote consoles be reached through a VPN only, and block the sources at the edge of the network."
	case c.isJunkCarpet():
		return "Have a filter on all hosts drop datagrams that are no known query, and belong to nobody who plays: addresses may be forged, so block none."
	case k == flood.FloodFew:
		return "Block the sources, or the networks named here, for all hosts at the edge of the network."
	case k == flood.FloodSpoofed:
		return "Have servers ask for a challenge, and limit queries without one on all hosts, as each host's rules do: addresses are forged, so block none."
	case k == flood.FloodSuspect:
		return "Look whether players join as well before limiting anything: this may be a crowd."
	case c.How == Walk:
		return "Load the rules that the attacked hosts advise on all hosts, before the attack gets there."
	}
	return "Load the rules that the attacked hosts advise on all hosts of the fleet: a limit for each source, and one for queries without a challenge."
}
