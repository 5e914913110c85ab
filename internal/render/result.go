package render

import (
	"iter"
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/flood"
	"qsniff/internal/flood/limiter"
	"qsniff/internal/flood/other"
	"qsniff/internal/flood/proof"
	"qsniff/internal/flood/rules"
	"qsniff/internal/flood/rules/loaded"
	"qsniff/internal/render/tally"
	"qsniff/internal/track/stats"
	"qsniff/internal/track/vantages"
)

// Stats is the result of qsniff stats: the totals of a run and of its messages.
type Stats struct {
	Run tally.Run
	stats.Summary
	Rules []string // what the rules do that are loaded on this machine, in sentences
}

// Findings is the result of qsniff findings: the totals of a run and the findings in it.
type Findings struct {
	Run tally.Run
	stats.FindingSummary
	Least finding.Severity // milder ones are not listed
	Top   int              // how many servers a page lists
}

// Floods is the result of qsniff floods: the totals of a run and the incidents in it.
type Floods struct {
	Run        tally.Run
	Seen       *flood.Seen
	Incidents  []flood.Incident
	Counts     [flood.Alert + 1]uint64 // by level, listed or not
	Others     [flood.Alert + 1]uint64 // of these, floods of what is no query
	Other      other.Traffic           // what is no query, to hosts with servers; as IsLimited has it
	OtherPeak  other.Peak              // the second with most of it, sessions aside
	Sessions   uint64                  // most packets of sessions to one host in a second
	Unnamed    flood.Omitted
	FullTables []string // names of the tables that were full in the end
	Limits     flood.Thresholds
	Asked      rules.Invocation
	// Proven are the sources that proved their address, if rules are to let them pass
	// first; nil if these were not asked for.
	Proven *proof.Summary
	// IsLimited is set where --servers names whose incidents and other packets are reported. Run
	// and Seen are of all.
	IsLimited bool
	Expiry    time.Duration // how long rules match after they were loaded; 0: until removed
	// IsLive is set where packets were captured and no file has them; Script is a file of rules
	// for nft then, because no command prints these again.
	IsLive bool
	Script []byte
	// Loaded is what the rules that are loaded on this machine do; nil: unknown.
	Loaded *loaded.State
}

// RuleInput returns what a file of rules against the incidents is made of.
func (f *Floods) RuleInput() *rules.Input {
	return &rules.Input{
		Asked:     f.Asked,
		Incidents: f.Incidents,
		Proven:    f.Proven,
		Expiry:    f.Expiry,
		Cut:       f.Run.Cut(),
	}
}

// Polls is the result of qsniff polls: the totals of a run, and what became of each client's polls.
type Polls struct {
	Run tally.Run
	stats.PollSummary
	Top int // how many clients a page lists
}

// Vantages is the result of qsniff vantages: what each capture came to, and the servers that at least two of them
// asked.
type Vantages struct {
	Captures []Vantage
	Servers  []vantages.Server
	Unread   int // captures that were not read, as the user ended the run before
	Top      int // how many servers a page lists
}

// Vantage is one capture of these.
type Vantage struct {
	Name    string
	Run     tally.Run
	Evicted vantages.Evicted
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
