// Package remark prints on standard error what cannot be seen in the output of a run: how many
// packets hold no message and why, and what was lost.
package remark

import (
	"fmt"
	"io"
	"strings"

	"qsniff/internal/base/digits"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/tally"
)

// Print prints on standard error what cannot be seen in the output: how many packets
// hold no message and why, and what was lost.
func Print(w io.Writer, run *tally.Run) {
	PrintLeftOut(w, run)
	PrintTrouble(w, run)
}

// PrintLeftOut prints how many packets hold no message, and why.
func PrintLeftOut(w io.Writer, run *tally.Run) {
	switch {
	case run.Packets == 0:
		fmt.Fprintln(w, "qsniff: the capture has no packets")
	case run.Messages == 0 && run.Unmatched > 0:
		fmt.Fprintf(w, "qsniff: none of %s matches the filter\n", digits.Count(run.Unmatched, "message"))
	case run.Unmatched > 0:
		fmt.Fprintf(w, "qsniff: %d of %s match the filter\n", run.Messages, digits.Count(run.Messages+run.Unmatched, "message"))
	case run.Messages == 0:
		fmt.Fprintf(w, "qsniff: no query traffic in %s%s\n", digits.Count(run.Packets, "packet"), Reasons(": ", run))
	case len(run.Skipped) > 0:
		fmt.Fprintf(w, "qsniff: %s in %s%s\n", digits.Count(run.Messages, "message"), digits.Count(run.Packets, "packet"),
			Reasons("; left out: ", run))
	}
}

// PrintTrouble prints what may be missing from the output, and why.
func PrintTrouble(w io.Writer, run *tally.Run) {
	PrintSentences(w, run)
	PrintHints(w, &counters.Result{Run: *run}, counters.Input, counters.Reassembly)
}

// PrintHints prints the hint of each counter of the groups that is not zero and has one.
func PrintHints(w io.Writer, r *counters.Result, groups ...counters.Group) {
	for _, sentence := range r.Hints(groups...) {
		fmt.Fprintln(w, "qsniff:", sentence)
	}
}

// PrintRekeyed prints that tables changed their seeds n times, because addresses in the traffic
// were chosen to collide in them; see lru.Rekeyed.
func PrintRekeyed(w io.Writer, n uint64) {
	if n > 0 {
		fmt.Fprintf(w, "qsniff: addresses in the traffic were chosen to collide in tables, which changed their seeds %s: nothing is missing, it took longer\n",
			digits.Count(n, "time"))
	}
}

// PrintSentences prints what people must know before they read figures of the run.
func PrintSentences(w io.Writer, run *tally.Run) {
	for _, s := range run.Sentences() {
		fmt.Fprintln(w, "qsniff:", s)
	}
}

// Reasons returns after lead why packets hold no message, and nothing where each holds one.
func Reasons(lead string, run *tally.Run) string {
	parts := make([]string, len(run.Skipped))
	for i, r := range run.Skipped {
		parts[i] = fmt.Sprintf("%d %s", r.Count, r.Why)
		if r.Hint != "" {
			parts[i] += fmt.Sprintf(" (%.0f %%; %s)", 100*float64(r.Count)/float64(max(run.Packets, 1)), r.Hint)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return lead + strings.Join(parts, ", ")
}
