package pipeline

import (
	"net/netip"

	"qsniff/internal/base/lru"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/track"
)

// Outcomes is the track.Listener of a first run over a capture, for a Filter that needs to
// know whether exchanges are answered. After that run it does not change, and may be used
// by several goroutines.
type Outcomes struct {
	program    *filter.Program
	unanswered uint8 // index of an exchange without challenge and answer
	pages      map[uint64]*outcomePage
	unkept     uint64
}

// outcomePage has an outcome for each of as many frames: of the exchange that begins there.
// An entry is 0 if nothing was kept, else 1 + the index, and isAnswered.
type outcomePage [outcomePageFrames]uint8

// isAnswered marks the entry of an exchange that was answered, whose outcome does not change.
const isAnswered = 1 << 7

// NewOutcomes returns what a first run fills in for a program.
func NewOutcomes(p *filter.Program) *Outcomes {
	none := noOutcome
	return &Outcomes{program: p, unanswered: p.Index(&none), pages: make(map[uint64]*outcomePage)}
}

// noOutcome is the outcome of an exchange to which nothing was replied.
var noOutcome = filter.Outcome{RTT: -1, ChallengeRTT: -1}

// outcomeOf returns the outcome of an exchange as of the message of f; ok: f changes it. A late
// answer is one: of those who look for slow answers, most look for it.
func outcomeOf(f *track.Fact) (o filter.Outcome, ok bool) {
	switch f.Step {
	case track.Answer, track.Late:
		return filter.Outcome{Answered: true, RTT: f.Took, ChallengeRTT: f.Trip}, true
	case track.Challenge:
		return filter.Outcome{RTT: -1, ChallengeRTT: f.Took}, true
	}
	return noOutcome, false
}

// AddFact implements track.Listener.
func (o *Outcomes) AddFact(f *track.Fact, _ []track.Found, _ *track.ServerInfo) {
	x, ok := outcomeOf(f)
	if !ok || f.ID == 0 {
		return
	}
	i := o.program.Index(&x)
	p := o.pages[f.ID/outcomePageFrames]
	switch {
	case p == nil && i == o.unanswered: // as without an entry
		return
	case p == nil && len(o.pages) >= maxOutcomePages:
		o.unkept++
		return
	case p == nil:
		p = new(outcomePage)
		o.pages[f.ID/outcomePageFrames] = p
	}
	entry := &p[f.ID%outcomePageFrames]
	if *entry&isAnswered != 0 {
		return
	}
	*entry = i + 1
	if x.Answered {
		*entry |= isAnswered
	}
}

// AddFinding implements track.Listener.
func (o *Outcomes) AddFinding(uint64, int64, netip.AddrPort, netip.AddrPort, track.Found) {}

// indexOf returns the index of the outcome of an exchange.
func (o *Outcomes) indexOf(id uint64) uint8 {
	if p := o.pages[id/outcomePageFrames]; p != nil {
		if entry := p[id%outcomePageFrames]; entry != 0 {
			return entry&^isAnswered - 1
		}
	}
	return o.unanswered
}

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
