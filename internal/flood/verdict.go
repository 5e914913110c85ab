package flood

import "qsniff/internal/flood/measure"

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
