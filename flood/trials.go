package flood

import (
	"math/rand/v2"

	"qsniff/track"
)

// trials is the memory for lines of advice that are being tried.
type trials struct {
	free []*trial
	n    int
}

// maxTrials is how many incidents have their lines tried at a time, up to 640 KiB
// each; those behind it get advice without figures.
const maxTrials = 8

// try begins to try the lines for an incident; nil where too many are tried already,
// or where it has none.
func (d *Detector) try(in *Incident) *trial {
	in.Advice = advise(in, nil)
	x := &d.trials
	switch {
	case in.Level == Info || x.n == maxTrials:
		return nil
	case len(x.free) == 0:
		x.free = append(x.free, &trial{seed: rand.Uint64()})
	}
	t := x.free[len(x.free)-1]
	x.free = x.free[:len(x.free)-1]
	x.n++
	t.reset(in)
	return t
}

// retry begins anew where another verdict asks for other lines.
func (d *Detector) retry(in *Incident, t *trial) *trial {
	if t == nil {
		return d.try(in)
	}
	t.reset(in)
	in.Advice = advise(in, nil)
	return t
}

// conclude writes the advice with what was measured; blind where nobody could prove
// anything.
func (d *Detector) conclude(in *Incident, t *trial, blind bool) {
	if t == nil {
		in.Advice = advise(in, nil)
		return
	}
	c := t.result()
	c.Blind = blind
	in.Advice = advise(in, &c)
	d.trials.free = append(d.trials.free, t)
	d.trials.n--
}

// tried shows a packet to or from a target to the lines that are tried for it.
func (d *Detector) tried(t *target, s *track.Sighting, proven bool) {
	for i := range t.busy {
		c := &t.busy[i]
		if c.trial == nil {
			continue
		}
		if (c.in.Kind == Reflection) == (s.What == track.IsReply || s.What == track.IsChallenge || s.What == track.IsPart) {
			c.trial.packet(s, proven)
		}
	}
}

// knows tells whether a source proved its address to a target not long ago, whoever
// is followed.
func (d *Detector) knows(key uint64) bool {
	if !d.proven.Has(key) {
		return false
	}
	x := d.claims.find(key)
	return x != nil && x.proven(d.now)
}
