package main

import (
	"fmt"
	"io"
	"strings"

	"qsniff/internal/app/progress"
	"qsniff/internal/base/digits"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/tally"
)

// printRemarks prints on standard error what cannot be seen in the output: how many packets
// hold no message and why, and what was lost.
func printRemarks(w io.Writer, run *tally.Run) {
	printLeftOut(w, run)
	printTrouble(w, run)
}

// printLeftOut prints how many packets hold no message, and why.
func printLeftOut(w io.Writer, run *tally.Run) {
	switch {
	case run.Packets == 0:
		fmt.Fprintln(w, "qsniff: the capture has no packets")
	case run.Messages == 0 && run.Unmatched > 0:
		fmt.Fprintf(w, "qsniff: none of %s matches the filter\n", count(run.Unmatched, "message"))
	case run.Unmatched > 0:
		fmt.Fprintf(w, "qsniff: %d of %s match the filter\n", run.Messages, count(run.Messages+run.Unmatched, "message"))
	case run.Messages == 0:
		fmt.Fprintf(w, "qsniff: no query traffic in %s%s\n", count(run.Packets, "packet"), formatReasons(": ", run))
	case len(run.Skipped) > 0:
		fmt.Fprintf(w, "qsniff: %s in %s%s\n", count(run.Messages, "message"), count(run.Packets, "packet"),
			formatReasons("; left out: ", run))
	}
}

// printTrouble prints what may be missing from the output, and why.
func printTrouble(w io.Writer, run *tally.Run) {
	printSentences(w, run)
	printHints(w, &counters.Result{Run: *run}, counters.Input, counters.Reassembly)
}

// printHints prints the hint of each counter of the groups that is not zero and has one.
func printHints(w io.Writer, r *counters.Result, groups ...counters.Group) {
	for _, sentence := range r.Hints(groups...) {
		fmt.Fprintln(w, "qsniff:", sentence)
	}
}

// printRekeyed prints that tables changed their seeds n times, because somebody chose
// addresses that collide in them; see lru.Rekeyed.
func printRekeyed(w io.Writer, n uint64) {
	if n > 0 {
		fmt.Fprintf(w, "qsniff: addresses in the traffic were chosen to collide in tables, which changed their seeds %s: nothing is missing, it took longer\n",
			count(n, "time"))
	}
}

// printSentences prints what people must know before they read figures of the run.
func printSentences(w io.Writer, run *tally.Run) {
	for _, s := range run.Sentences() {
		fmt.Fprintln(w, "qsniff:", s)
	}
}

func formatReasons(lead string, run *tally.Run) string {
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

// count formats a number of things. words are the singular and, where that does not end in
// just another s, the plural.
func count(n uint64, words ...string) string {
	return fmt.Sprintf("%d %s", n, digits.Noun(n, words...))
}

// newProgress returns the line of progress on standard error; nil if that is no terminal.
func newProgress(w io.Writer) *progress.Line {
	if !isTerminal(w) {
		return nil
	}
	if e, ok := w.(errLines); ok {
		w = e.to
	}
	return progress.New(w, func() int { return width(w) })
}
