package render

import (
	"qsniff/flood"
	"qsniff/flood/limiter"
	"qsniff/flood/other"
	"qsniff/flood/proof"
	"qsniff/render/tally"
	"qsniff/stats"
)

// Stats is the result of qsniff stats: the totals of a run and of its messages.
type Stats struct {
	Run tally.Run
	stats.Summary
}

// Floods is the result of qsniff floods: the totals of a run and the incidents in it.
type Floods struct {
	Run        tally.Run
	Seen       *flood.Seen
	Incidents  []flood.Incident
	Counts     [flood.Alert + 1]uint64 // by level, listed or not
	Others     [flood.Alert + 1]uint64 // of these, floods of what is no query
	Other      other.Traffic           // what is no query, to hosts with servers
	OtherPeak  other.Peak              // the second with most of it
	Unnamed    flood.Omitted
	FullTables []string // names of the tables that were full in the end
	Limits     flood.Thresholds
}

// Proven is the result of qsniff proven: the totals of a run and the addresses that were
// proven in it.
type Proven struct {
	Run tally.Run
	proof.Summary
}

// Limits is the result of qsniff floods --limits: the totals of a run and the sources
// that an engine's limiter would have refused.
type Limits struct {
	Run tally.Run
	limiter.Summary
}
