package flood

import (
	"qsniff/internal/flood/measure"
)

// verdict is what the rules conclude about one second of a family of traffic at a server.
type verdict struct {
	kind     Kind
	judged   Kind // the same before it was dropped as that of a tail, or of traffic that is no attack
	score    float64
	weight   Weight
	rate     float64 // packets that count, in this second
	isUrgent bool    // it opens an incident after a shorter time
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

// newOwnRulebook returns the rules on the queries of one's own tools: what is no storm is a note.
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
