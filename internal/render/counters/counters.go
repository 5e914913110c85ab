// Package counters is the one list of what qsniff counts. Each entry has a name for
// programs, words for people, a sentence for the manual, and a function that gets the
// number. Text, JSON, standard error and docs/counters.md are all made from it. It counts
// nothing itself: each stage does, and a test compares the structs of all stages with
// the list.
package counters

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"qsniff/capture/keep"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
	"qsniff/internal/flood/limiter"
	"qsniff/internal/flood/proof"
	"qsniff/internal/render/tally"
	"qsniff/internal/track/stats"
)

// Result holds what the stages of a run counted. The parts that a command does not have
// stay zero.
type Result struct {
	Run    tally.Run
	Stats  stats.Summary
	Floods flood.Omitted
	Seen   flood.Seen
	Found  stats.FindingSummary
	Proofs proof.Summary
	Limits limiter.Summary
	Files  keep.Stats
	Subset tally.Subset
	Live   Live
}

// Live counts packets that arrived during a live capture and were not decoded.
type Live struct {
	Kernel, Card uint64 // dropped by the kernel, by network cards
	Undecoded    uint64 // because the output was not read in time

	Interruptions uint64 // how often an interface went
	Away          uint64 // interfaces that went and are not back
}

// Entry is one counter.
type Entry struct {
	Name string // in JSON, unique in its group
	Group
	IsAlwaysInJSON bool // JSON has it even if it is zero
	// IsExperimental: its name in JSON may change.
	IsExperimental bool
	Label          string // a phrase for the page of stats, see Expand; empty: only stats -v and JSON have it
	Hint           string // a sentence for standard error, see Expand; empty: the counter means that nothing is missing
	Doc            string // a sentence for the manual
	Get            func(*Result) uint64
}

// Group is a section of the output, with the counters about one subject.
type Group uint8

// The groups, in the order of the output. The counters from Totals to Servers are members
// of the object that stats -o json writes; Reassembly, Input and Tables are objects in it.
// The counters of the groups after those are printed in sentences only.
const (
	Totals Group = iota
	Requests
	Servers
	Reassembly
	Input
	Tables
	Findings
	Incidents
	Proofs
	Limits
	Files
	Subset
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
	Findings:   {"", "Findings"},
	Incidents:  {"", "What the detector of floods saw"},
	Proofs:     {"", "Proven addresses"},
	Limits:     {"", "Replay of a server's limiter"},
	Files:      {"", "Files of packets"},
	Subset:     {"", "Packets of messages"},
	Capture:    {"", "Live captures"},
}

// Object returns the name of the group's object in the JSON of stats, or "" if it has none.
func (g Group) Object() string { return groupNames[g].object }

// Title returns the group's title in the manual.
func (g Group) Title() string { return groupNames[g].title }

// IsPrinted reports whether stats -o json and stats -v print the counters of the group.
func (g Group) IsPrinted() bool { return g <= Tables }

// All lists every counter by group, in the order of the output.
var All = slices.Concat(totals, reassembly, input, others)

// Of returns the counters of a group.
func Of(g Group) []Entry {
	return slices.DeleteFunc(slices.Clone(All), func(e Entry) bool { return e.Group != g })
}

// Labels returns the phrases about the counters of a group that are not zero.
func (r *Result) Labels(g Group) []string {
	return r.phrases(func(e *Entry) string { return e.Label }, formatGrouped, g)
}

// Hints returns the sentences about what may be missing from the output, for those
// counters of the groups that are not zero.
func (r *Result) Hints(groups ...Group) []string {
	return r.phrases(func(e *Entry) string { return e.Hint }, formatPlain, groups...)
}

// phrases returns the texts that textOf has for the counters of groups that are not zero.
func (r *Result) phrases(textOf func(*Entry) string, write func(uint64) string, groups ...Group) (texts []string) {
	for i := range All {
		e := &All[i]
		if text := textOf(e); text != "" && slices.Contains(groups, e.Group) && e.Get(r) > 0 {
			texts = append(texts, r.Expand(e, text, write))
		}
	}
	return texts
}

// placeholder matches a place in a label or a hint where Expand puts a number.
var placeholder = regexp.MustCompile(`\{([a-z_]*)(: ([^}]+))?\}`)

// Expand returns a label or a hint of e with numbers for its placeholders, formatted by
// write. {} is e's number, {name} that of another counter of its group, {: gap} the number
// with its noun, {: query|queries} the same with the plural where that is not made by an
// s, and {: B} a number of bytes.
func (r *Result) Expand(e *Entry, text string, write func(uint64) string) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		m := placeholder.FindStringSubmatch(found)
		n := find(e, m[1]).Get(r)
		switch m[3] {
		case "":
			return write(n)
		case "B":
			return digits.Bytes(float64(n))
		}
		return write(n) + " " + digits.Noun(n, strings.Split(m[3], "|")...)
	})
}

// formatGrouped formats a number for a page, formatPlain for standard error.
func formatGrouped(n uint64) string { return digits.Grouped(int64(min(n, 1<<63-1))) }
func formatPlain(n uint64) string   { return strconv.FormatUint(n, 10) }

// find returns the counter of that name in e's group, or e itself if name is empty.
func find(e *Entry, name string) *Entry {
	if name == "" {
		return e
	}
	return &All[slices.IndexFunc(All, func(x Entry) bool { return x.Group == e.Group && x.Name == name })]
}
