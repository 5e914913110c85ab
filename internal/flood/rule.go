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

// verdict is what the rules conclude about one second of a family of traffic at a server.
type verdict struct {
	kind     Kind
	judged   Kind // the same before it was dropped as that of a tail, or of traffic that is no attack
	score    float64
	weight   Weight
	rate     float64 // packets that count, in this second
	isUrgent bool    // it opens an incident after a shorter time
	isSpray  bool    // of a network whose addresses are made up by those who ask
}

// rulebook holds the rules with the limits that the thresholds of a detector give them.
type rulebook struct {
	queries       []rule
	guesses, junk rule
}

func newRulebook(lim *Thresholds) rulebook {
	rest := lim.resolve([]rule{guessRule, junkRule})
	return rulebook{queries: lim.resolve(queryRules), guesses: rest[0], junk: rest[1]}
}

// newOwnRulebook returns the rules on the queries of the operator's tools: what is no storm is a note.
func newOwnRulebook(lim *Thresholds) rulebook {
	return rulebook{queries: lim.resolve([]rule{ownRule, {kind: Poller}})}
}

// judgeQueries returns the verdict on queries: that of the first rule that fits.
func (r *rulebook) judgeQueries(f *measure.Features) verdict {
	v := verdict{rate: f[measure.RateNow], isUrgent: f[measure.RateNow] >= urgentRate}
	for i := range r.queries {
		x := &r.queries[i]
		points, hasAddressSign := x.score(f)
		if x.fits(f, points, hasAddressSign) {
			v.kind, v.score = x.kind, points+x.bonus
			break
		}
	}
	v.judged = v.kind
	return v
}

// judgeGuesses returns the verdict on challenges that were never issued.
func (r *rulebook) judgeGuesses(f *measure.Features) verdict {
	return r.guesses.judgeFeatures(f, f[measure.GuessesNow], true)
}

// judgeJunk returns the verdict on datagrams that are nothing known.
func (r *rulebook) judgeJunk(f *measure.Features) verdict {
	now := f[measure.JunkNow]
	return r.junk.judgeFeatures(f, now, now >= urgentRate)
}

func (r *rule) judgeFeatures(f *measure.Features, rate float64, isUrgent bool) verdict {
	v := verdict{rate: rate, isUrgent: isUrgent}
	points, hasAddressSign := r.score(f)
	if v.score = points; r.fits(f, points, hasAddressSign) {
		v.kind = r.kind
	}
	v.judged = v.kind
	return v
}

// Judge applies the rules to features that no detector measured: those of the servers of many hosts
// together.
type Judge struct {
	rules rulebook
	lim   Thresholds
}

// NewJudge returns a judge with these thresholds.
func NewJudge(lim Thresholds) *Judge { return &Judge{newRulebook(&lim), lim} }

// Verdict is what the rules conclude about queries, or about junk.
type Verdict struct {
	Kind       Kind
	Score      float64
	Confidence float64 // as an incident's
	IsUrgent   bool    // at this rate it needs to hold for a shorter time
}

// HasAlarm reports whether the rates are those that ask for a verdict, beside the baseline in f. Where
// many servers are added up, what came above it in ten seconds may be as much as at a single server
// adds up over minutes.
func (j *Judge) HasAlarm(f *measure.Features) bool {
	base := f[measure.Base]
	return f[measure.Rate10] >= max(j.lim.SlowRate, j.lim.SlowFactor*base) ||
		f[measure.RateNow] >= max(j.lim.SurgeRate, j.lim.SurgeFactor*base) ||
		measure.PaneSeconds*(f[measure.Rate10]-base-max(2, base/2)) > j.lim.DriftSum
}

// JudgeServer returns the verdict on the queries to one server, without regard to its rate.
func (j *Judge) JudgeServer(f *measure.Features) Verdict {
	return verdictOn(f, j.rules.judgeQueries(f))
}

// JudgeJunk returns the verdict on datagrams that are nothing known, to one server or to several together.
func (j *Judge) JudgeJunk(f *measure.Features) Verdict { return verdictOn(f, j.rules.judgeJunk(f)) }

func verdictOn(f *measure.Features, v verdict) Verdict {
	return Verdict{v.kind, v.score, confidenceOf(v.kind, weightOf(v.score, f[measure.OneWay] > 0)), v.isUrgent}
}

// JudgeServers returns the verdict on the queries to several servers together, as that on a network: where
// few sources without proof send most, only flood_few is one.
func (j *Judge) JudgeServers(f *measure.Features) Verdict {
	v := j.JudgeServer(f)
	if v.Kind.isFromMany() && !networkManyNeeds.holds(f) {
		v.Kind = NoKind
	}
	return v
}

// isFromMany reports whether a kind is a flood from many sources.
func (k Kind) isFromMany() bool {
	return k == FloodSpoofed || k == FloodDistributed || k == FloodSuspect || k == FloodCompleting
}
