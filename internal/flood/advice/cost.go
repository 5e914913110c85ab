package advice

import (
	"fmt"
	"strings"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
)

// DescribeCost returns what rules would have cost players and visitors, in sentences. All numbers are of
// the time from the detection to the end of the flood.
func DescribeCost(c *flood.Cost) string {
	var parts []string
	if c.Players > 0 {
		s := fmt.Sprintf("%s of %s would have lost 1 in %d of their packets or more", thousands(uint64(c.PlayersHit)),
			digits.Counted(uint64(c.Players), "player in the game", "players in the game"), flood.TouchedShare)
		if c.Players == 1 {
			s = strings.Replace(s, "their packets", "its packets", 1)
		}
		parts = append(parts, s)
	}
	if c.Known > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s an answer", thousands(uint64(c.KnownHit)),
			digits.Counted(uint64(c.Known), "known visitor", "known visitors")+shareIn(c.KnownHit, c.Known)))
	}
	if c.New > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s an answer", thousands(uint64(c.NewHit)),
			digits.Counted(uint64(c.New), "new visitor", "new visitors")+shareIn(c.NewHit, c.New)))
	}
	if len(parts) == 0 {
		return ""
	}
	if c.Players == 0 { // the verb is in the first part
		parts[0] = strings.Replace(parts[0], " an answer", " would have lost an answer", 1)
	}
	s := "While it lasted, " + joinParts(parts) + "."
	visitors := c.Known + c.New
	switch {
	case visitors == 0:
		return s + " What visitors would have lost is unknown: none proved an address meanwhile."
	case c.NewHit > 0:
		s += " The first query of a new visitor looks like the flood."
	}
	if c.KnownHit+c.NewHit > 0 {
		s += fmt.Sprintf(" Known are those that had proved their address before; --proven lets these pass. They were %s of the visitors: expect as"+
			" many in the next attack.", shareOf(uint64(c.Known), uint64(visitors)))
	}
	return s
}

// shareIn returns a share in brackets; empty where it is none or all.
func shareIn(n, of int) string {
	if n == 0 || n == of {
		return ""
	}
	return " (" + shareOf(uint64(n), uint64(of)) + ")"
}

// joinParts joins parts of a sentence with commas and a last "and".
func joinParts(parts []string) string {
	if n := len(parts); n > 1 {
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
	return parts[0]
}

// DescribeLost returns which of their queries clients lost to the flood itself, without rules, as a part of a
// sentence; empty where that is unknown, or next to none.
func DescribeLost(a *flood.Answers) string {
	first, keyed := a.FirstServed(), a.KeyedServed()
	isFirst, isKeyed := first >= 0 && first <= leastLost, keyed >= 0 && keyed <= leastLost
	switch {
	case isFirst && isKeyed:
		return fmt.Sprintf("%s of the first queries got no reply, nor did %s of those that brought a challenge back", lostShare(first), lostShare(keyed))
	case isFirst:
		return lostShare(first) + " of the first queries got no reply"
	case isKeyed:
		return lostShare(keyed) + " of the queries that brought a challenge back got no reply"
	}
	return ""
}

// leastLost is the share of queries with a reply above which what is lost is not worth a sentence.
const leastLost = 0.99

// lostShare returns the other part of a share in percent.
func lostShare(served float64) string { return fmt.Sprintf("%.0f %%", 100*(1-served)) }

// rescues reports whether more exchanges succeed with the lines than did without: with them a first query passes as
// often as the flood does, and the challenge that it gets counts; without, either is lost. Where rules are loaded
// meanwhile the answers are those with them, so that the share of the beginning counts if it is less.
func (c *outcome) rescues() bool {
	first, keyed := min(c.answers.FirstServed(), c.limitShare), min(c.answers.KeyedServed(), c.limitShare)
	return first >= 0 && keyed >= 0 && 1-share(c.FloodDropped, c.Flood) > first*keyed
}
