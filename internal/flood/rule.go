package flood

import (
	"fmt"
	"strconv"
	"strings"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood/measure"
)

// comparison is how a feature is compared with a limit.
type comparison string

const (
	atLeast comparison = ">="
	above   comparison = ">"
	atMost  comparison = "<="
	below   comparison = "<"
)

// condition is one comparison of a feature with a limit.
type condition struct {
	feature    measure.Feature
	comparison comparison
	limit      float64 // before resolve: times the threshold that setting names, if any
	setting    string
	text       string // what is measured, where a rule lists it
}

// holds reports whether the condition holds. No comparison with an unknown feature, NaN,
// does.
func (c *condition) holds(f *measure.Features) bool {
	switch v := f[c.feature]; c.comparison {
	case atLeast:
		return v >= c.limit
	case above:
		return v > c.limit
	case atMost:
		return v <= c.limit
	default:
		return v < c.limit
	}
}

// A clause holds where at least one of its conditions does, a way where all of its clauses do.
type (
	clause []condition
	way    []clause
)

func (w way) holds(f *measure.Features) bool {
	for _, c := range w {
		if !c.holds(f) {
			return false
		}
	}
	return true
}

func (c clause) holds(f *measure.Features) bool {
	for i := range c {
		if c[i].holds(f) {
			return true
		}
	}
	return false
}

// anyHolds reports whether at least one of the ways holds, or there are none.
func anyHolds(ways []way, f *measure.Features) bool {
	for _, w := range ways {
		if w.holds(f) {
			return true
		}
	}
	return len(ways) == 0
}

// sign is one weighted hint: it counts points where at least one of its ways holds.
type sign struct {
	points float64
	// template is the text with limits in braces: {0} is the limit of the first condition,
	// {0w} the same as a word. After those of the conditions come extraLimits, and those of
	// unless.
	template    string
	ways        []way
	extraLimits []float64
	// isAboutAddresses is set where the sign shows that source addresses are forged, but
	// where unless holds as well.
	isAboutAddresses bool
	unless           clause
}

func (s *sign) holds(f *measure.Features) bool { return anyHolds(s.ways, f) }

// text returns the template with the limits filled in.
func (s *sign) text() string {
	text := s.template
	n := 0
	put := func(limit float64) {
		text = strings.NewReplacer(fmt.Sprintf("{%d}", n), formatLimit(limit), fmt.Sprintf("{%dw}", n), limitWord(limit)).Replace(text)
		n++
	}
	for _, w := range s.ways {
		for _, c := range w {
			for i := range c {
				put(c[i].limit)
			}
		}
	}
	for _, x := range s.extraLimits {
		put(x)
	}
	for i := range s.unless {
		put(s.unless[i].limit)
	}
	return text
}

// formatLimit returns a limit as sentences have it.
func formatLimit(x float64) string {
	if x >= 1000 {
		return digits.Grouped(int64(x))
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// limitWords are the limits that templates may have as words.
var limitWords = map[float64]string{0.5: "half", 3: "three", 8: "eight"}

func limitWord(x float64) string {
	if w, ok := limitWords[x]; ok {
		return w
	}
	return formatLimit(x)
}

// toBegin is the text for points that a rule has without any sign.
const toBegin = "to begin with"

// rule gives a kind to traffic whose features meet its needs and at least one of its ways,
// and whose signs count at least minPoints.
type rule struct {
	kind             Kind
	meaning          string
	needs            way
	ways             []way
	start            float64 // points without any sign
	startText        string  // why these
	signs            []sign
	minPoints        condition // without a setting any score is enough
	needsAddressSign bool      // a sign that is about addresses must hold
	bonus            float64   // points for the score of a verdict, beyond those of signs
}

// score returns the points of the signs that hold, and whether one of them shows that
// addresses are forged.
func (r *rule) score(f *measure.Features) (points float64, hasAddressSign bool) {
	points = r.start
	for i := range r.signs {
		if s := &r.signs[i]; s.holds(f) {
			points += s.points
			hasAddressSign = hasAddressSign || s.isAboutAddresses && !s.unless.holds(f)
		}
	}
	return points, hasAddressSign
}

// fits reports whether the rule holds, given what score returned.
func (r *rule) fits(f *measure.Features, points float64, hasAddressSign bool) bool {
	return (r.minPoints.setting == "" || points >= r.minPoints.limit) && (hasAddressSign || !r.needsAddressSign) && r.needs.holds(f) && anyHolds(r.ways, f)
}

// resolve returns the rules with the limits that t gives them.
func (t *Thresholds) resolve(rules []rule) []rule {
	all := make([]rule, len(rules))
	for i, r := range rules {
		r.needs, r.ways = t.resolveWay(r.needs), t.resolveWays(r.ways)
		t.resolveCondition(&r.minPoints)
		signs := make([]sign, len(r.signs))
		for j, s := range r.signs {
			s.ways = t.resolveWays(s.ways)
			signs[j] = s
		}
		r.signs = signs
		all[i] = r
	}
	return all
}

func (t *Thresholds) resolveWays(ways []way) []way {
	var all []way
	for _, w := range ways {
		all = append(all, t.resolveWay(w))
	}
	return all
}

func (t *Thresholds) resolveWay(w way) way {
	var all way
	for _, c := range w {
		cs := make(clause, len(c))
		for i := range c {
			cs[i] = c[i]
			t.resolveCondition(&cs[i])
		}
		all = append(all, cs)
	}
	return all
}

func (t *Thresholds) resolveCondition(c *condition) {
	if c.setting != "" {
		c.limit *= t.setting(c.setting)
	}
}
