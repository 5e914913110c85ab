// Package counters is the one list of what qsniff counts: of each counter its name for
// programs, its words for people, a sentence for the manual, and where to take it from.
// Text, JSON, standard error and docs/counters.md all read it. It counts nothing itself:
// each stage does, and a test holds the structs of all stages against the list.
package counters

import (
	"slices"

	"qsniff/capture/keep"
	"qsniff/flood"
	"qsniff/flood/limiter"
	"qsniff/flood/proof"
	"qsniff/render/tally"
	"qsniff/stats"
)

// Result is what the stages of a run counted. What a command does not have stays zero.
type Result struct {
	Run    tally.Run
	Stats  stats.Summary
	Floods flood.Omitted
	Seen   flood.Seen
	Proofs proof.Summary
	Limits limiter.Summary
	Files  keep.Stats
	Live   Live
}

// Live counts packets that a live capture lost on their way.
type Live struct {
	Kernel, Card uint64 // dropped by the kernel, by network cards
	Undecoded    uint64 // because the output was not read in time
}

// Entry is one counter.
type Entry struct {
	Name string // in JSON, unique in its group
	Group
	IsAlwaysInJSON bool   // JSON has it even if it is zero
	Label          string // a phrase for the page of stats, see Expand; empty: only stats -v and JSON have it
	Hint           string // a sentence for standard error, see Expand; empty: it takes nothing from what was found
	Doc            string // a sentence for the manual
	Get            func(*Result) uint64
}

// Group is where a counter stands in the output, and what it is about.
type Group uint8

// The groups, in the order of the output. Those from Totals to Servers are members of
// the object that stats -o json writes, Input to Tables are objects in it. Those after it
// are told in sentences only.
const (
	Totals Group = iota
	Requests
	Servers
	Reassembly
	Input
	Tables
	Incidents
	Proofs
	Limits
	Files
	Capture
	NumGroups
)

// groupNames are the titles of the groups in the manual, and the names of objects in JSON.
var groupNames = [NumGroups]struct{ object, title string }{
	Totals:     {"", "What was read"},
	Requests:   {"", "Requests and replies"},
	Servers:    {"", "Servers"},
	Reassembly: {"reassembly", "Joining what was cut"},
	Input:      {"input", "Faults of the input"},
	Tables:     {"tables", "Tables that were full"},
	Incidents:  {"", "What the detector of floods saw"},
	Proofs:     {"", "Proven addresses"},
	Limits:     {"", "Replay of a server's limiter"},
	Files:      {"", "Files of packets"},
	Capture:    {"", "Live captures"},
}

// Object is the name of the group's object in the JSON of stats; empty where it has none.
func (g Group) Object() string { return groupNames[g].object }

// Title is the group's title in the manual.
func (g Group) Title() string { return groupNames[g].title }

// IsPrinted reports whether stats -o json and stats -v print the counters of the group.
func (g Group) IsPrinted() bool { return g <= Tables }

// All lists every counter by group, in the order of the output.
var All = slices.Concat(totals, reassembly, input, others)

// Of lists the counters of a group.
func Of(g Group) []Entry {
	return slices.DeleteFunc(slices.Clone(All), func(e Entry) bool { return e.Group != g })
}

// Labels are the phrases about the counters of a group that are not zero.
func (r *Result) Labels(g Group) []string {
	return r.phrases(func(e *Entry) string { return e.Label }, formatGrouped, g)
}

// Hints are the sentences about what may be missing from what was found, for those
// counters of the groups that are not zero.
func (r *Result) Hints(groups ...Group) []string {
	return r.phrases(func(e *Entry) string { return e.Hint }, formatPlain, groups...)
}

func (r *Result) phrases(of func(*Entry) string, write func(uint64) string, groups ...Group) (said []string) {
	for i := range All {
		e := &All[i]
		if text := of(e); text != "" && slices.Contains(groups, e.Group) && e.Get(r) > 0 {
			said = append(said, r.Expand(e, text, write))
		}
	}
	return said
}
