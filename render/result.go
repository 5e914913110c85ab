package render

import (
	"qsniff/flood"
	"qsniff/flood/limiter"
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
	Run        tally.Run
	Seen       *flood.Seen
	Incidents  []flood.Incident
	Counts     [flood.Alert + 1]uint64 // by level, listed or not
	Unnamed    flood.Omitted
	FullTables []string // tables that were full in the end
	Limits     flood.Thresholds
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
