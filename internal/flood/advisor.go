package flood

import "qsniff/internal/track"

// Advisor writes what to do about an incident. The detector depends on no filter and on no
// protocol's bytes: package advice implements Advisor.
type Advisor interface {
	// Advise sets the Advice of an incident as it is now.
	Advise(in *Incident)
	// Try does the same and returns a trial of the rules on the packets that follow, or
	// nil where nothing is tried.
	Try(in *Incident) Trial
}

// Trial tries the rules for one incident on packets of the capture.
type Trial interface {
	// Restart begins anew with the rules for the incident as it is now, after its kind
	// changed.
	Restart(in *Incident)
	// Apply applies the rules to a packet to or from the target. proven reports whether
	// its source (of a reflection: its receiver) proved its address; of replies at a
	// victim, whether the victim had asked this server; of attempts to log in, whether
	// the source is no guesser.
	Apply(s *track.Sighting, proven bool)
	// Conclude sets Advice with what was measured, and ends the trial. blind is
	// set where no source could prove its address.
	Conclude(in *Incident, blind bool)
}

// noAdvice is the Advisor of a detector that was given none: it leaves incidents without
// advice.
type noAdvice struct{}

func (noAdvice) Advise(*Incident)    {}
func (noAdvice) Try(*Incident) Trial { return nil }
