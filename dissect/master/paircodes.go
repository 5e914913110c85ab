package master

import (
	"strconv"

	"qsniff/finding"
)

// codeOverBudget is raised when a master server falls silent after A requests of one
// address within B nanoseconds.
var codeOverBudget = finding.Code{ID: "MST-01", Severity: finding.Warn, Fault: finding.Client,
	Seen:  "more than 30 requests to a master server in a minute from one address, then silence",
	Means: "public master servers answer about 30 requests a minute from an address, and then none for a while",
	Do:    "ask for whole lists with one filter, keep them, and pause for a minute when pages stay away",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		dst = strconv.AppendUint(append(dst, " requests in "...), (e.B+5e8)/1e9, 10)
		return finding.AppendUnsure(append(dst, " s, then silence: more than the master server answers one address"...), e)
	}}
