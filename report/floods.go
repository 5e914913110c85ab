package report

import "qsniff/flood"

// What floods consist of, for renderers, which know this package only.
type (
	Incident = flood.Incident
	Event    = flood.Event
)

// The events of an incident.
const (
	Begins  = flood.Begins
	Changes = flood.Changes
	Ends    = flood.Ends
)

// Word is how sure a confidence is.
func Word(confidence float64) string { return flood.Word(confidence) }
