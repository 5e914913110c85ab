package render

import (
	"qsniff/flood"
	"qsniff/flood/limiter"
	"qsniff/flood/other"
	"qsniff/flood/proof"
	"qsniff/render/tally"
	"qsniff/stats"
)

// Stats is what a run came to and what its messages add up to.
type Stats struct {
	Run tally.Run
	stats.Summary
}

// Floods is what a run came to and the incidents in it.
type Floods struct {
	Run       tally.Run
	Seen      *flood.Seen
	Incidents []flood.Incident
	Counts    [flood.Alert + 1]uint64 // by level, listed or not
	Others    [flood.Alert + 1]uint64 // of these, floods of what is no query
	Other     other.Traffic           // what is no query, to hosts with servers
	OtherPeak other.Peak              // the second with most of it
	Unnamed   flood.Unnamed
	Full      []string // tables that were full in the end
	Limits    flood.Thresholds
}

// Proven is what a run came to and who proved its address in it.
type Proven struct {
	Run tally.Run
	proof.Summary
}

// Limits is what a run came to and whom an engine's limiter would have refused.
type Limits struct {
	Run tally.Run
	limiter.Summary
}
