package flood

import "qsniff/internal/flood/measure"

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
	return k == FloodSpoofed || k == FloodDistributed || k == FloodSuspect
}
