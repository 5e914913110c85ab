// Package report holds the results of a run as plain structs. It computes
// nothing and prints nothing.
package report

import (
	"qsniff/flood"
	"qsniff/pipeline/tally"
)

// Floods is what a run came to and the incidents in it.
type Floods struct {
	Run       tally.Run
	Seen      *flood.Seen
	Incidents []Incident
	Counts    [flood.Alert + 1]uint64 // by level, listed or not
	Unnamed   flood.Unnamed
	Full      []string // tables that were full in the end
	Limits    Thresholds
}

// Rules is when what is found, with the thresholds in use.
type Rules struct {
	Settings []Setting
	Rules    []Rule
	Meanings []Meaning
}

// What floods consist of, for renderers, which know this package only.
type (
	Incident   = flood.Incident
	Event      = flood.Event
	Level      = flood.Level
	Thresholds = flood.Thresholds
	Setting    = flood.Setting
	Rule       = flood.Rule
	Need       = flood.Need
	Meaning    = flood.Meaning
)

// The events of an incident.
const (
	Begins  = flood.Begins
	Changes = flood.Changes
	Ends    = flood.Ends
)

// The levels of an incident.
const (
	Info  = flood.Info
	Warn  = flood.Warn
	Alert = flood.Alert
)

// Word is how sure a confidence is.
func Word(confidence float64) string { return flood.ConfidenceWord(confidence) }

// MeaningOf says what a feature is.
func MeaningOf(name string) string { return flood.MeaningOf(name) }

// RulesOf lists when what is found with these thresholds.
func RulesOf(t Thresholds) *Rules {
	return &Rules{Settings: t.Settings(), Rules: t.Rules(), Meanings: flood.Meanings}
}
