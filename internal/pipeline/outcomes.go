package pipeline

import (
	"net/netip"

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
