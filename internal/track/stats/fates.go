package stats

import "qsniff/internal/track"

// Fates are the two figures of how requests fared, by which outputs judge a server: how many got any
// reply, and how the clients fared that proved their address. Most of a flood proves nothing, so that it
// changes the first and not the second.
type Fates[N uint32 | uint64] struct {
	Replied N // got any reply, a challenge included; of these and Unanswered
	Proven  N // of clients that brought back a challenge, and decided
	Served  N // of Proven: got what they asked for
}

// add counts a fact.
func (x *Fates[N]) add(f *track.Fact) {
	isProven := f.BroughtChallenge && (f.Reply || f.GotChallenge)
	switch f.Step {
	case track.Silence:
		if isProven {
			x.Proven++
		}
	case track.Challenge:
		x.Replied++
	case track.Refusal:
		x.Replied++
		if isProven {
			x.Proven++
		}
	case track.Answer, track.Late:
		x.Replied++
		if !isProven {
			return
		}
		x.Served++
		if f.Step == track.Answer || f.Trip < 0 || x.Proven < x.Served { // else its silence was counted before
			x.Proven++
		}
	}
}

// Add adds what others have.
func (x *Fates[N]) Add(o *Fates[N]) {
	x.Replied += o.Replied
	x.Proven += o.Proven
	x.Served += o.Served
}

// Subtract takes out what others have, which was added before.
func (x *Fates[N]) Subtract(o *Fates[N]) {
	x.Replied -= o.Replied
	x.Proven -= o.Proven
	x.Served -= o.Served
}

// Share returns the share in which proven clients got what they asked for; -1 if none proved its address.
func (x *Fates[N]) Share() float64 {
	if x.Proven == 0 {
		return -1
	}
	return float64(x.Served) / float64(x.Proven)
}
