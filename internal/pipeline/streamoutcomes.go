package pipeline

import (
	"qsniff/internal/base/lru"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/track"
)

// streamOutcomes follows the exchanges of a stream, for a Filter that needs their outcomes.
type streamOutcomes struct {
	program    *filter.Program
	unanswered uint8
	exchanges  *lru.Table[exchangeID, followed]
	now        int64 // latest age
	undecided  uint64
}

// exchangeID is the frame of an exchange's first request.
type exchangeID uint64

// Hash mixes the id with the seed.
func (id exchangeID) Hash(seed uint64) uint64 { return lru.Mix(seed, uint64(id)) }

// followed is what is known of an exchange.
type followed struct {
	lastAge      int64 // of its last request or challenge
	index        uint8 // of its outcome so far
	isFinal      bool  // it does not change any more
	isChallenged bool  // the challenge was the last message
}

func newStreamOutcomes(f *Filter) *streamOutcomes {
	none := noOutcome
	return &streamOutcomes{program: f.Program, unanswered: f.Program.Index(&none), exchanges: lru.New[exchangeID, followed](maxFollowed)}
}

// addFact records what a message, or a silence, shows of its exchange.
func (v *streamOutcomes) addFact(f *track.Fact) {
	v.now = max(v.now, f.Age)
	if f.ID == 0 {
		return
	}
	x := v.exchanges.Get(exchangeID(f.ID))
	if x == nil {
		if f.Step > track.Answer && f.Step != track.Silence { // it was evicted
			return
		}
		x, _ = v.exchanges.Put(exchangeID(f.ID))
		x.index = v.unanswered
	}
	o, ok := outcomeOf(f)
	switch {
	case x.isFinal:
		if o.Answered && x.index != v.program.Index(&o) { // it came when nobody waited any more
			v.undecided++
			x.index = v.program.Index(&o)
		}
		return
	case ok:
		x.index, x.isFinal = v.program.Index(&o), o.Answered
	case f.Step == track.Silence:
		x.isFinal = true
	}
	if f.Step <= track.Challenge {
		x.lastAge, x.isChallenged = max(x.lastAge, f.Age), f.Step == track.Challenge
	}
}

// decide returns what t comes to for a message of an exchange, as far as that is known; ok:
// the outcome is final.
func (v *streamOutcomes) decide(t filter.Truth, id uint64) (isMatch, ok bool) {
	if isDecided(t) {
		return t == filter.All, true
	}
	x := v.exchanges.Peek(exchangeID(id))
	if x == nil {
		return t.At(v.unanswered), false
	}
	wait := outcomeWait
	if x.isChallenged {
		wait = challengeWait
	}
	if v.now-x.lastAge > int64(wait) {
		x.isFinal = true
	}
	return t.At(x.index), x.isFinal
}

// conclude is decide for a message that is held no longer.
func (v *streamOutcomes) conclude(t filter.Truth, id uint64) (isMatch bool) {
	isMatch, ok := v.decide(t, id)
	if !ok {
		v.undecided++
	}
	return isMatch
}
