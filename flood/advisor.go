package flood

import "qsniff/track"

// Advisor writes what to do about an incident. The detector knows no filter and no
// protocol's bytes: package advice does.
type Advisor interface {
	// Advise sets Advice and Rules of an incident as it is now.
	Advise(in *Incident)
	// Try does the same, and begins to try the rules on the packets that follow. It
	// returns nil where nothing is tried.
	Try(in *Incident) Trial
}

// Trial tries the rules for one incident on packets of the capture.
type Trial interface {
	// Restart tries the rules for the incident as it is now, which another verdict made
	// another one, from here on.
	Restart(in *Incident)
	// Apply charges a packet to or from the target. proven reports whether its source (of
	// a reflection: its receiver) proved its address; of replies at a victim, whether the
	// victim had asked this server; of attempts to log in, whether the source is no
	// guesser.
	Apply(s *track.Sighting, proven bool)
	// Conclude sets Advice and Rules with what was measured, and ends the trial. blind is
	// set where nobody could prove anything.
	Conclude(in *Incident, blind bool)
}

// noAdvice advises nothing: tests of the detector need no words.
type noAdvice struct{}

func (noAdvice) Advise(*Incident)    {}
func (noAdvice) Try(*Incident) Trial { return nil }
