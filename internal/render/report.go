package render

import (
	"iter"

	"qsniff/internal/track/stats"
)

// Report is the result of qsniff report: what the other commands find out about the same
// captures, as one.
type Report struct {
	Version, Command string
	Files            []ReportFile
	Stats            Stats
	Timeline         *stats.TimelineSummary
	Floods           *Floods
	Findings         *Findings
	Explain          []Explained
	// Exchanges returns exchanges, as objects of JSON, that take at most room bytes with a
	// comma each, each valid until the next one, and how many more there are. The renderer sets Left.Exchanges to that.
	Exchanges    func(room int) (all iter.Seq[[]byte], left uint64)
	MaxSize      int    // of the report in bytes: exchanges fill what the rest leaves
	SampledAfter uint64 // frame after which Exchanges considers a part of the exchanges; 0: all were
	IsAnonymized bool
	Left         ReportLeft
}

// ReportFile is a capture that was read.
type ReportFile struct {
	Name  string
	Bytes int64 // -1 if unknown
}

// Explained is the explanation of a finding or of a kind of incident: an object of JSON.
type Explained struct {
	ID   string
	JSON []byte
}

// ReportLeft counts what a report has no room for; Packets are those of no message, which an
// anonymised one is made without.
type ReportLeft struct{ Exchanges, Servers, Clients, Incidents, Findings, Packets uint64 }
