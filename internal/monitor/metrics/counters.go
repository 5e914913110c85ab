package metrics

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"qsniff/internal/render/counters"
)

// counted are the metrics of the counters of all stages that take part.
var counted = describeCounters()

// counter is one of them.
type counter struct {
	counters.Entry
	desc *prometheus.Desc
}

// prefixes are the beginnings of names by the group of counters. Groups that are not here count
// what a meter counts by itself, or what it does without.
var prefixes = map[counters.Group]string{
	counters.Totals: "capture_", counters.Capture: "capture_", counters.Input: "input_", counters.Reassembly: "reassembly_",
	counters.Incidents: "incidents_", counters.Files: "kept_",
}

// idle are the counters of these groups that stay zero, as their stages take no part: there is no
// filter, and messages are not joined.
var idle = []string{"unmatched", "undecided", "queries", "replies", "junk", "logins", "elsewhere", "unlisted", "compressed", "crc_errors", "evicted"}

func describeCounters() (all []counter) {
	for _, e := range counters.All {
		prefix, ok := prefixes[e.Group]
		if !ok || slices.Contains(idle, e.Name) || strings.HasPrefix(e.Name, "split_") || strings.HasPrefix(e.Name, "fragmented_") {
			continue
		}
		all = append(all, counter{e, desc(prefix+e.Name+"_total", e.Doc)})
	}
	return all
}
