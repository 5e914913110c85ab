package report

import (
	"qsniff/pipeline/tally"
	"qsniff/stats"
)

// Stats is what a run came to and what its messages add up to.
type Stats struct {
	Run tally.Run
	stats.Summary
}

// What Stats consists of, for renderers, which know this package only.
type (
	Message  = stats.Message
	Server   = stats.Server
	Times    = stats.Times
	Client   = stats.Client
	Distinct = stats.Distinct
	Kind     = stats.Kind
	Gain     = stats.Gain
	Finding  = stats.Finding
	Point    = stats.Point
)

// Challenges names what Server.Challenges tells.
const Challenges = "challenges INFO"

// WhyOthers is why messages are in the count of none of our servers.
const WhyOthers = "messages of servers that --servers leaves out"
